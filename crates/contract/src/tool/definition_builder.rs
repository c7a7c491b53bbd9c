//! The short way to a definition: what has to be said, in the order an agent reads it.
//!
//! Each step is a type of its own, so that none can be left out. What is not said has the answer
//! that can do no harm; [`Definition`] has a field for each of these.

use serde_json::Value;

use super::Tool;
use super::category::{Category, CategoryName, ResponseTime};
use super::definition::{Definition, Description, Example, Version};

/// A definition that is not complete yet; `SAID` counts the steps that were taken.
#[must_use]
pub struct DefinitionBuilder<T: Tool, const SAID: u8>(Definition<T>);

// === impl Definition ===

impl<T: Tool> Definition<T> {
    /// Begins the definition of a tool: its version, how long a call takes, and what a caller must
    /// be allowed to do, each as `resource:action`; the list may be empty.
    ///
    /// Nothing is kept, there is no rate limit, and only queries and analyses count as idempotent.
    /// Where that is not so, set the field: `Definition { rate_limit, ..Definition::of(…)… }`.
    pub fn of(
        version: Version,
        response_time: ResponseTime,
        permissions: &'static [&'static str],
    ) -> DefinitionBuilder<T, 0> {
        DefinitionBuilder(Self {
            version,
            description: Description {
                what: "",
                when: "",
                returns: "",
                uses: &[],
            },
            permissions,
            response_time,
            cache: <T::Category as Category>::Cache::default(),
            idempotent: matches!(
                T::Category::NAME,
                CategoryName::Query | CategoryName::Analysis
            ),
            examples: Vec::new(),
            tags: &[],
            rate_limit: None,
            deprecated: None,
        })
    }
}

// === impl DefinitionBuilder ===

impl<T: Tool> DefinitionBuilder<T, 0> {
    /// What the tool does: "Reads one card".
    pub fn what(mut self, text: &'static str) -> DefinitionBuilder<T, 1> {
        self.0.description.what = text;
        DefinitionBuilder(self.0)
    }
}

impl<T: Tool> DefinitionBuilder<T, 1> {
    /// When to use it, going on from "Use when": "you know its id and need its text".
    pub fn when(mut self, text: &'static str) -> DefinitionBuilder<T, 2> {
        self.0.description.when = text;
        DefinitionBuilder(self.0)
    }
}

impl<T: Tool> DefinitionBuilder<T, 2> {
    /// What it returns, going on from "Returns": "both sides of the card".
    pub fn returns(mut self, text: &'static str) -> DefinitionBuilder<T, 3> {
        self.0.description.returns = text;
        DefinitionBuilder(self.0)
    }
}

impl<T: Tool> DefinitionBuilder<T, 3> {
    /// A call as it is meant to be made: what it is good for, what the tool is given, and the data
    /// it answers with.
    pub fn example(
        self,
        description: &'static str,
        params: Value,
        expected_result: Value,
    ) -> DefinitionBuilder<T, 4> {
        DefinitionBuilder::<T, 4>(self.0).example(description, params, expected_result)
    }
}

impl<T: Tool> DefinitionBuilder<T, 4> {
    /// Another such call.
    pub fn example(mut self, description: &'static str, params: Value, result: Value) -> Self {
        self.0.examples.push(Example {
            description,
            params,
            expected_result: result,
        });
        self
    }

    /// The definition, with words to find the tool by, at least one.
    pub fn tagged(mut self, tags: &'static [&'static str]) -> Definition<T> {
        self.0.tags = tags;
        self.0
    }
}
