//! What each credential may see and do, at every face, with sessions and without: one table.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that finds something missing fails its test"
)]

use std::collections::BTreeSet;

use futures_util::future::join_all;
use http::{Method, StatusCode};
use mcpproxy_tests::{
    Client, Fixture, HttpClient, Product, StatelessClient, StdioClient, eventually,
};
use serde_json::{Value, json};

use crate::PROGRAMS;

const LIBRARY: &str = env!("CARGO_BIN_EXE_conformance-server");

const LOOK: &str = r#"{"name":"look","description":"Looks at the shelf","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;
const PUT: &str = r#"{"name":"put","description":"Puts on the shelf","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"destructiveHint":false}}"#;
const BURN: &str = r#"{"name":"burn","description":"Burns the shelf","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}"#;
const MYSTERY: &str =
    r#"{"name":"mystery","description":"Does something","inputSchema":{"type":"object"}}"#;

/// Row of the table: a credential, and what it gets.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// Tools of the shelf and of the attic that exist for it.
    tools: &'static [&'static str],
    /// Variants of its menu.
    variants: &'static [&'static str],
    /// Codes of a read, a write and a destructive call at the shelf.
    calls: [&'static str; 3],
    /// Whether prompts and resources of the library exist for it.
    reads_library: bool,
    /// Whether the attic has an endpoint for it.
    has_attic: bool,
    /// Records of others that it sees.
    sees_others: bool,
    /// REST: what tokens may use, and what is administration.
    rest: [u16; 2],
}

const ALL_TOOLS: &[&str] = &[
    "attic:peek",
    "shelf:burn",
    "shelf:look",
    "shelf:mystery",
    "shelf:put",
];
const ALL_VARIANTS: &[&str] = &["call_tool_read", "call_tool_write", "call_tool_destructive"];
const OK: [&str; 3] = ["ok", "ok", "ok"];

const KEY: Row = Row {
    tools: ALL_TOOLS,
    variants: ALL_VARIANTS,
    calls: OK,
    reads_library: true,
    has_attic: true,
    sees_others: true,
    rest: [200, 200],
};
const FULL: Row = Row {
    sees_others: false,
    rest: [401, 401],
    ..KEY
};
const READ: Row = Row {
    tools: &["attic:peek", "shelf:look"],
    variants: &["call_tool_read"],
    calls: ["ok", "FORBIDDEN", "FORBIDDEN"],
    ..FULL
};
const READER: Row = Row {
    rest: [200, 403],
    ..READ
};
const ONE_SERVER: Row = Row {
    tools: &["shelf:burn", "shelf:look", "shelf:mystery", "shelf:put"],
    variants: ALL_VARIANTS,
    calls: OK,
    reads_library: false,
    has_attic: false,
    ..READER
};
const ONE_TOOL: Row = Row {
    tools: &["shelf:look"],
    reads_library: false,
    has_attic: false,
    ..READER
};
const AUDITOR: Row = Row {
    sees_others: true,
    ..READER
};
const WRITER: Row = Row {
    tools: &["attic:peek", "shelf:look", "shelf:put"],
    variants: &["call_tool_read", "call_tool_write"],
    calls: ["ok", "ok", "FORBIDDEN"],
    ..READER
};
const TRUSTED_WRITER: Row = Row {
    tools: &["attic:peek", "shelf:look", "shelf:mystery", "shelf:put"],
    ..WRITER
};

/// A gateway with a shelf, an attic and a library.
struct House {
    product: Product,
    _servers: [Fixture; 2],
}

impl House {
    async fn start(anonymous: &str) -> Self {
        let answer = r#"{"content":[{"type":"text","text":"done"}]}"#;
        let names = ["look", "put", "burn", "mystery"];
        let shelf = Fixture::new(PROGRAMS).tools(&[LOOK, PUT, BURN, MYSTERY]);
        let shelf = names
            .iter()
            .fold(shelf, |shelf, name| shelf.result(name, answer));
        let attic = Fixture::new(PROGRAMS).tools(&[LOOK.replace("look", "peek")]);
        let attic = attic.result("peek", answer);
        let config = json!({
            "anonymous": anonymous,
            "mcpServers": {
                "shelf": shelf.entry(),
                "attic": attic.entry(),
                "library": { "command": LIBRARY, "args": ["--stdio"] },
            },
        });
        let product = Product::start(PROGRAMS, &config).await;
        let house = Self {
            product,
            _servers: [shelf, attic],
        };
        house.settled().await;
        house
    }

    /// Waits until all tools and prompts are known.
    async fn settled(&self) {
        eventually("every server has listed what it has", async || {
            let servers = self.product.get("/servers").await;
            let servers = servers["servers"].as_array()?.clone();
            let is_ready = |one: &Value| one["state"] == "ready" || one["state"] == "idle";
            servers.iter().all(is_ready).then_some(())
        })
        .await;
        let key = self.product.key();
        eventually("the prompts are known", async || {
            let client = HttpClient::connect_as(&self.product.endpoint(), &key).await;
            let prompts = client.request("prompts/list", &json!({})).await;
            let is_empty = prompts["result"]["prompts"].as_array()?.is_empty();
            (!is_empty).then_some(())
        })
        .await;
    }

    async fn token(&self, name: &str, flags: &[&str]) -> String {
        let command = [&["token", "create", name, "-o", "json"], flags].concat();
        let made = self.product.run(&command).await;
        assert_eq!(made.code, 0, "{made:?}");
        made.json()["token"].as_str().unwrap().to_owned()
    }

    async fn check(&self, what: &str, credential: Option<&str>, row: Row) {
        self.check_mcp(what, &self.session(credential, "").await, row)
            .await;
        self.check_mcp(what, &self.stateless(credential, ""), row)
            .await;
        self.check_direct(what, credential, row).await;
        self.check_rest(what, credential, row).await;
        self.check_stdio(what, credential, row).await;
    }

    async fn session(&self, credential: Option<&str>, path: &str) -> HttpClient {
        let url = self.product.url(path);
        match credential {
            Some(credential) => HttpClient::connect_as(&url, credential).await,
            None => HttpClient::connect(&url).await,
        }
    }

    fn stateless(&self, credential: Option<&str>, path: &str) -> StatelessClient {
        let client = StatelessClient::new(&self.product.url(path));
        match credential {
            Some(credential) => client.showing(credential),
            None => client,
        }
    }

    /// Menu, search, description, calls, prompts, resources, completion.
    async fn check_mcp(&self, what: &str, client: &impl Client, row: Row) {
        let menu = client.tool_names().await;
        let variants: Vec<&str> = menu.iter().map(String::as_str).skip(2).collect();
        assert_eq!(variants, row.variants, "{what}: the menu");

        let found = client
            .call(
                "retrieve_tools",
                &json!({ "query": "", "limit": 50, "detail": "compact" }),
            )
            .await;
        let found = &found["structuredContent"];
        let own: BTreeSet<&str> = found["tools"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .filter(|name| name.starts_with("shelf:") || name.starts_with("attic:"))
            .collect();
        assert_eq!(own, row.tools.iter().copied().collect(), "{what}: search");
        let is_hidden = |name: &str| ALL_TOOLS.contains(&name) && !row.tools.contains(&name);

        let described = client
            .call("describe_tool", &json!({ "names": ALL_TOOLS }))
            .await;
        let described = &described["structuredContent"];
        let known = described["tools"].as_array().unwrap().len();
        assert_eq!(known, row.tools.len(), "{what}: {described}");
        for error in described["errors"].as_array().unwrap() {
            let code = error["error"]["code"].as_str().unwrap();
            let server = error["name"].as_str().unwrap().split(':').next().unwrap();
            let knows_server = row.has_attic || server == "shelf";
            let expected = if knows_server {
                "UNKNOWN_TOOL"
            } else {
                "UNKNOWN_SERVER"
            };
            assert_eq!(code, expected, "{what}: {error}");
            for near in error["error"]["details"]["nearest"].as_array().unwrap() {
                assert!(!is_hidden(near.as_str().unwrap()), "{what}: {error}");
            }
        }

        let tools = ["shelf:look", "shelf:put", "shelf:burn"];
        let operations = ["read", "write", "destructive"];
        for ((tool, operation), expected) in tools.iter().zip(operations).zip(row.calls) {
            let result = client.call_as(operation, tool, &json!({})).await;
            let code = code_of(&result);
            assert_eq!(code, expected, "{what}: {operation} {result}");
        }

        let count = async |method: &str, member: &str| {
            let listed = client.request(method, &json!({})).await;
            listed["result"][member].as_array().map_or(0, Vec::len)
        };
        assert_eq!(
            count("prompts/list", "prompts").await > 0,
            row.reads_library,
            "{what}: prompts"
        );
        assert_eq!(
            count("resources/list", "resources").await > 0,
            row.reads_library,
            "{what}: resources"
        );
        assert_eq!(
            count("resources/templates/list", "resourceTemplates").await > 0,
            row.reads_library,
            "{what}: templates"
        );
        let got = client
            .request(
                "prompts/get",
                &json!({ "name": "library__test_simple_prompt" }),
            )
            .await;
        assert_eq!(
            got["result"].is_object(),
            row.reads_library,
            "{what}: {got}"
        );
        let read = client
            .request("resources/read", &json!({ "uri": "test://static-text" }))
            .await;
        assert_eq!(
            read["result"].is_object(),
            row.reads_library,
            "{what}: {read}"
        );
        let reference =
            json!({ "type": "ref/prompt", "name": "library__test_prompt_with_arguments" });
        let argument = json!({ "name": "arg1", "value": "a" });
        let completed = client
            .request(
                "completion/complete",
                &json!({ "ref": reference, "argument": argument }),
            )
            .await;
        assert_eq!(
            completed["result"].is_object(),
            row.reads_library,
            "{what}: {completed}"
        );
    }

    /// Both direct endpoints.
    async fn check_direct(&self, what: &str, credential: Option<&str>, row: Row) {
        let expected: BTreeSet<String> = row
            .tools
            .iter()
            .map(|name| name.replacen(':', "__", 1))
            .collect();
        let of = |names: Vec<String>| -> BTreeSet<String> {
            let is_own = |name: &String| name.starts_with("shelf__") || name.starts_with("attic__");
            names.into_iter().filter(is_own).collect()
        };
        let session = self.session(credential, "/all").await;
        assert_eq!(of(session.tool_names().await), expected, "{what}: /mcp/all");
        let stateless = self.stateless(credential, "/all");
        assert_eq!(
            of(stateless.tool_names().await),
            expected,
            "{what}: /mcp/all"
        );
        for (tool, is_there) in [
            ("shelf__burn", row.tools.contains(&"shelf:burn")),
            ("shelf__look", row.tools.contains(&"shelf:look")),
        ] {
            let params = json!({ "name": tool, "arguments": {} });
            let answer = session.request("tools/call", &params).await;
            assert_eq!(answer["result"].is_object(), is_there, "{what}: {answer}");
        }
        let single = self.session(credential, "/s/shelf").await;
        for (tool, is_there) in [
            ("look", row.tools.contains(&"shelf:look")),
            ("burn", row.tools.contains(&"shelf:burn")),
        ] {
            let params = json!({ "name": tool, "arguments": {} });
            let answer = single.request("tools/call", &params).await;
            let is_done = answer["result"].is_object() && code_of(&answer["result"]) == "ok";
            assert_eq!(is_done, is_there, "{what}: /mcp/s/shelf {answer}");
        }
        let attic = self.stateless(credential, "/s/attic");
        let answer = attic.ask("tools/list", &json!({})).await;
        let expected = if row.has_attic {
            StatusCode::OK
        } else {
            StatusCode::NOT_FOUND
        };
        assert_eq!(answer.status, expected, "{what}: {}", answer.body);
    }

    /// REST: reads and calls for tokens, and administration.
    async fn check_rest(&self, what: &str, credential: Option<&str>, row: Row) {
        let ask = async |method: Method, path: &str, body: String| {
            let client = HttpClient::without_session(&self.product.rest(path));
            let client = match credential {
                Some(credential) => client.showing(credential),
                None => client,
            };
            client.send(method, &[], body).await
        };
        let get = async |path: &str| ask(Method::GET, path, String::new()).await;
        for path in [
            "/tools",
            "/tools?q=look",
            "/activity",
            "/activity/summary",
            "/activity/export",
            "/servers",
        ] {
            let answer = get(path).await;
            assert_eq!(answer.status, row.rest[0], "{what}: {path} {}", answer.body);
        }
        for path in [
            "/status",
            "/config",
            "/tokens",
            "/activity/verify",
            "/openapi.json",
            "/servers/shelf/contract",
        ] {
            let answer = get(path).await;
            assert_eq!(answer.status, row.rest[1], "{what}: {path} {}", answer.body);
        }
        if row.rest[1] != 200 {
            for (method, path) in [
                (Method::POST, "/tokens"),
                (Method::DELETE, "/tokens/nobody"),
                (Method::POST, "/tokens/nobody/rotate"),
                (Method::POST, "/servers/shelf/contract/accept"),
            ] {
                let answer = ask(method, path, "{}".to_owned()).await;
                assert_eq!(answer.status, row.rest[1], "{what}: {path} {}", answer.body);
            }
        }
        let body = json!({ "variant": "call_tool_read", "name": "shelf:look", "args": {}, "intent": { "operation_type": "read" } });
        let answer = ask(Method::POST, "/tools/call", body.to_string()).await;
        assert_eq!(answer.status, row.rest[0], "{what}: {}", answer.body);
        if row.rest[0] != 200 {
            return;
        }
        let listed = get("/tools").await.json();
        let tools = listed["tools"].as_array().unwrap();
        let own = tools.iter().filter_map(|tool| tool["name"].as_str());
        let own: BTreeSet<&str> = own
            .filter(|name| name.starts_with("shelf:") || name.starts_with("attic:"))
            .collect();
        assert_eq!(own, row.tools.iter().copied().collect(), "{what}: /tools");
        let shown = get("/tools/shelf/burn").await.status == StatusCode::OK;
        assert_eq!(shown, row.tools.contains(&"shelf:burn"), "{what}: one tool");
        let servers = get("/servers").await.json();
        let servers = servers["servers"].as_array().unwrap();
        let has_attic = servers.iter().any(|server| server["name"] == "attic");
        assert_eq!(has_attic, row.has_attic, "{what}: {servers:?}");
        // The very first record is the start of the gateway, which is nobody's own.
        let systems = get("/activity?type=system").await.json();
        let sees_others = !systems["activities"].as_array().unwrap().is_empty();
        assert_eq!(sees_others, row.sees_others, "{what}: {systems}");
        let exported = get("/activity/export?type=system").await;
        let exports_others = !exported.body.is_empty();
        assert_eq!(exports_others, row.sees_others, "{what}: {}", exported.body);
        let start = self.product.get("/activity?type=system").await;
        let start = start["activities"].as_array().and_then(|all| all.last());
        let start = start.and_then(|one| one["id"].as_str()).unwrap();
        let one = get(&format!("/activity/{start}")).await.status;
        assert_eq!(one == StatusCode::OK, row.sees_others, "{what}: {one}");
        let events = HttpClient::without_session(&self.product.rest("/events"));
        let events = events.showing(credential.unwrap_or_default());
        let events = events.open(Method::GET, &[], String::new()).await;
        assert_eq!(events.status(), StatusCode::OK, "{what}: events");
    }

    /// `mcpproxy stdio`, which goes through the local socket.
    async fn check_stdio(&self, what: &str, credential: Option<&str>, row: Row) {
        // The key is for administration; agents on stdio show tokens.
        if credential == Some(&self.product.key()) {
            return;
        }
        let mut command = self.product.home.command();
        command.arg("stdio");
        if let Some(token) = credential {
            command.env("MCPPROXY_TOKEN", token);
        }
        let client = StdioClient::start(command).await;
        self.check_mcp(&format!("{what} over stdio"), &client, row)
            .await;
        assert_eq!(client.finish().await, 0, "{what}: stdio");
    }

    /// A credential that is good for nothing, at every face.
    async fn refused(&self, what: &str, credential: Option<&str>) {
        let show = |client: HttpClient| match credential {
            Some(credential) => client.showing(credential),
            None => client,
        };
        // All at once: whoever shows something wrong waits for the answer.
        let mcp = ["", "/all", "/s/shelf"].map(async |path| {
            let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
            let client = show(HttpClient::without_session(&self.product.url(path)));
            let answer = client.post(&[], hello.to_owned()).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{what}: {path}");
            let answer = self.stateless(credential, path).ask("tools/list", &json!({})).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{what}: {path}");
        });
        let paths = [
            "/tools",
            "/activity",
            "/events",
            "/servers",
            "/status",
            "/tokens",
        ];
        let rest = paths.map(async |path| {
            let client = show(HttpClient::without_session(&self.product.rest(path)));
            let answer = client.send(Method::GET, &[], String::new()).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{what}: {path}");
        });
        futures_util::future::join(join_all(mcp), join_all(rest)).await;
    }
}

/// Code of a refusal; `ok` for a result.
fn code_of(result: &Value) -> &str {
    let code = result["structuredContent"]["error"]["code"].as_str();
    code.unwrap_or("ok")
}

#[tokio::test]
async fn every_credential_gets_its_own_and_nothing_else() {
    let house = House::start("full").await;
    let key = house.product.key();
    house.check("the key", Some(&key), KEY).await;
    house.check("nobody, full", None, FULL).await;
    let all = "read,write,destructive";
    for (name, flags, row) in [
        ("reader", &[][..], READER),
        (
            "one-server",
            &["--servers", "shelf", "--operations", all],
            ONE_SERVER,
        ),
        ("one-tool", &["--tools", "shelf:look"], ONE_TOOL),
        ("auditor", &["--activity", "all"], AUDITOR),
        ("writer", &["--operations", "read,write"], WRITER),
        (
            "trusted-writer",
            &["--operations", "read,write", "--unannotated"],
            TRUSTED_WRITER,
        ),
    ] {
        let token = house.token(name, flags).await;
        house.check(name, Some(&token), row).await;
    }
}

#[tokio::test]
async fn what_was_a_credential_is_none_any_more() {
    let house = House::start("full").await;
    let [revoked, rotated] = [
        house.token("revoked", &[]).await,
        house.token("rotated", &[]).await,
    ];
    let expired = house.token("expired", &["--expires", "1s"]).await;
    let unknown = format!("mcpp_{}", "A".repeat(43));
    assert_eq!(
        house
            .product
            .run(&["token", "revoke", "revoked"])
            .await
            .code,
        0
    );
    let again = house
        .product
        .run(&["token", "rotate", "rotated", "-o", "json"])
        .await;
    let again = again.json()["token"].as_str().unwrap().to_owned();
    house
        .check("rotated, the new secret", Some(&again), READER)
        .await;
    eventually("the token has expired", async || {
        let client = HttpClient::without_session(&house.product.rest("/tools"));
        let answer = client
            .showing(&expired)
            .send(Method::GET, &[], String::new())
            .await;
        (answer.status == StatusCode::UNAUTHORIZED).then_some(())
    })
    .await;
    for (what, credential) in [
        ("revoked", revoked.as_str()),
        ("rotated", rotated.as_str()),
        ("expired", expired.as_str()),
        ("unknown", unknown.as_str()),
        ("no token", "something"),
    ] {
        house.refused(what, Some(credential)).await;
    }
}

#[tokio::test]
async fn callers_without_a_credential_have_what_the_operator_leaves_them() {
    let house = House::start("read").await;
    house.check("nobody, read", None, READ).await;

    let house = House::start("none").await;
    house.refused("nobody, none", None).await;
    for path in ["healthz", "readyz", "metrics"] {
        let url = format!("http://{}/{path}", house.product.address());
        let health = HttpClient::without_session(&url);
        let health = health.send(Method::GET, &[], String::new()).await;
        assert_eq!(
            health.status,
            StatusCode::OK,
            "whether it lives, and how it does, is told to all here"
        );
    }
    let mut command = house.product.home.command();
    command.arg("stdio");
    let client = StdioClient::start_silent(command);
    let answer = client.request("tools/list", &json!({})).await;
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("A token is required"), "{answer}");
    let token = house.token("reader", &[]).await;
    house
        .check("a token where nobody else comes in", Some(&token), READER)
        .await;
}
