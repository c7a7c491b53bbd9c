use super::*;

#[test]
fn what_a_server_says_of_how_long_a_result_holds_is_kept() {
    let otherwise = Freshness {
        ttl_ms: 0,
        scope: CacheScope::Private,
    };
    for (sent, expected) in [
        (
            r#"{"contents":[]}"#,
            r#"{"ttlMs":0,"cacheScope":"private","resultType":"complete","contents":[]}"#,
        ),
        (
            r#"{"ttlMs":7,"cacheScope":"public"}"#,
            r#"{"resultType":"complete","ttlMs":7,"cacheScope":"public"}"#,
        ),
        (
            r#"{"cacheScope":"public"}"#,
            r#"{"ttlMs":0,"resultType":"complete","cacheScope":"public"}"#,
        ),
        (
            r#"{"resultType":"input_required"}"#,
            r#"{"resultType":"input_required"}"#,
        ),
    ] {
        assert_eq!(complete_and_cacheable(sent, otherwise), expected);
    }
}

fn introduced(meta: &str) -> Result<Introduction, i64> {
    let text = format!(r#"{{"_meta":{meta}}}"#);
    let raw: &RawValue = serde_json::from_str(&text).unwrap();
    Params::read(Some(raw))
        .introduce()
        .map_err(|error| error.code)
}

#[test]
fn a_request_has_to_introduce_itself() {
    let full = r#"{"io.modelcontextprotocol\/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},
        "io.modelcontextprotocol/clientInfo":{"name":"n","version":"\u0031"}}"#;
    let known = introduced(full).unwrap();
    assert_eq!(
        (known.name.as_deref(), known.version.as_deref()),
        (Some("n"), Some("1"))
    );
    for (meta, code) in [
        ("null", INVALID_PARAMS),
        ("{}", INVALID_PARAMS),
        ("7", INVALID_PARAMS),
        (
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
            INVALID_PARAMS,
        ),
        (
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":null}"#,
            INVALID_PARAMS,
        ),
        (
            r#"{"io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}}"#,
            INVALID_PARAMS,
        ),
        (
            r#"{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}"#,
            UNSUPPORTED_VERSION,
        ),
        (
            r#"{"io.modelcontextprotocol/protocolVersion":"x"}"#,
            UNSUPPORTED_VERSION,
        ),
    ] {
        assert_eq!(introduced(meta), Err(code), "{meta}");
    }
    assert_eq!(
        Params::read(None).introduce().unwrap_err().code,
        INVALID_PARAMS
    );
}

#[test]
fn a_request_says_what_it_wants_to_be_told() {
    let told = |meta: &str| {
        let text = format!(r#"{{"_meta":{meta}}}"#);
        let raw: &RawValue = serde_json::from_str(&text).unwrap();
        let params = Params::read(Some(raw));
        let owned = |raw: Option<&RawValue>| raw.map(|raw| raw.get().to_owned());
        (owned(params.progress_token()), owned(params.log_level()))
    };
    let token = |text: &str| (Some(text.to_owned()), None);
    assert_eq!(told(r#"{"progressToken":"t"}"#), token(r#""t""#));
    assert_eq!(told(r#"{"progressToken":-1.5}"#), token("-1.5"));
    for no_token in ["{}", "true", "null", "[1]"] {
        let meta = format!(r#"{{"progressToken":{no_token}}}"#);
        assert_eq!(told(&meta), (None, None));
    }
    let level = r#"{"io.modelcontextprotocol/logLevel":"debug"}"#;
    assert_eq!(told(level), (None, Some(r#""debug""#.to_owned())));
}

#[test]
fn a_result_says_once_that_it_is_complete() {
    for (result, expected) in [
        ("{}", r#"{"resultType":"complete"}"#),
        (r#"{ "a":1 }"#, r#"{"resultType":"complete", "a":1 }"#),
        (
            r#"{"a":{"resultType":"x"}}"#,
            r#"{"resultType":"complete","a":{"resultType":"x"}}"#,
        ),
        (
            r#"{"resultType":"x","a":1e400,"result\u0054ype":"y"}"#,
            r#"{"resultType":"complete","a":1e400}"#,
        ),
        (
            r#"{"a":1,"resultType":"input\u005frequired"}"#,
            r#"{"resultType":"input_required","a":1}"#,
        ),
        (
            r#"{"a":"input_required"}"#,
            r#"{"resultType":"complete","a":"input_required"}"#,
        ),
    ] {
        assert_eq!(complete(result), expected);
        assert!(!without_result_type(expected).starts_with(r#"{"resultType""#));
    }
}
