//! Any JSON as the result of `tools/list`: what is kept has the bytes it came with.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_wire::initialize::ServerHello;
use mcpproxy_wire::tool::ToolPage;
use mcpproxy_wire::{Json, ToolDefinition};

fuzz_target!(|bytes: &[u8]| {
    let Ok(json) = Json::parse(bytes.to_vec()) else {
        return;
    };
    let _ = ServerHello::parse(&json);
    let _ = ToolDefinition::parse(&json);
    if let Ok(page) = ToolPage::parse(&json) {
        for tool in page.tools {
            assert!(json.text().contains(tool.raw.text()));
            assert!(tool.raw.text().contains(tool.input_schema.text()));
        }
    }
});
