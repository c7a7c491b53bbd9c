//! What a call gave back, against the contract.

use std::sync::OnceLock;

use jiff::Timestamp;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::schema::problem;
use mcpproxy_contract::agent_hints;
use mcpproxy_contract::validate::{Findings, is_version};
use mcpproxy_contract::{ContractViolation, Rule};

/// The most violations that are told of the hints of one result.
const HINTS_LIMIT: usize = 50;

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
        (None, Some(failure)) => error(failure, &mut findings),
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

/// An error says what happened, in which group, and whether the call may be made again.
fn error(error: &Value, findings: &mut Findings<'_>) {
    let word = |name: &str| error[name].as_str().unwrap_or_default();
    findings.expect(
        is_code(word("code")),
        Rule::ErrorForm,
        "error.code must be a word in capitals, such as NOT_FOUND",
    );
    findings.expect(
        !word("message").trim().is_empty(),
        Rule::ErrorForm,
        "error.message must say what happened",
    );
    findings.expect(
        ["validation", "business", "system"].contains(&word("category")),
        Rule::ErrorForm,
        "error.category must be validation, business or system",
    );
    findings.expect(
        error["retryable"].is_boolean(),
        Rule::ErrorForm,
        "error.retryable must be true or false",
    );
    findings.expect(
        error["details"].is_object() || error["details"].is_null(),
        Rule::ErrorForm,
        "error.details must be an object",
    );
}

fn is_code(code: &str) -> bool {
    code.starts_with(|first: char| first.is_ascii_uppercase())
        && code
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The hints against their published schema.
fn agent_hints(hints: Option<&Value>, findings: &mut Findings<'_>) {
    let Some(hints) = hints.filter(|hints| hints.is_object()) else {
        findings.add(Rule::HintsPresent, "the result has no agentHints");
        return;
    };
    let Some(validator) = validator() else {
        return;
    };
    if validator.is_valid(hints) {
        return;
    }
    for error in validator.iter_errors(hints).take(HINTS_LIMIT) {
        let path = error.instance_path().as_str();
        let told = problem(&error);
        let told = match path {
            "" => format!("agentHints: {told}"),
            _ => format!("agentHints{told}"),
        };
        findings.add(rule_of(&error), told);
    }
}

/// The schema of hints, compiled once. It is our own, and a test makes sure that it compiles.
fn validator() -> Option<&'static Validator> {
    static VALIDATOR: OnceLock<Option<Validator>> = OnceLock::new();
    VALIDATOR
        .get_or_init(|| {
            jsonschema::options()
                .offline()
                .build(&agent_hints::schema())
                .ok()
        })
        .as_ref()
}

/// The rule that an error of the schema speaks of: that of the key it is in, or that is missing.
fn rule_of(error: &ValidationError<'_>) -> Rule {
    let path = error.instance_path().as_str();
    let key = match (path, error.kind()) {
        ("", ValidationErrorKind::Required { property }) => property.as_str().unwrap_or_default(),
        _ => path.split('/').nth(1).unwrap_or_default(),
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

/// The metadata: versions, when, how long; what is optional has its type.
fn metadata(metadata: Option<&Value>, findings: &mut Findings<'_>) {
    let Some(metadata) = metadata.filter(|metadata| metadata.is_object()) else {
        findings.add(Rule::MetadataComplete, "the result has no metadata");
        return;
    };
    for key in ["toolVersion", "serviceVersion"] {
        if !metadata[key].as_str().is_some_and(is_version) {
            findings.add(
                Rule::MetadataComplete,
                format!("metadata.{key} must be a version of the form 1.2.3"),
            );
        }
    }
    findings.expect(
        metadata["timestamp"].as_str().is_some_and(is_utc),
        Rule::MetadataComplete,
        "metadata.timestamp must be a time in UTC, such as 2026-01-31T12:00:00Z",
    );
    findings.expect(
        metadata["executionTime"]
            .as_f64()
            .is_some_and(|milliseconds| milliseconds >= 0.0),
        Rule::MetadataComplete,
        "metadata.executionTime must be a number of milliseconds, zero or more",
    );
    for key in ["traceId", "correlationId"] {
        if !(metadata[key].is_string() || metadata[key].is_null()) {
            findings.add(
                Rule::MetadataComplete,
                format!("metadata.{key} must be a text"),
            );
        }
    }
    findings.expect(
        metadata["cached"].is_boolean() || metadata["cached"].is_null(),
        Rule::MetadataComplete,
        "metadata.cached must be true or false",
    );
}

/// Whether a text is a point in time of ISO 8601, given in UTC.
fn is_utc(text: &str) -> bool {
    let names_utc = text.ends_with(['Z', 'z']) || text.ends_with("+00:00");
    names_utc && text.parse::<Timestamp>().is_ok()
}
