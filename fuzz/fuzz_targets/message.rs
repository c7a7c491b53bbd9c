//! Any bytes as a JSON-RPC message: an answer or an error, what we answer is valid, and a response reads the same in
//! one pass as in two.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_wire::rpc::{Message, MessageText, error_response, response};
use mcpproxy_wire::{Json, RpcResult, initialize::ClientHello};

fuzz_target!(|bytes: &[u8]| {
    check_one_pass(bytes);
    match Message::parse(bytes) {
        Ok(Message::Request { id, params, .. }) => {
            Json::parse(response(id, "{}")).expect("an answer is JSON");
            if let Some(params) = params {
                let params_json =
                    Json::parse(params.get().to_owned()).expect("parameters are JSON");
                let fields = params_json.fields().unwrap_or_default();
                let members: Vec<(&str, Json)> = fields
                    .iter()
                    .map(|(name, raw)| (name, params_json.part(raw)))
                    .collect();
                let _ = ClientHello::read(|name| {
                    let found = members.iter().find(|(own, _)| *own == name);
                    found.map(|(_, json)| json)
                });
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

fn check_one_pass(bytes: &[u8]) {
    let Ok(text) = MessageText::new(&bytes.to_vec().into()) else {
        return;
    };
    let Some((id, result)) = mcpproxy_wire::response::read(&text) else {
        return;
    };
    let Ok(Message::Response {
        id: Some(expected_id),
        outcome: Ok(raw),
    }) = text.message()
    else {
        panic!("{text:?} is no response");
    };
    assert_eq!(id, expected_id);
    assert_eq!(result, RpcResult::unread(text.json(raw)));
}
