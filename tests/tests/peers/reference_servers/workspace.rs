//! What the reference servers work on: files, a repository, a graph and a database of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use mcpproxy_tests::peers::Peers;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The file that is there from the start, and what it says.
pub(crate) const FIRST_TEXT: &str = "the first line\n";

/// A folder for one gateway's servers.
#[derive(Debug)]
pub(crate) struct Workspace(TempDir);

impl Workspace {
    /// Files to read, a repository with one commit and one file that is not in it.
    pub(crate) fn new() -> Self {
        let workspace = Self(TempDir::new().expect("a temporary folder can be made"));
        std::fs::create_dir(workspace.files()).expect("a folder can be made");
        write(&workspace.files().join("first.txt"), FIRST_TEXT);
        workspace.git(&["init", "--quiet", &text(&workspace.repository())]);
        write(&workspace.repository().join("known.txt"), "known\n");
        let repository = text(&workspace.repository());
        for arguments in [
            &["config", "user.name", "Somebody"][..],
            &["config", "user.email", "somebody@example.org"],
            &["config", "commit.gpgsign", "false"],
            &["add", "known.txt"],
            &["commit", "--quiet", "--message", "The first commit"],
        ] {
            workspace.git(&[&["-C", &repository], arguments].concat());
        }
        write(&workspace.repository().join("new.txt"), "new\n");
        workspace
    }

    /// The configuration of a gateway in front of all six servers.
    pub(crate) fn config(&self, peers: &Peers) -> Value {
        let server = |name: &str, arguments: &[&str], environment: Value| {
            json!({
                "command": peers.program(&format!("mcp-server-{name}")),
                "args": arguments,
                "env": environment,
                // Interpreters of two languages start at the same time.
                "timeout": "60s",
            })
        };
        let graph = json!({ "MEMORY_FILE_PATH": self.graph() });
        json!({ "mcpServers": {
            "everything": server("everything", &[], json!({})),
            "filesystem": server("filesystem", &[&text(&self.files())], json!({})),
            "memory": server("memory", &[], graph),
            "git": server("git", &["--repository", &text(&self.repository())], json!({})),
            "time": server("time", &["--local-timezone", "Etc/UTC"], json!({})),
            "sqlite": server("sqlite", &["--db-path", &text(&self.database())], json!({})),
        } })
    }

    /// Puts the paths of this workspace into a text.
    pub(crate) fn fill(&self, text: &str) -> String {
        text.replace("{files}", &self::text(&self.files()))
            .replace("{repository}", &self::text(&self.repository()))
    }

    /// The folder of the filesystem server.
    pub(crate) fn files(&self) -> PathBuf {
        self.0.path().join("files")
    }

    /// The file of the memory server.
    pub(crate) fn graph(&self) -> PathBuf {
        self.0.path().join("graph.jsonl")
    }

    /// The last message in the repository of the git server.
    pub(crate) fn last_commit(&self) -> String {
        let repository = text(&self.repository());
        self.git(&["-C", &repository, "log", "-1", "--format=%s"])
    }

    /// The database of the sqlite server.
    pub(crate) fn database(&self) -> PathBuf {
        self.0.path().join("notes.db")
    }

    fn repository(&self) -> PathBuf {
        self.0.path().join("repository")
    }

    /// Runs git on nobody's settings.
    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(arguments)
            .env("HOME", self.0.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git can be started");
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

fn write(path: &Path, content: &str) {
    std::fs::write(path, content).expect("a file can be written");
}

fn text(path: &Path) -> String {
    path.to_str().expect("the path is UTF-8").to_owned()
}
