use mcpproxy_gateway::client::{Client, Declared, Event};
use mcpproxy_wire::revision::Era;

use super::*;

#[tokio::test]
async fn a_client_is_not_asked_without_end() {
    let peer = Arc::new(Peer::new("s", None, CancellationToken::new()));
    let declared = Declared {
        capabilities: Json::of(&json!({ "roots": {} })),
        ..Declared::nothing(Era::Session, "s")
    };
    let (client, mut events) = Client::new(declared);
    let ask = || client.ask(Question::Roots, Json::of(&json!({})));
    let mut open = Vec::new();
    let mut asking = Vec::new();
    for _ in 0..MOST_OPEN {
        // The test takes more turns in a row than a task is given otherwise.
        let mut asked = Box::pin(tokio::task::unconstrained(ask()));
        assert!(futures_util::poll!(&mut asked).is_pending());
        let Event::Ask(question) = events.next().await else {
            panic!("not asked");
        };
        open.push(Asking::begin(&peer, question).expect("there is room").0);
        asking.push(asked);
    }
    let refuse = async {
        let Event::Ask(question) = events.next().await else {
            panic!("not asked");
        };
        assert!(Asking::begin(&peer, question).is_none());
    };
    let (answer, ()) = tokio::join!(ask(), refuse);
    assert_eq!(
        answer.unwrap_err().message,
        "The client is asked 256 other questions already"
    );
    // What was begun gives its place back, even if nobody ever waited for the answer.
    drop(open);
    assert!(peer.asked.lock().waiting.is_empty());
}
