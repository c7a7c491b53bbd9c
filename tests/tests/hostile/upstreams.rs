//! Servers that hang, die, flood, lie or do not exist: each harms itself only, and whoever calls
//! it is told what happened and whether the call may have taken effect.

use std::process::Command;

use mcpproxy_tests::{Client, Fixture, Home, Product, StdioClient, eventually, field, within};
use serde_json::{Value, json};

use crate::PROGRAMS;

const LOOK: &str =
    r#"{"name":"look","description":"Look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;
const STORE: &str = r#"{"name":"store","description":"Store","inputSchema":{},"annotations":{"readOnlyHint":false}}"#;

const NOT_SENT: &str = "The call was not sent.";
const SAFE_TO_REPEAT: &str = "The call was sent; as a read it is safe to repeat.";
const MAY_HAVE_TAKEN_EFFECT: &str =
    "The call was sent and may have taken effect; check before repeating it.";

/// What is printed in total by the server that floods its standard error.
const FLOOD: u64 = 100 * 1024 * 1024;

/// Where it is among those that work.
const FLOODS: usize = 14;

/// Long enough that a machine under load starts a server and answers.
const PATIENT: &str = "25s";

/// Twenty servers of which four never work; two more misbehave and work all the same.
struct Crowd {
    good: Vec<(String, Fixture)>,
    hangs: Fixture,
    exits: Fixture,
}

impl Crowd {
    fn new() -> Self {
        let plain = || Fixture::new(PROGRAMS).tools(&[LOOK]);
        let mut good: Vec<(String, Fixture)> = (1..=14)
            .map(|number| (format!("good-{number}"), plain()))
            .collect();
        good.push(("floods".to_owned(), plain().stderr_bytes(FLOOD)));
        good.push(("mumbles".to_owned(), plain().garbage()));
        Self {
            good,
            hangs: plain().hang_on("initialize"),
            exits: plain().exit_at_start(),
        }
    }

    fn config(&self) -> Value {
        let mut servers = json!({
            "hangs": self.hangs.entry_with(&json!({ "timeout": "1s" })),
            "exits": self.exits.entry_with(&json!({ "timeout": PATIENT })),
            "missing": { "command": "no-such-command-anywhere", "timeout": "1s" },
            "babbles": {
                "command": "sh",
                "args": ["-c", "while read -r line; do echo '{\"jsonrpc\": no'; done"],
                "timeout": "1s",
            },
        });
        for (name, fixture) in &self.good {
            servers[name] = fixture.entry_with(&json!({ "timeout": PATIENT }));
        }
        json!({ "mcpServers": servers })
    }
}

#[tokio::test]
async fn bad_servers_delay_none_of_the_good_ones() {
    let crowd = Crowd::new();
    let product = Product::start(PROGRAMS, &crowd.config()).await;
    let client = product.connect().await;
    for (name, fixture) in &crowd.good {
        let result = client
            .call_as("read", &format!("{name}:look"), &json!({}))
            .await;
        assert_eq!(result["content"][0]["text"], "look {}", "{name}: {result}");
        assert_eq!(fixture.ledger(), ["look {}"], "{name}");
    }
    // All of them have answered, and the one that hangs has not even been given up yet.
    let status = product.status().await;
    let servers = status["servers"].as_array().expect("servers are listed");
    let configured = servers.iter().filter(|one| one["name"] != "mcpproxy");
    assert_eq!(configured.count(), 20, "{status}");
    assert_eq!(state_of(&status, "hangs").0, "starting", "{status}");
    assert_eq!(state_of(&status, "babbles").0, "starting", "{status}");
    for (name, _) in &crowd.good {
        assert_eq!(state_of(&status, name).0, "ready", "{name}: {status}");
    }
    let listed = product.run(&["tools", "list", "-o", "json"]).await.json();
    let mut names: Vec<&str> = listed["tools"]
        .as_array()
        .expect("tools are listed")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .filter(|name| !name.starts_with("mcpproxy:"))
        .collect();
    let mut expected: Vec<String> = crowd
        .good
        .iter()
        .map(|(name, _)| format!("{name}:look"))
        .collect();
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected);
    if cfg!(target_os = "linux") {
        let (_, floods) = &crowd.good[FLOODS];
        eventually("the whole flood is taken", async || {
            (written_by(floods.pid()?)? >= FLOOD).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_call_to_a_bad_server_says_that_it_was_not_sent() {
    let crowd = Crowd::new();
    let product = Product::start(PROGRAMS, &crowd.config()).await;
    let client = product.connect().await;
    let cells = [
        (
            "hangs",
            "UPSTREAM_TIMEOUT",
            "is still starting, attempt 1, since ",
        ),
        (
            "babbles",
            "UPSTREAM_TIMEOUT",
            "is still starting, attempt 1, since ",
        ),
        (
            "exits",
            "UPSTREAM_UNAVAILABLE",
            "is not available: the server exited with code 1. ",
        ),
        (
            "missing",
            "UPSTREAM_UNAVAILABLE",
            "is not available: command 'no-such-command-anywhere' was not found. ",
        ),
    ];
    for (name, code, message) in cells {
        let result = client
            .call_as("write", &format!("{name}:look"), &json!({}))
            .await;
        let error = refusal(&result);
        assert_eq!(error["code"], code, "{error}");
        assert_eq!(error["details"]["server"], name, "{error}");
        assert_eq!(
            (&error["category"], &error["retryable"]),
            (&json!("system"), &json!(true)),
            "{error}"
        );
        let text = error["message"].as_str().expect("an error has a message");
        assert!(
            text.starts_with(&format!("Server '{name}' {message}")) && text.ends_with(NOT_SENT),
            "{text}"
        );
    }
    assert_eq!(crowd.hangs.ledger(), [""; 0]);
    // Those two are tried again and again, so their failure shows between two attempts.
    for (name, reason) in [
        ("exits", "the server exited with code 1"),
        (
            "missing",
            "command 'no-such-command-anywhere' was not found",
        ),
    ] {
        eventually(&format!("{name} is shown as failed"), async || {
            let status = product.status().await;
            let shown = state_of(&status, name);
            (shown == ("failed".to_owned(), reason.to_owned())).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_server_that_dies_during_a_call_is_reported_and_started_again() {
    let cells = [
        ("write", "store", MAY_HAVE_TAKEN_EFFECT),
        ("read", "look", SAFE_TO_REPEAT),
    ];
    for (variant, tool, effect) in cells {
        let fixture = Fixture::new(PROGRAMS).tools(&[LOOK, STORE]).gate(tool);
        let product = Product::start(PROGRAMS, &config(&fixture, PATIENT)).await;
        let client = product.connect().await;
        let name = format!("srv:{tool}");
        let nothing = json!({});
        let call = client.call_as(variant, &name, &nothing);
        let (result, first) = tokio::join!(call, async {
            eventually("the call arrives", async || {
                fixture.ledger().first().cloned()
            })
            .await;
            let process = fixture.pid().expect("the server has said its id");
            kill(process);
            process
        });
        let error = refusal(&result);
        assert_eq!(error["code"], "UPSTREAM_UNAVAILABLE", "{error}");
        assert_eq!(error["details"]["sent"], true, "{error}");
        assert_eq!(
            error["message"],
            format!("Server 'srv' went away: the server was ended by signal 9. {effect}")
        );
        // Nothing was repeated behind the caller's back.
        assert_eq!(fixture.ledger().len(), 1);

        fixture.open_gate(tool);
        let result = eventually("the server works again", async || {
            let result = client.call_as(variant, &name, &json!({})).await;
            result["isError"].is_null().then_some(result)
        })
        .await;
        assert_eq!(result["content"][0]["text"], format!("{tool} {{}}"));
        assert_ne!(fixture.pid(), Some(first));
        assert_eq!(fixture.ledger().len(), 2);
    }
}

#[tokio::test]
async fn a_call_that_takes_long_does_not_hold_up_another_to_the_same_server() {
    let fixture = Fixture::new(PROGRAMS).tools(&[LOOK, STORE]).gate("store");
    let product = Product::start(PROGRAMS, &config(&fixture, PATIENT)).await;
    let client = product.connect().await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.call_as("write", "srv:store", &json!({})).await }
    });
    eventually("the slow call arrives", async || {
        (!fixture.ledger().is_empty()).then_some(())
    })
    .await;
    for _ in 0..5 {
        let result = client.call_as("read", "srv:look", &json!({})).await;
        assert_eq!(result["content"][0]["text"], "look {}", "{result}");
    }
    assert!(!slow.is_finished());
    fixture.open_gate("store");
    let result = within("the slow call ends", slow).await;
    let result = result.expect("the slow call does not panic");
    assert_eq!(result["content"][0]["text"], "store {}", "{result}");
}

#[tokio::test]
async fn a_call_that_is_never_answered_times_out_and_leaves_the_server_running() {
    tokio::join!(
        check_never_answered("write", "store", MAY_HAVE_TAKEN_EFFECT),
        check_never_answered("destructive", "store", MAY_HAVE_TAKEN_EFFECT),
        check_never_answered("read", "look", SAFE_TO_REPEAT),
    );
}

async fn check_never_answered(variant: &str, tool: &str, effect: &str) {
    let other = if tool == "look" { "store" } else { "look" };
    let fixture = Fixture::new(PROGRAMS).tools(&[LOOK, STORE]).hang_on(tool);
    let product = Product::start(PROGRAMS, &config(&fixture, "3s")).await;
    let client = product.connect().await;
    let works = async || {
        let result = client
            .call_as("destructive", &format!("srv:{other}"), &json!({}))
            .await;
        result["isError"].is_null().then_some(())
    };
    eventually("the server has started", works).await;
    let process = fixture.pid();

    let result = client
        .call_as(variant, &format!("srv:{tool}"), &json!({}))
        .await;
    let error = refusal(&result);
    assert_eq!(error["code"], "UPSTREAM_TIMEOUT", "{error}");
    assert_eq!(error["details"]["sent"], true, "{error}");
    let text = error["message"].as_str().expect("an error has a message");
    assert!(
        text.starts_with("Server 'srv' did not answer within ") && text.ends_with(effect),
        "{text}"
    );
    eventually("the server still works", works).await;
    assert_eq!(fixture.pid(), process);
}

#[tokio::test]
async fn an_error_result_of_a_server_passes_untouched() {
    let sent = r#"{"isError":true,"content":[{"type":"text","text":"no such row"}],"structuredContent":{"n":12345678901234567890,"error":{"code":"MINE"}},"x-more":1.0}"#;
    let fixture = Fixture::new(PROGRAMS).tools(&[LOOK]).result("look", sent);
    let product = Product::start(PROGRAMS, &config(&fixture, PATIENT)).await;
    let client = product.connect().await;
    let arguments = json!({ "name": "srv:look", "intent": { "operation_type": "read" } });
    let received = client
        .call_raw("call_tool_read", &arguments.to_string())
        .await;
    for name in ["isError", "content", "structuredContent", "x-more"] {
        assert_eq!(field(&received, name), field(sent, name), "{received}");
    }
}

#[tokio::test]
async fn a_protocol_error_of_a_server_becomes_an_upstream_error_with_its_code() {
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[LOOK, STORE])
        .error(
            "look",
            r#"{"code":-32050,"message":"the disk is full","data":{"left":0}}"#,
        )
        .result("store", "7");
    let product = Product::start(PROGRAMS, &config(&fixture, PATIENT)).await;
    let client = product.connect().await;

    let result = client.call_as("read", "srv:look", &json!({})).await;
    let error = refusal(&result);
    assert_eq!(error["code"], "UPSTREAM_ERROR", "{error}");
    assert_eq!(error["category"], "system", "{error}");
    assert_eq!(
        error["message"],
        "Server 'srv' answered with an error: the disk is full"
    );
    assert_eq!(error["details"]["upstream_code"], -32050, "{error}");
    assert_eq!(
        error["details"]["upstream_data"],
        json!({ "left": 0 }),
        "{error}"
    );

    let result = client.call_as("write", "srv:store", &json!({})).await;
    let error = refusal(&result);
    assert_eq!(error["code"], "UPSTREAM_ERROR", "{error}");
    let text = error["message"].as_str().expect("an error has a message");
    assert!(
        text.starts_with("Server 'srv' gave no usable answer: "),
        "{text}"
    );
    assert!(text.ends_with(MAY_HAVE_TAKEN_EFFECT), "{text}");
}

#[tokio::test]
async fn a_secret_that_a_server_repeats_in_an_error_is_masked() {
    const SECRET: &str = "correct-horse-battery-staple";
    let error = json!({
        "code": -32001,
        "message": format!("token {SECRET} is refused"),
        "data": { "sent": [format!("Bearer {SECRET}")] },
    });
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[LOOK])
        .error("look", &error.to_string());
    for reference in ["${env:TOKEN_OF_TEST}", "Key ${file:token}"] {
        let entry = fixture.entry_with(&json!({ "env": { "TOKEN": reference } }));
        let home = Home::new(PROGRAMS, &json!({ "mcpServers": { "srv": entry } }));
        std::fs::write(home.data_dir().join("token"), format!("{SECRET}\n"))
            .expect("the secret can be written");
        let mut command = home.command();
        command.env("TOKEN_OF_TEST", SECRET).arg("stdio");
        let client = StdioClient::start(command).await;
        let result = client.call_as("read", "srv:look", &json!({})).await;
        let error = refusal(&result);
        assert_eq!(error["code"], "UPSTREAM_ERROR", "{error}");
        assert!(!result.to_string().contains(SECRET), "{result}");
        assert_eq!(
            error["message"],
            "Server 'srv' answered with an error: token *** is refused"
        );
        assert_eq!(error["details"]["upstream_data"]["sent"][0], "Bearer ***");
        assert_eq!(client.finish().await, 0);
    }
}

#[tokio::test]
async fn a_server_whose_secret_is_not_set_fails_alone_and_says_why() {
    let (whole, broken) = (
        Fixture::new(PROGRAMS).tools(&[LOOK]),
        Fixture::new(PROGRAMS).tools(&[LOOK]),
    );
    let unset = json!({ "env": { "TOKEN": "${env:NOT_SET_BY_ANY_TEST}" } });
    let servers = json!({ "whole": whole.entry(), "broken": broken.entry_with(&unset) });
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": servers })).await;
    let client = product.connect().await;
    let result = client.call_as("read", "whole:look", &json!({})).await;
    assert_eq!(result["content"][0]["text"], "look {}", "{result}");

    let result = client.call_as("read", "broken:look", &json!({})).await;
    let error = refusal(&result);
    assert_eq!(error["code"], "UPSTREAM_UNAVAILABLE", "{error}");
    let text = error["message"].as_str().expect("an error has a message");
    assert!(text.contains("NOT_SET_BY_ANY_TEST") && text.contains("is not set"));
    assert!(text.ends_with(NOT_SENT), "{text}");

    let status = product.status().await;
    let (state, reason) = state_of(&status, "broken");
    assert_eq!(state, "failed", "{status}");
    assert!(reason.contains("NOT_SET_BY_ANY_TEST"), "{reason}");
    assert_eq!(state_of(&status, "whole").0, "ready", "{status}");
    assert_eq!(broken.pid(), None);
}

fn config(fixture: &Fixture, timeout: &str) -> Value {
    let entry = fixture.entry_with(&json!({ "timeout": timeout }));
    json!({ "mcpServers": { "srv": entry } })
}

#[track_caller]
fn refusal(result: &Value) -> &Value {
    let error = &result["structuredContent"]["error"];
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result["content"][0]["text"], error["message"], "{result}");
    error
}

/// The state and the reason that `status` shows of a server.
#[track_caller]
fn state_of(status: &Value, name: &str) -> (String, String) {
    let servers = status["servers"].as_array().expect("servers are listed");
    let server = servers
        .iter()
        .find(|server| server["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {status}"));
    let text = |field: &str| server[field].as_str().unwrap_or_default().to_owned();
    (text("state"), text("reason"))
}

/// How many bytes a process has written so far.
fn written_by(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("wchar:"))?;
    line.trim().parse().ok()
}

fn kill(process: u32) {
    let status = Command::new("kill")
        .args(["-KILL", &process.to_string()])
        .status()
        .expect("kill can be started");
    assert!(status.success(), "process {process} can be killed");
}
