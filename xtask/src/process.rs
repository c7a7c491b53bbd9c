//! Starts other programs and says in one line what went wrong with them.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

/// How long one download or installation may take before it counts as stuck.
const INSTALL_DEADLINE: Duration = Duration::from_mins(20);

/// How often a running installation is looked at; short against any installation, long against the cost of looking.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long the lines of a command that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The cargo that started this program, in the given folder.
pub(crate) fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder);
    command
}

/// Runs a command with this terminal as its own; an exit code other than zero is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`", describe(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", describe(command));
    }
    Ok(())
}

/// Like [`run`], and hands every line that the command prints, which is printed here as well, to somebody who reads it.
pub(crate) fn run_read(command: &mut Command, mut read: impl FnMut(&str)) -> Result<()> {
    let (output, input) = io::pipe()?;
    let child = command.stdout(input.try_clone()?).stderr(input).spawn();
    // Else this program itself would keep the pipe open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.with_context(|| format!("cannot start `{}`", describe(command)))?;
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output
            .read_until(b'\n', &mut line)
            .is_ok_and(|count| count > 0)
        {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if sender.send(text).is_err() {
                return;
            }
            line.clear();
        }
    });
    let mut ended = None;
    // A process that the command left behind may hold the pipe for ever.
    while ended.is_none_or(|(_, since): (_, Instant)| since.elapsed() < LAST_WORDS) {
        match lines.recv_timeout(POLL_INTERVAL) {
            Ok(line) => {
                println!("{line}");
                read(&line);
            }
            Err(RecvTimeoutError::Timeout) if ended.is_some() => {}
            Err(RecvTimeoutError::Timeout) => {
                ended = child.try_wait()?.map(|status| (status, Instant::now()));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{}` failed ({status})", describe(command));
    }
    Ok(())
}

/// Like [`run`], for commands that use the network and might wait for ever.
pub(crate) fn install(command: &mut Command) -> Result<()> {
    let mut child = command
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start `{}`", describe(command)))?;
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            if status.success() {
                return Ok(());
            }
            bail!("`{}` failed ({status})", describe(command));
        }
        if started.elapsed() > INSTALL_DEADLINE {
            child.kill()?;
            child.wait()?;
            bail!(
                "`{}` was not finished after {} minutes. Check the network, then run the command again",
                describe(command),
                INSTALL_DEADLINE.as_secs() / 60
            );
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Says of a failure what it means and, last, what to do about it.
pub(crate) fn explain(outcome: Result<()>, meaning: &str, remedy: &str) -> Result<()> {
    outcome.map_err(|cause| anyhow!("{meaning}: {cause:#}. {remedy}"))
}

/// What a command prints on standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{}`", describe(command)))?;
    if !output.status.success() {
        bail!("`{}` failed ({})", describe(command), output.status);
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed something else than text", describe(command)))
}

/// Whether a command exists and succeeds; what it prints is of no interest.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Whether the program itself is missing, as opposed to failing.
pub(crate) fn is_missing(program: &str) -> bool {
    let attempt = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    attempt.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Whether this program runs as root: the owner of a process's own entry is the user it runs as.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// The command as a person would type it; the folder of the program is left out.
fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    std::iter::once(program)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_from(script: &str) -> (Vec<String>, Result<()>) {
        let mut lines = Vec::new();
        let mut command = Command::new("sh");
        let outcome = run_read(command.args(["-c", script]), |line| {
            lines.push(line.to_owned());
        });
        (lines, outcome)
    }

    #[test]
    fn output_and_errors_are_read_in_their_order() {
        let (lines, outcome) = read_from("echo one; echo two >&2; printf 'three\\377'; exit 3");
        assert_eq!(lines, ["one", "two", "three\u{fffd}"]);
        assert!(outcome.unwrap_err().to_string().contains("exit status: 3"));
        assert!(read_from("exit 0").1.is_ok());
    }

    #[test]
    fn a_process_that_is_left_behind_delays_nobody() {
        let started = Instant::now();
        let (lines, outcome) = read_from("sleep 60 & echo started");
        assert_eq!(lines, ["started"]);
        assert!(outcome.is_ok());
        assert!(started.elapsed() < Duration::from_secs(50));
    }
}
