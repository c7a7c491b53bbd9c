//! Programs that say where they listen.

use std::process::{Command, Stdio};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::Child;
use tokio::sync::mpsc::{self, UnboundedSender};

use crate::within;

/// A running server over HTTP; it ends with this value.
#[derive(Debug)]
pub struct Listening {
    /// Address or URL that it said.
    pub place: String,
    _process: Child,
}

impl Listening {
    /// Starts a program and waits for a word on its output or its log that begins with this text; the place is the
    /// rest of the word.
    pub async fn start(mut command: Command, before: &str) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()
            .expect("the program can be started");
        let (sender, mut words) = mpsc::unbounded_channel();
        let output = process.stdout.take().expect("stdout is piped");
        tokio::spawn(read(output, sender.clone()));
        tokio::spawn(read(
            process.stderr.take().expect("stderr is piped"),
            sender,
        ));
        let place = within("the program says where it listens", async {
            loop {
                let word = words.recv().await.expect("the program goes on");
                if let Some(place) = word.strip_prefix(before) {
                    return place.to_owned();
                }
            }
        });
        Self {
            place: place.await,
            _process: process,
        }
    }
}

/// Reads all words to the end, so that the program never waits for somebody to take what it says.
async fn read(output: impl AsyncRead + Unpin, words: UnboundedSender<String>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        for word in line.split_whitespace() {
            // Nobody listens once the place is known.
            let _ = words.send(word.to_owned());
        }
    }
}
