//! The parts of hints that speak of things and actions: resources, risks, dependencies.

use std::borrow::Cow;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::wire::tidy;
use super::{DependencyType, RiskType, Severity, Share, SourceQuality};
use crate::Tool;

/// Something the result has to do with.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = tidy)]
pub struct RelatedResource {
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// Its id.
    pub(super) id: String,
    /// Its name for people.
    pub(super) label: String,
    /// How much the result has to do with it.
    pub(super) relevance: Share,
    /// More on the thing itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<ResourceMetadata>,
}

/// More on a related thing. Every field may be missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = tidy)]
struct ResourceMetadata {
    /// The group it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<String>,
    /// When it was last used.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_accessed: Option<Timestamp>,
    /// How often it was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    access_count: Option<u64>,
    /// How reliable it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Measure>")]
    quality: Option<SourceQuality>,
    /// How new it is, in words: "current".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Measure>")]
    freshness: Option<String>,
}

/// What the contract names without saying what it is: others may send a word or a number.
struct Measure;

/// Something that may go wrong when the suggestions are followed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = tidy)]
pub struct RiskFactor {
    /// What it endangers.
    #[serde(rename = "type")]
    pub(super) kind: RiskType,
    /// How bad it would be.
    pub(super) severity: Severity,
    /// What may go wrong.
    pub(super) description: String,
    /// How likely it is.
    pub(super) probability: Share,
    /// How much of the result it would touch.
    pub(super) impact: Share,
    /// What helps against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mitigation: Option<String>,
}

/// An action that should wait for others. It always names at least one of them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = tidy)]
pub struct Dependency {
    /// The action that waits.
    pub(super) action: &'static str,
    /// What it waits for.
    pub(super) depends_on: Vec<&'static str>,
    /// How much it depends on them.
    #[serde(rename = "type")]
    pub(super) kind: DependencyType,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// An action of which it is yet to be said what it waits for: [`Dependent::on`].
#[derive(Debug, Clone, Copy)]
#[must_use = "a dependency names what it depends on"]
pub struct Dependent {
    action: &'static str,
    kind: DependencyType,
}

// === impl RelatedResource ===

impl RelatedResource {
    /// A thing of this type, by its id and its name for people.
    pub fn new(
        kind: impl Into<String>,
        id: impl Into<String>,
        label: impl Into<String>,
        relevance: Share,
    ) -> Self {
        Self {
            kind: kind.into(),
            id: id.into(),
            label: label.into(),
            relevance,
            metadata: None,
        }
    }

    /// Related resource with the group it belongs to.
    #[must_use]
    pub fn category(mut self, category: impl Into<String>) -> Self {
        self.metadata().category = Some(category.into());
        self
    }

    /// Related resource with when it was last used.
    #[must_use]
    pub fn last_accessed(mut self, at: Timestamp) -> Self {
        self.metadata().last_accessed = Some(at);
        self
    }

    /// Related resource with how often it was used.
    #[must_use]
    pub fn access_count(mut self, count: u64) -> Self {
        self.metadata().access_count = Some(count);
        self
    }

    /// Related resource with how reliable it is.
    #[must_use]
    pub fn quality(mut self, quality: SourceQuality) -> Self {
        self.metadata().quality = Some(quality);
        self
    }

    /// Related resource with how new it is, in words: "current".
    #[must_use]
    pub fn freshness(mut self, freshness: impl Into<String>) -> Self {
        self.metadata().freshness = Some(freshness.into());
        self
    }

    /// The thing in one text: "deck 'Math Deck' (`deck_456`)".
    pub(super) fn name(&self) -> String {
        format!("{} '{}' ({})", self.kind, self.label, self.id)
    }

    fn metadata(&mut self) -> &mut ResourceMetadata {
        self.metadata.get_or_insert_default()
    }
}

// === impl Measure ===

impl JsonSchema for Measure {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Measure".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"] })
    }
}

// === impl RiskFactor ===

impl RiskFactor {
    /// A risk: what it endangers, how bad it would be, what may go wrong, how likely that is and
    /// how much of the result it would touch.
    pub fn new(
        kind: RiskType,
        severity: Severity,
        description: impl Into<String>,
        probability: Share,
        impact: Share,
    ) -> Self {
        Self {
            kind,
            severity,
            description: description.into(),
            probability,
            impact,
            mitigation: None,
        }
    }

    /// Risk factor with what helps against it.
    #[must_use]
    pub fn mitigated_by(mut self, text: impl Into<String>) -> Self {
        self.mitigation = Some(text.into());
        self
    }
}

// === impl Dependency ===

impl Dependency {
    /// What this tool depends on is said next, with [`Dependent::on`].
    pub fn of<A: Tool>(kind: DependencyType) -> Dependent {
        Dependent {
            action: A::NAME,
            kind,
        }
    }

    /// Dependency, waiting for one more tool.
    #[must_use]
    pub fn on<B: Tool>(mut self) -> Self {
        if !self.depends_on.contains(&B::NAME) {
            self.depends_on.push(B::NAME);
        }
        self
    }

    /// Dependency with the reason.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Drops what is not kept; none if the action is dropped or has nothing left to wait for.
    pub(super) fn keeping(mut self, mut keeps: impl FnMut(&str) -> bool) -> Option<Self> {
        let kept = keeps(self.action);
        self.depends_on.retain(|name| keeps(name));
        (kept && !self.depends_on.is_empty()).then_some(self)
    }
}

// === impl Dependent ===

impl Dependent {
    /// The action waits for this tool.
    pub fn on<B: Tool>(self) -> Dependency {
        Dependency {
            action: self.action,
            depends_on: vec![B::NAME],
            kind: self.kind,
            reason: None,
        }
    }
}
