//! Servers built with official SDKs: `tests/peers/server.mjs` and `tests/peers/server.py`; and one that announces the tool
//! contract by hand, `tests/peers/contract.py`.

use std::process::Command;

use serde_json::{Value, json};

use super::{Peers, VARIABLE, run, script};
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

/// An edition of the service which announces the tool contract by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edition {
    /// What it published first.
    First,
    /// What it made of that, without a thought for those who call it.
    Second,
}

impl Edition {
    fn argument(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Second => "second",
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

    /// The entry of a configuration that starts the service which announces the tool contract by hand: the first edition
    /// of it, or the second one.
    pub fn contract_by_hand(&self, edition: Edition) -> Value {
        json!({
            "command": self.program("python"),
            "args": [script("contract.py"), edition.argument()],
        })
    }

    /// The response to `tools/list` of the service which announces the tool contract by hand.
    pub async fn contract_list(&self, edition: Edition) -> String {
        let mut command = Command::new(self.program("python"));
        command.arg(script("contract.py")).arg(edition.argument());
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        run(command, format!("{request}\n")).await.stdout
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
