//! Text of servers that would steer a terminal, hide something, or look like a line of ours.

use mcpproxy_tests::{Client, Fixture, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

/// An escape sequence, its one-character form, marks of direction, a tag, a joiner, and ways to begin a line.
const TEXT: &str =
    "a\u{1b}[31mb\u{9b}2Jc\u{202e}d\u{2066}e\u{e0041}f\u{200b}g\r\u{85}\u{2028}h\nlast\tline";

#[tokio::test]
async fn an_upstream_wrote_lines_of_its_own_into_the_log() {
    let forged = "2026-01-01T00:00:00.000000Z  INFO ready server=github";
    let error = json!({ "code": 1, "message": format!("no\n{forged}\n{TEXT}") });
    let fixture = Fixture::new(PROGRAMS).error("initialize", &error.to_string());
    // A definition that is left out is told of with the words of the server.
    let odd = json!({ "name": format!("odd\n{forged}{TEXT}"), "inputSchema": {} });
    let other = Fixture::new(PROGRAMS).tools(&[odd.to_string()]);
    let servers = json!({ "srv": fixture.entry(), "other": other.entry() });
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": servers })).await;
    let log = eventually("both servers are told of", async || {
        let log = product.log();
        (log.matches("server=github").count() >= 2).then_some(log)
    })
    .await;
    assert!(!log.lines().any(|line| line.starts_with(forged)), "{log}");
    assert!(
        log.contains(r"\n2026-01-01T00:00:00.000000Z  INFO ready"),
        "{log}"
    );
    check_printable(&log);
}

#[tokio::test]
async fn text_of_a_server_reached_the_terminal_raw() {
    let description = format!("Look {TEXT}");
    let tool = |name: &str| {
        let schema = json!({ "properties": { "a\u{202e}b\u{9b}": { "description": TEXT } } });
        json!({ "name": name, "description": description, "inputSchema": schema, "annotations": { "readOnlyHint": true, "title": TEXT } })
            .to_string()
    };
    let content = json!([{ "type": "text", "text": TEXT }, { "type": "audio", "mimeType": TEXT }]);
    let error = json!({ "code": 1, "message": TEXT, "data": { TEXT: TEXT } });
    let fixture = Fixture::new(PROGRAMS)
        .tools(&["text", "structured", "fails"].map(tool))
        .result("text", &json!({ "content": content }).to_string())
        .result(
            "structured",
            &json!({ "structuredContent": { TEXT: [TEXT] } }).to_string(),
        )
        .error("fails", &error.to_string());
    let servers = json!({ "srv": fixture.entry() });
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": servers })).await;
    product
        .connect()
        .await
        .call_as("read", "srv:text", &json!({}))
        .await;
    for command in [
        &["call", "tool-read", "srv:text"][..],
        &["call", "tool-read", "srv:structured"],
        &["call", "tool-read", "srv:fails"],
        &["call", "tool-read", "srv:text", "--args", "{\"a\u{9b}\":"],
        &["tools", "show", "srv:text"],
        &["tools", "list"],
        &["tools", "search", "look"],
        &["activity", "list"],
        &["status"],
    ] {
        for format in ["table", "yaml", "json"] {
            let ran = product.run(&[command, &["-o", format][..]].concat()).await;
            check_printable(&ran.stdout);
            check_printable(&ran.stderr);
        }
    }
    // Nothing is lost for programs, and people see that there is something.
    let ran = product
        .run(&["call", "tool-read", "srv:text", "-o", "json"])
        .await;
    assert_eq!(ran.json()["content"], content);
    let shown = product
        .run(&["tools", "show", "srv:text", "-o", "json"])
        .await;
    assert_eq!(shown.json()["description"], description);
    let failed = product
        .run(&["call", "tool-read", "srv:fails", "-o", "json"])
        .await;
    let data: &Value = &failed.error()["details"]["upstream_data"];
    assert_eq!(*data, json!({ TEXT: TEXT }));
    let ran = product.run(&["call", "tool-read", "srv:text"]).await;
    assert!(
        ran.stdout
            .starts_with(r"a\u001b[31mb\u009b2Jc\u202ed\u2066e\udb40\udc41f\u200bg\r\u0085\u2028h"),
        "{ran:?}"
    );
}

#[track_caller]
fn check_printable(text: &str) {
    let hidden = ['\u{200b}', '\u{202e}', '\u{2028}', '\u{2066}', '\u{e0041}'];
    let raw = |one: &char| one.is_control() && !matches!(one, '\n' | '\t') || hidden.contains(one);
    let found: Vec<char> = text.chars().filter(raw).collect();
    assert!(found.is_empty(), "{found:?} in {text:?}");
}
