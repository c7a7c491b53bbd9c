//! Messages of MCP, as far as listing tools needs them. Texts of definitions are kept as they came.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Revision that is spoken without sessions.
pub(crate) const STATELESS: &str = "2026-07-28";

/// Newest revision with sessions, which the gateway asks servers for.
pub(crate) const SESSION: &str = "2025-11-25";

/// Pages of a list that are asked for at most.
pub(crate) const PAGE_LIMIT: usize = 100;

/// Whether requests stand for themselves or belong to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Stateless,
    Session,
}

/// Name of a tool and the text of its definition.
pub(crate) type Tools = BTreeMap<String, String>;

pub(crate) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

pub(crate) fn initialized() -> String {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string()
}

/// Parameters of `initialize`, with what the gateway declares to servers: some list other tools to others.
pub(crate) fn hello() -> Value {
    json!({
        "protocolVersion": SESSION,
        "capabilities": { "elicitation": { "form": {}, "url": {} }, "sampling": {} },
        "clientInfo": client(),
    })
}

/// Parameters of a request that belongs to no session.
pub(crate) fn stateless_params() -> Value {
    json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": client(),
        "io.modelcontextprotocol/clientCapabilities": {},
    } })
}

/// Parameters of a page of `tools/list`.
pub(crate) fn list_params(era: Era, cursor: Option<&str>) -> Value {
    let mut params = match era {
        Era::Stateless => stateless_params(),
        Era::Session => json!({}),
    };
    if let Some(cursor) = cursor {
        params["cursor"] = json!(cursor);
    }
    params
}

/// Reads a page of `tools/list` into what was listed before, and gives the cursor of the next one.
pub(crate) fn read_page(message: &str, tools: &mut Tools) -> Result<Option<String>> {
    let message = fields(message).context("the answer is no object")?;
    if let Some(error) = message.get("error") {
        bail!("it answered with an error: {:.300}", error.get());
    }
    let result = message.get("result").context("the answer has no result")?;
    let result = fields(result.get()).context("the result is no object")?;
    let listed = result.get("tools").context("the result has no tools")?;
    let listed: Vec<&RawValue> = serde_json::from_str(listed.get())?;
    for definition in listed {
        let name = name_of(definition.get()).context("a tool has no name")?;
        let is_new = tools.insert(name, definition.get().to_owned()).is_none();
        if !is_new {
            bail!("two tools have the same name");
        }
    }
    let cursor = result.get("nextCursor");
    Ok(cursor.and_then(|cursor| serde_json::from_str(cursor.get()).ok()))
}

fn name_of(definition: &str) -> Option<String> {
    let name = *fields(definition)?.get("name")?;
    serde_json::from_str(name.get()).ok()
}

/// Definition under another name; all else keeps its bytes.
pub(crate) fn renamed(definition: &str, name: &str) -> Option<String> {
    let own = fields(definition)?.get("name")?.get();
    let start = own.as_ptr() as usize - definition.as_ptr() as usize;
    let (before, after) = (&definition[..start], &definition[start + own.len()..]);
    Some([before, &Value::from(name).to_string(), after].concat())
}

/// Members of an object with their texts.
pub(crate) fn fields(text: &str) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_str(text).ok()
}

fn client() -> Value {
    json!({ "name": "mcpproxy-field", "version": "1" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_keep_their_bytes() {
        let one = r#"{"description":"\u00e9 é", "name" : "a","inputSchema":{"z":1.0,"a":[ ]}}"#;
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[ {one} ],"nextCursor":"2"}}}}"#
        );
        let mut tools = Tools::new();
        assert_eq!(
            read_page(&message, &mut tools).unwrap().as_deref(),
            Some("2")
        );
        assert_eq!(tools["a"], one);
        let renamed = renamed(one, "s__a").unwrap();
        assert_eq!(renamed, one.replace(r#""a","#, r#""s__a","#));
        assert!(
            read_page(&message, &mut tools).is_err(),
            "the name is taken"
        );
        for wrong in [
            r#"{"id":1,"error":{"code":-1}}"#,
            "[]",
            r#"{"result":{}}"#,
            r#"{"result":{"tools":[{}]}}"#,
        ] {
            assert!(read_page(wrong, &mut Tools::new()).is_err(), "{wrong}");
        }
    }
}
