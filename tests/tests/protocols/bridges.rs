//! Clients and servers of both protocols, in all combinations: whatever a server tells and asks reaches the client behind
//! the request, and what the client says reaches the server.

mod cases;
mod foreign_implementations;
mod scene;
mod suspended_calls;
mod who_asks;

use std::sync::Arc;

use mcpproxy_tests::conversation::Speaks::{self, Session, Stateless};
use tokio::task::LocalSet;

use cases::Case;
use scene::{Bridge, ClientDeadline, SERVERS, Scene, WAYS};

#[tokio::test]
async fn a_client_with_a_session_reaches_a_server_with_sessions() {
    check_all(Session, Session).await;
}

#[tokio::test]
async fn a_client_with_a_session_reaches_a_server_without() {
    check_all(Session, Stateless).await;
}

#[tokio::test]
async fn a_client_without_a_session_reaches_a_server_with_sessions() {
    check_all(Stateless, Session).await;
}

#[tokio::test]
async fn a_client_without_a_session_reaches_a_server_without() {
    check_all(Stateless, Stateless).await;
}

/// Tries every case over all transports, and fails with all that went wrong.
async fn check_all(client: Speaks, server: Speaks) {
    let mut wrong = Vec::new();
    for way in WAYS {
        for server_way in SERVERS {
            let bridge = Bridge {
                client,
                way,
                server,
                server_way,
            };
            wrong.extend(check(bridge, ClientDeadline::Long, &Case::ALL).await);
            wrong.extend(check(bridge, ClientDeadline::Short, &[Case::ElicitationExpired]).await);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn check(bridge: Bridge, deadline: ClientDeadline, cases: &[Case]) -> Vec<String> {
    let scene = Scene::start(bridge, deadline).await;
    let mut wrong = Vec::new();
    let mut client = Arc::new(scene.client("tester").await);
    for case in cases {
        // A task of its own, so that a case that fails does not hide the others.
        let with = Arc::clone(&client);
        let (case, server) = (*case, bridge.server);
        let apart = LocalSet::new();
        let tried = apart.spawn_local(async move { case.run(&with, server).await });
        apart.await;
        if let Err(failed) = tried.await {
            let said = failed.into_panic();
            let said = said.downcast_ref::<String>().cloned().or_else(|| {
                let said = said.downcast_ref::<&str>();
                said.map(|said| (*said).to_owned())
            });
            wrong.push(format!("{bridge}: {case:?}: {}", said.unwrap_or_default()));
            client = Arc::new(scene.client("tester").await);
        }
    }
    wrong
}
