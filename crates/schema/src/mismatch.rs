//! Mismatches: what is wrong with a value, and the words for it.

use mcpproxy_support::one_line::one_line;
use serde_json::{Number, Value};

use crate::number;

/// The longest value, from a schema or a value, that a message repeats, in characters.
const VALUE_LIMIT: usize = 100;

/// The longest text about alternatives, in characters, without the `expected` in front of it.
const ALTERNATIVES_LIMIT: usize = 291;

/// Number of allowed values that are listed.
const LISTED: usize = 20;

/// Mismatch of a schema: one way in which a value does not match.
#[derive(Debug)]
pub struct Mismatch<'a> {
    /// A JSON pointer to the value: `/items/0/name`; empty for the whole.
    pub path: String,
    /// The value there.
    pub value: &'a Value,
    /// Kind of what is wrong with it.
    pub kind: Kind<'a>,
}

/// Kind of a mismatch: the keyword that a value does not satisfy.
#[derive(Debug)]
pub enum Kind<'a> {
    /// A value of none of these types.
    Type(&'a [JsonType]),
    /// A value that is none of these.
    Enum(&'a [Value]),
    /// A value that is not this one.
    Constant(&'a Value),
    /// A number that is less.
    Minimum(&'a Number),
    /// A number that is more.
    Maximum(&'a Number),
    /// A number that is not more.
    ExclusiveMinimum(&'a Number),
    /// A number that is not less.
    ExclusiveMaximum(&'a Number),
    /// A number that is no multiple.
    MultipleOf(&'a Number),
    /// Text of fewer characters.
    MinLength(usize),
    /// Text of more characters.
    MaxLength(usize),
    /// Text that does not match the pattern.
    Pattern(&'a str),
    /// A list of fewer items.
    MinItems(usize),
    /// A list of more items.
    MaxItems(usize),
    /// A list of which some items are equal.
    UniqueItems,
    /// A list of which fewer items match `contains`.
    Contains(usize),
    /// A list of which more items match `contains`.
    MaxContains(usize),
    /// A list with items that nothing allows.
    UnevaluatedItems,
    /// An object of fewer properties.
    MinProperties(usize),
    /// An object of more properties.
    MaxProperties(usize),
    /// An object without a property that it has to have; `known` are those the schema names beside it.
    Required {
        /// Name of the missing one.
        name: &'a str,
        /// Names of the schema.
        known: &'a [String],
    },
    /// An object with properties that nothing allows; `known` are those the schema names beside them.
    UnknownProperties {
        /// Names that must not be there.
        unknown: Vec<&'a str>,
        /// Names of the schema.
        known: &'a [String],
    },
    /// A name of a property is not allowed.
    PropertyName(Box<Kind<'a>>),
    /// A value that matches no alternative; the mismatches of each.
    NoAlternative(Vec<Vec<Mismatch<'a>>>),
    /// A value that matches more than one alternative, where one should.
    SeveralAlternatives,
    /// A value that matches what it should not.
    Not(&'a str),
    /// A value where none is allowed.
    Never,
}

/// Type of a JSON value, as schemas name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number without a fraction.
    Integer,
    /// Any number.
    Number,
    /// Text.
    String,
    /// A list.
    Array,
    /// An object.
    Object,
}

impl JsonType {
    const NAMES: [(Self, &'static str); 7] = [
        (Self::Null, "null"),
        (Self::Boolean, "boolean"),
        (Self::Integer, "integer"),
        (Self::Number, "number"),
        (Self::String, "string"),
        (Self::Array, "array"),
        (Self::Object, "object"),
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut all = Self::NAMES.into_iter();
        all.find_map(|(kind, known)| (known == name).then_some(kind))
    }

    fn name(self) -> &'static str {
        let mut all = Self::NAMES.into_iter();
        all.find_map(|(kind, name)| (kind == self).then_some(name))
            .unwrap_or_default()
    }

    /// The narrowest type of a value.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number::is_integer(number) => Self::Integer,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// Whether a value is of this type.
    pub fn has(self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Boolean => value.is_boolean(),
            Self::Integer => value.as_number().is_some_and(number::is_integer),
            Self::Number => value.is_number(),
            Self::String => value.is_string(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

/// Wording of a mismatch: what is asked for, or what is wrong where nothing else could be sent.
enum Wording {
    Expected(String),
    Wrong(String),
}

impl Mismatch<'_> {
    /// Text that says what is asked for at the place of the value: `expected at least 3 characters`. It does not repeat
    /// the value.
    pub fn expected(&self) -> String {
        self.kind.wording(&self.path).text()
    }
}

impl Wording {
    fn text(self) -> String {
        match self {
            Self::Expected(asked_for) => format!("expected {asked_for}"),
            Self::Wrong(what) => what,
        }
    }
}

impl Kind<'_> {
    fn wording(&self, path: &str) -> Wording {
        Wording::Expected(match self {
            Self::Type(types) => {
                let names: Vec<_> = types.iter().map(|kind| kind.name()).collect();
                names.join(" or ")
            }
            Self::Enum(options) => format!("one of {}", listed(options)),
            Self::Constant(value) => shown(value),
            Self::Minimum(limit) => format!("at least {limit}"),
            Self::Maximum(limit) => format!("at most {limit}"),
            Self::ExclusiveMinimum(limit) => format!("more than {limit}"),
            Self::ExclusiveMaximum(limit) => format!("less than {limit}"),
            Self::MultipleOf(of) => format!("a multiple of {of}"),
            Self::MinLength(limit) => format!("at least {limit} characters"),
            Self::MaxLength(limit) => format!("at most {limit} characters"),
            Self::Pattern(pattern) => {
                format!("text that matches the pattern {}", quoted(pattern))
            }
            Self::MinItems(limit) => format!("at least {limit} items"),
            Self::MaxItems(limit) => format!("at most {limit} items"),
            Self::UniqueItems => "items that differ from each other".to_owned(),
            Self::Contains(1) => "a list with an item that matches `contains`".to_owned(),
            Self::Contains(least) => {
                format!("a list with {least} items that match `contains`")
            }
            Self::MaxContains(most) => {
                format!("a list with at most {most} items that match `contains`")
            }
            Self::UnevaluatedItems => "no further items".to_owned(),
            Self::MinProperties(limit) => format!("at least {limit} properties"),
            Self::MaxProperties(limit) => format!("at most {limit} properties"),
            Self::Required { name, .. } => {
                return Wording::Wrong(format!("missing required property {}", quoted(name)));
            }
            Self::UnknownProperties { unknown, .. } => {
                let names: Vec<_> = unknown
                    .iter()
                    .take(LISTED)
                    .map(|name| quoted(name))
                    .collect();
                return Wording::Wrong(format!("unknown property {}", names.join(", ")));
            }
            Self::PropertyName(kind) => {
                let why = kind.wording(path).text();
                return Wording::Wrong(format!("a property name is not allowed: {why}"));
            }
            Self::NoAlternative(alternatives) => no_alternative(alternatives, path),
            Self::SeveralAlternatives => "exactly one alternative to match, several do".to_owned(),
            Self::Not(schema) => format!("no value that matches {schema}"),
            Self::Never => "no value here".to_owned(),
        })
    }
}

/// Descriptions of what each alternative of a union asks for, as far as it speaks of the value itself.
fn no_alternative(alternatives: &[Vec<Mismatch<'_>>], path: &str) -> String {
    let mut wanted: Vec<String> = Vec::new();
    for mismatch in alternatives
        .iter()
        .filter_map(|mismatches| mismatches.first())
    {
        let one = alternative(mismatch, path);
        if !wanted.contains(&one) {
            wanted.push(one);
        }
    }
    if wanted.is_empty() {
        return "one of several alternatives, none matches".to_owned();
    }
    one_line(&wanted.join(", or "), ALTERNATIVES_LIMIT)
}

/// Text that says what an alternative asks for, by the first thing that it misses.
fn alternative(mismatch: &Mismatch<'_>, path: &str) -> String {
    if let Kind::Required { name, .. } = mismatch.kind {
        return format!("an object with property {}", quoted(name));
    }
    let (Wording::Expected(text) | Wording::Wrong(text)) = mismatch.kind.wording(&mismatch.path);
    if mismatch.path == path {
        return text;
    }
    format!("{text} at {}", one_line(&mismatch.path, VALUE_LIMIT))
}

fn listed(options: &[Value]) -> String {
    let mut names: Vec<String> = options.iter().take(LISTED).map(shown).collect();
    if options.len() > LISTED {
        names.push(format!("{} more", options.len() - LISTED));
    }
    names.join(", ")
}

/// A value as it may appear in a message: short, or only what kind of value it is.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::String(text) if text.chars().count() > VALUE_LIMIT - 2 => {
            format!("text of {} characters", text.chars().count())
        }
        Value::String(text) => quoted(text),
        simple => one_line(&simple.to_string(), VALUE_LIMIT),
    }
}

fn quoted(text: &str) -> String {
    one_line(&Value::from(text).to_string(), VALUE_LIMIT)
}
