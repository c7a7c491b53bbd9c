//! The two processes beside the generator: the gateway under test and the echo upstream.
//!
//! Each run gets a fresh data directory that goes with it. Must never leave a process behind, and must never let
//! the settings of the person who runs the benchmark reach the gateway.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::client::{Connection, Target};
use crate::process::ProcessUse;
use crate::protocol::Protocol;
use crate::section::Section;

/// The hidden command with which this program becomes the echo upstream.
pub(crate) const ECHO_COMMAND: &str = "echo-upstream";

/// A gateway that has not answered by then will not.
const READY_DEADLINE: Duration = Duration::from_secs(30);
/// Short against a start, so that waiting does not show in its time.
const CONNECT_PAUSE: Duration = Duration::from_millis(1);
/// The upstream is a process of ours that only has to bind a port.
const ECHO_DEADLINE: Duration = Duration::from_secs(10);
/// What a message shows of the log.
const LOG_LINES: usize = 20;

/// What stands behind a gateway.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EchoServer {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// How it is spoken to.
    pub(crate) protocol: Protocol,
}

/// A running echo upstream.
pub(crate) struct EchoProcess {
    /// Where it is, for clients and gateways.
    pub(crate) at: EchoServer,
    /// Its standard input is held open: the upstream ends when we do, however we end.
    _child: Child,
}

/// A running gateway with the echo upstream configured.
pub(crate) struct GatewayProcess {
    // Dropped in this order: the process is killed before its directory goes.
    child: Child,
    directory: TempDir,
    started: Instant,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

/// The gateway next to this executable, or the one that was named.
pub(crate) fn find_binary(named: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let path = match named {
        Some(path) => path,
        None => std::env::current_exe()
            .context("The path of this program is not known, name the gateway with --gateway")?
            .with_file_name("mcpproxy"),
    };
    ensure!(
        path.is_file(),
        "No gateway at {}: build it with `cargo build --release`, or name one with --gateway",
        path.display()
    );
    Ok(path)
}

impl EchoProcess {
    /// Starts this program again as the echo upstream.
    pub(crate) async fn start(section: Section) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([
                ECHO_COMMAND,
                section.upstream.name(),
                section.protocol.name(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("The echo upstream could not be started")?;
        let output = child.stdout.take().context("The echo upstream is mute")?;
        let mut line = String::new();
        let mut output = BufReader::new(output);
        tokio::time::timeout(ECHO_DEADLINE, output.read_line(&mut line))
            .await
            .context("The echo upstream did not say where it listens")??;
        let address = line
            .trim()
            .parse()
            .with_context(|| format!("The echo upstream said no address: {line:?}"))?;
        Ok(Self {
            at: EchoServer {
                address,
                protocol: section.protocol,
            },
            _child: child,
        })
    }
}

impl GatewayProcess {
    /// Starts a gateway with a fresh data directory in front of `upstream`, to which it speaks in the upstream's protocol.
    pub(crate) fn start(binary: &Path, upstream: EchoServer) -> anyhow::Result<Self> {
        Self::start_with(binary, upstream, &std::env::temp_dir(), &json!({}))
    }

    /// The same with its data directory on a chosen disk, and with more than the defaults in its configuration.
    pub(crate) fn start_with(
        binary: &Path,
        upstream: EchoServer,
        folder: &Path,
        setting: &Value,
    ) -> anyhow::Result<Self> {
        let directory =
            TempDir::new_in(folder).context("No temporary directory for the gateway")?;
        let data = directory.path().join("data");
        DirBuilder::new().mode(0o700).create(&data)?;
        let address = free_address()?;
        fs::write(
            data.join("mcp_config.json"),
            configuration(address, upstream, setting),
        )?;
        let log = File::create(log_path(&directory))?;
        let mut command = Command::new(binary);
        command.args(["serve", "--data-dir"]).arg(&data);
        for name in inherited_settings(std::env::vars_os().map(|(name, _)| name)) {
            command.env_remove(name);
        }
        let started = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} could not be started", binary.display()))?;
        Ok(Self {
            child,
            directory,
            started,
            address,
        })
    }

    /// Waits for the first answered `tools/list`; how long that took from the start of the process.
    pub(crate) async fn first_list(&mut self, target: &Target) -> anyhow::Result<Duration> {
        self.until(target, CONNECT_PAUSE, async |connection| {
            let tools = connection.list_tools().await?;
            ensure!(!tools.is_empty(), "tools/list has no tools");
            Ok(())
        })
        .await
    }

    /// Waits until a call reaches the upstream and comes back.
    pub(crate) async fn first_call(&mut self, target: &Target) -> anyhow::Result<Duration> {
        self.until(target, CONNECT_PAUSE * 10, Connection::call_checked)
            .await
    }

    /// What the process has used so far.
    pub(crate) fn usage(&self) -> anyhow::Result<ProcessUse> {
        let id = self.child.id().context("The gateway has ended")?;
        ProcessUse::read(id).context("What the gateway used cannot be read")
    }

    /// The failure together with the last the gateway said, for a person to find the cause.
    pub(crate) fn said(&self, failure: &str) -> String {
        let log = fs::read_to_string(log_path(&self.directory)).unwrap_or_default();
        if log.trim().is_empty() {
            return format!("{failure}\nThe gateway wrote no log.");
        }
        format!("{failure}\nThe gateway said last:\n{}", last_lines(&log))
    }

    /// Ends the process and waits until it is gone.
    pub(crate) async fn stop(mut self) -> io::Result<()> {
        self.child.kill().await
    }

    /// Repeats an attempt with a new client each time until it succeeds.
    async fn until(
        &mut self,
        target: &Target,
        pause: Duration,
        attempt: impl AsyncFn(&mut Connection) -> anyhow::Result<()>,
    ) -> anyhow::Result<Duration> {
        let target = std::sync::Arc::new(target.clone());
        let deadline = self.started + READY_DEADLINE;
        loop {
            let once = async {
                let mut connection = Connection::open(target.clone(), 0).await?;
                attempt(&mut connection).await
            };
            let failure = match tokio::time::timeout_at(deadline.into(), once).await {
                Ok(Ok(())) => return Ok(self.started.elapsed()),
                Ok(Err(failure)) => format!("{failure:#}"),
                Err(_) => "it did not answer".to_owned(),
            };
            if let Some(status) = self.child.try_wait()? {
                bail!(self.said(&format!("The gateway ended with {status}")));
            }
            if Instant::now() >= deadline {
                let failure = format!("The gateway was not ready in {READY_DEADLINE:?}: {failure}");
                bail!(self.said(&failure));
            }
            tokio::time::sleep(pause).await;
        }
    }
}

fn log_path(directory: &TempDir) -> PathBuf {
    directory.path().join("gateway.log")
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

fn configuration(listen: SocketAddr, upstream: EchoServer, setting: &Value) -> String {
    let url = format!("http://{}/mcp", upstream.address);
    let mut configuration = json!({
        "listen": listen.to_string(),
        // Left to itself the gateway would speak the newest protocol that the upstream knows, whatever the section says.
        "mcpServers": { "echo": { "url": url, "protocol": upstream.protocol.setting() } },
    });
    for (key, value) in setting.as_object().into_iter().flatten() {
        configuration[key] = value.clone();
    }
    configuration.to_string()
}

/// The environment that would make the gateway another one than the default that is measured.
fn inherited_settings(names: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    names.filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("MCPPROXY_") || name == "RUST_LOG"
    })
}

/// A port that was free a moment ago; whoever takes it first makes the gateway end with its own message.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{CallTemplate, Operation};

    #[test]
    fn a_missing_gateway_is_named_with_the_command_that_builds_it() {
        let message = find_binary(Some(PathBuf::from("nowhere/mcpproxy")))
            .unwrap_err()
            .to_string();
        assert!(message.contains("nowhere/mcpproxy"), "{message}");
        assert!(message.contains("`cargo build --release`"), "{message}");
    }

    #[test]
    fn configuration_names_both_addresses_the_protocol_and_what_else_is_set() {
        for (protocol, setting) in [
            (Protocol::Session, "legacy"),
            (Protocol::Stateless, "modern"),
        ] {
            let upstream = EchoServer {
                address: "127.0.0.1:2".parse().unwrap(),
                protocol,
            };
            let written = configuration(
                "127.0.0.1:1".parse().unwrap(),
                upstream,
                &json!({ "activity": { "durability": "balanced" } }),
            );
            let read: Value = serde_json::from_str(&written).unwrap();
            let server = json!({ "url": "http://127.0.0.1:2/mcp", "protocol": setting });
            let expected = json!({
                "listen": "127.0.0.1:1",
                "mcpServers": { "echo": server },
                "activity": { "durability": "balanced" }
            });
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn settings_of_the_person_are_kept_away() {
        let names = ["PATH", "MCPPROXY_CONFIG", "RUST_LOG", "HOME"].map(OsString::from);
        let removed: Vec<_> = inherited_settings(names.into_iter()).collect();
        assert_eq!(removed, ["MCPPROXY_CONFIG", "RUST_LOG"]);
    }

    #[test]
    fn only_the_end_of_a_log_is_shown() {
        let lines: Vec<String> = (0..100).map(|line| line.to_string()).collect();
        let shown = last_lines(&lines.join("\n"));
        assert!(
            shown.starts_with("80\n") && shown.ends_with("99"),
            "{shown}"
        );
        assert_eq!(last_lines("one"), "one");
        assert_eq!(last_lines(""), "");
    }

    #[tokio::test]
    async fn a_gateway_that_ends_at_once_is_reported_with_its_status() {
        let upstream = EchoServer {
            address: free_address().unwrap(),
            protocol: Protocol::Session,
        };
        let mut gateway = GatewayProcess::start(Path::new("/bin/false"), upstream).unwrap();
        let target = Target {
            name: "gateway",
            address: gateway.address,
            protocol: upstream.protocol,
            call: CallTemplate::through_gateway(Operation::Read),
        };
        let message = gateway.first_list(&target).await.unwrap_err().to_string();
        assert!(message.contains("exit status: 1"), "{message}");
    }
}
