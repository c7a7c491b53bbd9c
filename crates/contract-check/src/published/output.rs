//! Fields of the output that were published and are gone, or have another type.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::schema_part::{SchemaPart, covers};

/// The most parts of one tool that are looked at; a schema of others may unfold to any number of them.
const PARTS: usize = 20_000;

/// Depth to which fields may lie in each other, references followed.
const DEPTH: usize = 64;

/// Faults of the output of now for those who read it as before. Without a schema from before nothing was promised.
pub(super) fn broken_reads(before: &Value, now: &Value) -> Vec<String> {
    if before.is_null() || before == now {
        return Vec::new();
    }
    let mut comparison = FieldComparison {
        left: PARTS,
        depth: 0,
        compared: HashSet::new(),
        found: Vec::new(),
    };
    comparison.compare(&[SchemaPart::whole(before)], &[SchemaPart::whole(now)], "");
    comparison.found
}

/// Comparison under way.
struct FieldComparison {
    left: usize,
    depth: usize,
    /// Pairs that were compared: a type that refers to itself would never end.
    compared: HashSet<(*const Value, *const Value)>,
    found: Vec<String>,
}

impl FieldComparison {
    fn compare(&mut self, before: &[SchemaPart<'_>], now: &[SchemaPart<'_>], path: &str) {
        let (Some(first), Some(other)) = (before.first(), now.first()) else {
            return;
        };
        let is_new = self.compared.insert((first.address(), other.address()));
        if !is_new || self.depth == DEPTH {
            return;
        }
        self.depth += 1;
        self.compare_new(before, now, path);
        self.depth -= 1;
    }

    fn compare_new(&mut self, before: &[SchemaPart<'_>], now: &[SchemaPart<'_>], path: &str) {
        let (before, now) = (self.leaves(before), self.leaves(now));
        self.compare_types(&before, &now, path);
        let fields = fields(&now);
        for (name, parts) in self::fields(&before) {
            let inner = if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            };
            match fields.get(name) {
                Some(now) => self.compare(&parts, now, &inner),
                None => self.tell(format!("the field '{inner}' of the output is gone")),
            }
        }
        self.compare(&items(&before), &items(&now), &format!("{path}[]"));
    }

    fn compare_types(&mut self, before: &[SchemaPart<'_>], now: &[SchemaPart<'_>], path: &str) {
        let (Some(known), Some(given)) = (types(before), types(now)) else {
            return;
        };
        for one in given {
            if !covers(&known, one) {
                self.tell(format!(
                    "the field '{path}' of the output has another type: it may be {one} now"
                ));
            }
        }
    }

    /// Parts that are no choice between others.
    fn leaves<'a>(&mut self, parts: &[SchemaPart<'a>]) -> Vec<SchemaPart<'a>> {
        let mut waiting = parts.to_vec();
        let mut leaves = Vec::new();
        while let Some(part) = waiting.pop() {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let inner = part.choices().or_else(|| part.list("allOf"));
            waiting.extend(inner.into_iter().flatten());
            leaves.push(part);
        }
        leaves
    }

    fn tell(&mut self, told: String) {
        if !self.found.contains(&told) {
            self.found.push(told);
        }
    }
}

/// Named fields of all parts, each with what the parts say of it.
fn fields<'a>(parts: &[SchemaPart<'a>]) -> BTreeMap<&'a str, Vec<SchemaPart<'a>>> {
    let mut fields: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (name, part) in parts.iter().flat_map(|part| part.properties()) {
        fields.entry(name).or_default().push(part);
    }
    fields
}

/// Items of those parts that are lists.
fn items<'a>(parts: &[SchemaPart<'a>]) -> Vec<SchemaPart<'a>> {
    let lists = parts.iter().filter(|part| part.part["items"].is_object());
    lists.map(|part| part.at("items")).collect()
}

/// Types that a value may have by all parts together; nothing where one admits any.
fn types<'a>(parts: &[SchemaPart<'a>]) -> Option<Vec<&'a str>> {
    let mut types = Vec::new();
    for part in parts {
        let is_choice = part.choices().is_some() || part.part["allOf"].is_array();
        match part.types() {
            Some(own) => types.extend(own),
            None if is_choice => {}
            None => return None,
        }
    }
    Some(types)
}
