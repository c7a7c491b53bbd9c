//! Secrets that no configuration names: credentials by their looks, parameters that a tool calls secret, what a cut
//! goes through, and the gateway's own.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use http::Method;
use mcpproxy_tests::{Client, Fixture, Home, HttpClient, HttpFixture, Product, decode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::PROGRAMS;
use crate::traces::Traces;

const LOOK: &str = r#"{"name":"look","description":"Looks","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

/// Signs in with fields that are secret in every way a schema can say so, and gives a session back that is one too.
const SIGN_IN: &str = r##"{
    "name": "sign_in", "description": "Signs in",
    "inputSchema": {
        "type": "object",
        "properties": {
            "user": { "type": "string" },
            "phrase": { "type": "string", "format": "password", "maxLength": 60 },
            "pin": { "type": "string", "writeOnly": true, "pattern": "^[a-z0-9]*$" },
            "code": { "type": "string", "writeOnly": true },
            "number": { "type": "integer", "writeOnly": true, "maximum": 99999999999 },
            "more": { "type": "array", "items": { "$ref": "#/$defs/hidden" } }
        },
        "$defs": { "hidden": { "type": "object", "properties": { "word": { "type": "string", "writeOnly": true } } } }
    },
    "outputSchema": {
        "type": "object",
        "properties": { "session": { "type": "string", "format": "password" }, "user": { "type": "string" } }
    },
    "annotations": { "readOnlyHint": false }
}"##;

#[tokio::test]
async fn credentials_are_known_by_their_looks() {
    let stage = Stage::start(Fixture::new(PROGRAMS), &json!({})).await;
    let credentials = credentials();
    for (name, text, secret) in &credentials {
        assert!(text.contains(secret.as_str()), "{name}");
        stage.look(&json!({ "note": text }), text).await;
        stage
            .look(&json!({ "mail": format!("Hello, {text}\nBye") }), text)
            .await;
        stage
            .look(
                &json!({ "body": json!({ "inner": text }).to_string() }),
                text,
            )
            .await;
        let query = json!({ "query": text });
        stage.client.call("retrieve_tools", &query).await;
        let unknown =
            json!({ "name": format!("shelf:{text}"), "intent": { "operation_type": "read" } });
        let refused = stage.client.call("call_tool_read", &unknown).await;
        assert_eq!(refused["isError"], true, "{name}: {refused}");
    }
    for name in [
        "password",
        "apiKey",
        "client_secret",
        "access_token",
        "Authorization",
    ] {
        let secret = credentials[0].2.chars().rev().collect::<String>();
        stage
            .look(
                &json!({ name: secret, "deep": [{ name: [secret] }] }),
                "named",
            )
            .await;
    }
    let mut secrets: Vec<(&str, String)> = Vec::new();
    secrets.extend(
        credentials
            .iter()
            .map(|(name, _, secret)| (*name, secret.clone())),
    );
    secrets.push(("by its name", credentials[0].2.chars().rev().collect()));
    stage.assert_without(&secrets).await;
}

/// Name, a text with the credential in it, and the part that is secret. Put together here, so that nobody takes them
/// for real ones.
fn credentials() -> Vec<(&'static str, String, String)> {
    let random = || Uuid::new_v4().simple().to_string() + &Uuid::new_v4().simple().to_string();
    let capitals = || random().to_uppercase();
    let whole = |name: &'static str, prefix: &str, rest: String| {
        let token = format!("{prefix}{rest}");
        (name, token.clone(), token)
    };
    let part = |name: &'static str, before: &str, secret: String, after: &str| {
        (name, format!("{before}{secret}{after}"), secret)
    };
    let pem = |edge: &str| format!("-----{edge} PRIVATE KEY-----");
    vec![
        whole("plain", "ghp_", random()[..36].to_owned()),
        whole("fine-grained", "github_pat_", random()),
        whole("cloud key", "AKIA", capitals()[..16].to_owned()),
        whole("search key", "AIza", random()[..35].to_owned()),
        whole("chat", "xoxb-", format!("12345678-{}", &random()[..24])),
        whole("model", "sk-ant-api03-", random()),
        whole("payment", "sk_live_", random()),
        whole("package", "npm_", random()[..36].to_owned()),
        whole("repository", "glpat-", random()[..20].to_owned()),
        part(
            "web token",
            "eyJhbGciOiJIUzI1NiJ9.",
            format!("{}.{}", random(), random()),
            "",
        ),
        part(
            "key",
            &format!("{}\n", pem("BEGIN")),
            random(),
            &format!("\n{}", pem("END")),
        ),
        part("bearer", "Authorization: Bearer ", random(), ""),
        part("basic", "Authorization: Basic ", random(), ""),
        part(
            "address",
            "postgres://someone:",
            random(),
            "@db.example.org/app",
        ),
        part("assignment", "export DB_PASSWORD=", random(), "; echo done"),
        part(
            "query",
            "https://example.org/?api_key=",
            random(),
            "&page=2",
        ),
    ]
}

#[tokio::test]
async fn parameters_that_a_tool_calls_secret_are_kept_nowhere() {
    let long = |word: &str| format!("{word}-{}", Uuid::new_v4().simple());
    let secrets: Vec<(&str, String)> = ["phrase", "pin", "word", "session"]
        .map(|name| (name, long("mulberry").replace('-', "")))
        .into_iter()
        .chain([("number", "83746501928".to_owned())])
        .collect();
    let of = |name: &str| secrets.iter().find(|one| one.0 == name).unwrap().1.clone();
    let arguments = json!({
        "user": "me", "phrase": of("phrase"), "pin": of("pin"), "number": 83_746_501_928_u64,
        "more": [{ "word": of("word") }],
    });
    let text = format!("signed in with {} and {}", of("phrase"), arguments);
    let result = json!({
        "content": [{ "type": "text", "text": text }, { "type": "text", "text": "abc" }],
        "structuredContent": { "session": of("session"), "user": "me", "echo": arguments, "short": "abc" },
    });
    let fixture = Fixture::new(PROGRAMS).result("sign_in", &result.to_string());
    let stage = Stage::start(fixture, &json!({})).await;
    let call = |arguments: &Value, reason: &str| {
        let intent = json!({ "operation_type": "write", "reason": reason });
        json!({ "name": "shelf:sign_in", "args": arguments, "intent": intent })
    };
    let answer = stage
        .call("call_tool_write", &call(&arguments, &of("phrase")))
        .await;
    assert_eq!(
        answer["content"], result["content"],
        "the agent sees what the server sent"
    );
    assert_eq!(answer["structuredContent"], result["structuredContent"]);

    // Short values are hidden where they stand alone.
    let mut short = arguments.clone();
    short["code"] = json!("abc");
    short["user"] = json!("abcdef");
    let answer = stage.call("call_tool_write", &call(&short, "abc")).await;
    let record = stage.product.record(&id(&answer)).await;
    assert_eq!(record["arguments"]["code"], "***", "{record}");
    assert_eq!(record["arguments"]["user"], "abcdef", "{record}");
    assert_eq!(record["intent"]["reason"], "***", "{record}");
    assert_eq!(record["response"]["content"][1]["text"], "***", "{record}");
    assert_eq!(
        record["response"]["structuredContent"]["short"], "***",
        "{record}"
    );

    for (variant, changed) in [
        ("call_tool_read", call(&arguments, "refused")),
        ("call_tool_destructive", call(&arguments, "refused")),
        (
            "call_tool_write",
            call(&json!({ "phrase": [of("phrase")] }), "refused"),
        ),
        (
            "call_tool_write",
            call(&json!({ "phrase": of("phrase").repeat(9) }), "refused"),
        ),
        (
            "call_tool_write",
            call(&json!({ "pin": format!("{}!", of("pin")) }), "refused"),
        ),
        (
            "call_tool_write",
            call(&json!({ "number": 837_465_019_280_u64 }), "refused"),
        ),
        (
            "call_tool_write",
            call(
                &json!({ "more": [{ "word": { "word": of("word") } }] }),
                "refused",
            ),
        ),
    ] {
        let refused = stage.call(variant, &changed).await;
        assert_eq!(refused["isError"], true, "{changed}: {refused}");
        let record = stage.product.record(&id(&refused)).await;
        assert_eq!(record["status"], "blocked", "{record}");
    }
    // A server whose tools are not known, or a tool that is not: then nothing of the arguments is kept.
    for name in ["shelf:sign_on", "nowhere:sign_in", "sign_in"] {
        let mut unknown = call(&arguments, "refused");
        unknown["name"] = json!(name);
        let refused = stage.call("call_tool_write", &unknown).await;
        let record = stage.product.record(&id(&refused)).await;
        assert_eq!(record["status"], "blocked", "{record}");
    }
    stage.assert_without(&secrets).await;
}

#[tokio::test]
async fn no_part_of_a_secret_is_left_where_a_payload_is_cut() {
    let secret = format!("medlar-{}", Uuid::new_v4().simple());
    // So long that hiding it makes a text shorter than what may be kept.
    let long: String = (0..20)
        .map(|_| Uuid::new_v4().simple().to_string())
        .collect();
    let limit = 1024;
    let stage = Stage::start(
        Fixture::new(PROGRAMS),
        &json!({ "CUT": secret, "CUT_LONG": long, "limit": limit }),
    )
    .await;
    let token = ["gh", "p_"].concat() + &Uuid::new_v4().simple().to_string();
    for secret in [&secret, &token] {
        for before in (limit - 60..limit + 4).step_by(3) {
            let arguments =
                json!({ "note": format!("{} {secret}{}", "x".repeat(before), " y".repeat(50)) });
            stage.look(&arguments, "cut").await;
        }
    }
    // More is looked at than is kept; where that ends, a secret may be cut too.
    for repeated in (0..long.len()).step_by(97) {
        let note = format!("{}{}", "x".repeat(repeated), format!("{long} ").repeat(40));
        stage.look(&json!({ "note": note }), "cut").await;
        stage
            .look(
                &json!({ "body": json!({ "note": note }).to_string() }),
                "cut",
            )
            .await;
    }
    let record = stage.product.get("/activity?tool=look&limit=1").await["activities"][0].clone();
    assert_eq!(record["arguments_truncated"], true, "{record}");
    assert_eq!(record["response_truncated"], true, "{record}");
    stage
        .assert_without(&[("known", secret), ("long", long), ("token", token)])
        .await;
}

#[tokio::test]
async fn the_gateways_own_secrets_are_kept_nowhere() {
    let secret = |word: &str| format!("{word}{}", Uuid::new_v4().simple());
    let (key, referred, written) = (secret("key"), secret("referred"), secret("written"));
    let web = HttpFixture::start(&[LOOK], &[]).await;
    let url = web.endpoint().replace("://", &format!("://me:{written}@"));
    // Nobody listens there: what the gateway says about it must not show the password either.
    for store in [
        "postgres://me:${env:REFERRED}@127.0.0.1:9/log".to_owned(),
        format!("postgres://me:{written}@127.0.0.1:9/log"),
    ] {
        let config = json!({
            "api_key": "${env:OWN_KEY}",
            "mcpServers": { "shelf": { "url": url } },
            "store": { "url": store },
        });
        let home = Home::new(PROGRAMS, &config);
        let mut product = Product::start_with(home, &[], |command| {
            command.env("RUST_LOG", "trace");
            command.env("OWN_KEY", &key).env("REFERRED", &referred);
        })
        .await;
        product.settle().await;
        let client = product.connect().await;
        for text in [&key, &referred, &written] {
            let intent = json!({ "operation_type": "read", "reason": text });
            let call = json!({ "name": "shelf:look", "args": { "note": text }, "intent": intent });
            client.call("call_tool_read", &call).await;
        }
        let mut shown = String::new();
        for path in ["/status", "/config", "/activity", "/activity/verify"] {
            let rest = HttpClient::without_session(&product.rest(path));
            let answer = rest
                .send(Method::GET, &[("x-api-key", &key)], String::new())
                .await;
            shown.push_str(&answer.body);
        }
        for command in [&["status"][..], &["config", "show"], &["activity", "list"]] {
            let ran = product.run(command).await;
            shown.push_str(&ran.stdout);
            shown.push_str(&ran.stderr);
        }
        assert!(shown.contains("postgres"), "{shown}");
        product.stop().await;
        shown.push_str(&product.log());
        for secret in [&key, &referred, &written] {
            let line = shown.lines().find(|line| line.contains(secret.as_str()));
            assert_eq!(line, None, "{secret}");
        }
    }
}

/// A gateway with one server, and a client.
struct Stage {
    product: Product,
    client: HttpClient,
    _fixture: Fixture,
}

impl Stage {
    /// The variables are the secrets of the configuration; `limit` is how much of a payload is kept.
    async fn start(fixture: Fixture, known: &Value) -> Self {
        let fixture = fixture.tools(&[LOOK, &decode(SIGN_IN).to_string()]);
        let known = known.as_object().unwrap();
        let names = known.keys().filter(|name| *name != "limit");
        let env: serde_json::Map<String, Value> = names
            .map(|name| (name.clone(), json!(format!("${{env:{name}}}"))))
            .collect();
        let mut config =
            json!({ "mcpServers": { "shelf": fixture.entry_with(&json!({ "env": env })) } });
        if let Some(limit) = known.get("limit") {
            config["activity"] = json!({ "max_payload_bytes": limit });
        }
        let home = Home::new(PROGRAMS, &config);
        let product = Product::start_with(home, &[], |command| {
            let texts = known
                .iter()
                .filter_map(|(name, value)| Some((name, value.as_str()?)));
            command.envs(texts).env("RUST_LOG", "trace");
        })
        .await;
        product.settle().await;
        let client = product.connect().await;
        Self {
            product,
            client,
            _fixture: fixture,
        }
    }

    async fn look(&self, arguments: &Value, reason: &str) -> String {
        let intent = json!({ "operation_type": "read", "reason": reason });
        let call = json!({ "name": "shelf:look", "args": arguments, "intent": intent });
        let result = self.call("call_tool_read", &call).await;
        let expected = format!("look {arguments}");
        assert_eq!(
            result["content"][0]["text"], expected,
            "the agent sees what the server sent"
        );
        id(&result)
    }

    async fn call(&self, variant: &str, arguments: &Value) -> Value {
        self.client.call(variant, arguments).await
    }

    /// Nothing of these is anywhere, though what is no secret is.
    async fn assert_without(&self, secrets: &[(&str, String)]) {
        let fence = self.look(&json!({ "note": "harmless" }), "harmless").await;
        self.product.record(&fence).await;
        let traces = Traces::of(&self.product, &self.product.key(), &fence).await;
        traces.assert_with(
            "harmless",
            &["state.db", "/activity?", "/events", "activity export"],
        );
        traces.assert_without(secrets);
    }
}

/// The id of a call's record.
fn id(result: &Value) -> String {
    let id = result["_meta"]["dev.mcpproxy/activity_id"].as_str();
    id.unwrap_or_else(|| panic!("no record: {result}"))
        .to_owned()
}
