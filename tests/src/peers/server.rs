//! Servers built with official SDKs: `tests/peers/server.mjs` and `tests/peers/server.py`.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use super::{Peers, VARIABLE, script};
use crate::within;

/// What a server is built with: the newest major of an official SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltWith {
    /// Python.
    Python,
    /// TypeScript.
    TypeScript,
}

/// A server that runs over HTTP; it ends with this value.
#[derive(Debug)]
pub struct PeerServer {
    endpoint: String,
    _process: Child,
}

impl BuiltWith {
    /// The launcher and the script that it runs.
    fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Python => ("python", "server.py"),
            Self::TypeScript => ("node", "server.mjs"),
        }
    }
}

impl Peers {
    /// The entry of a configuration that lets the gateway start a server and speak over stdio.
    pub fn server_over_stdio(&self, built_with: BuiltWith) -> Value {
        let (launcher, name) = built_with.program();
        json!({
            "command": self.program(launcher),
            "args": [script(name), "stdio"],
            "env": { VARIABLE: self.folder },
        })
    }

    /// Starts a server over HTTP.
    pub async fn server_over_http(&self, built_with: BuiltWith) -> PeerServer {
        let (launcher, name) = built_with.program();
        let mut command = Command::new(self.program(launcher));
        command
            .arg(script(name))
            .arg("http")
            .env(VARIABLE, &self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut process = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()
            .expect("the server can be started");
        let output = process.stdout.take().expect("stdout is piped");
        let mut lines = BufReader::new(output).lines();
        let line = within("the server says where it listens", lines.next_line()).await;
        let endpoint = line.expect("its output can be read").unwrap_or_default();
        assert!(endpoint.starts_with("http://"), "it said '{endpoint}'");
        PeerServer {
            endpoint,
            _process: process,
        }
    }
}

impl PeerServer {
    /// Where it listens.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}
