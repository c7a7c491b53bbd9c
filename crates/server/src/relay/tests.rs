use mcpproxy_gateway::client::ClientRequestKind;
use mcpproxy_wire::Message;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::rehearsal::{Server, answer, dropped, message};

const LIMIT: Duration = Duration::from_mins(5);

/// The client of a session, and what it hears of one call.
struct Scene {
    peer: Arc<Peer>,
    ended: CancellationToken,
    told: mpsc::Receiver<Told>,
}

impl Scene {
    async fn of<F>(work: impl FnOnce(Server) -> F) -> Self
    where
        F: Future<Output = Result<String, RpcError>> + Send + 'static,
    {
        let ended = CancellationToken::new();
        let peer = Arc::new(Peer::new("s", None, ended.clone()));
        let mut running = Server::running(work);
        let Step::Event(first) = running.next(true).await else {
            panic!("nothing came before the end");
        };
        let (out, told) = mpsc::channel(WAITING_MESSAGES);
        let conversation = Conversation {
            running,
            peer: Arc::clone(&peer),
            limit: LIMIT,
        };
        tokio::spawn(conversation.hold(first, out));
        Self { peer, ended, told }
    }

    fn answer(&self, response: &Value) {
        let text = response.to_string();
        let Ok(Message::Response { id, outcome }) = Message::parse(text.as_bytes()) else {
            panic!("no response: {text}");
        };
        self.peer.asked.answer(id, outcome);
    }
}

#[tokio::test]
async fn a_call_without_a_word_is_done_at_once() {
    let mut running = Server::running(|_| async { Ok("{}".to_owned()) });
    let Step::Done(result) = running.next(true).await else {
        panic!("there was a word");
    };
    assert_eq!(result.unwrap(), "{}");
}

#[tokio::test]
async fn what_is_told_comes_before_the_answer_in_its_order() {
    let mut scene = Scene::of(async |server: Server| {
        for number in 0..60 {
            server.tell(number).await;
        }
        Ok("{}".to_owned())
    })
    .await;
    for number in 0..60 {
        let told = message(&mut scene.told).await;
        assert_eq!(told["method"], "notifications/progress");
        assert_eq!(told["params"]["progress"], number);
    }
    assert_eq!(answer(&mut scene.told).await.unwrap(), "{}");
    assert!(scene.told.recv().await.is_none());
}

#[tokio::test]
async fn each_answer_finds_its_question() {
    let mut scene = Scene::of(async |server: Server| {
        let (first, second) = tokio::join!(
            server.ask(ClientRequestKind::Elicitation, "first"),
            server.ask(ClientRequestKind::Sampling, "second"),
        );
        Ok(format!("{first} {second}"))
    })
    .await;
    let (one, two) = (
        message(&mut scene.told).await,
        message(&mut scene.told).await,
    );
    assert_eq!(one["method"], "elicitation/create");
    assert_eq!(one["params"], json!({ "message": "first" }));
    assert_eq!(two["method"], "sampling/createMessage");
    assert_ne!(one["id"], two["id"]);
    // What answers nothing is ignored, and so is what comes twice.
    scene.answer(&json!({ "jsonrpc": "2.0", "id": 99, "result": {} }));
    scene.answer(
        &json!({ "jsonrpc": "2.0", "id": two["id"], "error": { "code": -1, "message": "no" } }),
    );
    scene.answer(&json!({ "jsonrpc": "2.0", "id": two["id"], "result": {} }));
    scene.answer(&json!({ "jsonrpc": "2.0", "id": one["id"], "result": { "action": "accept" } }));
    let result = answer(&mut scene.told).await.unwrap();
    assert_eq!(result, r#"{"action":"accept"} no"#);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_is_called_off() {
    let mut scene = Scene::of(async |server: Server| {
        let user = server.ask(ClientRequestKind::Elicitation, "user").await;
        let model = server.ask(ClientRequestKind::Sampling, "model").await;
        Ok(format!("{user} {model}"))
    })
    .await;
    for _ in 0..2 {
        let asked = message(&mut scene.told).await;
        let cancelled = message(&mut scene.told).await;
        assert_eq!(cancelled["method"], "notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    }
    let result = answer(&mut scene.told).await.unwrap();
    assert_eq!(
        result,
        r#"{"action":"cancel"} The client did not answer within 300s (setting 'input_timeout')"#
    );
}

#[tokio::test]
async fn a_question_that_nobody_needs_any_more_is_called_off() {
    let mut scene = Scene::of(async |server: Server| {
        server
            .ask_in_vain(ClientRequestKind::Elicitation, "forgotten")
            .await;
        server.tell(1).await;
        Ok("{}".to_owned())
    })
    .await;
    let asked = message(&mut scene.told).await;
    let mut rest = [
        message(&mut scene.told).await,
        message(&mut scene.told).await,
    ];
    rest.sort_by_key(|message| message["method"].to_string());
    let [cancelled, told] = rest;
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    assert_eq!(told["method"], "notifications/progress");
    assert_eq!(answer(&mut scene.told).await.unwrap(), "{}");
}

#[tokio::test]
async fn a_question_ends_with_its_session() {
    let mut scene =
        Scene::of(async |server: Server| Ok(server.ask(ClientRequestKind::Elicitation, "x").await))
            .await;
    message(&mut scene.told).await;
    scene.ended.cancel();
    let result = answer(&mut scene.told).await.unwrap();
    assert_eq!(result, r#"{"action":"cancel"}"#);
}

#[tokio::test]
async fn work_that_nobody_hears_of_is_dropped() {
    let (held, gone) = dropped();
    let mut scene = Scene::of(async move |server: Server| {
        let answer = server.ask(ClientRequestKind::Elicitation, "x").await;
        drop(held);
        Ok(answer)
    })
    .await;
    message(&mut scene.told).await;
    drop(scene.told);
    assert!(gone.await.is_err());
}
