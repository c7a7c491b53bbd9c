//! The secrets of one call.

use std::collections::BTreeSet;
use std::ops::Range;

use memchr::memmem::Finder;
use serde_json::Value;

use crate::spellings::{broken_off, spellings};

/// Values with fewer characters turn up inside ordinary words, so they are hidden only where
/// they stand alone.
const SHORTEST_ANYWHERE: usize = 4;

/// Number of values that are looked for. Each costs a pass over what is recorded, and a call with more
/// secrets than this has nothing to record: then everything counts as secret.
const MOST_VALUES: usize = 64;

/// The values that one call was given, or gave back, in fields that its tool marks as secret.
#[derive(Clone, Default)]
pub struct OwnSecrets {
    anywhere: Vec<Finder<'static>>,
    alone: Vec<Box<str>>,
    /// Whether there were too many to look for.
    pub(super) is_everything: bool,
}

impl OwnSecrets {
    /// No secrets: the call of a tool without secret fields.
    pub const fn none() -> Self {
        Self {
            anywhere: Vec::new(),
            alone: Vec::new(),
            is_everything: false,
        }
    }

    /// Secrets of both, for a call that both was given secrets and gave some back.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.anywhere.extend(others.anywhere);
        self.alone.extend(others.alone);
        self.is_everything |= others.is_everything;
        self
    }

    /// Whether a text as a whole is one of the values.
    pub(super) fn is_exactly(&self, text: &str) -> bool {
        self.alone.iter().any(|value| **value == *text)
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        self.anywhere
            .iter()
            .any(|finder| finder.find(text.as_bytes()).is_some())
    }

    pub(super) fn find(&self, text: &str, found: &mut Vec<Range<usize>>) {
        for finder in &self.anywhere {
            let length = finder.needle().len();
            let matches = finder.find_iter(text.as_bytes());
            found.extend(matches.map(|start| start..start + length));
        }
    }

    pub(super) fn find_broken_off(&self, text: &str, found: &mut Vec<Range<usize>>) {
        for finder in &self.anywhere {
            let value = std::str::from_utf8(finder.needle()).unwrap_or_default();
            found.extend(broken_off(text, value));
        }
    }
}

impl std::fmt::Debug for OwnSecrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.anywhere.len() + self.alone.len();
        write!(formatter, "OwnSecrets({count} spellings)")
    }
}

/// Values on the way to becoming [`OwnSecrets`], each once and only so many.
#[derive(Default)]
pub(super) struct Collection {
    values: BTreeSet<String>,
    everything: bool,
}

impl Collection {
    fn add(&mut self, value: String) {
        if value.is_empty() || self.values.contains(&value) {
            return;
        }
        if self.values.len() == MOST_VALUES {
            self.everything = true;
        } else {
            self.values.insert(value);
        }
    }

    /// Adds all strings and numbers in a value. `true`, `false` and `null` tell too little to be
    /// secrets, and occur everywhere.
    pub(super) fn add_scalars(&mut self, value: &Value) {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if self.everything {
                return;
            }
            match value {
                Value::String(text) => self.add(text.clone()),
                Value::Number(number) => self.add(number.to_string()),
                Value::Array(items) => open.extend(items),
                Value::Object(fields) => open.extend(fields.values()),
                Value::Null | Value::Bool(_) => {}
            }
        }
    }
}

impl From<Collection> for OwnSecrets {
    fn from(collection: Collection) -> Self {
        let mut own = Self {
            is_everything: collection.everything,
            ..Self::none()
        };
        for value in collection.values {
            if value.chars().count() < SHORTEST_ANYWHERE {
                own.alone.push(value.into_boxed_str());
            } else {
                let needles = spellings(&value).into_iter();
                own.anywhere
                    .extend(needles.map(|needle| Finder::new(needle.as_bytes()).into_owned()));
            }
        }
        own
    }
}
