//! Any text, with a secret put into it: the secret is gone, and JSON stays JSON.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_redact::{OwnSecrets, Redactor};

const SECRET: &str = "xyzzy-plugh-4711";

fuzz_target!(|input: (u16, &str)| {
    let (place, text) = input;
    let redactor = Redactor::new([SECRET.to_owned()]);
    let own = OwnSecrets::none();
    let at = text.floor_char_boundary(usize::from(place));
    let with = [&text[..at], SECRET, &text[at..]].concat();
    for hidden in [redactor.text(&with, &own), redactor.json(&with, &own)] {
        assert!(!hidden.contains(SECRET), "{hidden}");
    }
    if serde_json::from_str::<serde_json::Value>(text).is_ok() {
        let hidden = redactor.json(text, &own);
        let read = serde_json::from_str::<serde_json::Value>(&hidden);
        assert!(read.is_ok(), "{text:?} became {hidden:?}");
    }
});
