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
        assert_eq!(complete_and_cacheable(sent.to_owned(), otherwise), expected);
    }
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
        assert_eq!(complete(result.to_owned()), expected);
        assert!(!without_result_type(expected).starts_with(r#"{"resultType""#));
    }
}
