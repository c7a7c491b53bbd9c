//! Settings of the operator for a server and its tools.

use std::collections::{HashMap, HashSet};

use mcpproxy_wire::json::{Members, to_text};
use mcpproxy_wire::{Json, ToolAnnotations};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Settings of the operator for one server.
#[derive(Debug, Clone, PartialEq)]
pub struct Operator {
    /// Whether the server is used at all.
    pub enabled: bool,
    /// Whether the server waits for a person's approval.
    pub quarantined: bool,
    /// Whether its settings cannot be used. What it offered is not listed, but still found to be its own: who asks
    /// for it is told what is wrong.
    pub is_broken: bool,
    /// Settings for single tools, by the tool's name at its server.
    pub tools: HashMap<String, ToolOverride>,
    /// The only tools that may be called, by name; all without it.
    pub enabled_tools: Option<HashSet<String>>,
    /// Tools that may not be called, by name.
    pub disabled_tools: HashSet<String>,
}

/// Settings of the operator for one tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOverride {
    /// Annotations that are put over the server's own, key by key.
    pub annotations: Map<String, Value>,
    /// Whether the tool may be called.
    pub enabled: bool,
}

// === impl Operator ===

impl Default for Operator {
    fn default() -> Self {
        Self {
            enabled: true,
            quarantined: false,
            is_broken: false,
            tools: HashMap::new(),
            enabled_tools: None,
            disabled_tools: HashSet::new(),
        }
    }
}

impl Operator {
    /// Whether a tool may be called: of several settings about it the one that forbids holds.
    pub(crate) fn enables(&self, tool: &str) -> bool {
        let is_listed = |only: &HashSet<String>| only.contains(tool);
        self.enabled_tools.as_ref().is_none_or(is_listed)
            && !self.disabled_tools.contains(tool)
            && self.tools.get(tool).is_none_or(|settings| settings.enabled)
    }
}

// === impl ToolOverride ===

impl Default for ToolOverride {
    fn default() -> Self {
        Self {
            annotations: Map::new(),
            enabled: true,
        }
    }
}

impl ToolOverride {
    /// Those of the operator's annotations that decisions rest on. They are read from the very annotations
    /// that agents are shown, so what is shown and what is decided on cannot differ.
    pub fn decisive_annotations(&self) -> ToolAnnotations {
        let given = |name: &str| self.annotations.get(name).and_then(Value::as_bool);
        ToolAnnotations {
            read_only: given("readOnlyHint"),
            destructive: given("destructiveHint"),
            idempotent: given("idempotentHint"),
            open_world: given("openWorldHint"),
        }
    }

    /// Annotations of the server with the operator's keys replaced in their place, or added at
    /// the end. Everything else keeps its bytes and its order.
    pub(crate) fn over(&self, own: Option<&Json>) -> Option<Json> {
        if self.annotations.is_empty() {
            return own.cloned();
        }
        let mut members = Vec::new();
        let mut rest: Vec<(&String, &Value)> = self.annotations.iter().collect();
        let fields = own.and_then(Json::fields).unwrap_or_default();
        for (name, value) in fields.iter() {
            if let Some(position) = rest.iter().position(|(key, _)| *key == name) {
                let (_, replacement) = rest.remove(position);
                members.push((name, Annotation::Operator(replacement)));
            } else if !self.annotations.contains_key(name) {
                members.push((name, Annotation::Server(value)));
            }
        }
        let rest = rest.into_iter();
        members.extend(rest.map(|(name, value)| (name.as_str(), Annotation::Operator(value))));
        Json::parse(to_text(&Members(members))).ok()
    }
}

/// Value of an annotation: the server's bytes, or what the operator set.
#[derive(Serialize)]
#[serde(untagged)]
enum Annotation<'a> {
    Server(&'a RawValue),
    Operator(&'a Value),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(own: Option<&str>, operator: &str, expected: Option<&str>) {
        let own = own.map(|text| Json::parse(text.to_owned()).unwrap());
        let tool = ToolOverride {
            annotations: serde_json::from_str(operator).unwrap(),
            enabled: true,
        };
        let merged = tool.over(own.as_ref());
        assert_eq!(merged.as_ref().map(Json::text), expected, "{operator}");
    }

    #[test]
    fn operator_keys_replace_in_place_and_the_rest_keeps_its_bytes() {
        check(None, "{}", None);
        check(Some(r#"{ "a" : 1.0 }"#), "{}", Some(r#"{ "a" : 1.0 }"#));
        check(
            None,
            r#"{"destructiveHint":true}"#,
            Some(r#"{"destructiveHint":true}"#),
        );
        check(
            Some(r#"{"z":12345678901234567890123,"readOnlyHint":true,"title":"T"}"#),
            r#"{"openWorldHint":false,"readOnlyHint":false}"#,
            Some(
                r#"{"z":12345678901234567890123,"readOnlyHint":false,"title":"T","openWorldHint":false}"#,
            ),
        );
        // A key the server gives twice is replaced once and does not come back.
        check(
            Some(r#"{"readOnlyHint":true,"k":0,"readOnlyHint":true}"#),
            r#"{"readOnlyHint":false}"#,
            Some(r#"{"readOnlyHint":false,"k":0}"#),
        );
        check(Some("{}"), r#"{"a\"b":[1]}"#, Some(r#"{"a\"b":[1]}"#));
    }

    #[test]
    fn hints_are_the_booleans_among_the_annotations() {
        let tool = ToolOverride {
            annotations: serde_json::from_str(
                r#"{"readOnlyHint":false,"destructiveHint":"yes","other":true}"#,
            )
            .unwrap(),
            enabled: true,
        };
        assert_eq!(
            tool.decisive_annotations(),
            ToolAnnotations {
                read_only: Some(false),
                ..ToolAnnotations::default()
            }
        );
    }
}
