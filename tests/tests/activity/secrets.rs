//! A secret is nowhere in what is kept and shown of the calls that carried it. The agent's own answers are untouched.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use http::Method;
use mcpproxy_tests::{Client, Fixture, Home, HttpClient, HttpFixture, Product, eventually};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::PROGRAMS;
use crate::traces::Traces;

/// What is no secret, and goes wherever they go.
const HARMLESS: &str = "harmless-companion";

/// Where the harmless word has to turn up, or the search would prove nothing.
const SHOWN: [&str; 8] = [
    "state.db",
    "/activity?",
    "/activity/export?format=jsonl",
    "/activity/export?format=csv",
    "/events",
    "activity list --limit 1000 -o json",
    "activity export --format jsonl",
    "activity export --format csv",
];

const TOOLS: [&str; 6] = [
    r#"{"name":"look","description":"Looks","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"tell","description":"Tells","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"fail","description":"Fails","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"refuse","description":"Refuses","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"put","description":"Puts","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}"#,
    r#"{"name":"few","description":"Takes few","inputSchema":{"type":"object","properties":{"word":{"enum":["one"]},"count":{"type":"integer"}},"additionalProperties":false},"annotations":{"readOnlyHint":true}}"#,
];

#[tokio::test]
async fn known_secrets_are_kept_nowhere() {
    Stage::set("strict", "info").await.check().await;
}

#[tokio::test]
async fn known_secrets_are_kept_nowhere_when_everything_is_logged_and_written_behind() {
    Stage::set("balanced", "trace").await.check().await;
}

/// A gateway whose configuration refers to secrets in every way there is.
struct Stage {
    product: Product,
    shelf: Fixture,
    secrets: Vec<(&'static str, String)>,
    _web: HttpFixture,
}

impl Stage {
    async fn set(durability: &str, logged: &str) -> Self {
        let secrets: Vec<(&str, String)> = ["HEADER", "VARIABLE", "URL", "COMMAND", "FILE", "NEXT"]
            .map(|name| (name, format!("quince-{}", Uuid::new_v4().simple())))
            .into();
        let of = |name: &str| secrets.iter().find(|one| one.0 == name).unwrap().1.clone();
        let said = format!("no {} here", of("VARIABLE"));
        let error = json!({ "code": -32000, "message": said, "data": { "why": said } });
        let own_error = json!({ "content": [{ "type": "text", "text": said }], "isError": true });
        let shelf = Fixture::new(PROGRAMS)
            .tools(&TOOLS)
            .variable("tell", "SHELF")
            .error("fail", &error.to_string())
            .result("refuse", &own_error.to_string())
            .stderr_variable("SHELF");
        let web = HttpFixture::start(&TOOLS[1..2], &[("tell", "x-shelf")]).await;
        let variable = json!({ "SHELF": "${env:LEAK_VARIABLE}" });
        let config = |file: &str| {
            json!({
                "mcpServers": {
                    "shelf": shelf.entry_with(&json!({ "env": variable })),
                    "mute": { "command": "sh", "args": ["-c", "echo no $SHELF >&2"], "env": variable },
                    "web": web.entry(&json!({ "X-Shelf": "Tag ${env:LEAK_HEADER}" })),
                    "lost": { "url": "http://127.0.0.1:9/${env:LEAK_URL}/mcp" },
                    "gone": { "command": "/nowhere/${env:LEAK_COMMAND}", "args": [format!("${{file:{file}}}")] },
                },
                "activity": { "durability": durability },
            })
        };
        let home = Home::new(PROGRAMS, &json!({}));
        let (first, next) = (home.folder().join("first"), home.folder().join("next"));
        std::fs::write(&first, of("FILE")).unwrap();
        std::fs::write(&next, of("NEXT")).unwrap();
        home.write_config(&config(first.to_str().unwrap()));
        let product = Product::start_with(home, &[], |command| {
            command.env("RUST_LOG", logged);
            for (name, secret) in &secrets {
                command.env(format!("LEAK_{name}"), secret);
            }
        })
        .await;
        product.settle().await;
        // What was a secret stays one when the configuration no longer has it.
        product.home.write_config(&config(next.to_str().unwrap()));
        eventually("the configuration is taken", async || {
            let page = product.get("/activity?type=config_change").await;
            page["activities"][0].is_object().then_some(())
        })
        .await;
        let mut secrets = secrets;
        secrets.push(("KEY", product.key()));
        Self {
            product,
            shelf,
            secrets,
            _web: web,
        }
    }

    /// Has every secret carried in every way, and searches for them.
    async fn check(mut self) {
        let client = self.product.connect().await;
        self.servers_tell(&client).await;
        for (_, secret) in &self.secrets {
            carried_by_calls(&client, secret).await;
            carried_by_refusals(&client, secret).await;
            carried_by_anything_else(&self.product, secret).await;
        }
        let fence = look(&client, &json!({ "note": HARMLESS }), HARMLESS).await;
        self.product.record(&fence).await;

        let traces = Traces::of(&self.product, &self.product.key(), &fence).await;
        traces.assert_with(HARMLESS, &SHOWN);
        traces.assert_without(&self.secrets);
        assert_eq!(self.product.stop().await, 0);
        let log = self.product.log();
        let left = Traces::of_home(&self.product.home).await;
        left.assert_with(HARMLESS, &["state.db", "activity list", "activity export"]);
        left.assert_without(&self.secrets);
        for (name, secret) in &self.secrets {
            assert!(
                !log.contains(secret),
                "{name} is in the last lines of the log"
            );
        }
        let seen = self.shelf.ledger().join("\n");
        for (name, secret) in &self.secrets {
            assert!(
                seen.contains(secret),
                "{name} was never carried to the server"
            );
        }
    }

    /// Servers give away what they were given; the agent sees it, as far as it is a result.
    async fn servers_tell(&self, client: &HttpClient) {
        let of = |name: &str| &self.secrets.iter().find(|one| one.0 == name).unwrap().1;
        for (tool, shown) in [
            ("shelf:tell", of("VARIABLE").clone()),
            ("web:tell", format!("Tag {}", of("HEADER"))),
            ("shelf:refuse", format!("no {} here", of("VARIABLE"))),
        ] {
            let result = read(client, tool, &json!({}), HARMLESS).await;
            assert_eq!(result["content"][0]["text"], shown, "{result}");
        }
        let failed = read(client, "shelf:fail", &json!({}), HARMLESS).await;
        let error = &failed["structuredContent"]["error"];
        assert_eq!(error["code"], "UPSTREAM_ERROR", "{failed}");
        assert!(!failed.to_string().contains(of("VARIABLE")), "{failed}");
        for server in ["mute", "lost", "gone"] {
            let failed = read(client, &format!("{server}:tell"), &json!({}), HARMLESS).await;
            let code = &failed["structuredContent"]["error"]["code"];
            assert_eq!(code, "UPSTREAM_UNAVAILABLE", "{failed}");
            for (name, secret) in &self.secrets {
                assert!(!failed.to_string().contains(secret), "{name}: {failed}");
            }
        }
    }
}

/// Calls that are made: arguments of every form, which come back in the result.
async fn carried_by_calls(client: &HttpClient, secret: &str) {
    for arguments in [
        json!({ "note": secret }),
        json!({ secret: HARMLESS }),
        json!({ "list": [[{ "inner": format!("{HARMLESS} {secret}.") }]] }),
        json!({ "body": json!({ "inner": json!([secret]).to_string() }).to_string() }),
        json!({ "link": format!("https://me:{secret}@example.org/?q={secret}#{secret}") }),
        json!({ "long": format!("{}{secret}", "x".repeat(9_000)) }),
    ] {
        look(client, &arguments, secret).await;
    }
    let escaped: Vec<String> = secret
        .bytes()
        .map(|byte| format!("\\u{byte:04x}"))
        .collect();
    let escaped = escaped.concat();
    let intent = format!(r#"{{"operation_type":"write","reason":"{escaped}"}}"#);
    for args in [
        format!(r#""args":{{"note":"{escaped}"}}"#),
        format!(
            r#""args":{{"{escaped}":"{}"}}"#,
            escaped.to_uppercase().replace("\\U", "\\u")
        ),
        format!(
            r#""args_json":{}"#,
            json!(format!(r#"{{"note":"{escaped}"}}"#))
        ),
    ] {
        let arguments = format!(r#"{{"name":"shelf:put",{args},"intent":{intent}}}"#);
        let result = client.call_raw("call_tool_write", &arguments).await;
        assert!(result.contains("put {"), "{result}");
    }
}

/// Calls that are refused, whose refusals repeat what was wrong.
async fn carried_by_refusals(client: &HttpClient, secret: &str) {
    let read = json!({ "operation_type": "read", "reason": secret });
    let named = |name: String| json!({ "name": name, "args": { "note": secret }, "intent": read });
    let look = named("shelf:look".to_owned());
    let with = |field: &str, value: Value| {
        let mut changed = look.clone();
        changed[field] = value;
        changed
    };
    for arguments in [
        named(secret.to_owned()),
        named(format!("shelf:{secret}")),
        named(format!("{secret}:look")),
        named("shelf:put".to_owned()),
        with(
            "intent",
            json!({ "operation_type": "write", "reason": secret }),
        ),
        with("intent", json!({ "operation_type": secret })),
        with(
            "intent",
            json!({ "operation_type": "read", "data_sensitivity": secret }),
        ),
        with(
            "intent",
            json!({ "operation_type": "read", "reason": secret.repeat(100) }),
        ),
        with("intent", json!(secret)),
        with("intent_reason", json!(HARMLESS)),
        with(secret, json!(HARMLESS)),
        with("args", json!(secret)),
        with("args_json", json!(secret)),
        json!({ "name": "shelf:few", "args": { "word": secret, "count": secret }, "intent": read }),
        json!({ "name": "shelf:few", "args": { secret: secret }, "intent": read }),
        json!({ "name": "mute:any", "args": { "note": secret }, "intent": read }),
    ] {
        let result = client.call("call_tool_read", &arguments).await;
        assert_eq!(result["isError"], true, "{arguments}: {result}");
    }
    // What is long is cut where it is repeated, here in the middle of the secret.
    for limit in [100, 200, 300] {
        let long = format!("{}{secret}{}", "-".repeat(limit - 12), "-".repeat(30));
        for arguments in [
            named(long.clone()),
            named(format!("shelf:{}", &long[6..])),
            named(format!("{long}:look")),
            with(&long[1..], json!(HARMLESS)),
            with("intent", json!({ "operation_type": long })),
            with(
                "intent",
                json!({ "operation_type": "read", "data_sensitivity": long }),
            ),
            json!({ "name": "shelf:few", "args": { "word": long, "count": long }, "intent": read }),
            json!({ "name": "shelf:few", "args": { &long: HARMLESS }, "intent": read }),
        ] {
            let result = client.call("call_tool_read", &arguments).await;
            assert_eq!(result["isError"], true, "{arguments}: {result}");
        }
    }
}

/// Searches, names of clients, methods, addresses, headers and commands.
async fn carried_by_anything_else(product: &Product, secret: &str) {
    let mut client = HttpClient::without_session(&product.endpoint());
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": format!("{HARMLESS} {secret}"), "version": secret },
        },
    });
    let answer = client.post(&[], hello.to_string()).await;
    let session = answer.headers["mcp-session-id"].to_str().unwrap();
    client = client.with_session(Some(session));
    for (tool, arguments) in [
        (
            "retrieve_tools",
            json!({ "query": format!("{HARMLESS} {secret}") }),
        ),
        (
            "retrieve_tools",
            json!({ "query": HARMLESS, "server": secret }),
        ),
        (
            "retrieve_tools",
            json!({ "query": HARMLESS, "detail": secret }),
        ),
        (
            "describe_tool",
            json!({ "names": [secret, format!("shelf:{secret}")] }),
        ),
        ("describe_tool", json!({ "names": secret })),
    ] {
        client.call(tool, &arguments).await;
    }
    client
        .request("tools/call", &json!({ "name": secret }))
        .await;
    client.request(secret, &json!({ secret: secret })).await;
    client.post(&[("x-any", secret)], secret.to_owned()).await;
    for path in [
        format!("/activity?text={secret}"),
        format!("/activity?server={secret}"),
        format!("/activity?{secret}=1"),
        format!("/activity/{secret}"),
        format!("/tools?q={secret}"),
        format!("/tools/shelf/{secret}"),
        format!("/{secret}"),
    ] {
        product.ask(Method::GET, &path, String::new()).await;
    }
    let body = json!({
        "variant": "call_tool_write", "name": "shelf:put", "args": { "note": secret },
        "intent": { "operation_type": "write", "reason": secret },
    });
    let answer = product
        .ask(Method::POST, "/tools/call", body.to_string())
        .await;
    assert!(answer.status.is_success(), "{answer:?}");
    let arguments = json!({ "note": secret }).to_string();
    let ran = product
        .run(&[
            "call",
            "tool-read",
            "shelf:look",
            "--args",
            &arguments,
            "--reason",
            secret,
        ])
        .await;
    assert_eq!(ran.stdout, format!("look {arguments}\n"), "{ran:?}");
}

/// Reads from the tool that echoes; the answer is what it says, and the id of the record is given.
async fn look(client: &HttpClient, arguments: &Value, reason: &str) -> String {
    let result = read(client, "shelf:look", arguments, reason).await;
    let expected = json!([{ "type": "text", "text": format!("look {arguments}") }]);
    assert_eq!(
        result["content"], expected,
        "the agent sees what the server sent"
    );
    let id = result["_meta"]["dev.mcpproxy/activity_id"].as_str();
    id.unwrap().to_owned()
}

async fn read(client: &HttpClient, tool: &str, arguments: &Value, reason: &str) -> Value {
    let intent = json!({ "operation_type": "read", "reason": format!("{HARMLESS} {reason}") });
    let call = json!({ "name": tool, "args": arguments, "intent": intent });
    client.call("call_tool_read", &call).await
}
