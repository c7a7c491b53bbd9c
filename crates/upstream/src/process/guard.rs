//! Guard: the process between the gateway and a server, which ends when either does, and takes every
//! descendant of the server with it.
//!
//! The gateway starts its own program as `<program> __guard <gateway pid>`, and sends the command of the server through
//! its standard input. The guard makes itself the reaper of all its descendants, so that even those that start
//! a session of their own and lose their parents come back to it. It watches the gateway
//! through a descriptor of the process, which tells of a `kill -9`, too.
//!
//! The guard runs without an async runtime, must not print to standard output, which belongs to
//! the server, and must never outlive the gateway.

use std::ffi::OsString;
use std::process::ExitCode;

/// First argument, which makes the program a guard.
pub const ARGUMENT: &str = "__guard";

/// Exit code of the guard when the server cannot be started, as shells have it.
pub(crate) const NOT_STARTED: i32 = 127;
/// Added to the signal that ended the server, as shells do.
pub(crate) const SIGNAL_BASE: i32 = 128;

#[cfg(target_os = "linux")]
pub(crate) use linux::signal_descendants;

/// Runs the guard with the arguments that follow [`ARGUMENT`]; returns the server's code.
#[cfg(target_os = "linux")]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    linux::run(arguments.into_iter())
}

/// Runs the guard with the arguments that follow [`ARGUMENT`]; only Linux has one.
#[cfg(not(target_os = "linux"))]
pub fn run(_arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(u8::try_from(NOT_STARTED).unwrap_or(u8::MAX))
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::fs::{File, OpenOptions};
    use std::io::{self, Read, Write};
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, ExitCode};
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{
        Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
        kill_process_group, pidfd_open, set_child_subreaper, wait,
    };
    use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
    use signal_hook::low_level::pipe;

    use super::{NOT_STARTED, SIGNAL_BASE};
    use crate::process::server_command::ServerCommand;
    use crate::process::tree;

    /// Time that descendants have to end by themselves in an orderly stop.
    const GRACE: Duration = Duration::from_millis(500);
    /// Time after which what is left cannot be ended by anyone, so the guard goes as well.
    const HOPELESS: Duration = Duration::from_secs(10);
    /// Period in which processes are looked for while they end.
    const LOOK: Duration = Duration::from_millis(10);
    /// Period in which the parent is looked at where the system has no descriptors of processes.
    const PARENT_LOOK: Duration = Duration::from_millis(200);

    /// Reason why the guard ends.
    enum End {
        /// End of the server by itself.
        Server(WaitStatus),
        /// Request of the gateway.
        Requested,
        /// End of the gateway.
        Orphaned,
    }

    /// Sources of what the guard waits for.
    struct GuardWatch {
        signals: UnixStream,
        requested: UnixStream,
        parent: Pid,
        /// Readable once the parent has ended.
        parent_end: Option<OwnedFd>,
    }

    pub(super) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
        match guard(arguments) {
            Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
            Err(message) => {
                // There may be nobody left to read it.
                let _ = writeln!(io::stderr(), "mcpproxy guard: {message}");
                ExitCode::from(u8::try_from(NOT_STARTED).unwrap_or(u8::MAX))
            }
        }
    }

    fn guard(arguments: impl Iterator<Item = OsString>) -> Result<i32, String> {
        let parent = parse(arguments)?;
        set_child_subreaper(Some(getpid()))
            .map_err(|error| format!("cannot adopt processes: {error}"))?;
        // Signals are watched before the server starts, so that its end cannot be missed.
        let watch = GuardWatch::new(parent).map_err(|error| format!("cannot watch: {error}"))?;
        if getppid() != Some(parent) {
            return Err("the gateway is gone".to_owned());
        }
        let command = read_command().map_err(|error| format!("no command came: {error}"))?;
        let server = Command::new(&command.program)
            .args(command.arguments)
            .env_clear()
            .envs(command.environment)
            .process_group(0)
            .spawn()
            .map_err(|error| {
                let command = command.program.to_string_lossy().into_owned();
                if error.kind() == io::ErrorKind::NotFound {
                    format!("command '{command}' was not found")
                } else {
                    format!("command '{command}' could not be started: {}", error.kind())
                }
            })?;
        let server = Pid::from_child(&server);
        let released = release_streams();
        let end = if released.is_ok() {
            watch.until_end(server)
        } else {
            End::Orphaned
        };
        let status = end_descendants(server, matches!(end, End::Server(_) | End::Requested));
        Ok(match end {
            End::Server(status) => code(status),
            End::Requested | End::Orphaned => status.map_or(0, code),
        })
    }

    /// `<gateway pid>`
    fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Pid, String> {
        let parent = arguments
            .next()
            .and_then(|text| text.to_str()?.parse().ok())
            .and_then(Pid::from_raw);
        parent.ok_or_else(|| "expected the process id of the gateway".to_owned())
    }

    /// Reads the command from standard input, without a buffer that would take what is the server's.
    fn read_command() -> io::Result<ServerCommand> {
        let input = rustix::stdio::stdin().try_clone_to_owned()?;
        ServerCommand::read(&mut File::from(input))
    }

    /// Lets go of input and output, so that their ends pass between gateway and server.
    fn release_streams() -> io::Result<()> {
        let mut options = OpenOptions::new();
        let nothing = options.read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nothing)?;
        rustix::stdio::dup2_stdout(&nothing)?;
        Ok(())
    }

    // === impl GuardWatch ===

    impl GuardWatch {
        fn new(parent: Pid) -> io::Result<Self> {
            let (signals, child_ended) = UnixStream::pair()?;
            let (requested, requesting) = UnixStream::pair()?;
            signals.set_nonblocking(true)?;
            pipe::register(SIGCHLD, child_ended)?;
            for signal in [SIGTERM, SIGINT, SIGHUP] {
                pipe::register(signal, requesting.try_clone()?)?;
            }
            let parent_end = match pidfd_open(parent, PidfdFlags::empty()) {
                Ok(descriptor) => Some(descriptor),
                // A kernel before 5.3: the parent is looked at from time to time instead.
                Err(rustix::io::Errno::NOSYS) => None,
                Err(error) => return Err(error.into()),
            };
            Ok(Self {
                signals,
                requested,
                parent,
                parent_end,
            })
        }

        fn until_end(&self, server: Pid) -> End {
            loop {
                // Reaping before waiting: a signal that came earlier is in the pipe, and one
                // that comes now ends the wait.
                if let (Some(status), _) = reap_all(server) {
                    return End::Server(status);
                }
                if getppid() != Some(self.parent) {
                    return End::Orphaned;
                }
                let (requested, orphaned) = self.wait();
                if orphaned {
                    return End::Orphaned;
                }
                if requested {
                    return End::Requested;
                }
                let mut signals = [0; 64];
                let _ = (&self.signals).read(&mut signals);
            }
        }

        /// Waits for anything to happen: whether the end is requested, whether the gateway
        /// is gone.
        fn wait(&self) -> (bool, bool) {
            let mut descriptors = vec![
                PollFd::from_borrowed_fd(self.requested.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            ];
            if let Some(parent_end) = &self.parent_end {
                descriptors.push(PollFd::from_borrowed_fd(parent_end.as_fd(), PollFlags::IN));
            }
            let look = Timespec::try_from(PARENT_LOOK).ok();
            let timeout = look.filter(|_| self.parent_end.is_none());
            // An interrupted wait is looked at like one that ended.
            let _ = poll(&mut descriptors, timeout.as_ref());
            let has_happened = |at: usize| {
                descriptors
                    .get(at)
                    .is_some_and(|descriptor| !descriptor.revents().is_empty())
            };
            (has_happened(0), has_happened(2))
        }
    }

    // === ending processes ===

    /// Ends every descendant; gives the server's status if it is seen on the way.
    fn end_descendants(server: Pid, is_orderly: bool) -> Option<WaitStatus> {
        let started = Instant::now();
        let mut status = None;
        let mut was_requested = false;
        loop {
            let (seen, is_alone) = reap_all(server);
            status = status.or(seen);
            if is_alone || started.elapsed() > HOPELESS {
                return status;
            }
            if is_orderly && started.elapsed() < GRACE {
                if !was_requested {
                    signal_descendants(getpid(), Signal::TERM);
                    was_requested = true;
                }
            } else {
                // Groups first: this needs no view of other processes. Then one by one,
                // again and again, as each may have started another meanwhile.
                let _ = kill_process_group(server, Signal::KILL);
                signal_descendants(getpid(), Signal::KILL);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Sends a signal to every process below this one.
    pub(crate) fn signal_descendants(ancestor: Pid, signal: Signal) {
        for pid in descendants(ancestor) {
            // An error means that it is gone, or that nobody here may end it.
            let _ = kill_process(pid, signal);
        }
    }

    /// Every process below this one, parents before children.
    fn descendants(ancestor: Pid) -> Vec<Pid> {
        let below = tree::below(&tree::processes(), ancestor.as_raw_pid());
        let below = below.iter();
        below.filter_map(|one| Pid::from_raw(one.pid)).collect()
    }

    /// Collects every ended child; gives the server's status if it is among them, and whether no child
    /// is left.
    fn reap_all(server: Pid) -> (Option<WaitStatus>, bool) {
        let mut status = None;
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, ended))) if pid == server => status = Some(ended),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return (status, false),
                Err(_) => return (status, true),
            }
        }
    }

    fn code(status: WaitStatus) -> i32 {
        let signal = status
            .terminating_signal()
            .map(|signal| signal + SIGNAL_BASE);
        status.exit_status().or(signal).unwrap_or(0)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_process_tree_is_found_below_its_ancestor() {
            let mut child = Command::new("sh")
                .args(["-c", "sleep 60 & echo started; wait"])
                .stdout(std::process::Stdio::piped())
                .spawn()
                .expect("a shell");
            let mut said = [0; 8];
            let output = child.stdout.as_mut().expect("it is piped");
            output
                .read_exact(&mut said)
                .expect("the shell started its child");
            let below = descendants(getpid());
            let shell = Pid::from_child(&child);
            assert!(below.contains(&shell));
            let grandchildren = descendants(shell);
            assert_eq!(grandchildren.len(), 1);
            assert!(below.contains(&grandchildren[0]));
            signal_descendants(shell, Signal::KILL);
            assert!(child.wait().is_ok());
        }

        #[test]
        fn wrong_arguments_are_refused() {
            for arguments in [vec![], vec!["x"], vec!["0"]] {
                let parsed = parse(arguments.into_iter().map(OsString::from));
                let message = "expected the process id of the gateway";
                assert_eq!(parsed, Err(message.to_owned()));
            }
        }
    }
}
