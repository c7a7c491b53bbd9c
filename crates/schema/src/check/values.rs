//! Keywords that ask for one thing about the value itself.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use serde_json::{Number, Value};

use super::{Check, Place};
use crate::compile::Keyword;
use crate::mismatch::Kind;
use crate::number::{are_equal, compared, hash, is_multiple};
use crate::pattern::TextPattern;

/// Bytes of text that are looked at in one step.
const BYTES_OF_STEP: usize = 64;

impl<'a> Check<'a> {
    pub(super) fn simple(&mut self, keyword: &'a Keyword, value: &'a Value) -> Option<Kind<'a>> {
        let (is_right, kind) = match (keyword, value) {
            (Keyword::Never, _) => (false, Kind::Never),
            (Keyword::Type(types), _) => {
                (types.iter().any(|kind| kind.has(value)), Kind::Type(types))
            }
            (Keyword::Enum(options), _) => {
                self.spend(options.len());
                (
                    options.iter().any(|one| are_equal(one, value)),
                    Kind::Enum(options),
                )
            }
            (Keyword::Constant(one), _) => (are_equal(one, value), Kind::Constant(one)),
            (Keyword::Minimum(limit), Value::Number(number)) => {
                (compared(number, limit).is_ge(), Kind::Minimum(limit))
            }
            (Keyword::Maximum(limit), Value::Number(number)) => {
                (compared(number, limit).is_le(), Kind::Maximum(limit))
            }
            (Keyword::ExclusiveMinimum(limit), Value::Number(number)) => (
                compared(number, limit).is_gt(),
                Kind::ExclusiveMinimum(limit),
            ),
            (Keyword::ExclusiveMaximum(limit), Value::Number(number)) => (
                compared(number, limit).is_lt(),
                Kind::ExclusiveMaximum(limit),
            ),
            (Keyword::MultipleOf(of), Value::Number(number)) => {
                (self.is_multiple(number, of), Kind::MultipleOf(of))
            }
            (Keyword::MinLength(limit), Value::String(text)) => {
                (self.length(text) >= *limit, Kind::MinLength(*limit))
            }
            (Keyword::MaxLength(limit), Value::String(text)) => {
                (self.length(text) <= *limit, Kind::MaxLength(*limit))
            }
            (Keyword::Pattern(pattern), Value::String(text)) => {
                (self.is_match(pattern, text), Kind::Pattern(&pattern.source))
            }
            (Keyword::MinItems(limit), Value::Array(items)) => {
                (items.len() >= *limit, Kind::MinItems(*limit))
            }
            (Keyword::MaxItems(limit), Value::Array(items)) => {
                (items.len() <= *limit, Kind::MaxItems(*limit))
            }
            (Keyword::UniqueItems, Value::Array(items)) => {
                (self.are_different(items), Kind::UniqueItems)
            }
            (Keyword::MinProperties(limit), Value::Object(members)) => {
                (members.len() >= *limit, Kind::MinProperties(*limit))
            }
            (Keyword::MaxProperties(limit), Value::Object(members)) => {
                (members.len() <= *limit, Kind::MaxProperties(*limit))
            }
            (Keyword::Not(id, schema), _) => {
                let matches = self.subschema(*id, value, Place::Whole, None, None);
                (!matches || self.is_exhausted, Kind::Not(schema))
            }
            _ => return None,
        };
        (!is_right).then_some(kind)
    }

    pub(super) fn length(&mut self, text: &str) -> usize {
        self.spend(text.len() / BYTES_OF_STEP);
        text.chars().count()
    }

    pub(super) fn is_multiple(&mut self, number: &Number, of: &Number) -> bool {
        self.spend(BYTES_OF_STEP);
        is_multiple(number, of)
    }

    pub(super) fn is_match(&mut self, pattern: &TextPattern, text: &str) -> bool {
        self.spend(pattern.cost(text));
        self.is_exhausted || pattern.is_match(text)
    }

    pub(super) fn are_different(&mut self, items: &[Value]) -> bool {
        let hashing = RandomState::new();
        let mut by_hash: HashMap<u64, Vec<&Value>> = HashMap::new();
        for item in items {
            self.spend(1 + weight(item));
            if self.is_exhausted {
                return true;
            }
            let mut hasher = hashing.build_hasher();
            hash(item, &mut hasher);
            let alike = by_hash.entry(hasher.finish()).or_default();
            if alike.iter().any(|other| are_equal(other, item)) {
                return false;
            }
            alike.push(item);
        }
        true
    }
}

/// Size of a value, in steps of a look at all of it.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() / BYTES_OF_STEP,
        Value::Array(items) => items.iter().map(|item| 1 + weight(item)).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| 1 + name.len() / BYTES_OF_STEP + weight(value))
            .sum(),
        _ => 0,
    }
}
