//! Keywords about the items of a list.

use serde_json::Value;

use super::{Check, Found, Place, Seen, told};
use crate::SubschemaId;
use crate::mismatch::Kind;

impl<'a> Check<'a> {
    pub(super) fn items(
        &mut self,
        (prefix, rest): (&'a [SubschemaId], Option<SubschemaId>),
        items: &'a [Value],
        value: &'a Value,
        place: Place<'_>,
        mut found: Found<'_, 'a>,
        seen: Option<&mut Seen<'a>>,
    ) -> bool {
        if items.len() > prefix.len() && rest.is_some_and(|rest| self.is_never(rest)) {
            return told(Kind::MaxItems(prefix.len()), value, place, found);
        }
        let parts = prefix
            .iter()
            .copied()
            .map(Some)
            .chain(std::iter::repeat(rest));
        let mut is_valid = true;
        for (number, (item, part)) in items.iter().zip(parts).enumerate() {
            let Some(part) = part else { break };
            let place = Place::Item(&place, number);
            is_valid &= self.subschema(part, item, place, found.as_deref_mut(), None);
            let is_enough = |found: &&mut Vec<_>| found.len() >= self.mismatch_limit;
            if !is_valid && found.as_ref().is_none_or(is_enough) || self.is_exhausted {
                return is_valid;
            }
        }
        if let Some(seen) = seen {
            seen.all_items |= rest.is_some();
            seen.items.extend(0..prefix.len().min(items.len()));
        }
        is_valid
    }

    pub(super) fn contains(
        &mut self,
        (item, least, most): (SubschemaId, usize, Option<usize>),
        value: &'a Value,
        place: Place<'_>,
        found: Found<'_, 'a>,
        mut seen: Option<&mut Seen<'a>>,
    ) -> bool {
        let Value::Array(items) = value else {
            return true;
        };
        let mut matching = 0;
        for (number, one) in items.iter().enumerate() {
            if self.subschema(item, one, Place::Whole, None, None) {
                matching += 1;
                if let Some(seen) = &mut seen {
                    seen.items.insert(number);
                }
            }
        }
        match most {
            _ if self.is_exhausted => true,
            _ if matching < least => told(Kind::Contains(least), value, place, found),
            Some(most) if matching > most => told(Kind::MaxContains(most), value, place, found),
            _ => true,
        }
    }

    pub(super) fn unevaluated_items(
        &mut self,
        rest: SubschemaId,
        value: &'a Value,
        place: Place<'_>,
        mut found: Found<'_, 'a>,
        seen: Option<&mut Seen<'a>>,
    ) -> bool {
        let (Value::Array(items), Some(seen)) = (value, seen) else {
            return true;
        };
        let mut is_valid = true;
        for (number, item) in items.iter().enumerate() {
            if seen.all_items || seen.items.contains(&number) {
                continue;
            }
            if self.is_never(rest) {
                return told(Kind::UnevaluatedItems, value, place, found);
            }
            let place = Place::Item(&place, number);
            is_valid &= self.subschema(rest, item, place, found.as_deref_mut(), None);
        }
        seen.all_items = true;
        is_valid
    }
}
