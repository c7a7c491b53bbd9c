//! The server that the fuzz target `server_output` plays: it is heard and answered, so that the target tests
//! something.

#[expect(unreachable_pub, reason = "another crate uses it, the fuzz targets")]
#[path = "../../../../fuzz/src/server.rs"]
mod server;

use server::{FuzzedOutcome, FuzzedTransport, take_in};

/// Says all that a server can say, and is answered.
async fn check(transport: FuzzedTransport, before: &str, after: &str) {
    let messages = [
        r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"b","method":"elicitation/create","params":{"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","id":"c","method":"sampling/createMessage","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":2}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    ];
    let text: String = messages
        .iter()
        .map(|message| [before, message, after].concat())
        .collect();
    let FuzzedOutcome {
        sent,
        notifications,
        response,
    } = take_in(text.as_bytes(), transport, 7).await;
    for id in ["a", "b", "c"] {
        let id = format!(r#""id":"{id}""#);
        assert!(sent.iter().any(|message| message.contains(&id)), "{sent:?}");
    }
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert_eq!(notifications.len(), 1, "{notifications:?}");
    assert_eq!(response, Some(Ok("{}".to_owned())));
}

#[tokio::test]
async fn whichever_way_a_server_speaks_it_is_heard_and_answered() {
    check(FuzzedTransport::Lines, "", "\n").await;
    check(FuzzedTransport::OwnStream, "data: ", "\n\n").await;
    check(FuzzedTransport::SharedStream, "data: ", "\n\n").await;
}
