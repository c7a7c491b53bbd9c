//! Results of calls against the contract.

use std::sync::LazyLock;

use jiff::Timestamp;
use mcpproxy_contract::validate::{self, Findings};
use mcpproxy_contract::{ContractViolation, Rule, agent_hints};
use mcpproxy_schema::{Kind, Mismatch, Schema, Verdict};
use serde_json::Value;

use super::schema::problem;

/// The most violations that are told of the hints of one result.
const HINTS_LIMIT: usize = 50;

const VERSION_FORM: &str = "be a version of the form 1.2.3";
const UTC_FORM: &str = "be a time in UTC, such as 2026-01-31T12:00:00Z";
const TIME_FORM: &str = "be a number of milliseconds, zero or more";

/// A field: its name, with `?` if it may be absent, whether a value of it is right, and what it must do.
type FieldCheck = (&'static str, fn(&Value) -> bool, &'static str);

/// An error says what happened, in which group, and whether the call may be made again.
const ERROR: [FieldCheck; 5] = [
    ("code", is_code, "be a word in capitals, such as NOT_FOUND"),
    ("message", validate::is_said, "say what happened"),
    ("category", is_group, "be validation, business or system"),
    ("retryable", Value::is_boolean, "be true or false"),
    ("details?", Value::is_object, "be an object"),
];

/// The metadata has versions, when, how long; what is optional has its type.
const METADATA: [FieldCheck; 7] = [
    ("toolVersion", is_version, VERSION_FORM),
    ("serviceVersion", is_version, VERSION_FORM),
    ("timestamp", is_utc, UTC_FORM),
    ("executionTime", is_time, TIME_FORM),
    ("traceId?", Value::is_string, "be a text"),
    ("correlationId?", Value::is_string, "be a text"),
    ("cached?", Value::is_boolean, "be true or false"),
];

/// Least effort in the ratio, as the contract has it, so that nothing divides by zero.
const LEAST_EFFORT: f64 = 0.01;

/// Difference to the ratio that rounding explains: two decimals, or a hundredth of a large ratio.
const ROUNDING: f64 = 0.01;

/// The schema of hints, compiled once. It is our own, and a test makes sure that it compiles.
static HINTS: LazyLock<Option<Schema>> =
    LazyLock::new(|| Schema::compile(&agent_hints::schema()).ok());

/// Everything that is wrong with a result: what a tool gave back as `structuredContent`.
///
/// It knows no tool, so the violations name none. A good result costs a walk over its hints and
/// allocates next to nothing: this runs on every call of a tool that announces the contract.
pub fn result(structured: &Value) -> Vec<ContractViolation> {
    let mut findings = Findings::about("");
    let Some(fields) = structured.as_object() else {
        findings.add(
            Rule::ResultStructure,
            "the result has no structuredContent with data or error, agentHints and metadata",
        );
        agent_hints(None, &mut findings);
        metadata(None, &mut findings);
        return findings.into_found();
    };
    match (fields.get("data"), fields.get("error")) {
        (Some(Value::Null), None) => findings.add(
            Rule::DataNotNull,
            "data is null; a tool without data gives back an error",
        ),
        (Some(_), None) => {}
        (None, Some(error)) => {
            fields_of("error", error, &ERROR, Rule::ErrorForm, &mut findings);
        }
        (Some(_), Some(_)) => findings.add(
            Rule::ResultStructure,
            "the result has data and error; it must have exactly one of the two",
        ),
        (None, None) => findings.add(
            Rule::ResultStructure,
            "the result has neither data nor error; it must have exactly one of the two",
        ),
    }
    agent_hints(fields.get("agentHints"), &mut findings);
    metadata(fields.get("metadata"), &mut findings);
    findings.into_found()
}

/// The fields of a part of the result, each against its check.
fn fields_of(
    part: &str,
    value: &Value,
    checks: &[FieldCheck],
    rule: Rule,
    findings: &mut Findings<'_>,
) {
    for (name, is_right, must) in checks {
        let field = name.trim_end_matches('?');
        let value = &value[field];
        let is_absent = value.is_null() && name.ends_with('?');
        if !is_absent && !is_right(value) {
            findings.add(rule, format!("{part}.{field} must {must}"));
        }
    }
}

/// The hints against their published schema.
fn agent_hints(hints: Option<&Value>, findings: &mut Findings<'_>) {
    let Some(hints) = hints.filter(|hints| hints.is_object()) else {
        findings.add(Rule::HintsPresent, "the result has no agentHints");
        return;
    };
    roi(&hints["estimatedImpact"], findings);
    let Some(schema) = HINTS
        .as_ref()
        .filter(|schema| schema.check(hints) != Verdict::Valid)
    else {
        return;
    };
    for mismatch in schema.mismatches(hints, HINTS_LIMIT) {
        let separator = if mismatch.path.is_empty() { ": " } else { "" };
        let (rule, mut told) = (rule_of(&mismatch), problem(&mismatch));
        if rule == Rule::HintsConfidence && hints["confidence"].is_number() {
            told.push_str(&format!(", it is {}", hints["confidence"]));
        }
        findings.add(rule, format!("agentHints{separator}{told}"));
    }
}

/// The ratio against what it is made of. An effort below the least one may count as it is or as the least.
fn roi(impact: &Value, findings: &mut Findings<'_>) {
    let number = |name: &str| impact[name].as_f64();
    let (Some(benefit), Some(effort), Some(roi)) =
        (number("benefit"), number("effort"), number("roi"))
    else {
        return;
    };
    let is_near = |expected: f64| (roi - expected).abs() <= ROUNDING * expected.abs().max(1.0);
    let expected = benefit / effort.max(LEAST_EFFORT);
    if is_near(expected) || effort > 0.0 && is_near(benefit / effort) {
        return;
    }
    let expected = (expected * 100.0).round() / 100.0;
    let told = format!(
        "agentHints/estimatedImpact: roi is {roi}, but benefit {benefit} / effort {effort} is {expected}"
    );
    findings.add(Rule::HintsRoi, told);
}

/// The rule that a mismatch with the schema speaks of: that of the key it is in, or that is missing.
fn rule_of(mismatch: &Mismatch<'_>) -> Rule {
    let key = match (mismatch.path.as_str(), &mismatch.kind) {
        ("", Kind::Required { name, .. }) => name,
        (path, _) => path.split('/').nth(1).unwrap_or_default(),
    };
    match key {
        "confidence" => Rule::HintsConfidence,
        "sourceQuality" => Rule::HintsSourceQuality,
        "validityPeriod" => Rule::HintsValidity,
        "contextNeeded" => Rule::HintsContext,
        "assumptions" => Rule::HintsAssumptions,
        "riskFactors" => Rule::HintsRisks,
        "dependencies" => Rule::HintsDependencies,
        "estimatedImpact" => Rule::HintsImpact,
        "preferenceAlignment" => Rule::HintsAlignment,
        "reasoning" => Rule::HintsReasoning,
        _ => Rule::HintsForm,
    }
}

fn metadata(metadata: Option<&Value>, findings: &mut Findings<'_>) {
    let rule = Rule::MetadataComplete;
    match metadata.filter(|metadata| metadata.is_object()) {
        Some(metadata) => fields_of("metadata", metadata, &METADATA, rule, findings),
        None => findings.add(rule, "the result has no metadata"),
    }
}

fn is_code(value: &Value) -> bool {
    let code = value.as_str().unwrap_or_default();
    code.starts_with(|first: char| first.is_ascii_uppercase())
        && code
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

fn is_group(value: &Value) -> bool {
    ["validation", "business", "system"]
        .iter()
        .any(|group| value == group)
}

fn is_version(value: &Value) -> bool {
    value.as_str().is_some_and(validate::is_version)
}

/// Whether a value is a point in time of ISO 8601, given in UTC.
fn is_utc(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    let names_utc = text.ends_with(['Z', 'z']) || text.ends_with("+00:00");
    names_utc && text.parse::<Timestamp>().is_ok()
}

fn is_time(value: &Value) -> bool {
    value.as_f64().is_some_and(|time| time >= 0.0)
}
