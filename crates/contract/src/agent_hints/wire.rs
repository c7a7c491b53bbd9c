//! Hints as they are sent, and the schema of that. Every key of the wire form is in this file or
//! in the struct of its part.

use std::borrow::Cow;

use jiff::Timestamp;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::impact::Impact;
use super::parts::{Alignment, Dependency};
use super::{
    AgentHints, Alternative, Confidence, HintWarning, RelatedResource, RiskFactor, SourceQuality,
    Suggestion, ValidityPeriod,
};

/// The JSON schema of hints (draft 2020-12). What this crate sends keeps it; so must results of
/// others, and therefore it asks for no more than the contract does.
pub fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<AgentHints>()
        .to_value()
}

/// The keys that hints always have, in the order in which they are sent.
pub(crate) const REQUIRED_KEYS: [&str; 11] = [
    "suggestedNextActions",
    "relatedResources",
    "confidence",
    "sourceQuality",
    "validityPeriod",
    "contextNeeded",
    "assumptions",
    "riskFactors",
    "dependencies",
    "estimatedImpact",
    "preferenceAlignment",
];

/// What an agent may do next, how sure that is, and why.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AgentHints", transform = tidy)]
struct AgentHintsJson<'a> {
    /// What to do next. Every action is a tool that exists.
    suggested_next_actions: &'a [Suggestion],
    /// What the result has to do with.
    related_resources: &'a [RelatedResource],
    /// How sure the hints are; `reasoning` tells how it was calculated.
    confidence: &'a Confidence,
    /// How reliable the data behind the hints is.
    source_quality: SourceQuality,
    /// How long the hints hold: for the next action, about 5 minutes, an hour, a day, or until the
    /// context changes.
    validity_period: ValidityPeriod,
    /// What would make the hints better if it were known.
    context_needed: &'a [String],
    /// What was taken for granted.
    assumptions: &'a [String],
    /// What may go wrong.
    risk_factors: &'a [RiskFactor],
    /// Which actions should wait for others.
    dependencies: &'a [Dependency],
    /// What following the suggestions would bring and take.
    estimated_impact: Impact,
    /// How actions fit what the user prefers.
    preference_alignment: &'a [Alignment],
    /// Why these hints, and how confidence and roi were calculated.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<String>,
    /// What the agent should know before it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<&'a [HintWarning]>,
    /// Other ways that were considered.
    #[serde(skip_serializing_if = "Option::is_none")]
    alternatives: Option<&'a [Alternative]>,
    /// What the suggestions have to keep to.
    #[serde(skip_serializing_if = "Option::is_none")]
    constraints: Option<&'a [String]>,
    /// Where the hints come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<HintsMetadata<'a>>,
}

/// Where hints come from.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "HintsMetadata", transform = tidy)]
struct HintsMetadata<'a> {
    /// When they were made, in UTC.
    generated_at: Timestamp,
    /// Who made them.
    generated_by: &'a str,
    /// The model that made them, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    model_version: Option<String>,
    /// How long that took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    processing_time: Option<f64>,
}

// === impl AgentHints ===

impl Serialize for AgentHints {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        AgentHintsJson::from(self).serialize(serializer)
    }
}

impl JsonSchema for AgentHints {
    fn schema_name() -> Cow<'static, str> {
        AgentHintsJson::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        AgentHintsJson::json_schema(generator)
    }
}

// === impl AgentHintsJson ===

impl<'a> From<&'a AgentHints> for AgentHintsJson<'a> {
    fn from(hints: &'a AgentHints) -> Self {
        Self {
            suggested_next_actions: &hints.suggestions,
            related_resources: &hints.resources,
            confidence: &hints.confidence,
            source_quality: hints.source_quality,
            validity_period: hints.validity,
            context_needed: &hints.context_needed,
            assumptions: &hints.assumptions,
            risk_factors: &hints.risks,
            dependencies: &hints.dependencies,
            estimated_impact: hints.estimated_impact(),
            preference_alignment: &hints.alignments,
            reasoning: Some(hints.reasoning()),
            warnings: unless_empty(&hints.warnings),
            alternatives: unless_empty(&hints.alternatives),
            constraints: unless_empty(&hints.constraints),
            metadata: hints.stamp.as_ref().map(|stamp| HintsMetadata {
                generated_at: stamp.generated_at,
                generated_by: &stamp.generated_by,
                model_version: unless_empty(&hints.model_versions)
                    .map(|versions| versions.join(", ")),
                processing_time: Some(stamp.processing_time_ms),
            }),
        }
    }
}

/// Makes the schema of a struct say what is really sent: what is missing is left out and never
/// null, and numbers have no format that only Rust knows.
pub(super) fn tidy(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for property in properties.values_mut() {
        let Value::Object(property) = property else {
            continue;
        };
        if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
            choices.retain(|choice| choice.get("type") != Some(&Value::from("null")));
            if let [Value::Object(only)] = choices.as_mut_slice() {
                let only = std::mem::take(only);
                property.remove("anyOf");
                property.extend(only);
            }
        }
        if let Some(Value::Array(words)) = property.get_mut("enum") {
            words.retain(|word| !word.is_null());
        }
        if let Some(Value::Array(types)) = property.get_mut("type") {
            types.retain(|kind| kind != "null");
            if let [only] = types.as_mut_slice() {
                let only = only.take();
                property.insert("type".to_owned(), only);
            }
        }
        let is_number =
            matches!(property.get("type"), Some(kind) if kind == "number" || kind == "integer");
        if is_number {
            property.remove("format");
        }
    }
}

/// An optional list is left out where it has nothing to say.
fn unless_empty<T>(list: &[T]) -> Option<&[T]> {
    (!list.is_empty()).then_some(list)
}
