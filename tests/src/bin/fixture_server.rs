//! A stdio MCP server that does what its script says: `fixture-server SCRIPT.json`.
//!
//! It is plain threads and blocking reads, so that nothing it does wrong can be blamed on
//! a runtime.

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};

use mcpproxy_tests::script::Script;
use mcpproxy_tests::{ScriptedServer, read_variable};

fn main() -> ExitCode {
    let path = std::env::args_os()
        .nth(1)
        .expect("usage: fixture-server SCRIPT.json");
    let text = std::fs::read_to_string(path).expect("the script can be read");
    let script: Script = serde_json::from_str(&text).expect("the script is valid");
    if script.exit_at_start {
        return ExitCode::FAILURE;
    }
    if let Some(file) = &script.pid_file {
        write_whole(file, std::process::id());
    }
    if let Some(file) = &script.grandchild_pid_file {
        write_whole(file, start_grandchild());
    }
    if let Some(variable) = &script.stderr_variable {
        // Whoever no longer listens misses nothing.
        let _ = writeln!(std::io::stderr(), "{}", read_variable(variable));
    }
    let flood = script.stderr_bytes;
    std::thread::spawn(move || flood_stderr(flood));
    let output = Arc::new(Output {
        garbage: script.garbage,
        alone: Mutex::new(()),
    });
    let server = Arc::new(ScriptedServer::new(script));
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let (server, output) = (Arc::clone(&server), Arc::clone(&output));
        std::thread::spawn(move || {
            let send = |message: &str| output.print(message);
            if let Some(response) = server.answer(&line, &|_| None, &send) {
                send(&response);
            }
        });
    }
    ExitCode::SUCCESS
}

struct Output {
    /// Whether lines that are not JSON come before every message.
    garbage: bool,
    alone: Mutex<()>,
}

impl Output {
    fn print(&self, line: &str) {
        let _alone = self.alone.lock().expect("no thread panics with the lock");
        let mut stdout = std::io::stdout().lock();
        // Whoever no longer listens misses nothing.
        if self.garbage {
            let _ = stdout.write_all(b"starting up {\n\xff\xfe not text\n[1,\n\n");
        }
        let _ = stdout.write_all(line.as_bytes());
        let _ = stdout.write_all(b"\n");
        let _ = stdout.flush();
    }
}

/// A process in a session of its own, which a signal to our process group does not reach.
fn start_grandchild() -> u32 {
    Command::new("setsid")
        .args(["sleep", "1000"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a grandchild can be started")
        .id()
}

fn flood_stderr(mut bytes: u64) {
    let line = [b'x'; 4095];
    let mut stderr = std::io::stderr().lock();
    while bytes > 0 {
        let count = usize::try_from(bytes).unwrap_or(usize::MAX).min(line.len());
        if stderr
            .write_all(&line[..count])
            .and_then(|()| stderr.write_all(b"\n"))
            .is_err()
        {
            return;
        }
        bytes = bytes.saturating_sub(count as u64 + 1);
    }
}

/// Writes a number in one step, so that nobody reads half of it.
fn write_whole(file: &Path, number: u32) {
    let draft = file.with_extension("draft");
    std::fs::write(&draft, number.to_string()).expect("the number can be written");
    std::fs::rename(&draft, file).expect("the number can be moved into place");
}
