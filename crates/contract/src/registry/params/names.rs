//! Names of arguments against the published schema: those that are missing, and those that nobody reads, at any depth.

use serde_json::{Map, Value};

use super::super::closing::ALTERNATIVES;
use super::{nearest_name, pointer, violation};
use crate::tool::error::{ParameterViolation, ViolationKind};

/// The most references and alternatives inside of each other that are followed for one value: more than any type has.
const MOST_STEPS: usize = 16;

/// A schema that applies to a value, and whether it is certain that it does: of alternatives several may be meant.
type Applies<'a> = (&'a Value, bool);

/// Names that are missing, and names that the schema does not give: most likely a misspelling.
pub(super) fn wrong(arguments: &Value, schema: &Value) -> Vec<ParameterViolation> {
    if !arguments.is_object() {
        let message = "must be an object";
        return vec![violation(String::new(), message, ViolationKind::Name)];
    }
    let mut found = Vec::new();
    let check = NameCheck { root: schema };
    check.visit(arguments, &[(schema, true)], "", &mut found);
    found
}

/// The whole schema, into which references point.
#[derive(Clone, Copy)]
struct NameCheck<'a> {
    root: &'a Value,
}

impl<'a> NameCheck<'a> {
    fn visit(
        self,
        value: &Value,
        schemas: &[Applies<'a>],
        path: &str,
        found: &mut Vec<ParameterViolation>,
    ) {
        let mut applied = Vec::new();
        for (schema, is_certain) in schemas {
            self.collect(schema, *is_certain, value, MOST_STEPS, &mut applied);
        }
        match value {
            Value::Object(given) => self.visit_object(given, &applied, path, found),
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    let of_item = |(schema, is_certain): &Applies<'a>| {
                        let own = schema["prefixItems"].get(place);
                        Some((own.or_else(|| schema.get("items"))?, *is_certain))
                    };
                    let of_item: Vec<_> = applied.iter().filter_map(of_item).collect();
                    self.visit(item, &of_item, &format!("{path}/{place}"), found);
                }
            }
            _ => {}
        }
    }

    fn visit_object(
        self,
        given: &Map<String, Value>,
        schemas: &[Applies<'a>],
        path: &str,
        found: &mut Vec<ParameterViolation>,
    ) {
        for (schema, _) in schemas.iter().filter(|(_, is_certain)| *is_certain) {
            let required = schema["required"].as_array().into_iter().flatten();
            let missing = required
                .filter_map(Value::as_str)
                .filter(|name| !given.contains_key(*name));
            found.extend(missing.map(|name| {
                let path = format!("{path}{}", pointer(name));
                violation(path, "is required", ViolationKind::Name)
            }));
        }
        let others = |(schema, is_certain): &Applies<'a>| {
            let others = schema.get("additionalProperties")?;
            (others != &Value::Bool(false)).then_some((others, *is_certain))
        };
        let others: Vec<Applies<'a>> = schemas.iter().filter_map(others).collect();
        let known: Vec<&str> = schemas
            .iter()
            .filter_map(|(schema, _)| schema["properties"].as_object())
            .flat_map(|properties| properties.keys().map(String::as_str))
            .collect();
        let is_closed = !known.is_empty() || schemas.iter().any(|(schema, _)| is_closed(schema));
        for (name, value) in given {
            let own = |(schema, is_certain): &Applies<'a>| {
                Some((schema["properties"].get(name)?, *is_certain))
            };
            let mut own: Vec<Applies<'a>> = schemas.iter().filter_map(own).collect();
            let path = format!("{path}{}", pointer(name));
            if own.is_empty() && others.is_empty() && is_closed {
                let near = nearest_name(name, known.iter().copied());
                let (message, kind) = match near {
                    Some(near) => (
                        format!("unknown parameter, did you mean '{near}'?"),
                        ViolationKind::Name,
                    ),
                    None => ("unknown parameter".to_owned(), ViolationKind::StrangeName),
                };
                found.push(violation(path, message, kind));
                continue;
            }
            if own.is_empty() {
                own.clone_from(&others);
            }
            self.visit(value, &own, &path, found);
        }
    }

    /// Adds a schema and what it refers to, and of its alternatives those that the value may be meant for.
    fn collect(
        self,
        schema: &'a Value,
        is_certain: bool,
        value: &Value,
        steps: usize,
        into: &mut Vec<Applies<'a>>,
    ) {
        let Some(steps) = steps.checked_sub(1) else {
            return;
        };
        if let Some(target) = self.target(schema) {
            self.collect(target, is_certain, value, steps, into);
        }
        into.push((schema, is_certain));
        for word in ALTERNATIVES {
            let Some(choices) = schema[word].as_array() else {
                continue;
            };
            let chosen = if word == "allOf" {
                choices.iter().collect()
            } else {
                self.meant(choices, value)
            };
            let is_certain = is_certain && (word == "allOf" || chosen.len() == 1);
            for choice in chosen {
                self.collect(choice, is_certain, value, steps, into);
            }
        }
    }

    /// Alternatives that a value may be meant for: those with its tag, of these those whose names it has; all that take
    /// such a value if none fits.
    fn meant(self, choices: &'a [Value], value: &Value) -> Vec<&'a Value> {
        let whole = |choice: &&'a Value| self.target(choice).unwrap_or(choice);
        let takes = |choice: &&'a Value| {
            let kind = if value.is_array() { "array" } else { "object" };
            match &whole(choice)["type"] {
                Value::Array(kinds) => kinds.iter().any(|one| one == kind),
                Value::String(one) => one == kind,
                _ => true,
            }
        };
        let has_tag = |choice: &&'a Value| {
            let properties = whole(choice)["properties"].as_object();
            let mut properties = properties.into_iter().flatten();
            properties.all(|(name, schema)| {
                let tag = schema.get("const");
                tag.is_none_or(|tag| value.get(name) == Some(tag))
            })
        };
        let has_names = |choice: &&'a Value| {
            let required = whole(choice)["required"].as_array();
            let mut required = required.into_iter().flatten().filter_map(Value::as_str);
            required.all(|name| value.get(name).is_some())
        };
        let taking: Vec<&Value> = choices.iter().filter(takes).collect();
        let tagged: Vec<&Value> = taking.iter().copied().filter(has_tag).collect();
        let named: Vec<&Value> = tagged.iter().copied().filter(has_names).collect();
        let nearest = [named, tagged, taking];
        let found = nearest.into_iter().find(|some| !some.is_empty());
        found.unwrap_or_default()
    }

    /// Schema that a reference into the same schema points at.
    fn target(self, schema: &Value) -> Option<&'a Value> {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }
}

fn is_closed(schema: &Value) -> bool {
    let refuses = |word: &str| schema.get(word) == Some(&Value::Bool(false));
    refuses("additionalProperties") || refuses("unevaluatedProperties")
}
