//! Definition of a tool, as it is published.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Tool;
use super::category::{Category, CategoryEffect, CategoryName, ResponseTime};

/// Everything that is published about a tool. A struct literal, so that no field can be forgotten.
pub struct Definition<T: Tool> {
    /// The version of the tool.
    pub version: Version,
    /// What it does, when to use it, what it returns.
    pub description: Description,
    /// What a caller must be allowed to do, each as `resource:action`. May be empty.
    pub permissions: &'static [&'static str],
    /// How long a call takes.
    pub response_time: ResponseTime,
    /// How long a result may be kept: `Some(Ttl::minutes::<5>())` or `None`, and [`Uncached`] for
    /// mutations.
    ///
    /// [`Uncached`]: crate::Uncached
    pub cache: <T::Category as Category>::Cache,
    /// Whether a call can be repeated without doing more than the first one did.
    pub idempotent: bool,
    /// At least one call as it is meant to be made.
    pub examples: Vec<Example>,
    /// At least one word to find the tool by.
    pub tags: &'static [&'static str],
    /// How often one caller may call it.
    pub rate_limit: Option<RateLimit>,
    /// Set when the tool is going to be removed.
    pub deprecated: Option<Deprecation>,
}

/// The description in its parts, so that none of them is left out.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// What the tool does: "Reads one card".
    pub what: &'static str,
    /// When to use it, going on from "Use when": "you know its id and need its text".
    pub when: &'static str,
    /// What it returns, going on from "Returns": "the card with both sides".
    pub returns: &'static str,
    /// Uses as an example: "show the answer of a card". Where there are none, the descriptions of
    /// the tool's examples are its uses.
    pub uses: &'static [&'static str],
}

/// A call as it is meant to be made. Parsed with the tool's own types when it is registered.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Example {
    /// What the example shows.
    pub description: &'static str,
    /// What the tool is given.
    pub params: Value,
    /// The data it answers with.
    pub expected_result: Value,
}

/// A semantic version, `1.2.3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u32, u32, u32);

/// How often one caller may call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    pub(crate) max_calls: u32,
    pub(crate) window_ms: u64,
}

/// A tool that is going to be removed, and what takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deprecation {
    /// The version of the tool since which it is deprecated.
    since: Version,
    /// The day it was announced; the removal is at least 90 days later.
    announced: Date,
    /// The tool to use instead.
    pub(crate) replacement: &'static str,
    /// The day from which on a call is refused.
    pub(crate) removal_date: Date,
}

/// A definition as it travels: in `_meta["dev.mcpproxy/definition"]` of the tool.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedDefinition {
    /// The name, `verb-noun`.
    pub name: String,
    /// What, when, returns, and example uses in one text.
    #[schemars(length(min = 50))]
    pub description: String,
    /// The version of the tool.
    pub version: Version,
    /// What a caller must be allowed to do.
    pub permissions: Vec<String>,
    /// The kind of work.
    pub category: CategoryName,
    /// How long a call takes.
    pub response_time: ResponseTime,
    /// Whether results may be kept.
    pub cacheable: bool,
    /// For how many seconds.
    #[serde(rename = "cacheTTL", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub cache_ttl: Option<u32>,
    /// Whether a call can be repeated without doing more than the first one did.
    pub idempotent: bool,
    /// Calls as they are meant to be made.
    #[schemars(length(min = 1))]
    pub examples: Vec<Example>,
    /// Words to find the tool by.
    #[schemars(length(min = 1))]
    pub tags: Vec<String>,
    /// How often one caller may call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    /// Set when the tool is going to be removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<Deprecation>,
    /// What a call does to the world; published as MCP annotations.
    #[serde(skip)]
    pub effect: CategoryEffect,
}

// === impl Definition ===

impl<T: Tool> Definition<T> {
    /// The parts of the description that say nothing.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let (told, uses) = (&self.description, self.uses().concat());
        let texts = [told.what, told.when, told.returns, &uses];
        let parts = ["what", "when", "returns", "uses"].into_iter().zip(texts);
        let empty = parts.filter(|(_, text)| text.trim().is_empty());
        empty.map(|(part, _)| part).collect()
    }

    /// Uses of the tool: as the description says, else as the examples say.
    fn uses(&self) -> Vec<&'static str> {
        if self.description.uses.is_empty() {
            let examples = self.examples.iter();
            return examples.map(|example| example.description).collect();
        }
        self.description.uses.to_vec()
    }

    /// The parts of the description and the uses as one text, in the order an agent reads them.
    fn description_text(&self) -> String {
        let told = &self.description;
        let [what, when, returns] =
            [told.what, told.when, told.returns].map(|text| text.trim().trim_end_matches('.'));
        let mut text = format!("{what}. Use when {when}. Returns {returns}.");
        let uses = self.uses();
        if !uses.is_empty() {
            text.push_str(&format!(" For example: {}.", uses.join("; ")));
        }
        text
    }

    /// The definition as it travels.
    pub(crate) fn publish(self) -> PublishedDefinition {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let description = self.description_text();
        let ttl = self.cache.into();
        PublishedDefinition {
            name: T::NAME.to_owned(),
            description,
            version: self.version,
            permissions: owned(self.permissions),
            category: T::Category::NAME,
            response_time: self.response_time,
            cacheable: ttl.is_some(),
            cache_ttl: ttl.map(|ttl| ttl.0),
            idempotent: self.idempotent,
            examples: self.examples,
            tags: owned(self.tags),
            rate_limit: self.rate_limit,
            deprecated: self.deprecated,
            effect: T::Category::EFFECT,
        }
    }
}

// === impl PublishedDefinition ===

impl PublishedDefinition {
    /// Whether the tool's time is over at this moment: from the day of its removal on, in UTC.
    pub fn is_removed(&self, at: Timestamp) -> bool {
        let today = at.to_zoned(TimeZone::UTC).date();
        self.deprecated.is_some_and(|one| one.removal_date <= today)
    }
}

// === impl Version ===

impl Version {
    /// The version `major.minor.patch`.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self(major, minor, patch)
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Version {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Version".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": r"^\d+\.\d+\.\d+" })
    }
}

// === impl RateLimit ===

impl RateLimit {
    /// Limit of so many calls in each window; one of none, or over no time, does not compile.
    pub const fn calls<const MAX_CALLS: u32, const WINDOW_MS: u64>() -> Self {
        const {
            assert!(MAX_CALLS > 0, "a tool that may never be called is no tool");
            assert!(WINDOW_MS > 0, "a window of no time limits nothing");
        }
        Self {
            max_calls: MAX_CALLS,
            window_ms: WINDOW_MS,
        }
    }
}

// === impl Deprecation ===

impl Deprecation {
    /// Deprecated since a version of the tool, announced on a day, removed on another, and
    /// replaced by a tool that exists.
    pub const fn replaced_by<T: Tool>(since: Version, announced: Date, removal_date: Date) -> Self {
        Self {
            since,
            announced,
            replacement: T::NAME,
            removal_date,
        }
    }
}
