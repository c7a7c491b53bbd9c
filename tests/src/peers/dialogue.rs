//! Official clients whose user can be asked.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Peers, Sdk, converse};

/// How a client begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greets {
    /// In the newest way that the SDK knows.
    Newest,
    /// With `initialize`.
    WithInitialize,
}

/// A client of an official SDK, whose user says to be called Ada whatever is asked.
#[derive(Debug, Clone, Copy)]
pub struct Dialogue<'a> {
    /// The peers it is one of.
    pub peers: &'a Peers,
    /// What it is built with.
    pub sdk: Sdk,
    /// How it begins.
    pub greets: Greets,
}

impl Dialogue<'_> {
    /// Performs steps over HTTP; gives one outcome for each.
    pub async fn over_http(self, endpoint: &str, steps: &Value) -> Vec<Value> {
        let mut client = self.client();
        client.args(["--url", endpoint]);
        converse(client, steps).await
    }

    /// Starts a program and performs steps over its standard input and output, on nobody's settings but those of the
    /// given home directory.
    pub async fn over_stdio(self, home: &Path, server: &[&OsStr], steps: &Value) -> Vec<Value> {
        let mut client = self.client();
        client.env("HOME", home).arg("--stdio").args(server);
        converse(client, steps).await
    }

    fn client(self) -> Command {
        let mut client = self.peers.client(self.sdk);
        let knows_newest = matches!(self.sdk, Sdk::Python2 | Sdk::TypeScript2);
        if knows_newest && self.greets == Greets::WithInitialize {
            client.args(["--protocol", "legacy"]);
        }
        let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
        client.arg("--elicit").arg(answer.to_string());
        client
    }
}
