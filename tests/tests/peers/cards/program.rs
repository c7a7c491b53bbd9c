//! The sample service as a program of its own that listens on a free port.

use std::process::Command;

use mcpproxy_tests::Listening;

/// The program.
pub(crate) const CARDS: &str = env!("CARGO_BIN_EXE_cards-under-test");

/// The program over HTTP; killed when dropped.
pub(crate) struct Cards {
    pub(crate) endpoint: String,
    _process: Listening,
}

impl Cards {
    /// Starts it with a new store in memory and waits until it says where it listens.
    pub(crate) async fn start() -> Self {
        let mut command = Command::new(CARDS);
        command
            .args(["--http", "127.0.0.1:0"])
            .env_remove("RUST_LOG");
        let process = Listening::start(command, "address=").await;
        Self {
            endpoint: format!("http://{}/mcp", process.place),
            _process: process,
        }
    }
}
