//! Metadata of a call: whatever a client sends along in `_meta` that nobody between it and the tool uses.

use std::collections::HashMap;
use std::fmt;

use mcpproxy_wire::{Json, meta};
use serde_json::Value;

/// Most of it that is handed on. It is held for each call, and no more than remarks belong there.
const MOST_ENTRIES: usize = 32;
const MOST_BYTES: usize = 8 * 1024;

/// Metadata of a call, within bounds: names and values as the client wrote them, each name once.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CallMetadata(Vec<(Box<str>, Json)>);

impl CallMetadata {
    /// Metadata among the members of a `_meta`. Keys of MCP and of the gateway are none: a client cannot say what only
    /// the gateway may. What does not fit, or is nested too deep to be read, is left out whole. What comes first is kept,
    /// as a service does that is called directly (`contract-serve/src/context.rs`).
    pub fn of<'a>(members: impl Iterator<Item = (&'a str, &'a Json)>) -> Self {
        let members: Vec<_> = members.filter(|(name, _)| !is_used(name)).collect();
        // The last value of a name counts, in the place of the first.
        let mut values: HashMap<&str, &Json> = members.iter().copied().collect();
        let mut kept: Vec<(Box<str>, Json)> = Vec::new();
        let mut bytes = 0;
        for (name, _) in members {
            let Some(value) = values.remove(name) else {
                continue;
            };
            let size = name.len() + value.text().len();
            let fits = kept.len() < MOST_ENTRIES && bytes + size <= MOST_BYTES;
            if fits && serde_json::from_str::<Value>(value.text()).is_ok() {
                bytes += size;
                kept.push((name.into(), value.clone()));
            }
        }
        Self(kept)
    }

    /// Names and values, in the order they were sent.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }
}

impl fmt::Debug for CallMetadata {
    /// Shows no values, which may be secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CallMetadata({} entries)", self.0.len())
    }
}

/// Whether a key of `_meta` is for MCP or for the gateway.
fn is_used(key: &str) -> bool {
    [meta::PROGRESS_TOKEN, meta::TRACEPARENT].contains(&key)
        || [meta::PROTOCOL_PREFIX, meta::OWN_PREFIX]
            .iter()
            .any(|prefix| key.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(members: &[(&str, Json)]) -> Vec<(String, String)> {
        let members = members.iter().map(|(name, value)| (*name, value));
        let metadata = CallMetadata::of(members);
        let kept = metadata.iter();
        kept.map(|(name, value)| (name.to_owned(), value.text().to_owned()))
            .collect()
    }

    fn entry(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn metadata_is_what_neither_the_protocol_nor_the_gateway_uses() {
        let text = Json::of(&json!("x"));
        let members = [
            "progressToken",
            "traceparent",
            "io.modelcontextprotocol/clientInfo",
            "dev.mcpproxy/userId",
            "dev.mcpproxy/correlationId",
            "dev.mcpproxy/anything",
            "tenant",
            "com.example/dev.mcpproxy/",
        ]
        .map(|name| (name, text.clone()));
        let expected = ["tenant", "com.example/dev.mcpproxy/"].map(|name| entry(name, r#""x""#));
        assert_eq!(kept(&members), expected);
    }

    #[test]
    fn the_last_of_entries_with_one_name_counts_and_keeps_its_bytes() {
        let json = |text: &str| Json::parse(text.to_owned()).unwrap();
        let members = [("a", json("1")), ("b", json("{ }")), ("a", json("2.50"))];
        assert_eq!(kept(&members), [entry("a", "2.50"), entry("b", "{ }")]);
    }

    #[test]
    fn metadata_has_bounds() {
        let json = |text: String| Json::parse(text).unwrap();
        let large = json(format!("\"{}\"", "x".repeat(MOST_BYTES)));
        let deep = json("[".repeat(200) + &"]".repeat(200));
        let small = json("1".to_owned());
        let members = [("large", large), ("deep", deep), ("small", small.clone())];
        assert_eq!(kept(&members), [entry("small", "1")]);

        let names: Vec<String> = (0..2 * MOST_ENTRIES).map(|n| format!("n{n}")).collect();
        let many: Vec<(&str, Json)> = names
            .iter()
            .map(|name| (name.as_str(), small.clone()))
            .collect();
        let first = &names[..MOST_ENTRIES];
        let expected: Vec<_> = first.iter().map(|name| entry(name, "1")).collect();
        assert_eq!(
            kept(&many),
            expected,
            "as where a service is called directly"
        );
    }

    #[test]
    fn values_are_not_shown() {
        let value = Json::of(&json!("hunter2"));
        let metadata = CallMetadata::of([("a", &value)].into_iter());
        assert_eq!(format!("{metadata:?}"), "CallMetadata(1 entries)");
    }
}
