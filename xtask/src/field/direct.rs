//! A server by itself, over its standard input and output.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::protocol::{
    Era, PAGE_LIMIT, STATELESS, Tools, fields, hello, initialized, list_params, read_page, request,
    stateless_params,
};
use super::servers::FieldServer;

/// Time that a server has for everything that is asked of it.
const DEADLINE: Duration = Duration::from_mins(2);

/// Time after which a server does not know the question that it has not answered. Old ones stay silent.
const SILENCE: Duration = Duration::from_secs(30);

/// Time that a server has to end by itself.
const GRACE: Duration = Duration::from_secs(3);

/// The longest line of a server, in bytes.
const LINE_LIMIT: u64 = 32 * 1024 * 1024;

/// Lines of a server that wait to be read.
const LINES_AHEAD: usize = 1000;

/// What a server offers by itself.
pub(crate) struct Listed {
    pub(crate) era: Era,
    pub(crate) revision: String,
    pub(crate) tools: Tools,
    /// Time from its start to its list.
    pub(crate) took: Duration,
    pub(crate) command: ServerCommand,
}

/// Command of a server, the same for both ways.
#[derive(Clone)]
pub(crate) struct ServerCommand {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) folder: PathBuf,
}

/// Starts a server and lists its tools, in the newest revision that it speaks.
pub(crate) fn list(server: &FieldServer, program: &Path, work: &Path) -> Result<Listed> {
    let folder = work.join(&server.name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let in_folder = |text: &String| text.replace("{work}", &folder.to_string_lossy());
    let env = server.env.iter();
    let command = ServerCommand {
        program: program.to_owned(),
        args: server.args.iter().map(in_folder).collect(),
        env: env
            .map(|(name, value)| (name.clone(), in_folder(value)))
            .collect(),
        folder,
    };
    match list_stateless(&command)? {
        Some(listed) => Ok(listed),
        None => list_with_session(&command),
    }
}

/// Lists tools without a session; nothing if the server does not know the revision.
fn list_stateless(command: &ServerCommand) -> Result<Option<Listed>> {
    let mut process = ServerProcess::start(command)?;
    let question = request(1, "server/discover", &stateless_params());
    // It ended over the question, or is silent. If it does not work at all, that shows next.
    let Ok(answer) = process.ask(1, &question, SILENCE) else {
        return Ok(None);
    };
    let knows_it = fields(&answer).is_some_and(|message| {
        let result = message.get("result");
        result.is_some_and(|result| result.get().contains(STATELESS))
    });
    if !knows_it {
        return Ok(None);
    }
    let tools = process.tools(Era::Stateless)?;
    Ok(Some(process.listed(
        Era::Stateless,
        STATELESS.to_owned(),
        tools,
        command,
    )))
}

fn list_with_session(command: &ServerCommand) -> Result<Listed> {
    let mut process = ServerProcess::start(command)?;
    let answer = process.ask(1, &request(1, "initialize", &hello()), DEADLINE)?;
    let answer: Value = serde_json::from_str(&answer)?;
    let revision = answer["result"]["protocolVersion"].as_str();
    let revision = revision.context("it refused `initialize`")?.to_owned();
    process.send(&initialized())?;
    let tools = process.tools(Era::Session)?;
    Ok(process.listed(Era::Session, revision, tools, command))
}

struct ServerProcess {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    started: Instant,
}

impl ServerProcess {
    fn start(command: &ServerCommand) -> Result<Self> {
        let mut child = Command::new(&command.program)
            .args(&command.args)
            .envs(&command.env)
            .current_dir(&command.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("it cannot be started")?;
        let output = child.stdout.take().context("its output is not piped")?;
        let (sender, lines) = mpsc::sync_channel(LINES_AHEAD);
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let mut line = Vec::new();
                let read = output
                    .by_ref()
                    .take(LINE_LIMIT)
                    .read_until(b'\n', &mut line);
                let text = String::from_utf8_lossy(&line).trim().to_owned();
                if read.is_ok_and(|count| count == 0) || sender.send(text).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            input: child.stdin.take(),
            child,
            lines,
            started: Instant::now(),
        })
    }

    /// Sends a request and waits for its response. What else the server says or asks meanwhile is no part of the trial.
    fn ask(&mut self, id: u64, message: &str, patience: Duration) -> Result<String> {
        self.send(message)?;
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    bail!("it did not answer within {} s", patience.as_secs())
                }
                Err(RecvTimeoutError::Disconnected) => bail!("it ended"),
            };
            let Some(message) = fields(&line) else {
                continue;
            };
            let has_id = message
                .get("id")
                .is_some_and(|own| own.get() == id.to_string());
            match message.get("method") {
                None if has_id => return Ok(line),
                Some(_) => self.decline(message.get("id").map(|id| id.get()))?,
                None => {}
            }
        }
    }

    /// Answers a request of the server, so that it does not wait.
    fn decline(&mut self, id: Option<&str>) -> Result<()> {
        let Some(id) = id.and_then(|id| serde_json::from_str::<Value>(id).ok()) else {
            return Ok(());
        };
        let error = json!({ "code": -32601, "message": "not in this trial" });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
    }

    fn send(&mut self, message: &str) -> Result<()> {
        let input = self.input.as_mut().context("its input is closed")?;
        let sent = input.write_all(format!("{message}\n").as_bytes());
        sent.and_then(|()| input.flush())
            .context("it does not read")
    }

    fn tools(&mut self, era: Era) -> Result<Tools> {
        let mut tools = Tools::new();
        let mut cursor = None;
        for id in (2..).take(PAGE_LIMIT) {
            let params = list_params(era, cursor.as_deref());
            let page = self.ask(id, &request(id, "tools/list", &params), DEADLINE)?;
            cursor = read_page(&page, &mut tools)?;
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        bail!("its list has more than {PAGE_LIMIT} pages")
    }

    fn listed(&self, era: Era, revision: String, tools: Tools, command: &ServerCommand) -> Listed {
        Listed {
            era,
            revision,
            tools,
            took: self.started.elapsed(),
            command: command.clone(),
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.input.take());
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
