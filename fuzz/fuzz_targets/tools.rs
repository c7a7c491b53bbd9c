//! Any JSON as the result of `tools/list`: what is kept has the bytes it came with.

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
            assert!(json.text().contains(item.raw.text()));
        }
    }
});
