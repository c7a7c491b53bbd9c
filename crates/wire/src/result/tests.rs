use super::*;

fn check(sent: &'static str, expected: &str) {
    let result = CallResult::parse(Json::parse(sent).unwrap()).unwrap();
    let additions = [("dev.mcpproxy/request_id", r#""r1""#)];
    let text = result.with_meta(ServerIdentity::Hidden, &additions);
    assert_eq!(text, expected);
    Json::parse(text).unwrap();
}

#[test]
fn meta_is_added_and_the_rest_keeps_its_bytes() {
    check("{}", r#"{"_meta":{"dev.mcpproxy/request_id":"r1"}}"#);
    check(
        r#"{ "content":[{"type":"hologram","n":9007199254740993, "x":1e400}] ,"zeta":[ ] }"#,
        r#"{ "content":[{"type":"hologram","n":9007199254740993, "x":1e400}] ,"zeta":[ ] ,"_meta":{"dev.mcpproxy/request_id":"r1"}}"#,
    );
    check(
        r#"{"_meta":{},"content":[]}"#,
        r#"{"_meta":{"dev.mcpproxy/request_id":"r1"},"content":[]}"#,
    );
    check(
        r#"{"_meta":{"vendor/x" : 1.0 },"content":[]}"#,
        r#"{"_meta":{"vendor/x" : 1.0 ,"dev.mcpproxy/request_id":"r1"},"content":[]}"#,
    );
}

fn result(text: &'static str) -> CallResult {
    CallResult::parse(Json::parse(text).unwrap()).unwrap()
}

#[test]
fn structured_content_is_replaced_and_the_rest_keeps_its_bytes() {
    let ours = Json::parse(r#"{"n":1.10}"#).unwrap();
    let table = [
        (
            r#"{ "structuredContent" : {"a":1} , "content":[{"x":1e400}],"isError":true }"#,
            r#"{ "structuredContent" : {"n":1.10} , "content":[{"x":1e400}],"isError":true }"#,
        ),
        (
            r#"{"structuredContent":1,"b":1.0,"structuredContent":{"c":2}}"#,
            r#"{"structuredContent":{"n":1.10},"b":1.0,"structuredContent":{"n":1.10}}"#,
        ),
        (r#"{"content":[]}"#, r#"{"content":[]}"#),
    ];
    for (sent, expected) in table {
        let changed = result(sent).with_structured(&ours);
        assert_eq!(changed.json().text(), expected);
        assert_eq!(changed.is_error(), result(sent).is_error());
    }
    let twice = result(r#"{"structuredContent":1,"structuredContent":{"c":2}}"#);
    assert_eq!(twice.structured().unwrap().text(), r#"{"c":2}"#);
    assert!(
        result(r#"{"structuredContent":null}"#)
            .structured()
            .is_none()
    );
}

#[test]
fn a_text_block_is_appended_and_the_rest_keeps_its_bytes() {
    let table = [
        ("{}", r#"{"content":[{"type":"text","text":"a\"b"}]}"#),
        (
            r#"{ "z":1 }"#,
            r#"{ "z":1 ,"content":[{"type":"text","text":"a\"b"}]}"#,
        ),
        (
            r#"{"content":[ ],"z":1.0}"#,
            r#"{"content":[ {"type":"text","text":"a\"b"}],"z":1.0}"#,
        ),
        (
            r#"{"content":[{"n":1e400} ],"z":[]}"#,
            r#"{"content":[{"n":1e400} ,{"type":"text","text":"a\"b"}],"z":[]}"#,
        ),
        (r#"{"content":"x"}"#, r#"{"content":"x"}"#),
    ];
    for (sent, expected) in table {
        assert_eq!(result(sent).with_text("a\"b").json().text(), expected);
    }
}

#[test]
fn a_client_gets_a_result_as_its_protocol_has_it() {
    let additions = [("dev.mcpproxy/request_id", r#""r1""#)];
    for sent in [
        "{}",
        r#" { "content" : [ ] }"#,
        r#"{"structuredContent":{"a":1},"_meta":{"x": 1 }}"#,
        r#"{"structuredContent":[1], "content":[]}"#,
        r#"{"structuredContent":{}, "structuredContent":7}"#,
        r#"{"resultType":"complete", "content":[]}"#,
        r#"{"content":[],"resultType":"input_required"}"#,
        r#"{"resultType":"\u0063omplete","a":"\u00e9"}"#,
        r#"{"a":"resultType structuredContent \u00e9"}"#,
    ] {
        let result = result(sent);
        let text = result.with_meta(ServerIdentity::Hidden, &additions);
        let to_text = |protocol| result.to_text(protocol, ServerIdentity::Hidden, &additions);
        assert_eq!(
            to_text(Protocol::Session).into_string(),
            downgrade::result(text.clone())
        );
        assert_eq!(
            to_text(Protocol::Stateless).into_string(),
            stateless::complete(text)
        );
    }
}

#[test]
fn an_upstream_cannot_set_our_keys() {
    check(
        r#"{"_meta":{"a":1,"dev.mcpproxy/request_id":"forged","b":[2]}}"#,
        r#"{"_meta":{"a":1,"b":[2],"dev.mcpproxy/request_id":"r1"}}"#,
    );
    check(
        r#"{"_meta":7}"#,
        r#"{"_meta":{"dev.mcpproxy/request_id":"r1"}}"#,
    );
}

#[test]
fn a_meta_given_twice_let_an_upstream_set_our_keys() {
    check(
        r#"{"_meta":{"dev.mcpproxy/activity_id":"forged"},"content":[ ],"_meta":{"a":1.0}}"#,
        r#"{"content":[ ],"_meta":{"a":1.0,"dev.mcpproxy/request_id":"r1"}}"#,
    );
    check(
        r#"{"\u005fmeta":{"a":1},"_meta":{"dev.mcpproxy\/x":1,"dev.mcpproxy/x":2},"isError":true}"#,
        r#"{"isError":true,"_meta":{"dev.mcpproxy/request_id":"r1"}}"#,
    );
}

#[test]
fn the_identity_of_a_server_behind_us_reached_clients_of_the_gateway() {
    let sent = r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"},"a":1}}"#;
    check(sent, r#"{"_meta":{"a":1,"dev.mcpproxy/request_id":"r1"}}"#);
    let additions = [("dev.mcpproxy/request_id", r#""r1""#)];
    assert_eq!(
        result(sent).with_meta(ServerIdentity::Shown, &additions),
        r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"},"a":1,"dev.mcpproxy/request_id":"r1"}}"#
    );
}

#[test]
fn prompts_and_resources_let_an_upstream_set_our_keys() {
    use ServerIdentity::{Hidden, Shown};
    for (identity, sent, expected) in [
        (
            Hidden,
            r#"{"a":1.0,"_meta":{"dev.mcpproxy/x":1,"b": 2 }}"#,
            r#"{"a":1.0,"_meta":{"b":2}}"#,
        ),
        (
            Shown,
            r#"{"_meta":{"dev.mcpproxy\/x":1},"contents":[ ],"_meta":{"b":1}}"#,
            r#"{"contents":[ ],"_meta":{"b":1}}"#,
        ),
        (
            Hidden,
            r#"{"_meta":{"io.modelcontextprotocol\/server\u0049nfo":1}}"#,
            r#"{"_meta":{}}"#,
        ),
        (
            Hidden,
            r#"{"_meta":{"dev.mcpproxy/x":1},"_meta":7}"#,
            r#"{"_meta":{}}"#,
        ),
        (
            Shown,
            r#"{"contents":[{"_meta":{"dev.mcpproxy/x":1}}],"_meta": 7}"#,
            r#"{"contents":[{"_meta":{}}],"_meta":7}"#,
        ),
        (
            Hidden,
            r#"{"contents":[{"_meta":{"dev.mcpproxy/x":1}}],"_meta":{"dev.mcpproxy/y":1}}"#,
            r#"{"contents":[{"_meta":{}}],"_meta":{}}"#,
        ),
    ] {
        let cleaned = without_dropped_keys(Json::parse(sent).unwrap(), identity);
        assert_eq!(cleaned.text(), expected);
    }
    for unchanged in [
        r#"{ "a" : "dev.mcpproxy/x", "_meta":{"a": "dev.mcpproxy/x"} }"#,
        r#"{"contents":[{"_meta":{"v/x":"dev.mcpproxy/x"}}],"_meta": 7}"#,
        r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{ }} }"#,
        r#"{"_meta":{"a":1},"_meta":{"a":1}}"#,
        "[]",
    ] {
        let json = Json::parse(unchanged).unwrap();
        assert_eq!(without_dropped_keys(json, Shown).text(), unchanged);
    }
}

#[test]
fn failure_is_read_and_other_shapes_are_no_result() {
    let parse = |text: &'static str| CallResult::parse(Json::parse(text).unwrap());
    assert!(parse(r#"{"isError":true}"#).unwrap().is_error());
    assert!(!parse(r#"{"isError":"true"}"#).unwrap().is_error());
    assert!(parse("[]").is_none());
    assert!(parse("null").is_none());
}
