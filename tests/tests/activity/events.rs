//! Events: what happens, as it happens, and nothing missed by who comes back.

use http::{Method, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use mcpproxy_tests::{Client, Fixture, HttpClient, Product, decode, within};
use serde_json::{Value, json};

use crate::PROGRAMS;
use crate::scene::{Scene, key};

#[tokio::test]
async fn events_come_as_things_happen_and_resume_where_a_client_stopped() {
    let scene = Scene::start().await;
    let mut events = Events::open(&scene.product, "/events?server=srv", &[]).await;
    let first = scene.call("write", "create_issue").await;
    let second = scene.call("read", "list_repos").await;
    let third = scene.call("destructive", "delete_repo").await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let event = events.next().await;
        assert_eq!(event.name, "activity", "{event:?}");
        seen.push(event);
    }
    let id = |event: &Event| event.data["id"].as_str().unwrap().to_owned();
    let mut happened = vec![first, second, third];
    happened.sort_unstable();
    let mut told: Vec<String> = seen.iter().map(id).collect();
    told.sort_unstable();
    assert_eq!(told, happened, "each call once");
    for event in &seen {
        let record = scene.product.get(&format!("/activity/{}", id(event))).await;
        assert_eq!(event.data, record, "an event is the record");
    }
    drop(events);

    // From each place on, exactly what came after it; by header, and by address.
    for stopped in 0..2 {
        let place = seen[stopped].id.clone();
        let mut by_header = Events::open(
            &scene.product,
            "/events?server=srv",
            &[("last-event-id", &place)],
        )
        .await;
        let mut by_address = Events::open(
            &scene.product,
            &format!("/events?server=srv&last_event_id={place}"),
            &[],
        )
        .await;
        for expected in &seen[stopped + 1..] {
            for events in [&mut by_header, &mut by_address] {
                let event = events.next().await;
                assert_eq!((&event.id, &event.data), (&expected.id, &expected.data));
            }
        }
    }

    // Filters: only what was asked for, though other things happened before it.
    let start = seen[0].id.clone();
    let mut filtered = Events::open(
        &scene.product,
        "/events?intent_type=destructive",
        &[("last-event-id", &start)],
    )
    .await;
    assert_eq!(id(&filtered.next().await), happened[2]);
}

#[tokio::test]
async fn servers_have_events_of_their_own() {
    let scene = Scene::start().await;
    let mut events = Events::open(&scene.product, "/events", &[]).await;
    let config = json!({ "mcpServers": {} });
    scene.product.home.write_config(&config);
    let event = events.named("server").await;
    assert_eq!(event.data["type"], "server_change", "{event:?}");
    assert_eq!(event.data["server_name"], "srv", "{event:?}");
}

#[tokio::test]
async fn changes_of_tools_have_events_of_their_own() {
    let tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[tool("before")])
        .list_changed()
        .on_call("before", &[tool("before"), tool("after")], true);
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let mut events = Events::open(&product, "/events", &[]).await;
    let intent = json!({ "operation_type": "write" });
    let call = json!({ "name": "srv:before", "args": {}, "intent": intent });
    product.connect().await.call("call_tool_write", &call).await;
    let event = events.named("catalog").await;
    assert_eq!(event.data["type"], "tool_change", "{event:?}");
    assert!(
        event.data["metadata"].to_string().contains("after"),
        "{event:?}"
    );
}

#[tokio::test]
async fn each_change_of_a_managed_server_has_an_event() {
    let tool = r#"{"name":"look","inputSchema":{"type":"object"}}"#;
    let fixture = Fixture::new(PROGRAMS).tools(&[tool]);
    let mut entry = fixture.entry();
    entry["name"] = json!("new");
    let product = Product::start(PROGRAMS, &json!({})).await;
    let mut events = Events::open(&product, "/events?server=new", &[]).await;
    for (method, path, body, expected) in [
        (Method::POST, "/servers", entry.to_string(), "added"),
        (
            Method::PATCH,
            "/servers/new",
            r#"{ "timeout": "45s" }"#.to_owned(),
            "changed",
        ),
        (
            Method::POST,
            "/servers/new/disable",
            String::new(),
            "disabled",
        ),
        (
            Method::POST,
            "/servers/new/enable",
            String::new(),
            "enabled",
        ),
        (
            Method::POST,
            "/servers/new/restart",
            String::new(),
            "restarted",
        ),
        (Method::DELETE, "/servers/new", String::new(), "removed"),
    ] {
        let answer = product.ask(method, path, body).await;
        assert!(answer.status.is_success(), "{path}: {}", answer.body);
        let mut event = events.named("server").await;
        while event.data["metadata"]["event"] != expected {
            event = events.named("server").await;
        }
        assert_eq!(event.data["server_name"], "new", "{event:?}");
    }
}

/// A stream of events.
struct Events {
    response: Response<Incoming>,
    text: String,
}

#[derive(Debug)]
struct Event {
    name: String,
    id: String,
    data: Value,
}

impl Events {
    async fn open(product: &Product, path: &str, headers: &[(&str, &str)]) -> Self {
        let key = key(product);
        let client = HttpClient::without_session(&product.rest(path));
        let headers = [headers, &[("x-api-key", key.as_str())]].concat();
        let response = client.open(Method::GET, &headers, String::new()).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            response,
            text: String::new(),
        }
    }

    /// The next event of that name.
    async fn named(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().await;
            if event.name == name {
                return event;
            }
        }
    }

    /// The next event; places and signs of life are passed over.
    async fn next(&mut self) -> Event {
        within("an event arrives", async {
            loop {
                while let Some(end) = self.text.find("\n\n") {
                    let block: String = self.text.drain(..end + 2).collect();
                    if let Some(event) = read_event(&block) {
                        return event;
                    }
                }
                let frame = self
                    .response
                    .body_mut()
                    .frame()
                    .await
                    .expect("the stream goes on");
                let bytes = frame
                    .expect("the stream is whole")
                    .into_data()
                    .expect("it has no trailers");
                self.text.push_str(
                    std::str::from_utf8(&bytes).expect("events are not cut in a character"),
                );
            }
        })
        .await
    }
}

fn read_event(block: &str) -> Option<Event> {
    let field = |name: &str| {
        let values: Vec<&str> = block
            .lines()
            .filter_map(|line| line.strip_prefix(&format!("{name}: ")))
            .collect();
        assert!(values.len() <= 1, "one {name} in {block}");
        values.first().map(|value| (*value).to_owned())
    };
    let data = field("data")?;
    Some(Event {
        name: field("event").expect("events have a name"),
        id: field("id").expect("events have an id"),
        data: decode(&data),
    })
}
