//! Keywords that put schemas together: alternatives, conditions and references.

use serde_json::Value;

use super::{Check, Found, Place, Seen, told};
use crate::SubschemaId;
use crate::mismatch::Kind;

/// Number of steps after which verdicts on definitions are remembered. Most checks end before.
const REMEMBERED_FROM: usize = 5_000;

impl<'a> Check<'a> {
    pub(super) fn all_of(
        &mut self,
        parts: &'a [SubschemaId],
        value: &'a Value,
        place: Place<'_>,
        mut found: Found<'_, 'a>,
        mut seen: Option<&mut Seen<'a>>,
    ) -> bool {
        let mut is_valid = true;
        for part in parts {
            if !self.subschema(
                *part,
                value,
                place,
                found.as_deref_mut(),
                seen.as_deref_mut(),
            ) {
                is_valid = false;
                if found.is_none() {
                    break;
                }
            }
        }
        is_valid
    }

    pub(super) fn any_of(
        &mut self,
        parts: &'a [SubschemaId],
        value: &'a Value,
        place: Place<'_>,
        found: Found<'_, 'a>,
        mut seen: Option<&mut Seen<'a>>,
    ) -> bool {
        let mut alternatives = found.is_some().then(Vec::new);
        let mut is_valid = false;
        for part in parts {
            let mut own = alternatives.is_some().then(Vec::new);
            if self.subschema(*part, value, place, own.as_mut(), seen.as_deref_mut()) {
                is_valid = true;
                if seen.is_none() {
                    break;
                }
            }
            if let (Some(all), Some(own)) = (&mut alternatives, own) {
                all.push(own);
            }
        }
        let kind = || Kind::NoAlternative(alternatives.unwrap_or_default());
        is_valid || told(kind(), value, place, found)
    }

    pub(super) fn one_of(
        &mut self,
        parts: &'a [SubschemaId],
        value: &'a Value,
        place: Place<'_>,
        found: Found<'_, 'a>,
        mut seen: Option<&mut Seen<'a>>,
    ) -> bool {
        let mut alternatives = Vec::new();
        let mut matching = 0;
        for part in parts {
            let mut own = found.is_some().then(Vec::new);
            if self.subschema(*part, value, place, own.as_mut(), seen.as_deref_mut()) {
                matching += 1;
            }
            alternatives.extend(own);
        }
        // What nobody could find out does not refuse a value.
        match matching {
            1 => true,
            _ if self.is_exhausted => true,
            0 => told(Kind::NoAlternative(alternatives), value, place, found),
            _ => told(Kind::SeveralAlternatives, value, place, found),
        }
    }

    pub(super) fn reference(
        &mut self,
        target: SubschemaId,
        value: &'a Value,
        place: Place<'_>,
        found: Found<'_, 'a>,
        seen: Option<&mut Seen<'a>>,
    ) -> bool {
        let key = (target, std::ptr::from_ref(value));
        if self.open.contains(&key) {
            return true;
        }
        let can_remember = found.is_none() && seen.is_none();
        if can_remember && let Some(is_valid) = self.remembered.get(&key) {
            return *is_valid;
        }
        self.open.push(key);
        let is_valid = self.subschema(target, value, place, found, seen);
        self.open.pop();
        if can_remember && self.steps > REMEMBERED_FROM && !self.is_exhausted {
            self.remembered.insert(key, is_valid);
        }
        is_valid
    }

    pub(super) fn condition(
        &mut self,
        condition: SubschemaId,
        (then, otherwise): (Option<SubschemaId>, Option<SubschemaId>),
        value: &'a Value,
        place: Place<'_>,
        found: Found<'_, 'a>,
        mut seen: Option<&mut Seen<'a>>,
    ) -> bool {
        let holds = self.subschema(condition, value, place, None, seen.as_deref_mut());
        let branch = if holds { then } else { otherwise };
        branch.is_none_or(|branch| self.subschema(branch, value, place, found, seen))
    }

    pub(super) fn dependent_schemas(
        &mut self,
        parts: &'a [(String, SubschemaId)],
        value: &'a Value,
        place: Place<'_>,
        mut found: Found<'_, 'a>,
        mut seen: Option<&mut Seen<'a>>,
    ) -> bool {
        let mut is_valid = true;
        for (name, part) in parts {
            if value.get(name).is_some() {
                is_valid &= self.subschema(
                    *part,
                    value,
                    place,
                    found.as_deref_mut(),
                    seen.as_deref_mut(),
                );
            }
        }
        is_valid
    }
}
