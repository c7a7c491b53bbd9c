//! Servers built with official SDKs: `tests/peers/server.mjs` and `tests/peers/server.py`.

use std::process::Command;

use serde_json::{Value, json};

use super::{Peers, VARIABLE, script};
use crate::Listening;

/// What a server is built with: the newest major of an official SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltWith {
    /// Python.
    Python,
    /// TypeScript.
    TypeScript,
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

    /// Starts a server over HTTP; its place is what follows `http://` in its URL.
    pub async fn server_over_http(&self, built_with: BuiltWith) -> Listening {
        let (launcher, name) = built_with.program();
        let mut command = Command::new(self.program(launcher));
        command
            .arg(script(name))
            .arg("http")
            .env(VARIABLE, &self.folder);
        Listening::start(command, "http://").await
    }
}
