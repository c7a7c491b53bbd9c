//! Any bytes as a header value: a text or nothing, in one spelling, and every text comes back.

#![no_main]

use std::borrow::Cow;

use libfuzzer_sys::fuzz_target;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::Revision;
use mcpproxy_wire::header::{decode_value, encode_value};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    check_text(text);
    check_value(text);
    // Few inputs have the marks by chance.
    check_value(&format!("=?base64?{text}?="));
    check_revision(text);
});

/// What we say is a header value that says it.
fn check_text(text: &str) {
    let value = encode_value(text);
    assert!(
        value.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
        "{value:?} is no header value"
    );
    assert_eq!(decode_value(&value).as_deref(), Some(text), "{value:?}");
}

/// What a value says can be said by us; what has to be wrapped is wrapped in one way only.
fn check_value(value: &str) {
    let Some(text) = decode_value(value) else {
        return;
    };
    check_text(&text);
    if let (Cow::Owned(_), Cow::Owned(spelling)) = (&text, encode_value(&text)) {
        assert_eq!(spelling, value.trim_matches([' ', '\t']));
    }
}

/// The header with the revision: it is known by its own name only, belongs to its own protocol, and a session never gets
/// one without sessions.
fn check_revision(date: &str) {
    let protocol = Revision::protocol_of(date);
    if let Some(revision) = Revision::parse(date) {
        assert_eq!(revision.as_str(), date);
        assert_eq!(Some(revision.protocol()), protocol);
    }
    assert_eq!(Revision::negotiate(date).protocol(), Protocol::Session);
}
