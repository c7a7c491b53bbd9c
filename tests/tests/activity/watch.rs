//! `mcpproxy activity watch`: records as they come, through broken connections.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use mcpproxy_tests::{Home, decode, within};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::{UnixListener, UnixStream};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::sync::watch;

use crate::PROGRAMS;
use crate::scene::Scene;

#[tokio::test]
async fn watch_shows_records_as_they_come_and_ends_when_interrupted() {
    let scene = Scene::start().await;
    let mut watch = Watch::start(
        &scene.product.home,
        &["--intent-type", "destructive", "-o", "json"],
    )
    .await;
    scene.call("read", "list_repos").await;
    let destroyed = scene.call("destructive", "delete_repo").await;
    let record = decode(&watch.line().await);
    assert_eq!(record["id"], destroyed);
    assert_eq!(
        record,
        scene.product.get(&format!("/activity/{destroyed}")).await
    );
    let mut people = Watch::start(&scene.product.home, &[]).await;
    let written = scene.call("write", "create_issue").await;
    let line = people.line().await;
    assert!(
        line.contains("success  write  srv:create_issue") && line.ends_with(&written),
        "{line}"
    );
    assert_eq!(watch.interrupt().await, Some(0));
    assert_eq!(people.interrupt().await, Some(0));
    let home = Home::new(PROGRAMS, &json!({}));
    let alone = home.run(&["activity", "watch"]).await;
    assert_eq!((alone.code, alone.stdout.as_str()), (3, ""), "{alone:?}");
}

#[tokio::test]
async fn watch_misses_nothing_when_its_connection_breaks() {
    let scene = Scene::start().await;
    let line = Line::between(&scene.product.home);
    let mut watch = Watch::start(&scene.product.home, &["--server", "srv", "-o", "json"]).await;
    let before = scene.call("write", "create_issue").await;
    assert_eq!(decode(&watch.line().await)["id"], before);
    line.cut();
    let meanwhile = [
        scene.call("write", "create_issue").await,
        scene.call("destructive", "delete_repo").await,
    ];
    line.mend();
    let after = scene.call("write", "create_issue").await;
    for expected in [&meanwhile[0], &meanwhile[1], &after] {
        assert_eq!(decode(&watch.line().await)["id"], *expected);
    }
    assert_eq!(watch.interrupt().await, Some(0));
}

/// A running `activity watch`.
struct Watch {
    process: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    _stderr: Lines<BufReader<ChildStderr>>,
}

impl Watch {
    /// Starts it and waits until it watches.
    async fn start(home: &Home, flags: &[&str]) -> Self {
        let mut command = home.command();
        command
            .args(["activity", "watch"])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()
            .expect("the program can be started");
        let stdout = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let mut stderr = BufReader::new(process.stderr.take().expect("it is piped")).lines();
        let said = within("it watches", stderr.next_line())
            .await
            .expect("stderr is text");
        assert_eq!(said.as_deref(), Some("watching; Ctrl-C ends it"));
        Self {
            process,
            stdout,
            _stderr: stderr,
        }
    }

    async fn line(&mut self) -> String {
        let line = within("a record is shown", self.stdout.next_line()).await;
        line.expect("stdout is text").expect("it goes on watching")
    }

    /// Presses Ctrl-C; the exit code.
    async fn interrupt(mut self) -> Option<i32> {
        let pid = self.process.id().expect("it runs").to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &pid])
                .status()
                .expect("there is a kill")
                .success()
        );
        within("it ends", self.process.wait())
            .await
            .expect("it can be waited for")
            .code()
    }
}

/// Stands between commands and the socket of the gateway, and can be cut.
struct Line(watch::Sender<bool>);

impl Line {
    fn between(home: &Home) -> Self {
        let socket = home.data_dir().join("mcpproxy.sock");
        let real = home.data_dir().join("real.sock");
        std::fs::rename(&socket, &real).expect("the socket is there");
        let (whole, state) = watch::channel(true);
        let listener = UnixListener::bind(&socket).expect("the name is free");
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, real.clone(), state.clone()));
            }
        });
        Self(whole)
    }

    fn cut(&self) {
        self.0.send_replace(false);
    }

    fn mend(&self) {
        self.0.send_replace(true);
    }
}

/// Passes everything on for as long as the line is whole.
async fn pass(mut client: UnixStream, real: PathBuf, mut state: watch::Receiver<bool>) {
    let Ok(mut gateway) = UnixStream::connect(&real).await else {
        return;
    };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut gateway) => {}
        _ = state.wait_for(|whole| !whole) => {}
    }
}
