//! Bounds on what a foreign schema may cost.
//!
//! A schema of a few hundred bytes can describe a tree of billions of steps, by definitions
//! that each refer twice to the next. The schema library walks it. So before a schema is
//! compiled its references are unfolded here with a budget, and before violations are collected
//! the walk over schema and arguments is rehearsed with another.

use std::collections::{HashMap, HashSet};

use mcpproxy_wire::Json;
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The largest schema that is read, in bytes.
const SIZE_LIMIT: usize = 256 * 1024;

/// The most subschemas that may apply when all references are followed.
const UNFOLDED_LIMIT: usize = 20_000;

/// Number of subschemas that may apply to one value, each inside the one before. Together with the depth of
/// arguments, which the reader of JSON bounds at 128, it bounds the library's recursion.
const NESTING_LIMIT: usize = 24;

/// The most steps that collecting violations may take.
const EXPLAINED_LIMIT: usize = 20_000;

/// Reads a schema of bounded size and depth.
pub(super) fn decode(schema: &Json) -> Result<Value, String> {
    if schema.text().len() > SIZE_LIMIT {
        return Err(format!("it is larger than {SIZE_LIMIT} bytes"));
    }
    // The reader refuses more than 128 levels, so nothing after it meets a deeper value.
    serde_json::from_str(schema.text()).map_err(|_| "it is nested too deeply".to_owned())
}

/// Makes sure that a schema can be compiled and used at a bounded cost.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    SchemaDocument::read(schema)?.unfold()
}

/// Whether violations can be collected in a bounded number of steps.
pub(super) fn can_be_explained(schema: &Value, arguments: &Value) -> bool {
    let Ok(document) = SchemaDocument::read(schema) else {
        return false;
    };
    let mut steps = 0;
    let mut open = vec![(schema, arguments)];
    while let Some((schema, value)) = open.pop() {
        steps += 1;
        if steps > EXPLAINED_LIMIT || open.len() > EXPLAINED_LIMIT {
            return false;
        }
        let Ok(parts) = document.parts(schema) else {
            return false;
        };
        for (place, part) in parts {
            match place {
                AppliesTo::Same => open.push((part, value)),
                AppliesTo::Property(name) => open.extend(value.get(name).map(|one| (part, one))),
                AppliesTo::Members => {
                    let members = value.as_object().into_iter().flatten();
                    open.extend(members.map(|(_, one)| (part, one)));
                }
                AppliesTo::Items => {
                    let items = value.as_array().into_iter().flatten();
                    open.extend(items.map(|one| (part, one)));
                }
            }
        }
    }
    true
}

/// Place of the value that a subschema applies to.
#[derive(Clone, Copy)]
enum AppliesTo<'a> {
    /// The value that the schema around it applies to.
    Same,
    /// The property of that name.
    Property(&'a str),
    /// Any property.
    Members,
    /// Any item of a list.
    Items,
}

/// A schema and the places in it that references can name.
struct SchemaDocument<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
}

impl<'a> SchemaDocument<'a> {
    fn read(root: &'a Value) -> Result<Self, String> {
        let draft = root.get("$schema").and_then(Value::as_str);
        let id_keyword = match draft {
            Some(draft) if draft.contains("draft-04") => "id",
            _ => "$id",
        };
        let mut anchors = HashMap::new();
        let mut open = vec![root];
        while let Some(value) = open.pop() {
            match value {
                Value::Array(items) => open.extend(items),
                Value::Object(fields) => open.extend(fields.values()),
                _ => continue,
            }
            let text = |name: &str| value.get(name).and_then(Value::as_str);
            for name in ["$anchor", "$dynamicAnchor"] {
                anchors.extend(text(name).map(|anchor| (anchor, value)));
            }
            if let Some(id) = text(id_keyword) {
                if let Some(anchor) = id.strip_prefix('#') {
                    // Draft 7 and older write an anchor as an id.
                    anchors.insert(anchor, value);
                } else if !std::ptr::eq(value, root) {
                    // References below would start from here, and be followed wrongly.
                    return Err(format!("a part of it has an `{id_keyword}` of its own"));
                }
            }
        }
        Ok(Self { root, anchors })
    }

    /// Follows all references, and fails if that leads too far.
    fn unfold(&self) -> Result<(), String> {
        let mut budget = UNFOLDED_LIMIT;
        let mut known: HashSet<*const Value> = HashSet::from([std::ptr::from_ref(self.root)]);
        let mut open = vec![self.root];
        while let Some(schema) = open.pop() {
            let mut below = Vec::new();
            self.unfold_one(schema, &mut Vec::new(), &mut budget, &mut below)?;
            below.retain(|part| known.insert(std::ptr::from_ref(*part)));
            open.append(&mut below);
        }
        Ok(())
    }

    /// Unfolds what applies to one value. What applies to parts of the value goes `below`: it
    /// is looked at once, because there it is the arguments that bound the repetition.
    fn unfold_one(
        &self,
        schema: &'a Value,
        path: &mut Vec<*const Value>,
        budget: &mut usize,
        below: &mut Vec<&'a Value>,
    ) -> Result<(), String> {
        if path.contains(&std::ptr::from_ref(schema)) {
            return Ok(());
        }
        if *budget == 0 {
            return Err("its references unfold to too many parts".to_owned());
        }
        *budget -= 1;
        if path.len() >= NESTING_LIMIT {
            return Err("too many of its parts apply to one value".to_owned());
        }
        path.push(std::ptr::from_ref(schema));
        for (place, part) in self.parts(schema)? {
            match place {
                AppliesTo::Same => self.unfold_one(part, path, budget, below)?,
                _ => below.push(part),
            }
        }
        path.pop();
        Ok(())
    }

    /// The subschemas of a schema, references followed.
    fn parts(&self, schema: &'a Value) -> Result<Vec<(AppliesTo<'a>, &'a Value)>, String> {
        let mut parts = Vec::new();
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            match keyword.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    if let Some(reference) = value.as_str() {
                        parts.push((AppliesTo::Same, self.resolve(reference)?));
                    }
                }
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => {
                    push_each(AppliesTo::Same, value, &mut parts);
                }
                "dependentSchemas" | "dependencies" => {
                    push_named(|_| AppliesTo::Same, value, &mut parts);
                }
                "properties" => push_named(AppliesTo::Property, value, &mut parts),
                "patternProperties" => push_named(|_| AppliesTo::Members, value, &mut parts),
                "additionalProperties" | "unevaluatedProperties" | "propertyNames" => {
                    push_each(AppliesTo::Members, value, &mut parts);
                }
                "items" | "prefixItems" | "additionalItems" | "contains" | "unevaluatedItems" => {
                    push_each(AppliesTo::Items, value, &mut parts);
                }
                _ => {}
            }
        }
        Ok(parts)
    }

    fn resolve(&self, reference: &str) -> Result<&'a Value, String> {
        let base = self.root.get("$id").and_then(Value::as_str).unwrap_or("");
        let base = base.split('#').next().unwrap_or_default();
        let fragment = reference
            .strip_prefix(base)
            .filter(|rest| rest.is_empty() || rest.starts_with('#'))
            .or_else(|| reference.starts_with('#').then_some(reference))
            .ok_or("it refers to another document")?
            .trim_start_matches('#');
        if fragment.is_empty() {
            return Ok(self.root);
        }
        let found = if fragment.starts_with('/') {
            // A pointer in a reference may have its special characters written as `%25`.
            let pointer = percent_decode_str(fragment).decode_utf8_lossy();
            self.root.pointer(&pointer)
        } else {
            self.anchors.get(fragment).copied()
        };
        found.ok_or_else(|| "it refers to a part that it does not have".to_owned())
    }
}

fn push_each<'a>(
    place: AppliesTo<'a>,
    value: &'a Value,
    parts: &mut Vec<(AppliesTo<'a>, &'a Value)>,
) {
    match value {
        Value::Array(schemas) => parts.extend(schemas.iter().map(|schema| (place, schema))),
        schema => parts.push((place, schema)),
    }
}

fn push_named<'a>(
    place: impl Fn(&'a str) -> AppliesTo<'a>,
    value: &'a Value,
    parts: &mut Vec<(AppliesTo<'a>, &'a Value)>,
) {
    let schemas = value.as_object().into_iter().flatten();
    parts.extend(schemas.map(|(name, schema)| (place(name), schema)));
}
