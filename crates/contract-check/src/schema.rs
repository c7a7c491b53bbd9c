//! A schema of others, compiled where that costs little.
//!
//! A schema of a few hundred bytes can describe a tree of billions of steps, by definitions that
//! each refer twice to the next, and the schema library would walk it. So references are followed
//! here first, with a budget. Nothing is ever fetched.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// The most parts of a schema, each reference counted as what it refers to.
const PART_LIMIT: usize = 20_000;

/// Depth to which parts may lie in each other, references followed.
const DEPTH_LIMIT: usize = 200;

/// The most bytes a compiled pattern may take.
const PATTERN_SIZE: usize = 1 << 20;

/// The most problems that are told of one value.
const PROBLEM_LIMIT: usize = 10;

/// The longest problem, in characters.
const PROBLEM_LENGTH: usize = 300;

/// A compiled schema.
#[derive(Debug)]
pub(super) struct Compiled {
    validator: Validator,
    /// Whether it refers to itself. Then the library only answers yes or no at a bounded cost.
    is_recursive: bool,
}

impl Compiled {
    /// Compiles a schema, or says why it cannot be used.
    pub(super) fn new(schema: &Value) -> Result<Self, String> {
        if !schema.is_object() {
            return Err("it is not an object".to_owned());
        }
        let draft = schema["$schema"].as_str().unwrap_or_default();
        let mut walk = SchemaWalk {
            root: schema,
            id_keyword: if draft.contains("draft-04") {
                "id"
            } else {
                "$id"
            },
            left: PART_LIMIT,
            followed: Vec::new(),
            is_recursive: false,
        };
        walk.visit(schema, 0)?;
        let patterns = PatternOptions::regex()
            .size_limit(PATTERN_SIZE)
            .dfa_size_limit(PATTERN_SIZE);
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .should_validate_formats(false)
            .build(schema)
            .map_err(|error| shortened(&error.to_string()))?;
        Ok(Self {
            validator,
            is_recursive: walk.is_recursive,
        })
    }

    /// Problems of a value; none if it matches.
    pub(super) fn problems(&self, value: &Value) -> Vec<String> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        if self.is_recursive {
            return vec!["it does not match".to_owned()];
        }
        let errors = self.validator.iter_errors(value);
        errors
            .take(PROBLEM_LIMIT)
            .map(|error| problem(&error))
            .collect()
    }
}

/// One error of the library in a few words. Values are left out: they may be long or private.
pub(super) fn problem(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().as_str();
    let place = if path.is_empty() {
        String::new()
    } else {
        format!("{path}: ")
    };
    let what = match error.kind() {
        ValidationErrorKind::Required { property } => {
            format!("'{}' is missing", property.as_str().unwrap_or_default())
        }
        _ => error.masked_with("the value").to_string(),
    };
    shortened(&format!("{place}{what}"))
}

/// A walk over a schema and everything it refers to.
struct SchemaWalk<'a> {
    root: &'a Value,
    id_keyword: &'static str,
    left: usize,
    /// The references that are being followed, one inside the other.
    followed: Vec<*const Value>,
    is_recursive: bool,
}

impl<'a> SchemaWalk<'a> {
    fn visit(&mut self, part: &'a Value, depth: usize) -> Result<(), String> {
        if self.left == 0 || depth > DEPTH_LIMIT {
            return Err("its references unfold to too much".to_owned());
        }
        self.left -= 1;
        match part {
            Value::Array(items) => items
                .iter()
                .try_for_each(|item| self.visit(item, depth + 1)),
            Value::Object(fields) => fields.iter().try_for_each(|(keyword, value)| {
                match (keyword.as_str(), value) {
                    ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                        self.follow(reference, depth)
                    }
                    // References below it would not start from the root, and be followed wrongly.
                    (word, Value::String(_)) if depth > 0 && word == self.id_keyword => {
                        Err(format!("a part of it has an {word} of its own"))
                    }
                    _ => self.visit(value, depth + 1),
                }
            }),
            _ => Ok(()),
        }
    }

    fn follow(&mut self, reference: &str, depth: usize) -> Result<(), String> {
        let target = match reference.strip_prefix('#') {
            Some("") => Some(self.root),
            Some(pointer) => self.root.pointer(pointer),
            None => None,
        };
        let target = target.ok_or_else(|| {
            shortened(&format!(
                "it refers to '{reference}'; only parts of the schema itself can be referred to, such as '#/$defs/Card'"
            ))
        })?;
        let address = std::ptr::from_ref(target);
        if std::ptr::eq(target, self.root) || self.followed.contains(&address) {
            self.is_recursive = true;
            return Ok(());
        }
        self.followed.push(address);
        let visited = self.visit(target, depth + 1);
        self.followed.pop();
        visited
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= PROBLEM_LENGTH {
        return text.to_owned();
    }
    text.chars().take(PROBLEM_LENGTH).chain(['…']).collect()
}
