//! Process of a server, and the end of everything it started.
//!
//! On Linux the process we start is our own guard (see [`crate::guard`]), which starts the
//! server and ends all of its descendants. Elsewhere it is the server itself in a process
//! group of its own.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

#[cfg(unix)]
use super::server_command::ServerCommand;
use super::{environment, guard};
use crate::spec::StdioSpec;

/// Time between the request to end and being ended. The guard gives the server half a second of it.
const TERMINATION_GRACE: Duration = Duration::from_secs(3);

/// Running process; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    is_guarded: bool,
}

/// Input, output and errors of a process.
pub(crate) struct Streams {
    pub(crate) input: ChildStdin,
    /// Bytes that go to the input before anything else: the guard's share.
    pub(crate) preamble: Vec<u8>,
    pub(crate) output: ChildStdout,
    pub(crate) errors: ChildStderr,
}

/// Reason why a process could not be started, for people. It names no path of the host.
pub(crate) enum StartError {
    /// Something that it needs is not there, or cannot be used. Nothing was started.
    Missing(String),
    /// The system did not do it.
    Refused(String),
}

/// Variables of a process.
type Variables = Vec<(OsString, OsString)>;

impl Process {
    /// Starts a server.
    pub(crate) fn start(
        spec: &StdioSpec,
        guard: Option<&Path>,
    ) -> Result<(Self, Streams), StartError> {
        let environment = environment::of_child(spec);
        environment::check(spec, &environment).map_err(StartError::Missing)?;
        let guard = guard.filter(|_| cfg!(target_os = "linux"));
        let (mut command, preamble) = command(spec, guard, environment);
        let mut child = command.spawn().map_err(|error| {
            let (command, kind) = (&spec.command, error.kind());
            let text = format!("command '{command}' could not be started: {kind}");
            StartError::Refused(text)
        })?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = streams else {
            let text = "the streams of the process are missing";
            return Err(StartError::Refused(text.to_owned()));
        };
        let is_guarded = guard.is_some();
        let streams = Streams {
            input,
            preamble,
            output,
            errors,
        };
        Ok((Self { child, is_guarded }, streams))
    }

    /// Process that we started, while it runs.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits for the end and says how it came.
    pub(crate) async fn exited(&mut self) -> String {
        match self.child.wait().await {
            Ok(status) => self.describe(status),
            Err(error) => format!("the server was lost: {}", error.kind()),
        }
    }

    /// Ends the process and all it started. Its input must be closed already: that is what
    /// asks a server to end, and it has the grace to do so.
    pub(crate) async fn stop(&mut self, grace: Duration) {
        if timeout(grace, self.child.wait()).await.is_ok() {
            return;
        }
        self.ask_to_end();
        if timeout(TERMINATION_GRACE, self.child.wait()).await.is_ok() {
            return;
        }
        self.end();
        let _ = timeout(TERMINATION_GRACE, self.child.wait()).await;
    }

    fn describe(&self, status: ExitStatus) -> String {
        if let Some(signal) = self.ended_by(status) {
            return format!("the server was ended by signal {signal}");
        }
        match status.code() {
            Some(guard::NOT_STARTED) if self.is_guarded => {
                "the server could not be started or exited with code 127".to_owned()
            }
            Some(code) => format!("the server exited with code {code}"),
            None => "the server exited".to_owned(),
        }
    }
}

/// Command to start, and what its input has to begin with.
fn command(spec: &StdioSpec, guard: Option<&Path>, environment: Variables) -> (Command, Vec<u8>) {
    let (mut command, preamble) = match guard {
        Some(guard) => guarded(guard, spec, environment),
        None => unguarded(spec, environment),
    };
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(directory) = environment::folder(spec) {
        command.current_dir(directory);
    }
    // A group of its own: an interrupt typed at the gateway's terminal must not reach the
    // servers before the gateway had its orderly end.
    #[cfg(unix)]
    command.process_group(0);
    #[cfg(not(unix))]
    command.kill_on_drop(true);
    (command, preamble)
}

/// Start by a guard, which gets nothing that belongs to the server but through its input.
#[cfg(unix)]
fn guarded(guard: &Path, spec: &StdioSpec, environment: Variables) -> (Command, Vec<u8>) {
    let mut command = Command::new(guard);
    command
        .arg(guard::ARGUMENT)
        .arg(std::process::id().to_string())
        .env_clear();
    let server = ServerCommand {
        program: spec.command.clone().into(),
        arguments: spec.args.iter().map(OsString::from).collect(),
        environment,
    };
    (command, server.to_message())
}

/// Start without a guard, which only Linux has.
#[cfg(not(unix))]
fn guarded(_guard: &Path, spec: &StdioSpec, environment: Variables) -> (Command, Vec<u8>) {
    unguarded(spec, environment)
}

fn unguarded(spec: &StdioSpec, environment: Variables) -> (Command, Vec<u8>) {
    let mut command = Command::new(&spec.command);
    command.args(&spec.args).env_clear().envs(environment);
    (command, Vec::new())
}

// === signals, where there are any ===

#[cfg(unix)]
impl Process {
    fn ended_by(&self, status: ExitStatus) -> Option<i32> {
        use std::os::unix::process::ExitStatusExt;
        let reported = status
            .code()
            .filter(|code| self.is_guarded && *code > guard::SIGNAL_BASE)
            .map(|code| code - guard::SIGNAL_BASE);
        status.signal().or(reported)
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()?).ok()?)
    }

    fn ask_to_end(&self) {
        let Some(pid) = self.pid() else { return };
        // A guard passes the request on to all it guards. An error means it is gone.
        let _ = if self.is_guarded {
            kill_process(pid, Signal::TERM)
        } else {
            kill_process_group(pid, Signal::TERM)
        };
    }

    fn end(&self) {
        let Some(pid) = self.pid() else { return };
        #[cfg(target_os = "linux")]
        if self.is_guarded {
            // The guard does not answer, so what it should have ended is ended from here.
            guard::signal_descendants(pid, Signal::KILL);
        }
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

#[cfg(not(unix))]
impl Process {
    fn ended_by(&self, _status: ExitStatus) -> Option<i32> {
        None
    }

    fn ask_to_end(&mut self) {
        let _ = self.child.start_kill();
    }

    fn end(&mut self) {
        let _ = self.child.start_kill();
    }
}

#[cfg(unix)]
impl Drop for Process {
    fn drop(&mut self) {
        // Only reached with a running process when the runtime itself ends. A guard has to
        // live on for a moment to end the others; a bare server has nothing to wait for.
        if self.is_guarded {
            self.ask_to_end();
        } else {
            self.end();
        }
    }
}
