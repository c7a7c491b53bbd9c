//! References inside a schema.

use std::collections::HashMap;

use mcpproxy_support::one_line::one_line;
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The longest reference that a message repeats, in characters.
const REFERENCE_SHOWN: usize = 100;

/// Schema document: a schema and the places in it that references can name.
pub(crate) struct SchemaDocument<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    /// Whether nothing counts that stands beside a reference, as it was until draft 7.
    pub(crate) reference_stands_alone: bool,
}

impl<'a> SchemaDocument<'a> {
    pub(crate) fn read(root: &'a Value) -> Result<Self, String> {
        let draft = match root.get("$schema") {
            None => "2020-12",
            Some(named) => {
                draft(named).ok_or("it is written in a language other than JSON Schema")?
            }
        };
        let id_keyword = if draft == "draft-04" { "id" } else { "$id" };
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
        Ok(Self {
            root,
            anchors,
            reference_stands_alone: draft.starts_with("draft-"),
        })
    }

    /// The part of the schema that a reference names.
    pub(crate) fn resolve(&self, reference: &str) -> Result<&'a Value, String> {
        let base = self.root.get("$id").and_then(Value::as_str).unwrap_or("");
        let base = base.split('#').next().unwrap_or_default();
        let fragment = reference
            .strip_prefix(base)
            .filter(|rest| rest.is_empty() || rest.starts_with('#'))
            .or_else(|| reference.starts_with('#').then_some(reference))
            .ok_or_else(|| {
                let named = one_line(reference, REFERENCE_SHOWN);
                format!("it refers to '{named}'; only parts of the schema itself can be referred to, such as '#/$defs/Card'")
            })?
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
        found.ok_or_else(|| {
            let named = one_line(reference, REFERENCE_SHOWN);
            format!("it refers to '{named}', a part that it does not have")
        })
    }
}

/// The draft that `$schema` names, by the part of its address that differs.
fn draft(named: &Value) -> Option<&'static str> {
    const DRAFTS: [&str; 5] = ["draft-04", "draft-06", "draft-07", "2019-09", "2020-12"];
    let address = named.as_str()?;
    let rest = address.split_once("://json-schema.org/")?.1;
    let rest = rest.strip_prefix("draft/").unwrap_or(rest);
    let name = rest
        .strip_suffix('#')
        .unwrap_or(rest)
        .strip_suffix("/schema")?;
    DRAFTS.into_iter().find(|draft| *draft == name)
}
