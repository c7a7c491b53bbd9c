//! Keywords about the members of an object.

use serde_json::{Map, Value};

use super::{Check, Found, Place, Seen, told};
use crate::compile::{Keyword, Properties};
use crate::mismatch::Kind;
use crate::{Schema, SubschemaId};

/// Number of members up to which looking at each is the fastest way to find one.
const FEW_MEMBERS: usize = 16;

impl<'a> Check<'a> {
    pub(super) fn properties(
        &mut self,
        properties: &'a Properties,
        members: &'a Map<String, Value>,
        value: &'a Value,
        place: Place<'_>,
        mut found: Found<'_, 'a>,
        mut seen: Option<&mut Seen<'a>>,
    ) -> bool {
        let mut is_valid = true;
        let mut unknown: Vec<&'a str> = Vec::new();
        for (name, member) in members {
            self.spend(1);
            let inside = Place::Member(&place, name);
            let named = properties.named.get(name).copied();
            let mut is_known = named.is_some();
            if let Some(part) = named {
                is_valid &= self.subschema(part, member, inside, found.as_deref_mut(), None);
            }
            for (pattern, part) in &properties.patterns {
                if self.is_match(pattern, name) {
                    is_known = true;
                    is_valid &= self.subschema(*part, member, inside, found.as_deref_mut(), None);
                }
            }
            if !is_known {
                match properties.additional {
                    Some(additional) if self.is_never(additional) => {
                        unknown.push(name);
                        continue;
                    }
                    Some(part) => {
                        is_valid &=
                            self.subschema(part, member, inside, found.as_deref_mut(), None);
                    }
                    None => continue,
                }
            }
            if let Some(seen) = &mut seen {
                seen.members.insert(name);
            }
            if !is_valid && found.is_none() {
                return false;
            }
        }
        if unknown.is_empty() {
            return is_valid;
        }
        let known = &properties.names;
        told(
            Kind::UnknownProperties { unknown, known },
            value,
            place,
            found,
        )
    }

    pub(super) fn unevaluated_properties(
        &mut self,
        rest: SubschemaId,
        value: &'a Value,
        place: Place<'_>,
        mut found: Found<'_, 'a>,
        seen: Option<&mut Seen<'a>>,
    ) -> bool {
        let (Value::Object(members), Some(seen)) = (value, seen) else {
            return true;
        };
        let mut is_valid = true;
        let mut unknown: Vec<&'a str> = Vec::new();
        for (name, member) in members {
            if seen.all_members || seen.members.contains(name.as_str()) {
                continue;
            }
            if self.is_never(rest) {
                unknown.push(name);
                continue;
            }
            let place = Place::Member(&place, name);
            is_valid &= self.subschema(rest, member, place, found.as_deref_mut(), None);
        }
        seen.all_members = true;
        if unknown.is_empty() {
            return is_valid;
        }
        let known = &[];
        told(
            Kind::UnknownProperties { unknown, known },
            value,
            place,
            found,
        )
    }

    pub(super) fn required(
        &mut self,
        names: &'a [String],
        known: &'a [String],
        value: &'a Value,
        place: Place<'_>,
        mut found: Found<'_, 'a>,
    ) -> bool {
        let Value::Object(members) = value else {
            return true;
        };
        self.spend(names.len());
        let mut is_valid = true;
        for name in names.iter().filter(|name| !has(members, name)) {
            let kind = Kind::Required { name, known };
            is_valid = told(kind, value, place, found.as_deref_mut());
            if found.is_none() {
                break;
            }
        }
        is_valid
    }

    pub(super) fn dependent_required(
        &mut self,
        each: &'a [(String, Vec<String>)],
        value: &'a Value,
        place: Place<'_>,
        mut found: Found<'_, 'a>,
    ) -> bool {
        let mut is_valid = true;
        for (name, names) in each {
            if value.get(name).is_some() {
                is_valid &= self.required(names, &[], value, place, found.as_deref_mut());
            }
        }
        is_valid
    }

    pub(super) fn property_names(
        &mut self,
        id: SubschemaId,
        value: &'a Value,
        place: Place<'_>,
        mut found: Found<'_, 'a>,
    ) -> bool {
        let members = value.as_object().into_iter().flatten();
        let mut is_valid = true;
        for (name, _) in members {
            let name = Value::from(name.as_str());
            let Some(kind) = self.wrong_name(id, &name) else {
                continue;
            };
            is_valid = told(kind, value, place, found.as_deref_mut());
            if found.is_none() {
                break;
            }
        }
        is_valid
    }

    pub(super) fn wrong_name(&mut self, id: SubschemaId, name: &Value) -> Option<Kind<'a>> {
        let mut check = Check::new(self.schema, self.step_limit, 1);
        check.steps = self.steps;
        check.depth = self.depth;
        let is_valid = check.subschema(id, name, Place::Whole, None, None);
        self.steps = check.steps;
        self.is_exhausted |= check.is_exhausted;
        (!is_valid).then(|| Kind::PropertyName(Box::new(name_kind(self.schema, id))))
    }
}

/// Kind of mismatch that says most of what a subschema asks of a name.
fn name_kind(schema: &Schema, id: SubschemaId) -> Kind<'_> {
    let asked = schema.subschemas[id]
        .keywords
        .iter()
        .find_map(|keyword| match keyword {
            Keyword::Pattern(pattern) => Some(Kind::Pattern(&pattern.source)),
            Keyword::Enum(options) => Some(Kind::Enum(options)),
            Keyword::Constant(one) => Some(Kind::Constant(one)),
            Keyword::MinLength(limit) => Some(Kind::MinLength(*limit)),
            Keyword::MaxLength(limit) => Some(Kind::MaxLength(*limit)),
            _ => None,
        });
    asked.unwrap_or(Kind::Never)
}

/// Whether an object has a member. A few names are compared sooner than one is hashed.
fn has(members: &Map<String, Value>, name: &str) -> bool {
    if members.len() <= FEW_MEMBERS {
        members.keys().any(|member| member == name)
    } else {
        members.contains_key(name)
    }
}
