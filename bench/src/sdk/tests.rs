//! The SDK's echo upstream over a real socket, through the generator's own client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::call::{CallTemplate, Operation, decode};
use crate::client::{Connection, Target};
use crate::protocol::Protocol;
use crate::section::Section;
use crate::upstream::Upstream;

/// Far beyond any answer on loopback; it only keeps a broken server from hanging the tests.
const DEADLINE: Duration = Duration::from_secs(10);

fn server(section: Section) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    section
        .upstream
        .start(section.protocol, listener, 2)
        .unwrap()
}

fn sdk(protocol: Protocol) -> Section {
    Section {
        upstream: Upstream::Sdk,
        protocol,
    }
}

async fn open(address: SocketAddr, protocol: Protocol, call: CallTemplate) -> Connection {
    let target = Target {
        name: "sdk",
        address,
        protocol,
        call,
    };
    within(Connection::open(Arc::new(target), 0)).await.unwrap()
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, work)
        .await
        .expect("an answer within the deadline")
}

/// Opens a session as a client that names `host`; the whole answer, head included.
fn initialize(address: SocketAddr, host: &str) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": Protocol::Session.revision(), "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"}}})
    .to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    // HTTP/1.0 keeps the answer free of chunks and makes its end the end of the connection.
    write!(
        stream,
        "POST /mcp HTTP/1.0\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn initialize_opens_a_session_in_an_event_stream_and_declares_list_changed() {
    let answer = initialize(server(sdk(Protocol::Session)), "localhost");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let head = head.to_ascii_lowercase();
    assert!(head.contains("\r\nmcp-session-id: "), "{head}");
    assert!(
        head.contains("\r\ncontent-type: text/event-stream"),
        "{head}"
    );
    let result = &decode(body.as_bytes(), true, 1).unwrap()["result"];
    assert_eq!(result["protocolVersion"], Protocol::Session.revision());
    assert_eq!(
        result["capabilities"],
        json!({"tools": {"listChanged": true}})
    );
}

#[test]
fn only_loopback_names_are_hosts() {
    let address = server(sdk(Protocol::Session));
    let status = |host: &str| {
        let answer = initialize(address, host);
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status(&address.to_string()), "200");
    assert_eq!(status("server.example"), "403");
}

#[tokio::test]
async fn both_upstreams_offer_the_same_tools_in_both_eras() {
    let mut lists = Vec::new();
    for protocol in [Protocol::Session, Protocol::Stateless] {
        for upstream in [Upstream::Bare, Upstream::Sdk] {
            let address = server(Section { upstream, protocol });
            let call = CallTemplate::direct(Operation::Read);
            let mut connection = open(address, protocol, call).await;
            lists.push(within(connection.list_tools()).await.unwrap());
        }
    }
    assert_eq!(lists[0].len(), 2);
    for list in &lists[1..] {
        assert_eq!(list, &lists[0]);
    }
}

#[tokio::test]
async fn calls_of_both_operations_answer_with_their_text() {
    for protocol in [Protocol::Session, Protocol::Stateless] {
        let address = server(sdk(protocol));
        for operation in [Operation::Read, Operation::Write] {
            let mut connection = open(address, protocol, CallTemplate::direct(operation)).await;
            // The second check is the one of the measured loop; the third shows that the connection goes on after it.
            within(connection.call_checked()).await.unwrap();
            within(connection.call()).await.unwrap();
            within(connection.call_checked()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_answered_says_so() {
    let address = server(sdk(Protocol::Session));
    let mut connection = open(address, Protocol::Session, CallTemplate::tool("missing")).await;
    for error in [
        within(connection.call()).await.unwrap_err(),
        within(connection.call_checked()).await.unwrap_err(),
    ] {
        let message = format!("{error:#}");
        assert!(message.contains("Unknown tool: missing"), "{message}");
    }
}
