use mcpproxy_gateway::client::ClientRequestKind;
use mcpproxy_wire::initialize::ClientHello;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::exchange::change_feed::ChangeFeed;
use crate::exchange::endpoint::Endpoint;
use crate::exchange::reply::WAITING_MESSAGES;
use crate::exchange::request::{Incoming, decode};
use crate::exchange::test_call::{TestServer, dropped, message, result};

const LIMIT: Duration = Duration::from_mins(5);

/// Client of a session, and what reaches it of one call.
struct SessionScene {
    session: Arc<Session>,
    ended: CancellationToken,
    messages: mpsc::Receiver<Outbound>,
}

impl SessionScene {
    async fn of<F>(work: impl FnOnce(TestServer) -> F) -> Self
    where
        F: Future<Output = Result<String, RpcError>> + Send + 'static,
    {
        let ended = CancellationToken::new();
        let session = Session::new(
            ClientHello::default(),
            (mcpproxy_policy::Rights::default(), None),
            Endpoint::Menu,
            ChangeFeed::silent(),
            ended.clone(),
        );
        let session = Arc::new(session);
        let mut running = TestServer::running(work);
        let CallStep::Message(first) = running.next(true).await else {
            panic!("nothing came before the end");
        };
        let (out, messages) = mpsc::channel(WAITING_MESSAGES);
        let call = SessionCall {
            call: running,
            session: Arc::clone(&session),
            limit: LIMIT,
        };
        tokio::spawn(call.run(first, out));
        Self {
            session,
            ended,
            messages,
        }
    }

    fn respond(&self, response: &Value) {
        let text = response.to_string();
        let Ok(Incoming::Response { id, outcome }) = decode(&text.clone().into()) else {
            panic!("no response: {text}");
        };
        self.session.client_requests.respond(id.as_ref(), outcome);
    }
}

#[tokio::test]
async fn a_call_without_messages_is_done_at_once() {
    let mut running = TestServer::running(|_| async { Ok("{}".to_owned()) });
    let CallStep::Done(result) = running.next(true).await else {
        panic!("there was a word");
    };
    assert_eq!(result.unwrap().into_string(), "{}");
}

#[tokio::test]
async fn notifications_come_before_the_result_in_their_order() {
    let mut scene = SessionScene::of(async |server: TestServer| {
        for number in 0..60 {
            server.notify(number).await;
        }
        Ok("{}".to_owned())
    })
    .await;
    for number in 0..60 {
        let notification = message(&mut scene.messages).await;
        assert_eq!(notification["method"], "notifications/progress");
        assert_eq!(notification["params"]["progress"], number);
    }
    assert_eq!(result(&mut scene.messages).await.unwrap(), "{}");
    assert!(scene.messages.recv().await.is_none());
}

#[tokio::test]
async fn each_response_finds_its_client_request() {
    let mut scene = SessionScene::of(async |server: TestServer| {
        let (first, second) = tokio::join!(
            server.request(ClientRequestKind::Elicitation, "first"),
            server.request(ClientRequestKind::Sampling, "second"),
        );
        Ok(format!("{first} {second}"))
    })
    .await;
    let (one, two) = (
        message(&mut scene.messages).await,
        message(&mut scene.messages).await,
    );
    assert_eq!(one["method"], "elicitation/create");
    assert_eq!(one["params"], json!({ "message": "first" }));
    assert_eq!(two["method"], "sampling/createMessage");
    assert_ne!(one["id"], two["id"]);
    // What answers nothing is ignored, and so is what comes twice.
    scene.respond(&json!({ "jsonrpc": "2.0", "id": 99, "result": {} }));
    scene.respond(
        &json!({ "jsonrpc": "2.0", "id": two["id"], "error": { "code": -1, "message": "no" } }),
    );
    scene.respond(&json!({ "jsonrpc": "2.0", "id": two["id"], "result": {} }));
    scene.respond(&json!({ "jsonrpc": "2.0", "id": one["id"], "result": { "action": "accept" } }));
    let result = result(&mut scene.messages).await.unwrap();
    assert_eq!(result, r#"{"action":"accept"} no"#);
}

#[tokio::test(start_paused = true)]
async fn a_client_request_that_nobody_answers_is_cancelled() {
    let mut scene = SessionScene::of(async |server: TestServer| {
        let user = server.request(ClientRequestKind::Elicitation, "user").await;
        let model = server.request(ClientRequestKind::Sampling, "model").await;
        Ok(format!("{user} {model}"))
    })
    .await;
    for _ in 0..2 {
        let request = message(&mut scene.messages).await;
        let cancelled = message(&mut scene.messages).await;
        assert_eq!(cancelled["method"], "notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], request["id"]);
    }
    let result = result(&mut scene.messages).await.unwrap();
    assert_eq!(
        result,
        r#"{"action":"cancel"} The client did not answer within 300s (setting 'input_timeout')"#
    );
}

#[tokio::test]
async fn a_client_request_that_nobody_needs_any_more_is_cancelled() {
    let mut scene = SessionScene::of(async |server: TestServer| {
        server
            .request_in_vain(ClientRequestKind::Elicitation, "forgotten")
            .await;
        server.notify(1).await;
        Ok("{}".to_owned())
    })
    .await;
    let request = message(&mut scene.messages).await;
    let mut rest = [
        message(&mut scene.messages).await,
        message(&mut scene.messages).await,
    ];
    rest.sort_by_key(|message| message["method"].to_string());
    let [cancelled, notification] = rest;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    assert_eq!(notification["method"], "notifications/progress");
    assert_eq!(result(&mut scene.messages).await.unwrap(), "{}");
}

#[tokio::test]
async fn a_client_request_ends_with_its_session() {
    let mut scene = SessionScene::of(async |server: TestServer| {
        Ok(server.request(ClientRequestKind::Elicitation, "x").await)
    })
    .await;
    message(&mut scene.messages).await;
    scene.ended.cancel();
    let result = result(&mut scene.messages).await.unwrap();
    assert_eq!(result, r#"{"action":"cancel"}"#);
}

#[tokio::test]
async fn a_call_that_nobody_reads_of_is_dropped() {
    let (held, gone) = dropped();
    let mut scene = SessionScene::of(async move |server: TestServer| {
        let answer = server.request(ClientRequestKind::Elicitation, "x").await;
        drop(held);
        Ok(answer)
    })
    .await;
    message(&mut scene.messages).await;
    drop(scene.messages);
    assert!(gone.await.is_err());
}
