//! `mcpproxy upstream logs`.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};

use mcpproxy_tests::within;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::managed::home;

#[tokio::test]
async fn what_a_server_wrote_is_shown_without_a_gateway_and_escaped() {
    let home = home();
    let logs = home.data_dir().join("logs");
    std::fs::create_dir(&logs).expect("the folder can be made");
    std::fs::write(logs.join("off.log.1"), "one\ntwo\n").expect("the log can be written");
    std::fs::write(logs.join("off.log"), "three\n\u{1b}[31mfour\nunfinished")
        .expect("the log can be written");
    let ran = home.run(&["upstream", "logs", "off", "-n", "3"]).await;
    assert_eq!(
        (ran.code, &*ran.stdout),
        (0, "two\nthree\n\\u001b[31mfour\n")
    );
    let shown = home
        .run(&["upstream", "logs", "off", "-n", "1", "-o", "json"])
        .await
        .json();
    assert_eq!(shown["lines"], json!(["\u{1b}[31mfour"]));
    // A server that is not configured any more left its log.
    home.write_config_text("{}");
    assert_eq!(
        home.run(&["upstream", "logs", "off", "-n", "1"]).await.code,
        0
    );
}

#[tokio::test]
async fn what_a_server_writes_is_followed_into_the_next_file() {
    let home = home();
    let logs = home.data_dir().join("logs");
    std::fs::create_dir(&logs).expect("the folder can be made");
    let log = logs.join("off.log");
    std::fs::write(&log, "one\n").expect("the log can be written");
    let mut command = home.command();
    command
        .args(["upstream", "logs", "off", "-f"])
        .stdout(Stdio::piped());
    let command = tokio::process::Command::from(command)
        .kill_on_drop(true)
        .spawn();
    let mut following = command.expect("the command can be started");
    let stdout = following.stdout.take().expect("stdout is piped");
    let mut lines = BufReader::new(stdout).lines();
    let mut next = async || {
        let line = within("a line is shown", lines.next_line()).await;
        line.expect("the lines can be read").unwrap_or_default()
    };
    assert_eq!(next().await, "one");
    let mut end = OpenOptions::new()
        .append(true)
        .open(&log)
        .expect("it is there");
    end.write_all(b"two\n").expect("the log can be written");
    std::fs::rename(&log, logs.join("off.log.1")).expect("it can be moved");
    std::fs::write(&log, "three\n").expect("the log can be written");
    assert_eq!(next().await, "two");
    assert_eq!(next().await, "three");
    let pid = following.id().expect("it was not waited for").to_string();
    let asked = Command::new("kill").args(["-INT", &pid]).status();
    assert!(asked.is_ok_and(|status| status.success()));
    let ended = within("the command ends", following.wait()).await;
    assert_eq!(ended.expect("it can be waited for").code(), Some(0));
}
