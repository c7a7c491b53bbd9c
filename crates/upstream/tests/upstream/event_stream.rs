//! Calls over HTTP of before Streamable HTTP.

use std::sync::Arc;

use mcpproxy_policy::Operation;
use mcpproxy_upstream::{
    CallError, HttpSpec, ProtocolSetting, Spec, TransportSpec, Upstream, UpstreamState,
};
use mcpproxy_wire::Revision;
use serde_json::json;

use crate::common::{Fake, call, moment, permit, runtime, spec};
use crate::event_stream_server::SseServer;

struct Web {
    server: Arc<SseServer>,
    fake: Fake,
}

impl Web {
    async fn start(protocol: ProtocolSetting, endpoint: &str) -> Self {
        let server = Arc::new(SseServer::default());
        endpoint.clone_into(&mut server.endpoint.lock().expect("no panics"));
        let url = Arc::clone(&server).start().await;
        let (runtime, memory) = runtime();
        let spec = Spec {
            transport: TransportSpec::Http(HttpSpec {
                url,
                headers: Vec::new(),
            }),
            protocol,
            ..spec("")
        };
        let fake = Fake {
            upstream: Upstream::start(spec, &runtime),
            memory,
        };
        Self { server, fake }
    }
}

#[tokio::test]
async fn a_server_that_answers_on_one_stream_is_found_out_and_called() {
    for protocol in [ProtocolSetting::Legacy, ProtocolSetting::Auto] {
        let web = Web::start(protocol, "").await;
        let arguments = json!({ "a": "ü" });
        let said = web.fake.read("echo", &arguments.to_string()).await;
        assert_eq!(said, Ok(arguments));
        let UpstreamState::Ready { revision, .. } = web.fake.upstream.state() else {
            panic!("it is ready");
        };
        assert_eq!(revision, Some(Revision::V2024_11_05));
    }
}

#[tokio::test]
async fn changes_are_heard_of_on_the_stream() {
    let web = Web::start(ProtocolSetting::Legacy, "").await;
    web.fake.memory.until_ready(1).await;
    web.server.change().await;
    web.fake.memory.until_listings(2).await;
    assert_eq!(
        web.fake.memory.annotations("target").destructive,
        Some(true)
    );
}

#[tokio::test]
async fn a_call_that_is_given_up_is_taken_back() {
    let web = Web::start(ProtocolSetting::Legacy, "").await;
    let permit = permit("fake", "hang", Operation::Read);
    let given_up = call(&web.fake.upstream, &permit, "{}", moment()).await;
    assert!(matches!(
        given_up,
        Err(CallError::Timeout { sent: true, .. })
    ));
    web.server
        .until(|message| message["method"] == "notifications/cancelled")
        .await;
}

#[tokio::test]
async fn the_end_of_the_stream_ends_the_calls_on_it_and_is_followed_by_another() {
    let web = Web::start(ProtocolSetting::Legacy, "").await;
    web.fake.memory.until_ready(1).await;
    let hanging = web.fake.call(Operation::Write, "hang", "{}");
    let ended = async {
        let is_call = |message: &serde_json::Value| message["params"]["name"] == "hang";
        web.server.until(is_call).await;
        web.server.hang_up();
    };
    let (answer, ()) = tokio::join!(hanging, ended);
    assert!(
        matches!(answer, Err(CallError::Disconnected { sent: true, .. })),
        "{answer:?}"
    );
    web.fake.memory.until_ready(2).await;
    assert_eq!(web.fake.read("echo", "{}").await, Ok(json!({})));
}

#[tokio::test]
async fn messages_go_to_no_other_server_than_the_configured_one() {
    for elsewhere in ["http://127.0.0.1:9/messages", "//127.0.0.1:9/messages"] {
        let web = Web::start(ProtocolSetting::Legacy, elsewhere).await;
        let reason = web.fake.memory.failure().await;
        assert!(reason.contains("no MCP endpoint"), "{reason}");
        assert!(web.server.seen.borrow().is_empty());
    }
}
