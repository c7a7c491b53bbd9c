//! Any bytes as a JSON-RPC message: an answer or an error, and what we answer is valid.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_wire::rpc::{Message, error_response, response};
use mcpproxy_wire::{Json, initialize::ClientHello};

fuzz_target!(|bytes: &[u8]| {
    match Message::parse(bytes) {
        Ok(Message::Request { id, params, .. }) => {
            Json::parse(response(id, "{}")).expect("an answer is JSON");
            if let Some(params) = params {
                let _ = ClientHello::parse(params.get());
                let _ = mcpproxy_wire::json::parse_strict(params.get());
            }
        }
        Ok(_) => {}
        Err(error) => {
            let id = Message::salvage_id(bytes);
            Json::parse(error_response(id, &error)).expect("a refusal is JSON");
        }
    }
});
