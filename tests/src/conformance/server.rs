//! The server with everything that the suite asks for, as a process over HTTP.

use std::process::Command;

use crate::Listening;

/// A running `conformance-server`; it ends with this value.
#[derive(Debug)]
pub struct Server {
    endpoint: String,
    _process: Listening,
}

impl Server {
    /// Starts the program under a free port; `protocol` is `both`, `session` or `stateless`.
    pub async fn start(program: &str, protocol: &str) -> Self {
        let mut command = Command::new(program);
        command.args(["--http", "127.0.0.1:0", "--protocol", protocol]);
        let process = Listening::start(command, "http://").await;
        Self {
            endpoint: format!("http://{}", process.place),
            _process: process,
        }
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}
