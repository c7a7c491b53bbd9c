//! The server with everything that the suite asks for, as a process over HTTP.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::within;

/// A running `conformance-server`; it ends with this value.
#[derive(Debug)]
pub struct Server {
    endpoint: String,
    _process: Child,
}

impl Server {
    /// Starts the program under a free port; `era` is `both`, `session` or `stateless`.
    pub async fn start(program: &str, era: &str) -> Self {
        let mut process = Command::new(program)
            .args(["--http", "127.0.0.1:0", "--era", era])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the server can be started");
        let output = process.stdout.take().expect("stdout is piped");
        let mut lines = BufReader::new(output).lines();
        let line = within("the server says where it listens", lines.next_line()).await;
        let line = line.expect("its output can be read").unwrap_or_default();
        let endpoint = line
            .strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("the server said '{line}'"));
        Self {
            endpoint: endpoint.to_owned(),
            _process: process,
        }
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}
