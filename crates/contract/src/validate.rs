//! A definition against the rules of the contract: pure, on the JSON that is published.
//!
//! The same checks serve registration, where the types have refused most of it already, and the
//! definitions of others, where nothing is certain.

use jiff::civil::Date;
use serde_json::Value;

use crate::violation::{ContractViolation, Rule};

/// The shortest description that can say what, when and what comes back.
const SHORTEST_DESCRIPTION: usize = 50;

/// How long a deprecated tool stays.
const DAYS_OF_NOTICE: i32 = 90;

/// Faults of one tool, as they are found.
#[derive(Debug)]
pub struct Findings<'a> {
    tool: &'a str,
    found: Vec<ContractViolation>,
}

/// Everything that is wrong with a definition and its schema of parameters.
pub fn definition(definition: &Value, input_schema: &Value) -> Vec<ContractViolation> {
    let name = definition["name"].as_str().unwrap_or_default();
    let mut findings = Findings::about(name);
    identity(definition, name, &mut findings);
    work(definition, &mut findings);
    documentation(definition, &mut findings);
    deprecation(&definition["deprecated"], name, &mut findings);
    parameters(input_schema, &mut findings);
    findings.into_found()
}

fn identity(definition: &Value, name: &str, findings: &mut Findings<'_>) {
    findings.expect(
        is_verb_noun(name),
        Rule::NameForm,
        format!("the name '{name}' must be verb-noun in kebab-case, such as 'get-card'"),
    );
    let description = definition["description"].as_str().unwrap_or_default();
    let length = description.chars().count();
    findings.expect(
        length >= SHORTEST_DESCRIPTION,
        Rule::DescriptionLength,
        format!(
            "the description has {length} characters, it needs at least {SHORTEST_DESCRIPTION}"
        ),
    );
    for (part, words) in [
        ("when to use the tool", &["use ", "when "][..]),
        ("what it returns", &["return", "gives ", "answers "]),
        ("an example use", &["example", "e.g.", "such as"]),
    ] {
        let lower = description.to_lowercase();
        findings.expect(
            words.iter().any(|word| lower.contains(word)),
            Rule::DescriptionParts,
            format!("the description does not say {part}"),
        );
    }
    let version = definition["version"].as_str().unwrap_or_default();
    findings.expect(
        is_version(version),
        Rule::VersionForm,
        format!("the version '{version}' must have the form 1.2.3"),
    );
    match definition["permissions"].as_array() {
        None => findings.add(
            Rule::PermissionForm,
            "permissions must be a list; it may be empty",
        ),
        Some(permissions) => {
            for permission in permissions {
                let shown = permission.as_str().unwrap_or_default();
                findings.expect(
                    is_permission(shown),
                    Rule::PermissionForm,
                    format!(
                        "the permission '{shown}' must be resource:action, such as 'cards:read'"
                    ),
                );
            }
        }
    }
}

fn work(definition: &Value, findings: &mut Findings<'_>) {
    let category = definition["category"].as_str().unwrap_or_default();
    findings.expect(
        ["query", "mutation", "analysis", "generation"].contains(&category),
        Rule::CategoryKnown,
        format!("the category '{category}' must be query, mutation, analysis or generation"),
    );
    let time = definition["responseTime"].as_str().unwrap_or_default();
    findings.expect(
        ["fast", "medium", "slow"].contains(&time),
        Rule::ResponseTimeKnown,
        format!("the responseTime '{time}' must be fast, medium or slow"),
    );
    match definition["cacheable"].as_bool() {
        None => findings.add(Rule::CacheableFits, "cacheable must be true or false"),
        Some(true) => {
            findings.expect(
                category != "mutation",
                Rule::CacheableFits,
                "a mutation must not be cacheable",
            );
            findings.expect(
                definition["cacheTTL"]
                    .as_f64()
                    .is_some_and(|seconds| seconds > 0.0),
                Rule::CacheTtl,
                "what is cacheable needs a cacheTTL of more than zero seconds",
            );
        }
        Some(false) => {}
    }
    match definition["idempotent"].as_bool() {
        None => findings.add(Rule::IdempotentFits, "idempotent must be true or false"),
        Some(idempotent) => findings.expect(
            idempotent || !matches!(category, "query" | "analysis"),
            Rule::IdempotentFits,
            "a query or an analysis changes nothing, so it is idempotent",
        ),
    }
}

fn documentation(definition: &Value, findings: &mut Findings<'_>) {
    let examples = definition["examples"].as_array();
    findings.expect(
        examples.is_some_and(|examples| !examples.is_empty()),
        Rule::ExampleHolds,
        "there must be at least one example",
    );
    for (index, example) in examples.into_iter().flatten().enumerate() {
        let described = example["description"].as_str().unwrap_or_default();
        findings.expect(
            !described.trim().is_empty(),
            Rule::ExampleHolds,
            format!("example {} does not say what it shows", index + 1),
        );
        findings.expect(
            example["params"].is_object() && !example["expectedResult"].is_null(),
            Rule::ExampleHolds,
            format!("example {} needs params and an expectedResult", index + 1),
        );
    }
    let tags = definition["tags"].as_array();
    let is_word = |tag: &Value| tag.as_str().is_some_and(|tag| !tag.trim().is_empty());
    findings.expect(
        tags.is_some_and(|tags| !tags.is_empty() && tags.iter().all(is_word)),
        Rule::TagPresent,
        "there must be at least one tag, and none may be empty",
    );
}

fn deprecation(deprecated: &Value, name: &str, findings: &mut Findings<'_>) {
    if deprecated.is_null() {
        return;
    }
    let replacement = deprecated["replacement"].as_str().unwrap_or_default();
    findings.expect(
        !replacement.is_empty() && replacement != name,
        Rule::DeprecationReplacement,
        "a deprecated tool must name another tool as its replacement",
    );
    let removal: Option<Date> = date(&deprecated["removalDate"]);
    let announced: Option<Date> = date(&deprecated["announced"]);
    match (announced, removal) {
        (_, None) => findings.add(
            Rule::DeprecationNotice,
            "a deprecated tool needs a removalDate, such as 2027-03-31",
        ),
        // Others need not publish the day of the announcement; then nobody can count from it.
        (None, Some(_)) => {}
        (Some(announced), Some(removal)) => {
            let days = announced.until(removal).map_or(0, |span| span.get_days());
            findings.expect(
                days >= DAYS_OF_NOTICE,
                Rule::DeprecationNotice,
                format!("a deprecated tool is removed {DAYS_OF_NOTICE} days after the announcement or later, not after {days}"),
            );
        }
    }
}

fn date(value: &Value) -> Option<Date> {
    let text = value.as_str()?;
    text.get(..10)?.parse().ok()
}

/// The schema of parameters: closed, documented, with limits, ids with types of their own.
fn parameters(schema: &Value, findings: &mut Findings<'_>) {
    findings.expect(
        schema["type"] == "object" && schema["additionalProperties"] == false,
        Rule::ParametersChecked,
        "the parameters must be an object that refuses unknown names (additionalProperties: false)",
    );
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let described = property["description"].as_str().unwrap_or_default();
        findings.expect(
            !described.trim().is_empty(),
            Rule::ParameterDocumented,
            format!("the parameter '{name}' is not documented, add a doc comment"),
        );
        findings.expect(
            is_bounded(property),
            Rule::ParameterBounded,
            format!("the parameter '{name}' has no limits, add a length, range, pattern or list of values"),
        );
        findings.expect(
            !is_id(name) || is_branded(property),
            Rule::IdBranded,
            format!("the parameter '{name}' is an id without a type of its own, use branded_id!"),
        );
    }
}

/// Whether a value of this schema has a limit; objects carry theirs inside.
fn is_bounded(schema: &Value) -> bool {
    let any_of = ["anyOf", "oneOf", "allOf"]
        .iter()
        .find_map(|word| schema[word].as_array());
    if let Some(alternatives) = any_of {
        return alternatives.iter().all(is_bounded);
    }
    if ["enum", "const", "pattern", "format", "$ref"]
        .iter()
        .any(|word| schema.get(*word).is_some())
    {
        return true;
    }
    let has = |words: &[&str]| words.iter().any(|word| schema.get(*word).is_some());
    let is_kind_bounded = |kind: &str| match kind {
        "string" => has(&["maxLength"]),
        "array" => has(&["maxItems"]),
        "number" | "integer" => {
            has(&["maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"])
        }
        _ => true,
    };
    match &schema["type"] {
        Value::String(kind) => is_kind_bounded(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).all(is_kind_bounded),
        // A schema without a type admits anything.
        _ => false,
    }
}

fn is_id(name: &str) -> bool {
    name == "id" || name.ends_with("Id") || name.ends_with("_id")
}

/// A branded id is a string with a form of its own, or a reference to such a type.
fn is_branded(schema: &Value) -> bool {
    let alternatives = schema["anyOf"].as_array();
    ["pattern", "format", "enum", "$ref"]
        .iter()
        .any(|word| schema.get(*word).is_some())
        || alternatives.is_some_and(|all| all.iter().any(is_branded))
}

/// `verb-noun`: two or more words of lower case letters and digits, joined by dashes.
fn is_verb_noun(name: &str) -> bool {
    let is_word = |word: &str| {
        word.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            && word
                .as_bytes()
                .first()
                .is_some_and(u8::is_ascii_alphanumeric)
    };
    let mut words = name.split('-');
    let verb_is_letters = words
        .next()
        .is_some_and(|verb| !verb.is_empty() && verb.bytes().all(|byte| byte.is_ascii_lowercase()));
    let mut rest = words.peekable();
    verb_is_letters && rest.peek().is_some() && rest.all(is_word)
}

/// Whether a text is a version of the form `1.2.3`, whatever follows after `-` or `+`.
pub fn is_version(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<&str> = core.split('.').collect();
    numbers.len() == 3 && numbers.iter().all(|number| number.parse::<u32>().is_ok())
}

fn is_permission(permission: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
            })
    };
    permission
        .split_once(':')
        .is_some_and(|(resource, action)| is_word(resource) && is_word(action))
}

// === impl Findings ===

impl<'a> Findings<'a> {
    /// Nothing found yet.
    pub fn about(tool: &'a str) -> Self {
        Self {
            tool,
            found: Vec::new(),
        }
    }

    /// Adds a violation.
    pub fn add(&mut self, rule: Rule, message: impl Into<String>) {
        self.found.push(ContractViolation {
            tool: self.tool.to_owned(),
            rule,
            message: message.into(),
        });
    }

    /// Adds a violation unless the condition holds.
    pub fn expect(&mut self, holds: bool, rule: Rule, message: impl Into<String>) {
        if !holds {
            self.add(rule, message);
        }
    }

    /// Findings, in the order they were added.
    pub fn into_found(self) -> Vec<ContractViolation> {
        self.found
    }
}

#[cfg(test)]
mod tests;
