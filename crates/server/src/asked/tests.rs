use mcpproxy_gateway::client::{ClientLink, ClientMessage};
use mcpproxy_wire::Protocol;

use super::*;

#[tokio::test]
async fn a_client_is_not_asked_without_end() {
    let peer = Arc::new(Peer::new("s", None, CancellationToken::new()));
    let mut link = ClientLink::new(Protocol::Session, "s");
    link.capabilities = Json::of(&json!({ "roots": {} }));
    let (client, mut events) = link.open();
    let ask = || client.request(ClientRequestKind::Roots, Json::of(&json!({})));
    let mut open = Vec::new();
    let mut asking = Vec::new();
    for _ in 0..MOST_OPEN {
        // The test takes more turns in a row than a task is given otherwise.
        let mut asked = Box::pin(tokio::task::unconstrained(ask()));
        assert!(futures_util::poll!(&mut asked).is_pending());
        let ClientMessage::Request(question) = events.next().await else {
            panic!("not asked");
        };
        open.push(Asking::begin(&peer, question).expect("there is room").0);
        asking.push(asked);
    }
    let refuse = async {
        let ClientMessage::Request(question) = events.next().await else {
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
