//! What a program writes, sorted by who waits for it.

use std::collections::VecDeque;
use std::process::Command;

use serde_json::Value;
use tokio::sync::Mutex;

use crate::{StdioClient, decode};

/// The messages of one program.
#[derive(Debug)]
pub(super) struct Inbox {
    client: StdioClient,
    /// What has come and nobody has waited for yet.
    kept: Mutex<VecDeque<Value>>,
}

impl Inbox {
    pub(super) fn new(client: StdioClient) -> Self {
        Self {
            client,
            kept: Mutex::default(),
        }
    }

    pub(super) async fn send(&self, message: &Value) {
        self.client.send_line(&message.to_string()).await;
    }

    pub(super) async fn terminate(self) {
        let asked = Command::new("kill")
            .args(["-TERM", &self.client.pid().to_string()])
            .status();
        assert!(
            asked.is_ok_and(|status| status.success()),
            "the program can be asked to end"
        );
        self.client.finish().await;
    }

    /// The first message that is wanted; the others are kept.
    pub(super) async fn next(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let mut kept = self.kept.lock().await;
        let known = kept.iter().position(&is_wanted);
        if let Some(message) = known.and_then(|place| kept.remove(place)) {
            return message;
        }
        loop {
            let message = decode(&self.client.read_line().await);
            if is_wanted(&message) {
                return message;
            }
            kept.push_back(message);
        }
    }
}
