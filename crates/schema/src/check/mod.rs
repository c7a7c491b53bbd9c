//! Check of one value: a walk over schema and value with a number of steps.

mod combined;
mod lists;
mod objects;
mod values;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::compile::Keyword;
use crate::mismatch::{Kind, Mismatch};
use crate::{Schema, SubschemaId, Verdict};

/// Number of subschemas that may be entered one inside the other. The reader of JSON bounds the depth of values at
/// 128, so this leaves four for each level; and it fits on the stack of a thread.
const DEPTH_LIMIT: usize = 512;

/// Check of one value.
pub(crate) struct Check<'a> {
    schema: &'a Schema,
    steps: usize,
    step_limit: usize,
    mismatch_limit: usize,
    depth: usize,
    /// Whether steps or depth did not suffice. Then everything counts as valid, to come to an end.
    is_exhausted: bool,
    /// Definitions and values that are being looked at, one inside the other: a definition that leads to itself
    /// without a step into the value asks for nothing more.
    open: Vec<(SubschemaId, *const Value)>,
    remembered: HashMap<(SubschemaId, *const Value), bool>,
}

/// Place of a value, from the inside out.
#[derive(Clone, Copy)]
enum Place<'p> {
    Whole,
    Member(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

/// Items and members that keywords have looked at in a list or an object.
#[derive(Default)]
struct Seen<'a> {
    all_items: bool,
    items: HashSet<usize>,
    all_members: bool,
    members: HashSet<&'a str>,
}

/// Mismatches that are being collected; `None` where only the verdict counts.
type Found<'f, 'a> = Option<&'f mut Vec<Mismatch<'a>>>;

impl<'a> Check<'a> {
    pub(crate) fn new(schema: &'a Schema, step_limit: usize, mismatch_limit: usize) -> Self {
        Self {
            schema,
            steps: 0,
            step_limit,
            mismatch_limit,
            depth: 0,
            is_exhausted: false,
            open: Vec::new(),
            remembered: HashMap::new(),
        }
    }

    pub(crate) fn verdict(mut self, value: &'a Value) -> Verdict {
        let is_valid = self.subschema(self.schema.root, value, Place::Whole, None, None);
        match (self.is_exhausted, is_valid) {
            // What was refused before the steps were used up is refused.
            (_, false) => Verdict::Invalid,
            (false, true) => Verdict::Valid,
            (true, true) => Verdict::TooCostly,
        }
    }

    pub(crate) fn mismatches(mut self, value: &'a Value) -> Vec<Mismatch<'a>> {
        let mut found = Vec::new();
        self.subschema(
            self.schema.root,
            value,
            Place::Whole,
            Some(&mut found),
            None,
        );
        found.truncate(self.mismatch_limit);
        found
    }

    fn spend(&mut self, steps: usize) {
        self.steps = self.steps.saturating_add(steps);
        self.is_exhausted |= self.steps > self.step_limit;
    }

    fn subschema(
        &mut self,
        id: SubschemaId,
        value: &'a Value,
        place: Place<'_>,
        mut found: Found<'_, 'a>,
        seen: Option<&mut Seen<'a>>,
    ) -> bool {
        let subschema = &self.schema.subschemas[id];
        self.spend(1 + subschema.keywords.len());
        self.is_exhausted |= self.depth >= DEPTH_LIMIT;
        if self.is_exhausted {
            return true;
        }
        self.depth += 1;
        let mut own = (seen.is_some() || subschema.tracks).then(Seen::default);
        let mut is_valid = true;
        for keyword in &subschema.keywords {
            let beside = &subschema.keywords;
            if !self.keyword(
                keyword,
                beside,
                value,
                place,
                found.as_deref_mut(),
                own.as_mut(),
            ) {
                is_valid = false;
                if found
                    .as_ref()
                    .is_none_or(|found| found.len() >= self.mismatch_limit)
                {
                    break;
                }
            }
        }
        self.depth -= 1;
        if let (true, Some(seen), Some(own)) = (is_valid, seen, own) {
            seen.merge(own);
        }
        is_valid
    }

    fn keyword(
        &mut self,
        keyword: &'a Keyword,
        beside: &'a [Keyword],
        value: &'a Value,
        place: Place<'_>,
        found: Found<'_, 'a>,
        seen: Option<&mut Seen<'a>>,
    ) -> bool {
        match keyword {
            Keyword::AllOf(parts) => self.all_of(parts, value, place, found, seen),
            Keyword::AnyOf(parts) => self.any_of(parts, value, place, found, seen),
            Keyword::OneOf(parts) => self.one_of(parts, value, place, found, seen),
            Keyword::Reference(target) => self.reference(*target, value, place, found, seen),
            Keyword::If {
                condition,
                then,
                otherwise,
            } => {
                let branches = (*then, *otherwise);
                self.condition(*condition, branches, value, place, found, seen)
            }
            Keyword::DependentSchemas(parts) => {
                self.dependent_schemas(parts, value, place, found, seen)
            }
            Keyword::Properties(properties) => match value {
                Value::Object(members) => {
                    self.properties(properties, members, value, place, found, seen)
                }
                _ => true,
            },
            Keyword::Items { prefix, rest } => match value {
                Value::Array(items) => {
                    self.items((prefix, *rest), items, value, place, found, seen)
                }
                _ => true,
            },
            Keyword::Contains { item, least, most } => {
                self.contains((*item, *least, *most), value, place, found, seen)
            }
            Keyword::UnevaluatedItems(rest) => {
                self.unevaluated_items(*rest, value, place, found, seen)
            }
            Keyword::UnevaluatedProperties(rest) => {
                self.unevaluated_properties(*rest, value, place, found, seen)
            }
            Keyword::Required(names) => {
                // Only a message needs them.
                let known = found.as_ref().map_or(&[][..], |_| named_properties(beside));
                self.required(names, known, value, place, found)
            }
            Keyword::DependentRequired(each) => self.dependent_required(each, value, place, found),
            Keyword::PropertyNames(id) => self.property_names(*id, value, place, found),
            simple => match self.simple(simple, value) {
                None => true,
                Some(kind) => told(kind, value, place, found),
            },
        }
    }

    fn is_never(&self, id: SubschemaId) -> bool {
        matches!(self.schema.subschemas[id].keywords[..], [Keyword::Never])
    }
}

/// Names of the properties that keywords name.
fn named_properties(keywords: &[Keyword]) -> &[String] {
    let named = keywords.iter().find_map(|keyword| match keyword {
        Keyword::Properties(properties) => Some(properties.names.as_slice()),
        _ => None,
    });
    named.unwrap_or_default()
}

impl<'a> Seen<'a> {
    fn merge(&mut self, other: Seen<'a>) {
        self.all_items |= other.all_items;
        self.items.extend(other.items);
        self.all_members |= other.all_members;
        self.members.extend(other.members);
    }
}

impl Place<'_> {
    fn pointer(self) -> String {
        let mut parts = Vec::new();
        let mut place = self;
        loop {
            place = match place {
                Place::Whole => break,
                Place::Member(around, name) => {
                    parts.push(format!("/{}", name.replace('~', "~0").replace('/', "~1")));
                    *around
                }
                Place::Item(around, number) => {
                    parts.push(format!("/{number}"));
                    *around
                }
            };
        }
        parts.reverse();
        parts.concat()
    }
}

/// Collects a mismatch, where they are collected; the value is refused in any case.
fn told<'a>(kind: Kind<'a>, value: &'a Value, place: Place<'_>, found: Found<'_, 'a>) -> bool {
    if let Some(found) = found {
        found.push(Mismatch {
            path: place.pointer(),
            value,
            kind,
        });
    }
    false
}
