//! Any bytes give settings or an error.

use std::fs;

use proptest::prelude::*;

use super::Scene;
use super::accepted::EVERYTHING;

fn load_bytes(bytes: &[u8]) -> Result<(), String> {
    let scene = Scene::empty();
    fs::write(scene.path("mcp_config.json"), bytes).unwrap();
    scene.load().map(|_| ()).map_err(|error| error.to_string())
}

#[track_caller]
fn check(bytes: &[u8], expected: &str) {
    let expected = format!("mcp_config.json:{expected}");
    assert_eq!(load_bytes(bytes), Err(expected));
}

#[test]
fn bytes_that_are_not_text() {
    let encoding = "the file is not valid UTF-8 from here on: save it as UTF-8";
    check(b"{\n  \"x\": \"\xff\" }", &format!("2:9: {encoding}"));
    check(b"\xff", &format!("1:1: {encoding}"));
    check(
        b"\xef\xbb\xbf{}",
        "1:1: the file begins with a byte order mark: save it as UTF-8 without one",
    );
    check(b"{\0}", "1:2: syntax error: unexpected token");
}

#[test]
fn files_that_are_too_large_or_too_deep() {
    let deep = "nested deeper than the 64 levels allowed";
    check(
        &vec![b'['; 10 * 1024 * 1024],
        "1:1: the file is larger than the 4 MiB allowed",
    );
    check(&vec![b'['; 4 * 1024 * 1024], &format!("1:65: {deep}"));
    check(
        "{\"a\":".repeat(100_000).as_bytes(),
        &format!("1:321: {deep}"),
    );
    // Brackets in strings and comments are not nesting.
    let brackets = "[".repeat(1000);
    let file = format!("{{ // {brackets}\n/* {brackets} */ \"$schema\": \"\\\"{brackets}\" }}");
    assert_eq!(load_bytes(file.as_bytes()), Ok(()));
}

#[test]
fn problems_beyond_fifty_are_counted() {
    let keys: Vec<String> = (0..60).map(|index| format!("\"k{index}\": 1")).collect();
    let error = load_bytes(format!("{{ {} }}", keys.join(", ")).as_bytes()).unwrap_err();
    assert_eq!(error.lines().count(), 51);
    assert!(error.ends_with("\n… and 10 more problems"), "{error}");
}

/// Work that grows with the square of such a file would not end.
#[test]
fn a_line_full_of_problems_or_strings_is_read_in_one_pass() {
    let problems = format!("{{ {} \"z\": 1 }}", "\"k\": 1, ".repeat(300_000));
    let error = load_bytes(problems.as_bytes()).unwrap_err();
    assert!(error.ends_with("more problems"), "{error}");
    let strings = "\"x\",".repeat(500_000);
    let file = format!(
        "{{ \"mcpServers\": {{ \"a\": {{ \"command\": \"x\", \"args\": [{strings}] }} }} }}"
    );
    assert_eq!(load_bytes(file.as_bytes()), Ok(()));
}

#[test]
fn what_is_repeated_is_cut_and_escaped() {
    let error = load_bytes(format!("{{ \"{}\\u001b[31m\": 1 }}", "\\n").as_bytes()).unwrap_err();
    assert!(error.contains("unknown key '\\n\\u{1b}[31m' at"), "{error}");
    let error = load_bytes(format!("{{ \"{}\": 1 }}", "k".repeat(1000)).as_bytes()).unwrap_err();
    assert!(error.contains(&format!("'{}…'", "k".repeat(60))), "{error}");
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = load_bytes(&bytes);
    }

    #[test]
    fn random_text_of_json_characters_never_panics(text in "[\\[\\]{}:,\"'/*\\\\ \n\r0-9eE+.a-du\u{e4}\u{2028}-]{0,200}") {
        let _ = load_bytes(text.as_bytes());
    }

    #[test]
    fn a_valid_file_with_random_damage_never_panics(
        at in 0..EVERYTHING.len(),
        removed in 0..40_usize,
        inserted in proptest::collection::vec(any::<u8>(), 0..8),
    ) {
        let mut bytes = EVERYTHING.as_bytes().to_vec();
        let end = (at + removed).min(bytes.len());
        bytes.splice(at..end, inserted);
        let _ = load_bytes(&bytes);
    }

    #[test]
    fn random_strings_in_every_place_never_panic(text in any::<String>()) {
        let text = serde_json::json!(text);
        let file = format!(
            "{{ \"listen\": {text}, \"api_key\": {text}, {text}: {text}, \"store\": {{ \"url\": {text} }}, \
               \"mcpServers\": {{ {text}: {{ \"url\": {text}, \"timeout\": {text}, \"headers\": {{ {text}: {text} }} }}, \
               \"b\": {{ \"command\": {text}, \"args\": [{text}], \"env\": {{ {text}: {text} }}, \"working_dir\": {text} }} }} }}"
        );
        let _ = load_bytes(file.as_bytes());
    }
}
