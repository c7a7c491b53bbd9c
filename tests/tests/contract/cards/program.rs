//! The sample service as a program of its own that listens on a free port.

use std::process::Stdio;

use mcpproxy_tests::within;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// The program.
pub(crate) const CARDS: &str = env!("CARGO_BIN_EXE_cards-under-test");

/// The program over HTTP; killed when dropped.
pub(crate) struct Cards {
    pub(crate) endpoint: String,
    _process: Child,
}

impl Cards {
    /// Starts it with a new store in memory and waits until it says where it listens.
    pub(crate) async fn start() -> Self {
        let mut process = Command::new(CARDS)
            .args(["--http", "127.0.0.1:0"])
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program can be started");
        let mut told = BufReader::new(process.stderr.take().expect("stderr is piped")).lines();
        let address = within("the program says where it listens", async {
            loop {
                let line = told.next_line().await.expect("stderr is text");
                let line = line.expect("the program goes on");
                let mut words = line.split_whitespace();
                if let Some(address) = words.find_map(|word| word.strip_prefix("address=")) {
                    return address.to_owned();
                }
            }
        })
        .await;
        // Read on, so that it never waits for somebody to take what it tells.
        tokio::spawn(async move { while let Ok(Some(_)) = told.next_line().await {} });
        Self {
            endpoint: format!("http://{address}/mcp"),
            _process: process,
        }
    }
}
