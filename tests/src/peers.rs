//! Programs nobody here wrote: official clients in front of the gateway, reference servers
//! behind it.
//!
//! They are there when `MCPPROXY_PEERS` names the folder that `cargo xtask setup` filled. A test
//! that needs them asks [`Peers::find`] first and is not run when there are none. Nothing here may
//! judge an answer: that is up to the tests.

mod dialogue;
mod server;
mod unix_door;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::Ran;
use crate::trial::not_run;

pub use dialogue::{Dialogue, Greets};
pub use server::{BuiltWith, Edition};
pub use unix_door::UnixDoor;

/// Names the folder of the peers.
const VARIABLE: &str = "MCPPROXY_PEERS";

/// How long a client may take. Six servers in Python and JavaScript start behind it, on a
/// machine that runs other tests as well.
const SESSION_DEADLINE: Duration = Duration::from_secs(150);

/// What the clients are told, so that they give up first and say why.
const SESSION_SECONDS: &str = "120";

/// How long the official suite waits for a client, which gives up before that and says why.
const CLIENT_MILLISECONDS: &str = "120000";

/// The installed peers.
#[derive(Debug)]
pub struct Peers {
    folder: PathBuf,
}

/// An official SDK, by its major version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sdk {
    /// Python, which asks in the newest way first and falls back to `initialize`.
    Python2,
    /// Python, `initialize` only.
    Python1,
    /// TypeScript, told to ask in the newest way first as well.
    TypeScript2,
    /// TypeScript, `initialize` only.
    TypeScript1,
}

impl Peers {
    /// The installed peers; without them the test is not run.
    pub fn find() -> Self {
        let Some(folder) = std::env::var_os(VARIABLE) else {
            not_run("the peers, which `cargo xtask test` installs");
        };
        let folder = std::path::absolute(folder).expect("the folder of the peers has a path");
        Self { folder }
    }

    /// The path of a launcher, such as `mcp-server-git`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// Lets an SDK perform steps in one session over HTTP; gives one outcome for each.
    pub async fn session_over_http(&self, sdk: Sdk, endpoint: &str, steps: &Value) -> Vec<Value> {
        let mut client = self.client(sdk);
        client.args(["--url", endpoint]);
        converse(client, steps).await
    }

    /// Lets an SDK start a server and perform steps in one session over its standard input and
    /// output, on nobody's settings but those of the given home directory.
    pub async fn session_over_stdio(
        &self,
        sdk: Sdk,
        home: &Path,
        server: &[&OsStr],
        steps: &Value,
    ) -> Vec<Value> {
        let mut client = self.client(sdk);
        client.env("HOME", home).arg("--stdio").args(server);
        converse(client, steps).await
    }

    /// Runs the Inspector's command line on an endpoint.
    pub async fn inspect(&self, home: &Path, endpoint: &str, arguments: &[String]) -> Ran {
        let mut inspector = Command::new(self.program("mcp-inspector"));
        inspector
            .args(["--cli", endpoint, "--transport", "http"])
            .args(arguments)
            .env("HOME", home);
        run(inspector, String::new()).await
    }

    /// Runs the official suite on a server, as one revision requires it; each scenario leaves a folder in `results`.
    pub async fn conform(
        &self,
        home: &Path,
        endpoint: &str,
        revision: &str,
        results: &Path,
    ) -> Ran {
        let mut suite = Command::new(self.program("conformance"));
        suite
            .args(["server", "--url", endpoint, "--requirements", revision])
            .arg("--output-dir")
            .arg(results)
            .env("HOME", home);
        run(suite, String::new()).await
    }

    /// The scenarios that a revision requires of clients, in the words of the official suite.
    pub async fn client_scenarios(&self, home: &Path, revision: &str) -> Ran {
        let mut suite = Command::new(self.program("conformance"));
        suite
            .args(["list", "--client", "--requirements", revision])
            .env("HOME", home);
        run(suite, String::new()).await
    }

    /// Runs one scenario of the official suite on a client; it leaves a folder in `results`.
    pub async fn conform_client(
        &self,
        home: &Path,
        client: &Path,
        scenario: (&str, &str),
        results: &Path,
    ) -> Ran {
        let (revision, scenario) = scenario;
        let mut suite = Command::new(self.program("conformance"));
        let (folder, name) = (client.parent(), client.file_name());
        // The suite cuts the command at its spaces, so the path cannot be in it.
        let others = std::env::var_os("PATH").unwrap_or_default();
        let folders = folder.map(Path::to_owned).into_iter();
        let path = std::env::join_paths(folders.chain(std::env::split_paths(&others)));
        suite
            .args(["client", "--spec-version", revision, "--scenario", scenario])
            .args(["--timeout", CLIENT_MILLISECONDS])
            .arg("--command")
            .arg(name.expect("the client is a file"))
            .arg("--output-dir")
            .arg(results)
            .env("PATH", path.expect("folders of programs have plain names"))
            .env("HOME", home);
        run(suite, String::new()).await
    }

    /// Samples that the official Prometheus client reads at an address.
    pub async fn read_metrics(&self, url: &str) -> Vec<Value> {
        let mut reader = Command::new(self.program("python"));
        reader.arg(script("metrics.py")).arg(url);
        let ran = run(reader, String::new()).await;
        assert_eq!(ran.code, 0, "the metrics cannot be read: {ran:?}");
        serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("the reader printed no list ({error}): {ran:?}"))
    }

    fn client(&self, sdk: Sdk) -> Command {
        let (launcher, name, options): (_, _, &[&str]) = match sdk {
            Sdk::Python2 => ("python", "client.py", &["--protocol", "auto"]),
            Sdk::Python1 => ("python-legacy", "client.py", &[]),
            Sdk::TypeScript2 => ("node", "client.mjs", &["--sdk", "2", "--protocol", "auto"]),
            Sdk::TypeScript1 => ("node", "client.mjs", &["--sdk", "1"]),
        };
        let mut client = Command::new(self.program(launcher));
        for (name, _) in std::env::vars_os() {
            // The product may be started by the client, and must not see settings of others.
            if name.to_string_lossy().starts_with("MCPPROXY_") {
                client.env_remove(name);
            }
        }
        client
            .env(VARIABLE, &self.folder)
            .arg(script(name))
            .args(options)
            .args(["--timeout", SESSION_SECONDS]);
        client
    }
}

/// A script of ours that runs on what is installed.
fn script(name: &str) -> PathBuf {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR"));
    ours.join("peers").join(name)
}

async fn converse(client: Command, steps: &Value) -> Vec<Value> {
    let ran = run(client, steps.to_string()).await;
    assert_eq!(ran.code, 0, "the session failed: {ran:?}");
    let outcomes: Vec<Value> = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("the client printed no list ({error}): {ran:?}"));
    let expected = steps.as_array().map(Vec::len);
    assert_eq!(Some(outcomes.len()), expected, "one outcome for each step");
    outcomes
}

async fn run(mut command: Command, input: String) -> Ran {
    let what = format!("{command:?}");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = tokio::process::Command::from(command)
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|error| panic!("{what} cannot be started: {error}"));
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let finished = async {
        // A program that does not read its input closes the pipe; that is no fault.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        child.wait_with_output().await
    };
    let output = tokio::time::timeout(SESSION_DEADLINE, finished)
        .await
        .unwrap_or_else(|_| panic!("waited {} s for {what}", SESSION_DEADLINE.as_secs()))
        .expect("the program can be waited for");
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
