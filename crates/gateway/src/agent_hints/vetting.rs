//! Hints that an upstream gives, before an agent sees them.
//!
//! [`mcpproxy_policy::agent_hints`] decides; here the names are looked up in the catalog, and the
//! decision is put into the result without touching any other byte of it.

use std::sync::Arc;

use mcpproxy_catalog::{CatalogTool, Snapshot};
use mcpproxy_contract::agent_hints::AgentHints;
use mcpproxy_contract::wire;
use mcpproxy_policy::agent_hints::{Vetted, vet};
use mcpproxy_policy::{Operation, Rights, Warning};
use mcpproxy_wire::json::with_member;
use mcpproxy_wire::json::{Fields, JsonError, decode_for_display, parse_strict};
use mcpproxy_wire::{CallResult, Json};
use serde::Serializer;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Member of `structuredContent` that the hints stand in.
const HINTS: &str = "agentHints";

/// Members of hints that name actions.
const NAMING: [&str; 3] = [
    "suggestedNextActions",
    "dependencies",
    "preferenceAlignment",
];

/// Result of a tool of `server` with its hints vetted, and what the agent is told about that. `hints` are those in the
/// result, decoded. A result without hints stays as it is.
pub(crate) fn vetted(
    result: CallResult,
    hints: Value,
    server: &str,
    catalog: &Snapshot,
    rights: &Rights,
) -> (CallResult, Option<Warning>) {
    let structured = vetted_structured(&result, hints, server, catalog, rights);
    let Some((structured, vetted)) = structured else {
        return (result, None);
    };
    let warning = vetted.warning(rights);
    (result.with_structured(&structured), warning)
}

/// Result of a tool of `server`, which is a service inside this program, with its hints vetted. Its text is ours as
/// well, and is made of the vetted hints. Such a service names only tools that there are, so the agent is not told that
/// some were dropped: that would tell it how many are withheld from it.
pub(crate) fn vetted_own(
    result: CallResult,
    hints: Value,
    server: &str,
    catalog: &Snapshot,
    rights: &Rights,
) -> CallResult {
    let structured = vetted_structured(&result, hints, server, catalog, rights);
    let Some((structured, vetted)) = structured else {
        return result;
    };
    let result = result.with_structured(&structured);
    if vetted.dropped.is_empty() && !vetted.is_cut {
        return result;
    }
    let content = wire::content(&structured.to_value());
    result.with_content(&Json::of(&content))
}

/// Structured content of a result with its hints vetted, and how they were; nothing of a result without hints.
fn vetted_structured(
    result: &CallResult,
    hints: Value,
    server: &str,
    catalog: &Snapshot,
    rights: &Rights,
) -> Option<(Json, Vetted)> {
    let Value::Object(decoded) = hints else {
        return None;
    };
    let (structured, given) = hints_of(result)?;
    let vetted = vet(decoded, &|action| resolve(catalog, server, action, rights));
    let structured = with_member(&structured, HINTS, &written(&given, &vetted));
    Some((structured, vetted))
}

/// Callable tool that an action stands for, which a tool of `server` names: one of its own server, or
/// one that is named in full, if a caller with these rights may use it. With it comes the variant to call it with.
pub(crate) fn resolve(
    catalog: &Snapshot,
    server: &str,
    action: &str,
    rights: &Rights,
) -> Option<(String, Operation)> {
    let own = catalog.find(server, action);
    // A tool that does not exist for the caller stands in the way of no other.
    let own = own.filter(|entry| entry.is_within(rights));
    let entry = own.or_else(|| qualified(catalog, action))?;
    let is_usable = entry.is_callable_by(rights);
    is_usable.then(|| (entry.qualified().to_owned(), entry.call_with()))
}

/// Hints of our own as JSON. They suggest tools as `server:tool`; what a caller with these rights cannot call is left
/// out, and each of the rest is an action in kebab case, with the tool and how to call it beside it.
pub(crate) fn own_hints(
    hints: &AgentHints,
    catalog: &Snapshot,
    rights: &Rights,
) -> Map<String, Value> {
    let members = match serde_json::to_value(hints) {
        Ok(Value::Object(members)) => members,
        // Hints are an object of plain values, which always serialises.
        _ => Map::new(),
    };
    let mut members = vet(members, &|tool| resolve(catalog, "", tool, rights)).hints;
    let actions = members.get_mut(NAMING[0]).and_then(Value::as_array_mut);
    for action in actions.into_iter().flatten() {
        let tool = action["tool"]
            .as_str()
            .and_then(|tool| tool.split_once(':'));
        if let Some((_, name)) = tool {
            action["action"] = kebab_case(name).into();
        }
    }
    members
}

/// Name of a tool as the identifier of an action: words in small letters with dashes between them.
fn kebab_case(name: &str) -> String {
    let mut words = String::new();
    let mut before = None;
    for letter in name.chars() {
        let begins_word = letter.is_uppercase() && before.is_some_and(char::is_lowercase);
        if (begins_word || !letter.is_alphanumeric()) && !words.ends_with('-') {
            words.push('-');
        }
        if letter.is_alphanumeric() {
            words.extend(letter.to_lowercase());
        }
        before = Some(letter);
    }
    match words.trim_matches('-') {
        "" => "call-tool".to_owned(),
        words => words.to_owned(),
    }
}

/// Tool of the name `server:tool`, if a caller with these rights can call it.
pub(crate) fn callable<'a>(
    catalog: &'a Snapshot,
    name: &str,
    rights: &Rights,
) -> Option<&'a Arc<CatalogTool>> {
    qualified(catalog, name).filter(|entry| entry.is_callable_by(rights))
}

fn qualified<'a>(catalog: &'a Snapshot, name: &str) -> Option<&'a Arc<CatalogTool>> {
    let (server, tool) = name.split_once(':')?;
    catalog.find(server, tool)
}

/// Structured content of a result and the hints in it, if they are an object.
fn hints_of(result: &CallResult) -> Option<(Json, Json)> {
    let structured = result.structured()?;
    let fields = structured.fields()?;
    let hints = structured.part(fields.get(HINTS)?);
    drop(fields);
    hints.is_object().then_some((structured, hints))
}

/// Vetted hints as text, in which every member that was not changed has the bytes it came in.
fn written(given: &Json, vetted: &Vetted) -> Json {
    let fields = given.fields().unwrap_or_default();
    let members = vetted.hints.iter().map(|(name, value)| {
        let own = unchanged(&fields, name, value).map(|own| given.part(own));
        (name, own.unwrap_or_else(|| Json::of(value)))
    });
    let mut text = Vec::new();
    let written = serde_json::Serializer::new(&mut text).collect_map(members);
    written
        .map_err(JsonError::from)
        .and_then(|()| Json::parse(text))
        .unwrap_or_else(|_| Json::of(&Value::Object(vetted.hints.clone())))
}

/// Bytes of a member that means what it meant. Where actions are named, a key that is given
/// twice would let another reader see what we did not vet, so such bytes are not kept.
fn unchanged<'a>(given: &Fields<'a>, name: &str, value: &Value) -> Option<&'a RawValue> {
    let own = given.get(name)?;
    let read = if NAMING.contains(&name) {
        parse_strict(own.get()).ok()?
    } else {
        decode_for_display(own.get())
    };
    (read == *value).then_some(own)
}

#[cfg(test)]
mod tests;
