//! Any JSON as the result of `tools/list`: what is kept has the bytes it came with, but for annotations of a tool that
//! said two things.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_wire::initialize::ServerHello;
use mcpproxy_wire::{Json, ListedKind, ListedPage, ToolDefinition};

fuzz_target!(|bytes: &[u8]| {
    let Ok(json) = Json::parse(bytes.to_vec()) else {
        return;
    };
    let _ = ServerHello::parse(&json);
    let _ = ToolDefinition::parse(&json);
    for kind in ListedKind::ALL {
        for item in ListedPage::parse(kind, &json).unwrap_or_default().items {
            let has_annotations = || {
                let fields = item.raw.fields().expect("an item is an object");
                kind == ListedKind::Tool && fields.get("annotations").is_some()
            };
            assert!(json.text().contains(item.raw.text()) || has_annotations());
        }
    }
});
