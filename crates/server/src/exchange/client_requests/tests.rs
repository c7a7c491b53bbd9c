use mcpproxy_gateway::client::{ClientLink, ClientMessage};
use mcpproxy_wire::Protocol;

use super::*;

#[tokio::test]
async fn a_client_has_not_to_answer_without_end() {
    let requests = ClientRequests::new(CancellationToken::new());
    let mut link = ClientLink::new(Protocol::Session, "s");
    link.capabilities = Json::of(&json!({ "roots": {} }));
    let (client, mut messages) = link.open();
    let request = || client.request(ClientRequestKind::Roots, Json::of(&json!({})));
    let mut sent = Vec::new();
    let mut waiting = Vec::new();
    for _ in 0..MOST_OPEN {
        // The test takes more turns in a row than a task is given otherwise.
        let mut response = Box::pin(tokio::task::unconstrained(request()));
        assert!(futures_util::poll!(&mut response).is_pending());
        let ClientMessage::Request(request) = messages.next().await else {
            panic!("no client request");
        };
        sent.push(requests.open(request).expect("there is room").0);
        waiting.push(response);
    }
    let refuse = async {
        let ClientMessage::Request(request) = messages.next().await else {
            panic!("no client request");
        };
        assert!(requests.open(request).is_none());
    };
    let (response, ()) = tokio::join!(request(), refuse);
    assert_eq!(
        response.unwrap_err().message,
        "The client has 256 other requests to answer already"
    );
    // What was sent gives its place back, even if nobody ever waited for the response.
    drop(sent);
    assert!(requests.lock().is_empty());
}
