//! Suggestions of what an agent may do next.
//!
//! A suggestion names a tool that exists: by its type, or by a name after asking whether it exists. There is no way to
//! make one of a tool of the same service from a text alone. A tool of another service is named with the server that
//! has it; a gateway in front of both takes it out where there is no such tool.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::share::amount;
use super::{ActionCategory, Confidence, Priority};
use crate::Tool;

/// Something an agent may do next.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[must_use]
pub struct Suggestion {
    /// The tool to call: of the same service by its name, of another one as `server:tool`.
    pub(crate) action: Cow<'static, str>,
    /// How urgent it is.
    pub(crate) priority: Priority,
    /// What to call it with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Map<String, Value>>,
    /// The suggestion in plain words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// How long it may take, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub(crate) estimated_time: Option<u64>,
    /// What it may cost, in the units of the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub(crate) estimated_cost: Option<f64>,
    /// What it is good for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) category: Option<ActionCategory>,
    /// The tools that must have been called before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prerequisites: Option<Vec<Cow<'static, str>>>,
    /// What will have happened afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected_outcome: Option<String>,
    /// Whether it can be undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reversible: Option<bool>,
    /// How sure this very suggestion is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) confidence: Option<Confidence>,
}

// === impl Suggestion ===

impl Suggestion {
    /// Suggestion to call this tool. The priority is medium until another is set.
    pub fn to<T: Tool>() -> Self {
        Self::new(Cow::Borrowed(T::NAME))
    }

    /// Suggestion to call this tool with these parameters.
    ///
    /// Arguments of a tool are always an object. Parameters that serialise to anything else could
    /// not be sent, and are left out.
    pub fn with<T: Tool>(params: &T::Params) -> Self {
        let mut suggestion = Self::to::<T>();
        if let Ok(Value::Object(data)) = serde_json::to_value(params) {
            suggestion.data = Some(data);
        }
        suggestion
    }

    /// Suggestion to call an action that is only known at run time; none if it does not exist.
    pub fn if_exists(name: &str, exists: impl FnOnce(&str) -> bool) -> Option<Self> {
        (!name.is_empty() && exists(name)).then(|| Self::new(Cow::Owned(name.to_owned())))
    }

    /// To call a tool of another service, which a gateway knows as the server of this name. Nobody can tell here whether
    /// there is one: a service alone sends it as it is, and a gateway takes it out unless the caller may call it.
    pub fn elsewhere(server: &str, tool: &str) -> Self {
        Self::new(Cow::Owned(format!("{server}:{tool}")))
    }

    /// Whether an action is a tool of another service.
    pub(crate) fn is_elsewhere(action: &str) -> bool {
        let parts = action.split_once(':');
        parts.is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty())
    }

    /// The name of the tool to call.
    pub fn action(&self) -> &str {
        &self.action
    }

    /// Suggestion with another priority.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Suggestion with what to call it with. Where the tool is known as a type, use
    /// [`Suggestion::with`], which cannot be given parameters of another tool.
    pub fn data(mut self, data: Map<String, Value>) -> Self {
        self.data = Some(data);
        self
    }

    /// Suggestion in plain words.
    pub fn described(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Suggestion with how long it may take.
    pub fn takes(mut self, time: Duration) -> Self {
        self.estimated_time = Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Suggestion with what it may cost. What is not a number or below zero counts as zero.
    pub fn costs(mut self, cost: f64) -> Self {
        self.estimated_cost = Some(amount(cost));
        self
    }

    /// Suggestion with what it is good for.
    pub fn category(mut self, category: ActionCategory) -> Self {
        self.category = Some(category);
        self
    }

    /// Suggestion, but only after this tool was called.
    pub fn after<T: Tool>(mut self) -> Self {
        let prerequisites = self.prerequisites.get_or_insert_default();
        if !prerequisites.iter().any(|name| name == T::NAME) {
            prerequisites.push(Cow::Borrowed(T::NAME));
        }
        self
    }

    /// Suggestion with what will have happened afterwards.
    pub fn expecting(mut self, outcome: impl Into<String>) -> Self {
        self.expected_outcome = Some(outcome.into());
        self
    }

    /// Suggestion with whether it can be undone.
    pub fn reversible(mut self, reversible: bool) -> Self {
        self.reversible = Some(reversible);
        self
    }

    /// Suggestion with how sure it is.
    pub fn confident(mut self, confidence: Confidence) -> Self {
        self.confidence = Some(confidence);
        self
    }

    fn new(action: Cow<'static, str>) -> Self {
        Self {
            action,
            priority: Priority::Medium,
            data: None,
            description: None,
            estimated_time: None,
            estimated_cost: None,
            category: None,
            prerequisites: None,
            expected_outcome: None,
            reversible: None,
            confidence: None,
        }
    }
}
