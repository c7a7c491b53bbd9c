//! Capabilities of a server and its introduction, declared alike in every revision.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::json::Fields;

/// Most characters of a title, or of instructions, that are kept.
const INTRODUCTION_LIMIT: usize = 4_000;

/// Capabilities that a server declares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Whether it has tools, and tells when there are others.
    pub tools: Option<ListChanges>,
    /// Whether it has prompts, and tells when there are others.
    pub prompts: Option<ListChanges>,
    /// Whether it has resources, and tells when there are others.
    pub resources: Option<ListChanges>,
    /// Whether it tells those who ask for it when a resource changes.
    pub has_subscriptions: bool,
    /// Whether it completes arguments.
    pub has_completions: bool,
}

/// Whether a server tells when a list changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListChanges {
    /// The server announces changes.
    Announced,
    /// The server says nothing.
    Silent,
}

/// Introduction of a server: what it said of itself when it was last connected. Others wrote it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction {
    /// Title that people know it by.
    pub title: Option<Arc<str>>,
    /// Instructions for who uses it.
    pub instructions: Option<Arc<str>>,
}

impl Capabilities {
    /// Reads the `capabilities` of a server; whatever is no object declares nothing.
    pub fn read(capabilities: Option<&RawValue>) -> Self {
        let fields = capabilities.and_then(|raw| Fields::read(raw.get()));
        let fields = fields.unwrap_or_default();
        let resources = fields.given("resources");
        Self {
            tools: fields.given("tools").map(ListChanges::of),
            prompts: fields.given("prompts").map(ListChanges::of),
            resources: resources.map(ListChanges::of),
            has_subscriptions: resources.is_some_and(|raw| is_true(raw, "subscribe")),
            has_completions: fields.given("completions").is_some(),
        }
    }
}

impl ListChanges {
    fn of(capability: &RawValue) -> Self {
        if is_true(capability, "listChanged") {
            Self::Announced
        } else {
            Self::Silent
        }
    }
}

fn is_true(capability: &RawValue, name: &str) -> bool {
    let given = Fields::read(capability.get()).and_then(|fields| fields.get(name));
    given.map(RawValue::get) == Some("true")
}

impl Introduction {
    /// Introduction in a server's `serverInfo` and the members beside it, of which the start is kept.
    pub fn read(server_info: Option<&RawValue>, beside: &Fields<'_>) -> Self {
        let start = |text: Cow<'_, str>| -> Arc<str> {
            text.chars()
                .take(INTRODUCTION_LIMIT)
                .collect::<String>()
                .into()
        };
        let info = server_info.and_then(|info| Fields::read(info.get()));
        Self {
            title: info.and_then(|info| info.text("title").map(start)),
            instructions: beside.text("instructions").map(start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_read_and_nothing_else_is_assumed() {
        let read = |text: &str| Capabilities::read(Some(serde_json::from_str(text).unwrap()));
        assert_eq!(Capabilities::read(None), Capabilities::default());
        for text in ["7", "{}", "[]", r#"{"prompts":null,"x":{}}"#] {
            assert_eq!(read(text), Capabilities::default(), "{text}");
        }
        let all = read(
            r#"{"prompts":{},"resources":{"subscribe":true,"listChanged":true},"completions":{}}"#,
        );
        let expected = Capabilities {
            tools: None,
            prompts: Some(ListChanges::Silent),
            resources: Some(ListChanges::Announced),
            has_subscriptions: true,
            has_completions: true,
        };
        assert_eq!(all, expected);
        let odd = read(r#"{"prompts":{"listChanged":"true"},"resources":{"subscribe":1}}"#);
        assert_eq!(odd.prompts, Some(ListChanges::Silent));
        assert!(odd.resources.is_some() && !odd.has_subscriptions);
    }
}
