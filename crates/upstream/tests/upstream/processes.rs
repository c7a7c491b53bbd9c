//! No process outlives its server, and none the gateway.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use mcpproxy_policy::Operation;
use mcpproxy_tests::eventually;
use mcpproxy_upstream::{CallError, UpstreamState};
use serde_json::Value;

use crate::common::{Fake, LONG, PROGRAM, stdio};

#[tokio::test]
async fn a_stopped_server_leaves_nothing_behind() {
    for mode in ["normal", "ignores-the-end"] {
        let fake = Fake::start(mode);
        let pids = started_by(&fake).await;
        fake.upstream.stop(Duration::from_millis(100)).await;
        assert!(
            pids.iter().all(|pid| !is_alive(*pid)),
            "{mode}: gone when stop returns"
        );
    }
}

#[tokio::test]
async fn a_server_that_dies_takes_its_descendants_along() {
    let fake = Fake::start("normal");
    let pids = started_by(&fake).await;
    let died = fake.read("die", "{}").await;
    assert!(matches!(
        died,
        Err(CallError::Disconnected { sent: true, .. })
    ));
    until_gone(&pids).await;
}

#[tokio::test]
async fn dropping_the_last_handle_stops_the_server() {
    let fake = Fake::start("ignores-the-end");
    let pids = started_by(&fake).await;
    let second = fake.upstream.clone();
    drop(fake);
    assert!(pids.iter().all(|pid| is_alive(*pid)), "a handle is left");
    drop(second);
    until_gone(&pids).await;
}

#[tokio::test]
async fn the_end_of_the_runtime_ends_the_server() {
    let pids = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        // The runtime ends here with the server's tasks in it.
        runtime.block_on(async {
            let fake = Fake::start("ignores-the-end");
            let pids = started_by(&fake).await;
            std::mem::forget(fake);
            pids
        })
    });
    until_gone(&pids.join().expect("no panic")).await;
}

#[tokio::test]
async fn without_a_guard_the_process_group_ends() {
    let fake = Fake::with("ignores-the-end", |_, runtime| runtime.guard = None);
    fake.read("echo", "{}").await.expect("it echoes");
    let pid = pid(&fake);
    assert!(is_alive(pid));
    fake.upstream.stop(Duration::ZERO).await;
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn nothing_outlives_a_gateway_that_is_killed() {
    let mut gateway = Command::new(PROGRAM)
        .arg("gateway")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the helper starts");
    let output = gateway.stdout.take().expect("it is piped");
    let line = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map(|_| line)
    });
    let line = tokio::time::timeout(LONG, line)
        .await
        .expect("it speaks")
        .expect("no panic")
        .expect("it is readable");
    let (guard, started) = line.trim().split_once(' ').expect("two parts");
    let mut pids = vec![guard.parse().expect("a process id")];
    pids.extend(numbers(&serde_json::from_str(started).expect("a list")));
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    // `Child::kill` sends SIGKILL.
    gateway.kill().expect("it can be killed");
    gateway.wait().expect("it is dead");
    until_gone(&pids).await;
}

#[test]
fn a_guard_whose_gateway_is_gone_starts_nothing() {
    // Process 1 is alive and not our parent.
    let output = Command::new(PROGRAM)
        .args(["__guard", "1"])
        .output()
        .expect("the helper starts");
    assert_eq!(output.status.code(), Some(127));
    assert!(output.stdout.is_empty());
}

#[test]
fn a_guard_gives_the_code_of_its_server() {
    for (script, code) in [("exit 0", 0), ("exit 5", 5), ("kill -9 $$", 137)] {
        let ended = guard(&["sh", "-c", script], "");
        assert_eq!(ended.status.code(), Some(code), "{script}");
    }
    let missing = guard(&["no-such-program"], "");
    let said = String::from_utf8_lossy(&missing.stderr);
    assert_eq!(
        said,
        "mcpproxy guard: command 'no-such-program' was not found\n"
    );
    assert_eq!(missing.status.code(), Some(127));
}

#[tokio::test]
async fn variables_and_arguments_of_a_server_were_those_of_its_guard_too() {
    let fake = Fake::with("normal", |spec, _| {
        stdio(spec).args.push("--key=topsecret-value".into());
    });
    fake.read("echo", "{}").await.expect("it echoes");
    let guard = pid(&fake);
    let read = |file: &str| std::fs::read(format!("/proc/{guard}/{file}")).expect("it runs");
    assert_eq!(String::from_utf8_lossy(&read("environ")), "");
    let own = std::process::id();
    let arguments = format!("{PROGRAM}\0__guard\0{own}\0");
    assert_eq!(String::from_utf8_lossy(&read("cmdline")), arguments);
}

#[test]
fn a_server_gets_its_variables_and_all_of_its_input() {
    let said = guard(&["sh", "-c", "echo $OWN; cat"], "what the server reads");
    let said = String::from_utf8_lossy(&said.stdout);
    assert_eq!(said, "a value\nwhat the server reads");
}

/// Runs a guard over a command of a server, whose input follows.
fn guard(command: &[&str], input: &str) -> Output {
    let path = std::env::var("PATH").expect("there is a path");
    let variables = [format!("PATH={path}"), "OWN=a value".to_owned()];
    let texts = command.iter().copied();
    let texts = texts.chain(variables.iter().map(String::as_str));
    let texts = texts.collect::<Vec<_>>().join("\0") + "\0";
    let numbers = [texts.len(), command.len() - 1].map(|one| (one as u64).to_le_bytes());
    let mut child = Command::new(PROGRAM)
        .args(["__guard", &std::process::id().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the helper starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let message = [
        numbers.concat().as_slice(),
        texts.as_bytes(),
        input.as_bytes(),
    ]
    .concat();
    stdin.write_all(&message).expect("the guard reads");
    drop(stdin);
    child.wait_with_output().expect("the guard ends")
}

/// Has the server start a child in its own session and a daemon; gives all processes.
async fn started_by(fake: &Fake) -> Vec<i32> {
    let started = fake
        .call(Operation::Write, "spawn", "{}")
        .await
        .expect("it starts them");
    let mut pids = numbers(&started);
    pids.push(pid(fake));
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    pids
}

fn pid(fake: &Fake) -> i32 {
    let UpstreamState::Ready { pid: Some(pid), .. } = fake.upstream.state() else {
        panic!("it is ready");
    };
    i32::try_from(pid).expect("a process id")
}

fn numbers(list: &Value) -> Vec<i32> {
    let list = list.as_array().expect("a list");
    list.iter()
        .map(|pid| {
            pid.as_i64()
                .and_then(|pid| i32::try_from(pid).ok())
                .expect("a process id")
        })
        .collect()
}

async fn until_gone(pids: &[i32]) {
    eventually("all of them end", async || {
        (!pids.iter().any(|pid| is_alive(*pid))).then_some(())
    })
    .await;
}

/// Whether it runs; one that ended and is not yet collected by its parent does not.
fn is_alive(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    !matches!(state, Some('Z' | 'X'))
}
