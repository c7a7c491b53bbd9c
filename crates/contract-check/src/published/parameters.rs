//! Calls that were right and are no longer: parameters that are gone, newly required, or take less than they took.
//!
//! What was open and is closed now takes no less: names that nobody documented were never published.

use serde_json::Value;

use super::FAULTS;
use super::schema_part::{SchemaPart, covers};

/// Longest path of a parameter that is told, in characters: names come from the server.
const LONGEST_PATH: usize = 200;

/// The most comparisons of parts for one tool; a schema of others may unfold to any number of them.
const COMPARISONS: usize = 20_000;

/// Depth to which parts may lie in each other, references followed.
const DEPTH: usize = 64;

/// Keywords that cannot be compared: where one of them is new or another, less may be taken.
const OPAQUE: [&str; 11] = [
    "multipleOf",
    "pattern",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "propertyNames",
    "contains",
    "patternProperties",
];

/// Sizes, each with its lower and its upper limit.
const SIZES: [(&str, &str); 3] = [
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
];

/// Faults of the parameters of now for those who call as before.
pub(super) fn broken_calls(before: &Value, now: &Value) -> Vec<String> {
    if before == now {
        return Vec::new();
    }
    let mut narrowing = Narrowing {
        left: COMPARISONS,
        compared: Vec::new(),
        found: Vec::new(),
    };
    narrowing.compare(SchemaPart::whole(before), SchemaPart::whole(now), "");
    if narrowing.left == 0 {
        let told = "the parameters are too large to be compared with those that were published";
        narrowing.found.push(told.to_owned());
    }
    narrowing.found
}

/// Comparison under way.
struct Narrowing {
    left: usize,
    /// Pairs that are being compared, one inside the other.
    compared: Vec<(*const Value, *const Value)>,
    found: Vec<String>,
}

impl Narrowing {
    /// Finds everything that `before` took and `now` does not.
    fn compare(&mut self, before: SchemaPart<'_>, now: SchemaPart<'_>, path: &str) {
        let pair = (before.address(), now.address());
        let is_over = self.left == 0 || self.found.len() >= FAULTS;
        if is_over || self.compared.len() >= DEPTH || self.compared.contains(&pair) {
            return;
        }
        self.left -= 1;
        self.compared.push(pair);
        self.compare_new(before, now, path);
        self.compared.pop();
    }

    fn compare_new(&mut self, before: SchemaPart<'_>, now: SchemaPart<'_>, path: &str) {
        if *before.part == Value::Bool(false) {
            return;
        }
        if *now.part == Value::Bool(false) {
            return self.narrowed(path, "takes nothing any more");
        }
        if let Some(choices) = now.choices() {
            self.compare_choices(before, &choices, path);
            if now.says_nothing_else() {
                return;
            }
        } else if let Some(choices) = before.choices().filter(|_| before.says_nothing_else()) {
            return choices
                .into_iter()
                .for_each(|choice| self.compare(choice, now, path));
        }
        let earlier = before.list("allOf").unwrap_or_default();
        for part in now.list("allOf").unwrap_or_default() {
            if !earlier.iter().any(|earlier| self.accepts(*earlier, part)) {
                self.compare(before, part, path);
            }
        }
        if let Some(values) = values(before) {
            return self.compare_values(&values, now, path);
        }
        if now.part["enum"].is_array() || now.part.get("const").is_some() {
            return self.narrowed(path, "takes only certain values now");
        }
        self.compare_types(before, now, path);
        self.compare_limits(before, now, path);
        self.compare_items(before, now, path);
        self.compare_properties(before, now, path);
    }

    /// Each choice there was has to be within one there is.
    fn compare_choices(&mut self, before: SchemaPart<'_>, now: &[SchemaPart<'_>], path: &str) {
        let earlier = before.choices().unwrap_or_else(|| vec![before]);
        for (index, one) in earlier.into_iter().enumerate() {
            if now.iter().any(|choice| self.accepts(one, *choice)) {
                continue;
            }
            let known = self.found.len();
            // Its counterpart tells best what is missing.
            if let Some(same) = now.get(index) {
                self.compare(one, *same, path);
            }
            if self.found.len() == known {
                self.narrowed(path, "does not take all that it took");
            }
        }
    }

    /// Whether `now` takes everything that `before` took.
    fn accepts(&mut self, before: SchemaPart<'_>, now: SchemaPart<'_>) -> bool {
        let known = std::mem::take(&mut self.found);
        self.compare(before, now, "");
        let found = std::mem::replace(&mut self.found, known);
        found.is_empty()
    }

    fn compare_values(&mut self, before: &[&Value], now: SchemaPart<'_>, path: &str) {
        let (values, types) = (values(now), now.types());
        for value in before {
            let is_listed = values.as_ref().is_none_or(|values| values.contains(value));
            let is_typed = types
                .as_ref()
                .is_none_or(|types| covers(types, kind(value)));
            if !is_listed || !is_typed {
                self.narrowed(path, &format!("does not take {value} any more"));
            }
        }
    }

    fn compare_types(&mut self, before: SchemaPart<'_>, now: SchemaPart<'_>, path: &str) {
        let Some(taken) = now.types() else {
            return;
        };
        let lost = match before.types() {
            None => return self.narrowed(path, &format!("takes only {} now", taken.join(" or "))),
            Some(types) => types.into_iter().filter(|one| !covers(&taken, one)),
        };
        for one in lost {
            self.narrowed(path, &format!("has another type: it took {one}"));
        }
    }

    fn compare_limits(&mut self, before: SchemaPart<'_>, now: SchemaPart<'_>, path: &str) {
        let number = |part: SchemaPart<'_>, keyword: &str| part.part[keyword].as_f64();
        for (least, most) in SIZES {
            if number(now, least).unwrap_or(0.0) > number(before, least).unwrap_or(0.0) {
                self.narrowed(path, &format!("has a higher {least}"));
            }
            let limit = number(before, most).unwrap_or(f64::INFINITY);
            if number(now, most).is_some_and(|most| most < limit) {
                self.narrowed(path, &format!("has a lower {most}"));
            }
        }
        if lower(now) > lower(before) {
            self.narrowed(path, "has a higher minimum");
        }
        if upper(now) > upper(before) {
            self.narrowed(path, "has a lower maximum");
        }
        for keyword in OPAQUE {
            let known = now.part.get(keyword);
            if known.is_some() && known != before.part.get(keyword) {
                self.narrowed(path, &format!("has a new or another {keyword}"));
            }
        }
        // What numbers are called says nothing about which ones are taken.
        let is_text = now.types().is_some_and(|types| types.contains(&"string"));
        let format = now.part.get("format").filter(|_| is_text);
        if format.is_some() && format != before.part.get("format") {
            self.narrowed(path, "has a new or another format");
        }
        if now.part["uniqueItems"] == true && before.part["uniqueItems"] != true {
            self.narrowed(path, "does not take the same item twice any more");
        }
    }

    fn compare_items(&mut self, before: SchemaPart<'_>, now: SchemaPart<'_>, path: &str) {
        let inner = format!("{path}[]");
        if now.part.get("items").is_some() {
            self.compare(before.at("items"), now.at("items"), &inner);
        }
        let earlier = before.list("prefixItems").unwrap_or_default();
        let first = now.list("prefixItems").unwrap_or_default();
        for (index, part) in first.into_iter().enumerate() {
            let earlier = earlier.get(index).copied();
            self.compare(earlier.unwrap_or(before.at("items")), part, &inner);
        }
    }

    fn compare_properties(&mut self, before: SchemaPart<'_>, now: SchemaPart<'_>, path: &str) {
        for (name, part) in before.properties() {
            let inner = below(path, name);
            if now.part["properties"].get(name).is_some() {
                self.compare(part, now.at("properties").at(name), &inner);
            } else {
                self.narrowed(&inner, "is gone");
            }
        }
        let required = |part: SchemaPart<'_>| part.part["required"].as_array().cloned();
        let already = required(before).unwrap_or_default();
        for name in required(now).unwrap_or_default() {
            if !already.contains(&name) {
                let inner = below(path, name.as_str().unwrap_or_default());
                self.narrowed(&inner, "has become required");
            }
        }
        let others = "additionalProperties";
        if before.part[others].is_object() {
            self.compare(before.at(others), now.at(others), &below(path, "*"));
        }
    }

    fn narrowed(&mut self, path: &str, how: &str) {
        let told = if path.is_empty() {
            format!("the object of all parameters {how}")
        } else {
            format!("the parameter '{path}' {how}")
        };
        if self.found.len() < FAULTS && !self.found.contains(&told) {
            self.found.push(told);
        }
    }
}

/// Path of a part, as much of it as is told.
fn below(path: &str, name: &str) -> String {
    let dot = if path.is_empty() { "" } else { "." };
    let path = path.chars().chain(dot.chars()).chain(name.chars());
    path.take(LONGEST_PATH).collect()
}

/// The only values that are taken, where they are listed.
fn values(part: SchemaPart<'_>) -> Option<Vec<&Value>> {
    let listed = part.part["enum"].as_array();
    let listed = listed.map(|values| values.iter().collect());
    listed.or_else(|| Some(vec![part.part.get("const")?]))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Lower limit of a number, and whether the limit itself is left out.
fn lower(part: SchemaPart<'_>) -> (f64, bool) {
    let limit = |keyword: &str| part.part[keyword].as_f64().unwrap_or(f64::NEG_INFINITY);
    let (least, beyond) = (limit("minimum"), limit("exclusiveMinimum"));
    (least.max(beyond), beyond.is_finite() && beyond >= least)
}

/// Upper limit of a number, turned around, so that of two the higher one takes less.
fn upper(part: SchemaPart<'_>) -> (f64, bool) {
    let limit = |keyword: &str| -part.part[keyword].as_f64().unwrap_or(f64::INFINITY);
    let (most, beyond) = (limit("maximum"), limit("exclusiveMaximum"));
    (most.max(beyond), beyond.is_finite() && beyond >= most)
}
