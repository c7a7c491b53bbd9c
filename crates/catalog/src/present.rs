//! Presentation of tools to agents.
//!
//! The parts a server sent (schemas, annotations, `_meta`) are written as the bytes they came
//! in, so numbers, key order and unknown keys survive. That is why these are types to
//! serialise and not decoded values.
//!
//! That a tool is going to be removed is said as the reader may know it: see
//! [`Snapshot::deprecation_for`](crate::Snapshot::deprecation_for).

use mcpproxy_policy::{AnnouncedDeprecation, Effect};
use mcpproxy_wire::Json;
use serde::Serialize;

use crate::deprecation::ShownDeprecation;
use crate::sentence::first_sentence;
use crate::signature::signature;
use crate::tool::CatalogTool;
use mcpproxy_support::one_line::one_line;

/// The longest summary, in characters.
const SUMMARY_LIMIT: usize = 120;

/// A tool with everything needed to call it.
#[derive(Debug, Serialize)]
pub struct Full<'a> {
    name: &'a str,
    server: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<Json>,
    description: &'a str,
    #[serde(rename = "inputSchema")]
    input_schema: &'a Json,
    #[serde(rename = "outputSchema", skip_serializing_if = "Option::is_none")]
    output_schema: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a Json>,
    call_with: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated: Option<ShownDeprecation>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a Json>,
}

/// A tool in a few words.
#[derive(Debug, Serialize)]
pub struct Compact<'a> {
    name: &'a str,
    score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<EffectHints>,
    effect: &'static str,
    call_with: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated: Option<ShownDeprecation>,
    signature: String,
    summary: String,
}

/// The two annotations that tell what a tool does, where they are given.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EffectHints {
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destructive_hint: Option<bool>,
}

impl EffectHints {
    fn of(entry: &CatalogTool) -> Option<Self> {
        let annotations = entry.annotations();
        let hints = Self {
            read_only_hint: annotations.read_only,
            destructive_hint: annotations.destructive,
        };
        (hints.read_only_hint.is_some() || hints.destructive_hint.is_some()).then_some(hints)
    }
}

/// A tool found by a search, with everything needed to call it.
pub fn full<'a>(
    entry: &'a CatalogTool,
    score: f64,
    deprecation: Option<&AnnouncedDeprecation>,
) -> Full<'a> {
    Full {
        name: entry.qualified(),
        server: entry.server(),
        title: None,
        description: &entry.tool().description,
        input_schema: &entry.tool().input_schema,
        output_schema: None,
        score: Some(rounded(score)),
        annotations: entry.shown_annotations(),
        call_with: entry.call_with().variant(),
        deprecated: deprecation.map(|one| ShownDeprecation::of(one, entry.server())),
        meta: None,
    }
}

/// A tool that was asked for by name, with all that its server says of it.
pub fn described<'a>(
    entry: &'a CatalogTool,
    deprecation: Option<&AnnouncedDeprecation>,
) -> Full<'a> {
    let tool = entry.tool();
    let given = |name: &str| Some(tool.raw.part(tool.raw.fields()?.given(name)?));
    Full {
        title: given("title"),
        output_schema: given("outputSchema"),
        score: None,
        meta: tool.meta.as_ref(),
        ..full(entry, 0.0, deprecation)
    }
}

/// A tool found by a search, in a few words.
pub fn compact<'a>(
    entry: &'a CatalogTool,
    score: f64,
    deprecation: Option<&AnnouncedDeprecation>,
) -> Compact<'a> {
    Compact {
        name: entry.qualified(),
        score: rounded(score),
        annotations: EffectHints::of(entry),
        effect: entry.effect().as_str(),
        call_with: entry.call_with().variant(),
        deprecated: deprecation.map(|one| ShownDeprecation::of(one, entry.server())),
        signature: signature(
            entry.name(),
            &entry.tool().input_schema.to_value(),
            entry.effect() == Effect::Destructive,
            deprecation,
        ),
        summary: summary(&entry.tool().description),
    }
}

/// The first sentence of a description, on one line of at most about 120 characters.
pub fn summary(description: &str) -> String {
    one_line(first_sentence(description.trim()), SUMMARY_LIMIT)
}

/// Four decimals tell scores apart; more would only cost the agent tokens.
pub fn rounded(score: f64) -> f64 {
    (score.clamp(0.0, 1.0) * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_the_first_sentence_on_one_line() {
        let long = "word ".repeat(50);
        let cut = format!("{}…", "word ".repeat(24).trim_end());
        let table = [
            ("", ""),
            ("  Lists files.  Then more.", "Lists files."),
            ("Lists files\nof a folder. More", "Lists files of a folder."),
            ("Lists files\n\nArgs:\n x", "Lists files"),
            ("Reads e.g. Markdown. More", "Reads e.g. Markdown."),
            ("Version 2.5 of it! More", "Version 2.5 of it!"),
            ("获取日期。更多", "获取日期。"),
            ("a\u{1b}[31mred\u{202e}", "a [31mred"),
            (long.as_str(), cut.as_str()),
        ];
        for (description, expected) in table {
            assert_eq!(summary(description), expected, "{description:?}");
        }
    }

    #[test]
    fn scores_have_four_decimals() {
        assert_eq!(rounded(0.123_456).to_string(), "0.1235");
        assert_eq!(rounded(f64::from(0.95_f32)).to_string(), "0.95");
        assert_eq!(rounded(2.0).to_string(), "1");
    }
}
