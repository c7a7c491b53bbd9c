//! A data directory, and commands on it.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;

use crate::{Programs, StdioClient, eventually, within};

/// A data directory of its own for one test.
#[derive(Debug)]
pub struct Home {
    programs: Programs,
    folder: TempDir,
    data_dir: PathBuf,
}

/// What came of a command.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; -1 if a signal ended it.
    pub code: i32,
    /// What it printed to stdout.
    pub stdout: String,
    /// What it printed to stderr.
    pub stderr: String,
}

impl Home {
    /// A data directory with this configuration.
    pub fn new(programs: Programs, config: &Value) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let data_dir = folder.path().join("data");
        Self::create(programs, folder, data_dir, config)
    }

    /// A data directory with this configuration in an existing folder, such as a small disk; what else the test
    /// writes is elsewhere.
    pub fn new_on(disk: &Path, programs: Programs, config: &Value) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        Self::create(programs, folder, disk.join("data"), config)
    }

    fn create(programs: Programs, folder: TempDir, data_dir: PathBuf, config: &Value) -> Self {
        let home = Self {
            programs,
            folder,
            data_dir,
        };
        let mut folder = std::fs::DirBuilder::new();
        let made = folder.mode(0o700).create(&home.data_dir);
        made.expect("the data directory can be made");
        home.write_config(config);
        home
    }

    /// Replaces the configuration, at once as editors do. Search goes by words alone where it does not say otherwise:
    /// the vectors of tools would cost every test half a second, and have scores change when they are there.
    pub fn write_config(&self, config: &Value) {
        let mut config = config.clone();
        if let Some(config) = config.as_object_mut() {
            let discovery = config.entry("discovery").or_insert_with(|| json!({}));
            if let Some(discovery) = discovery.as_object_mut() {
                discovery.entry("semantic").or_insert(json!(false));
            }
        }
        self.write_config_text(&config.to_string());
    }

    /// Replaces the configuration by any text.
    pub fn write_config_text(&self, text: &str) {
        // Beside the data directory: it can only be moved within its file system.
        let draft = self.data_dir.with_file_name("draft.json");
        std::fs::write(&draft, text).expect("the configuration can be written");
        std::fs::rename(&draft, self.config_file()).expect("the configuration can be replaced");
    }

    /// The data directory.
    pub fn data_dir(&self) -> PathBuf {
        self.data_dir.clone()
    }

    /// The configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.data_dir().join("mcp_config.json")
    }

    /// A folder for files of the test and for the log of the gateway.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The product, to be run on this data directory and nobody's settings.
    pub fn command(&self) -> Command {
        let mut command = self.bare_command();
        command.arg("--data-dir").arg(self.data_dir());
        command
    }

    /// The product, to be run on nobody's settings; the test says on which data directory.
    pub fn bare_command(&self) -> Command {
        let mut command = Command::new(self.programs.mcpproxy);
        for (name, _) in std::env::vars_os() {
            let is_ours = name.to_string_lossy().starts_with("MCPPROXY_");
            if is_ours || name == "RUST_LOG" {
                command.env_remove(name);
            }
        }
        command.env("HOME", self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub async fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with_input(arguments, "").await
    }

    /// Runs a command that is given something on standard input.
    pub async fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = self.command();
        command.args(arguments);
        finish(command, input).await
    }

    /// What the gateway has learned of the protocols that its servers speak, as soon as it has.
    pub async fn learned_protocols(&self) -> String {
        eventually("what servers speak is kept", async || {
            std::fs::read_to_string(self.data_dir.join("protocols.json")).ok()
        })
        .await
    }

    /// Connects a client to `mcpproxy stdio` on this data directory.
    pub async fn stdio(&self) -> StdioClient {
        let mut command = self.command();
        command.arg("stdio");
        StdioClient::start(command).await
    }
}

impl Ran {
    /// Runs any command to its end.
    pub async fn of(command: Command) -> Self {
        finish(command, "").await
    }

    /// The JSON on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not JSON ({error}): {self:?}"))
    }

    /// The error object on stderr, as `-o json` prints it.
    #[track_caller]
    pub fn error(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stderr)
            .unwrap_or_else(|error| panic!("stderr is not JSON ({error}): {self:?}"));
        value["error"].clone()
    }
}

async fn finish(mut command: Command, input: &str) -> Ran {
    let what = format!("{command:?} ends");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = tokio::process::Command::from(command)
        .kill_on_drop(true)
        .spawn()
        .expect("the program can be started");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let output = within(&what, async {
        // A program that does not read its input closes the pipe; that is no fault.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        child.wait_with_output().await
    })
    .await
    .expect("the program can be waited for");
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
