//! A definition against the rules of the contract: pure, on the JSON that is published.
//!
//! The same checks serve registration, where the types have refused most of it already, and the
//! definitions of others, where nothing is certain.

use jiff::civil::Date;
use serde_json::Value;

use super::closing::open_objects;
use super::violation::{ContractViolation, Rule};

/// The shortest description that can say what, when and what comes back.
const SHORTEST_DESCRIPTION: usize = 50;

/// The most objects with unknown names that are told of one tool.
const OPEN_OBJECTS: usize = 20;

/// Longest window of a limit, in milliseconds: a day.
const LONGEST_WINDOW_MS: f64 = 86_400_000.0;

/// Most characters of a wrong value that a message repeats.
const SHOWN_VALUE: usize = 40;

/// Most calls that a limit can be about.
const MOST_CALLS: f64 = u32::MAX as f64;

/// Days that a deprecated tool stays.
pub const DAYS_OF_NOTICE: i32 = 90;

/// Faults of one tool, as they are found.
#[derive(Debug)]
pub struct Findings<'a> {
    tool: &'a str,
    found: Vec<ContractViolation>,
}

/// Adds everything that is wrong with a definition and its schema of parameters.
pub fn definition(definition: &Value, input_schema: &Value, findings: &mut Findings<'_>) {
    let name = text(&definition["name"]);
    identity(definition, name, findings);
    work(definition, findings);
    rate_limit(&definition["rateLimit"], findings);
    documentation(definition, findings);
    deprecation(&definition["deprecated"], name, findings);
    parameters(input_schema, findings);
}

fn identity(definition: &Value, name: &str, findings: &mut Findings<'_>) {
    let form = format!("the name '{name}' must be verb-noun in kebab-case, such as 'get-card'");
    findings.expect(is_verb_noun(name), Rule::NameForm, form);

    let description = text(&definition["description"]);
    let length = description.chars().count();
    let short = format!(
        "the description has {length} characters, it needs at least {SHORTEST_DESCRIPTION}"
    );
    findings.expect(
        length >= SHORTEST_DESCRIPTION,
        Rule::DescriptionLength,
        short,
    );
    let lower = description.to_lowercase();
    for (part, words) in [
        ("when to use the tool", &["use ", "when "][..]),
        ("what it returns", &["return", "gives ", "answers "]),
        ("an example use", &["example", "e.g.", "such as"]),
    ] {
        let is_said = words.iter().any(|word| lower.contains(word));
        let silent = format!("the description does not say {part}");
        findings.expect(is_said, Rule::DescriptionParts, silent);
    }

    let version = text(&definition["version"]);
    let form = format!("the version '{version}' must have the form 1.2.3");
    findings.expect(is_version(version), Rule::VersionForm, form);

    let permissions = definition["permissions"].as_array();
    let missing = "permissions must be a list; it may be empty";
    findings.expect(permissions.is_some(), Rule::PermissionForm, missing);
    for permission in permissions.into_iter().flatten().map(text) {
        let form =
            format!("the permission '{permission}' must be resource:action, such as 'cards:read'");
        findings.expect(is_permission(permission), Rule::PermissionForm, form);
    }
}

fn work(definition: &Value, findings: &mut Findings<'_>) {
    let category = text(&definition["category"]);
    let is_known = ["query", "mutation", "analysis", "generation"].contains(&category);
    let unknown =
        format!("the category '{category}' must be query, mutation, analysis or generation");
    findings.expect(is_known, Rule::CategoryKnown, unknown);

    let time = text(&definition["responseTime"]);
    let is_known = ["fast", "medium", "slow"].contains(&time);
    let unknown = format!("the responseTime '{time}' must be fast, medium or slow");
    findings.expect(is_known, Rule::ResponseTimeKnown, unknown);

    let cacheable = &definition["cacheable"];
    let unknown = "cacheable must be true or false";
    findings.expect(cacheable.is_boolean(), Rule::CacheableFits, unknown);
    let fits = cacheable != true || category != "mutation";
    let cached = "a mutation must not be cacheable";
    findings.expect(fits, Rule::CacheableFits, cached);
    let ttl = definition["cacheTTL"].as_f64().unwrap_or_default();
    let missing = "what is cacheable needs a cacheTTL of more than zero seconds";
    findings.expect(cacheable != true || ttl > 0.0, Rule::CacheTtl, missing);

    let idempotent = &definition["idempotent"];
    let unknown = "idempotent must be true or false";
    findings.expect(idempotent.is_boolean(), Rule::IdempotentFits, unknown);
    let fits = idempotent != false || !["query", "analysis"].contains(&category);
    let changing = "a query or an analysis changes nothing, so it is idempotent";
    findings.expect(fits, Rule::IdempotentFits, changing);
}

/// Limit on the calls of one caller, where there is one.
fn rate_limit(limit: &Value, findings: &mut Findings<'_>) {
    if limit.is_null() {
        return;
    }
    for (name, most, what) in [
        ("maxCalls", MOST_CALLS, "4294967295"),
        ("windowMs", LONGEST_WINDOW_MS, "86400000, a day"),
    ] {
        let number = limit[name].as_f64();
        let holds = number.is_some_and(|number| number > 0.0 && number <= most);
        let given = &limit[name];
        let shown: String = given.to_string().chars().take(SHOWN_VALUE).collect();
        let wrong = format!("rateLimit.{name} is {shown}, it must be above 0 and at most {what}");
        findings.expect(holds, Rule::RateLimitForm, wrong);
    }
}

fn documentation(definition: &Value, findings: &mut Findings<'_>) {
    let examples = definition["examples"].as_array();
    let is_there = examples.is_some_and(|examples| !examples.is_empty());
    let missing = "there must be at least one example";
    findings.expect(is_there, Rule::ExampleHolds, missing);
    for (example, number) in examples.into_iter().flatten().zip(1..) {
        let silent = format!("example {number} does not say what it shows");
        findings.expect(is_said(&example["description"]), Rule::ExampleHolds, silent);
        let is_whole = example["params"].is_object() && !example["expectedResult"].is_null();
        let missing = format!("example {number} needs params and an expectedResult");
        findings.expect(is_whole, Rule::ExampleHolds, missing);
    }
    let tags = definition["tags"].as_array();
    let are_there = tags.is_some_and(|tags| !tags.is_empty() && tags.iter().all(is_said));
    let missing = "there must be at least one tag, and none may be empty";
    findings.expect(are_there, Rule::TagPresent, missing);
}

fn deprecation(deprecated: &Value, name: &str, findings: &mut Findings<'_>) {
    if deprecated.is_null() {
        return;
    }
    let replacement = text(&deprecated["replacement"]);
    let is_other = !replacement.is_empty() && replacement != name;
    let missing = "a deprecated tool must name another tool as its replacement";
    findings.expect(is_other, Rule::DeprecationReplacement, missing);
    let removal = date(&deprecated["removalDate"]);
    let missing = "a deprecated tool needs a removalDate, such as 2027-03-31";
    findings.expect(removal.is_some(), Rule::DeprecationNotice, missing);
    // Others need not publish the day of the announcement; then nobody can count from it.
    if let (Some(announced), Some(removal)) = (date(&deprecated["announced"]), removal) {
        let days = announced.until(removal).map_or(0, |span| span.get_days());
        let early = format!(
            "a deprecated tool is removed {DAYS_OF_NOTICE} days after the announcement or later, not after {days}"
        );
        findings.expect(days >= DAYS_OF_NOTICE, Rule::DeprecationNotice, early);
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether a value is a text that is not blank.
pub fn is_said(value: &Value) -> bool {
    !text(value).trim().is_empty()
}

/// Day that a value names; what follows the day does not count.
pub fn date(value: &Value) -> Option<Date> {
    text(value).get(..10)?.parse().ok()
}

/// The schema of parameters: closed, documented, with limits, ids with types of their own.
fn parameters(schema: &Value, findings: &mut Findings<'_>) {
    let is_closed = schema["type"] == "object" && schema["additionalProperties"] == false;
    let open =
        "the parameters must be an object that refuses unknown names (additionalProperties: false)";
    findings.expect(is_closed, Rule::ParametersChecked, open);
    for path in open_objects(schema)
        .iter()
        .filter(|path| !path.is_empty())
        .take(OPEN_OBJECTS)
    {
        let open = format!(
            "the object at {path} takes unknown names, close it with additionalProperties: false"
        );
        findings.add(Rule::ParametersChecked, open);
    }
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let is_documented = is_said(&property["description"]);
        let silent = format!("the parameter '{name}' is not documented, add a doc comment");
        findings.expect(is_documented, Rule::ParameterDocumented, silent);
        let unbounded = format!(
            "the parameter '{name}' has no limits, add a length, range, pattern or list of values"
        );
        findings.expect(is_bounded(property), Rule::ParameterBounded, unbounded);
        let plain =
            format!("the parameter '{name}' is an id without a type of its own, use branded_id!");
        findings.expect(!is_id(name) || is_branded(property), Rule::IdBranded, plain);
    }
}

/// Whether a value of this schema has a limit; objects carry theirs inside.
fn is_bounded(schema: &Value) -> bool {
    let mut choices = ["anyOf", "oneOf", "allOf"].into_iter();
    if let Some(choices) = choices.find_map(|word| schema[word].as_array()) {
        return choices.iter().all(is_bounded);
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
    has(&["enum", "const", "pattern", "format", "$ref"])
        || match &schema["type"] {
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
    let mut forms = ["pattern", "format", "enum", "$ref"].into_iter();
    let mut choices = schema["anyOf"].as_array().into_iter().flatten();
    forms.any(|word| schema.get(word).is_some()) || choices.any(is_branded)
}

/// `verb-noun`: two or more words of lower case letters and digits, joined by dashes.
fn is_verb_noun(name: &str) -> bool {
    let is_letters = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    name.split_once('-').is_some_and(|(verb, noun)| {
        !verb.is_empty() && is_letters(verb) && noun.split('-').all(|word| is_word(word, ""))
    })
}

/// Whether a text is a version of the form `1.2.3`, whatever follows after `-` or `+`.
pub fn is_version(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<&str> = core.split('.').collect();
    numbers.len() == 3 && numbers.iter().all(|number| number.parse::<u32>().is_ok())
}

fn is_permission(permission: &str) -> bool {
    let parts = permission.split_once(':');
    parts.is_some_and(|(resource, action)| is_word(resource, "-_") && is_word(action, "-_"))
}

/// Whether a text has lower case letters, digits and these other letters, and at least one of them.
fn is_word(text: &str, others: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    !text.is_empty()
        && text
            .chars()
            .all(|letter| is_letter(letter) || others.contains(letter))
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
