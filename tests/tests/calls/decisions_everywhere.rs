//! The decision table holds on every face: over HTTP, over stdio with and without a running
//! gateway, and on the command line. What is refused never reaches the server.

use mcpproxy_tests::{Client, Fixture, Home, Product, Ran, decode};
use serde_json::{Value, json};

/// What has to come of a call.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Allowed,
    Warned(&'static str),
    Refused(&'static str, &'static str),
    /// Refused with a message that nothing depends on.
    RefusedAs(&'static str),
}
use Expected::{Allowed, Refused, RefusedAs, Warned};

use crate::PROGRAMS;

/// Settings, variant, tool, declaration, outcome.
type Cell = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Expected,
);

const DEFAULT: &str = "{}";
const LENIENT: &str = r#"{"strict_server_validation":false}"#;
const AT_LEAST_WRITE: &str = r#"{"unannotated":"at_least_write"}"#;
const LENIENT_AT_LEAST_WRITE: &str =
    r#"{"unannotated":"at_least_write","strict_server_validation":false}"#;
const REQUIRE_DESTRUCTIVE: &str = r#"{"unannotated":"require_destructive"}"#;
const INFERRED: &str = r#"{"mode":"inferred"}"#;
const ALL_SETTINGS: [&str; 6] = [
    DEFAULT,
    LENIENT,
    AT_LEAST_WRITE,
    LENIENT_AT_LEAST_WRITE,
    REQUIRE_DESTRUCTIVE,
    INFERRED,
];

/// The declaration that matches the variant, nested.
const RIGHT: &str = "right";
const NONE: &str = "{}";
const NULL: &str = r#"{"intent":null}"#;
const READ: &str = r#"{"intent":{"operation_type":"read"}}"#;
const WRITE: &str = r#"{"intent":{"operation_type":"write"}}"#;
const DESTRUCTIVE: &str = r#"{"intent":{"operation_type":"destructive"}}"#;
const FLAT_READ: &str = r#"{"intent_operation_type":"read","intent_reason":"why"}"#;
const FLAT_WRITE: &str = r#"{"intent_operation_type":"write"}"#;
const BOTH_READ: &str = r#"{"intent":{"operation_type":"read"},"intent_operation_type":"read"}"#;
const AT_ODDS: &str = r#"{"intent":{"operation_type":"read"},"intent_operation_type":"write"}"#;
const UNKNOWN: &str = r#"{"intent":{"operation_type":"unknown"}}"#;
const UPPER_CASE: &str = r#"{"intent":{"operation_type":"READ"}}"#;
const EMPTY: &str = r#"{"intent":{"operation_type":""}}"#;
const NUMBER: &str = r#"{"intent":{"operation_type":7}}"#;
const NO_TYPE: &str = r#"{"intent":{"reason":"why"}}"#;
const FLAT_NO_TYPE: &str = r#"{"intent_reason":"why"}"#;
const NO_OBJECT: &str = r#"{"intent":"read"}"#;
const SECRET: &str = r#"{"intent":{"operation_type":"read","data_sensitivity":"secret"}}"#;

const NOT_READ_ONLY: Expected = Refused(
    "SERVER_MISMATCH",
    "Tool 'srv:write' is marked as not read-only by server, use call_tool_write",
);
const IS_DESTRUCTIVE: Expected = Refused(
    "SERVER_MISMATCH",
    "Tool 'srv:destroy' is marked destructive by server, use call_tool_destructive",
);
const BOTH_IS_DESTRUCTIVE: Expected = Refused(
    "SERVER_MISMATCH",
    "Tool 'srv:both' is marked destructive by server, use call_tool_destructive",
);
const PLAIN_WANTS_WRITE: Expected = Refused(
    "UNANNOTATED_TOOL",
    "Tool 'srv:plain' has no annotations, use call_tool_write",
);
const PLAIN_WANTS_DESTRUCTIVE: Expected = Refused(
    "UNANNOTATED_TOOL",
    "Tool 'srv:plain' has no annotations, use call_tool_destructive",
);
const MILD_WANTS_WRITE: Expected = Refused(
    "UNANNOTATED_TOOL",
    "Tool 'srv:mild' has no annotations, use call_tool_write",
);
const DECLARES_WRITE: Expected = Refused(
    "INTENT_MISMATCH",
    "Intent mismatch: tool is call_tool_read but intent declares write",
);

const TOOLS: [&str; 7] = [
    r#"{"name":"read","description":"Look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"write","description":"Note","inputSchema":{},"annotations":{"readOnlyHint":false}}"#,
    r#"{"name":"destroy","description":"End","inputSchema":{},"annotations":{"readOnlyHint":false,"destructiveHint":true}}"#,
    r#"{"name":"both","description":"Odd","inputSchema":{},"annotations":{"readOnlyHint":true,"destructiveHint":true}}"#,
    r#"{"name":"plain","description":"Look","inputSchema":{}}"#,
    r#"{"name":"delete_rows","description":"Rows","inputSchema":{}}"#,
    r#"{"name":"mild","description":"Look","inputSchema":{},"annotations":{"destructiveHint":false}}"#,
];

#[rustfmt::skip]
const CELLS: &[Cell] = &[
    (DEFAULT, "read", "read", RIGHT, Allowed),
    (DEFAULT, "read", "write", RIGHT, NOT_READ_ONLY),
    (DEFAULT, "read", "destroy", RIGHT, IS_DESTRUCTIVE),
    (DEFAULT, "read", "both", RIGHT, BOTH_IS_DESTRUCTIVE),
    (DEFAULT, "read", "plain", RIGHT, Allowed),
    (DEFAULT, "read", "delete_rows", RIGHT, Warned("UNANNOTATED_RISK")),
    (DEFAULT, "read", "mild", RIGHT, Allowed),
    (DEFAULT, "write", "read", RIGHT, Warned("OVERLY_CAUTIOUS")),
    (DEFAULT, "write", "write", RIGHT, Allowed),
    (DEFAULT, "write", "destroy", RIGHT, IS_DESTRUCTIVE),
    (DEFAULT, "write", "both", RIGHT, BOTH_IS_DESTRUCTIVE),
    (DEFAULT, "write", "plain", RIGHT, Allowed),
    (DEFAULT, "write", "delete_rows", RIGHT, Warned("UNANNOTATED_RISK")),
    (DEFAULT, "write", "mild", RIGHT, Allowed),
    (DEFAULT, "destructive", "read", RIGHT, Allowed),
    (DEFAULT, "destructive", "write", RIGHT, Allowed),
    (DEFAULT, "destructive", "destroy", RIGHT, Allowed),
    (DEFAULT, "destructive", "both", RIGHT, Allowed),
    (DEFAULT, "destructive", "plain", RIGHT, Allowed),
    (DEFAULT, "destructive", "mild", RIGHT, Allowed),
    (DEFAULT, "read", "read", FLAT_READ, Allowed),
    (DEFAULT, "read", "read", BOTH_READ, Allowed),
    (DEFAULT, "read", "read", WRITE, DECLARES_WRITE),
    (DEFAULT, "read", "read", FLAT_WRITE, DECLARES_WRITE),
    (DEFAULT, "read", "destroy", DESTRUCTIVE, Refused("INTENT_MISMATCH", "Intent mismatch: tool is call_tool_read but intent declares destructive")),
    (DEFAULT, "write", "write", READ, Refused("INTENT_MISMATCH", "Intent mismatch: tool is call_tool_write but intent declares read")),
    (DEFAULT, "destructive", "destroy", READ, Refused("INTENT_MISMATCH", "Intent mismatch: tool is call_tool_destructive but intent declares read")),
    (DEFAULT, "read", "read", AT_ODDS, RefusedAs("INVALID_ARGUMENTS")),
    (DEFAULT, "read", "read", NO_OBJECT, RefusedAs("INVALID_ARGUMENTS")),
    (DEFAULT, "read", "read", UNKNOWN, Refused("INVALID_OPERATION_TYPE", "Invalid intent.operation_type 'unknown': must be read, write, or destructive")),
    (DEFAULT, "read", "read", UPPER_CASE, Refused("INVALID_OPERATION_TYPE", "Invalid intent.operation_type 'READ': must be read, write, or destructive")),
    (DEFAULT, "write", "write", EMPTY, Refused("INVALID_OPERATION_TYPE", "Invalid intent.operation_type '': must be read, write, or destructive")),
    (DEFAULT, "destructive", "destroy", NUMBER, Refused("INVALID_OPERATION_TYPE", "Invalid intent.operation_type '7': must be read, write, or destructive")),
    (DEFAULT, "read", "read", NO_TYPE, Refused("MISSING_OPERATION_TYPE", "intent.operation_type is required")),
    (DEFAULT, "write", "write", FLAT_NO_TYPE, Refused("MISSING_OPERATION_TYPE", "intent.operation_type is required")),
    (DEFAULT, "read", "read", NONE, Refused("MISSING_INTENT", "intent parameter is required for call_tool_read")),
    (DEFAULT, "write", "write", NULL, Refused("MISSING_INTENT", "intent parameter is required for call_tool_write")),
    (DEFAULT, "destructive", "destroy", NONE, Refused("MISSING_INTENT", "intent parameter is required for call_tool_destructive")),
    (DEFAULT, "read", "read", SECRET, Refused("INVALID_SENSITIVITY", "Invalid intent.data_sensitivity 'secret': must be public, internal, private, or unknown")),
    (LENIENT, "read", "write", RIGHT, Warned("SERVER_MISMATCH")),
    (LENIENT, "read", "destroy", RIGHT, Warned("SERVER_MISMATCH")),
    (LENIENT, "write", "both", RIGHT, Warned("SERVER_MISMATCH")),
    (LENIENT, "write", "read", RIGHT, Warned("OVERLY_CAUTIOUS")),
    (LENIENT, "read", "plain", RIGHT, Allowed),
    (LENIENT, "read", "read", WRITE, DECLARES_WRITE),
    (AT_LEAST_WRITE, "read", "plain", RIGHT, PLAIN_WANTS_WRITE),
    (AT_LEAST_WRITE, "read", "mild", RIGHT, MILD_WANTS_WRITE),
    (AT_LEAST_WRITE, "write", "plain", RIGHT, Allowed),
    (AT_LEAST_WRITE, "destructive", "plain", RIGHT, Allowed),
    (AT_LEAST_WRITE, "read", "read", RIGHT, Allowed),
    (LENIENT_AT_LEAST_WRITE, "read", "plain", RIGHT, PLAIN_WANTS_WRITE),
    (LENIENT_AT_LEAST_WRITE, "write", "destroy", RIGHT, Warned("SERVER_MISMATCH")),
    (REQUIRE_DESTRUCTIVE, "read", "plain", RIGHT, PLAIN_WANTS_DESTRUCTIVE),
    (REQUIRE_DESTRUCTIVE, "write", "plain", RIGHT, PLAIN_WANTS_DESTRUCTIVE),
    (REQUIRE_DESTRUCTIVE, "destructive", "plain", RIGHT, Allowed),
    (REQUIRE_DESTRUCTIVE, "read", "mild", RIGHT, MILD_WANTS_WRITE),
    (REQUIRE_DESTRUCTIVE, "write", "mild", RIGHT, Allowed),
    (INFERRED, "read", "read", NONE, Allowed),
    (INFERRED, "read", "read", FLAT_NO_TYPE, Allowed),
    (INFERRED, "write", "write", NO_TYPE, Allowed),
    (INFERRED, "write", "write", RIGHT, Allowed),
    (INFERRED, "destructive", "destroy", NONE, Allowed),
    (INFERRED, "write", "destroy", NONE, IS_DESTRUCTIVE),
    (INFERRED, "read", "write", RIGHT, NOT_READ_ONLY),
    (INFERRED, "read", "read", WRITE, DECLARES_WRITE),
    (INFERRED, "read", "read", UNKNOWN, Refused("INVALID_OPERATION_TYPE", "Invalid intent.operation_type 'unknown': must be read, write, or destructive")),
];

#[tokio::test]
async fn the_decision_table_holds_over_http() {
    for settings in ALL_SETTINGS {
        let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
        let product = Product::start(PROGRAMS, &config(settings, &fixture)).await;
        check_client(settings, &product.connect().await, &fixture).await;
    }
}

#[tokio::test]
async fn the_decision_table_holds_over_stdio_in_its_own_process() {
    for settings in ALL_SETTINGS {
        let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
        let home = Home::new(PROGRAMS, &config(settings, &fixture));
        let client = home.stdio().await;
        check_client(settings, &client, &fixture).await;
        assert_eq!(client.finish().await, 0, "{settings}");
    }
}

#[tokio::test]
async fn the_decision_table_holds_over_stdio_through_the_running_gateway() {
    for settings in ALL_SETTINGS {
        let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
        let product = Product::start(PROGRAMS, &config(settings, &fixture)).await;
        let before = fixture_pid(&product, &fixture).await;
        let client = product.stdio().await;
        check_client(settings, &client, &fixture).await;
        assert_eq!(client.finish().await, 0, "{settings}");
        // Had the client run servers of its own, another process would have said its id.
        assert_eq!(fixture.pid(), Some(before), "{settings}");
    }
}

#[tokio::test]
async fn the_decision_table_holds_on_the_command_line_through_the_running_gateway() {
    for settings in ALL_SETTINGS {
        let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
        let product = Product::start(PROGRAMS, &config(settings, &fixture)).await;
        let before = fixture_pid(&product, &fixture).await;
        check_commands(settings, &product.home, &fixture).await;
        assert_eq!(fixture.pid(), Some(before), "{settings}");
    }
}

#[tokio::test]
async fn the_decision_table_holds_on_the_command_line_without_a_running_gateway() {
    for settings in [DEFAULT, REQUIRE_DESTRUCTIVE, INFERRED] {
        let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
        let home = Home::new(PROGRAMS, &config(settings, &fixture));
        check_commands(settings, &home, &fixture).await;
    }
}

#[test]
fn the_sample_is_as_large_as_it_has_to_be() {
    let on_command_line = CELLS.iter().filter(|cell| cell.3 == RIGHT).count();
    assert!(CELLS.len() >= 30 && on_command_line >= 12);
    for settings in ALL_SETTINGS {
        assert!(CELLS.iter().any(|cell| cell.0 == settings), "{settings}");
    }
}

fn config(settings: &str, fixture: &Fixture) -> Value {
    json!({ "intent_declaration": decode(settings), "mcpServers": { "srv": fixture.entry() } })
}

/// The process of the server behind a running gateway, which a first call brings up.
async fn fixture_pid(product: &Product, fixture: &Fixture) -> u32 {
    let client = product.connect().await;
    client
        .call("call_tool_read", &json!({ "name": "srv:none" }))
        .await;
    mcpproxy_tests::eventually("the server says its id", async || fixture.pid()).await
}

async fn check_client(settings: &str, client: &impl Client, fixture: &Fixture) {
    let mut executed = Vec::new();
    for (number, cell) in cells(settings) {
        let (_, variant, tool, declared, expected) = *cell;
        let mut arguments = match declared {
            RIGHT => json!({ "intent": { "operation_type": variant } }),
            other => decode(other),
        };
        arguments["name"] = json!(format!("srv:{tool}"));
        arguments["args"] = json!({ "cell": number });
        let name = format!("call_tool_{variant}");
        let result = client.call(&name, &arguments).await;
        check_result(cell, &result, &format!("{tool} {{\"cell\":{number}}}"));
        if matches!(expected, Allowed | Warned(_)) {
            executed.push(format!("{tool} {{\"cell\":{number}}}"));
        }
    }
    assert_eq!(fixture.ledger(), executed, "{settings}");
}

async fn check_commands(settings: &str, home: &Home, fixture: &Fixture) {
    let mut executed = Vec::new();
    for (number, cell) in cells(settings).filter(|(_, cell)| cell.3 == RIGHT) {
        let (_, variant, tool, _, expected) = *cell;
        let (command, name) = (format!("tool-{variant}"), format!("srv:{tool}"));
        let arguments = format!("{{\"cell\":{number}}}");
        let ran = home
            .run(&["call", &command, &name, "--args", &arguments, "-o", "json"])
            .await;
        let line = format!("{tool} {arguments}");
        match expected {
            Allowed | Warned(_) => {
                assert_eq!(ran.code, 0, "{cell:?}: {ran:?}");
                check_result(cell, &ran.json(), &line);
                executed.push(line);
            }
            Refused(..) | RefusedAs(_) => check_refusal(cell, &ran),
        }
    }
    assert!(!executed.is_empty());
    assert_eq!(fixture.ledger(), executed, "{settings}");
}

fn check_refusal(cell: &Cell, ran: &Ran) {
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (1, ""),
        "{cell:?}: {ran:?}"
    );
    check_error(cell, &ran.error());
}

fn check_result(cell: &Cell, result: &Value, echo: &str) {
    let meta = &result["_meta"];
    for key in ["dev.mcpproxy/activity_id", "dev.mcpproxy/request_id"] {
        assert!(meta[key].is_string(), "{cell:?}: {result}");
    }
    let warnings = &meta["dev.mcpproxy/warnings"];
    match cell.4 {
        Allowed => assert!(warnings.is_null(), "{cell:?}: {result}"),
        Warned(code) => {
            assert_eq!(
                warnings.as_array().map(Vec::len),
                Some(1),
                "{cell:?}: {result}"
            );
            assert_eq!(warnings[0]["code"], code, "{cell:?}");
            assert!(warnings[0]["message"].is_string(), "{cell:?}");
        }
        Refused(..) | RefusedAs(_) => {
            let error = &result["structuredContent"]["error"];
            check_error(cell, error);
            assert_eq!(result["isError"], true, "{cell:?}");
            assert_eq!(
                result["content"],
                json!([{ "type": "text", "text": error["message"] }])
            );
            assert_eq!(
                error["request_id"], meta["dev.mcpproxy/request_id"],
                "{cell:?}"
            );
            return;
        }
    }
    assert_eq!(
        result["content"],
        json!([{ "type": "text", "text": echo }]),
        "{cell:?}"
    );
    assert!(result.get("isError").is_none(), "{cell:?}: {result}");
}

fn check_error(cell: &Cell, error: &Value) {
    let (Refused(code, _) | RefusedAs(code)) = cell.4 else {
        panic!("{cell:?} is not to be refused: {error}");
    };
    assert_eq!(error["code"], code, "{cell:?}: {error}");
    if let Refused(_, message) = cell.4 {
        assert_eq!(error["message"], message, "{cell:?}");
    }
    let category = match code {
        "SERVER_MISMATCH" | "UNANNOTATED_TOOL" => "business",
        _ => "validation",
    };
    assert_eq!(
        (&error["category"], &error["retryable"]),
        (&json!(category), &json!(false)),
        "{cell:?}"
    );
    assert_eq!(
        error["details"]["tool"],
        format!("srv:{}", cell.2),
        "{cell:?}: {error}"
    );
    assert_eq!(
        error["details"]["variant"],
        format!("call_tool_{}", cell.1),
        "{cell:?}: {error}"
    );
    assert!(error["request_id"].is_string(), "{cell:?}: {error}");
}

fn cells(settings: &str) -> impl Iterator<Item = (usize, &'static Cell)> {
    CELLS
        .iter()
        .enumerate()
        .filter(move |(_, cell)| cell.0 == settings)
}
