//! Any JSON as the result of a call: with our `_meta` it is still JSON, and says what it said.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_wire::meta::ServerIdentity;
use mcpproxy_wire::{CallResult, Json};

fuzz_target!(|bytes: &[u8]| {
    let Ok(json) = Json::parse(bytes.to_vec()) else {
        return;
    };
    let Some(result) = CallResult::parse(json.clone()) else {
        return;
    };
    let additions = [("dev.mcpproxy/request_id", "\"r\"")];
    let text = result.with_meta(ServerIdentity::Hidden, &additions);
    let passed_on = Json::parse(text).expect("a result with our _meta is JSON");
    let sent = json.fields().expect("a result is an object");
    let arrived = passed_on.fields().expect("a result stays an object");
    for (name, value) in sent.iter().filter(|(name, _)| *name != "_meta") {
        assert!(
            arrived
                .iter()
                .any(|(other, passed)| other == name && passed.get() == value.get()),
            "{name} was changed"
        );
    }
    let mut metas = arrived.all("_meta");
    let meta = metas.next().expect("_meta is there");
    assert!(metas.next().is_none(), "_meta stands twice");
    let keys = passed_on.part(meta);
    let keys = keys.fields().expect("_meta is an object");
    let ours = keys
        .iter()
        .filter(|(name, _)| name.starts_with("dev.mcpproxy/"));
    let ours: Vec<(&str, &str)> = ours.map(|(name, value)| (name, value.get())).collect();
    assert_eq!(ours, additions);
});
