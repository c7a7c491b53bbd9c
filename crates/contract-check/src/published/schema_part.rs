//! Part of a schema, with the document that its references start from.

use serde_json::Value;

/// References that are followed one after the other to get at a part.
const REFERENCES: usize = 16;

/// Part of a schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaPart<'a> {
    root: &'a Value,
    pub(super) part: &'a Value,
}

impl<'a> SchemaPart<'a> {
    /// A whole schema.
    pub(super) fn whole(root: &'a Value) -> Self {
        Self { root, part: root }.resolved()
    }

    /// Another part of the same schema. One whose reference leads nowhere admits anything.
    pub(super) fn with(self, part: &'a Value) -> Self {
        Self { part, ..self }.resolved()
    }

    /// Part under a keyword; one that is not there admits anything.
    pub(super) fn at(self, keyword: &str) -> Self {
        self.with(&self.part[keyword])
    }

    /// Parts in the list of a keyword.
    pub(super) fn list(self, keyword: &str) -> Option<Vec<Self>> {
        let list = self.part[keyword].as_array()?;
        Some(list.iter().map(|part| self.with(part)).collect())
    }

    /// Parts of which a value has to match one, where there is a choice.
    pub(super) fn choices(self) -> Option<Vec<Self>> {
        self.list("anyOf").or_else(|| self.list("oneOf"))
    }

    /// Whether a part with a choice leaves everything to the choice.
    pub(super) fn says_nothing_else(self) -> bool {
        self.part["type"].is_null() && self.part["properties"].is_null()
    }

    /// Named properties.
    pub(super) fn properties(self) -> impl Iterator<Item = (&'a str, Self)> {
        let properties = self.part["properties"].as_object().into_iter().flatten();
        properties.map(move |(name, part)| (name.as_str(), self.with(part)))
    }

    /// Types that a value may have; nothing where any will do.
    pub(super) fn types(self) -> Option<Vec<&'a str>> {
        match &self.part["type"] {
            Value::String(one) => Some(vec![one]),
            Value::Array(some) => Some(some.iter().filter_map(Value::as_str).collect()),
            _ => None,
        }
    }

    /// Address of the part, which tells two of them apart.
    pub(super) fn address(self) -> *const Value {
        self.part
    }

    fn resolved(mut self) -> Self {
        for _ in 0..REFERENCES {
            let Some(reference) = self.part["$ref"].as_str() else {
                return self;
            };
            let target = match reference.strip_prefix('#') {
                Some("") => Some(self.root),
                Some(pointer) => self.root.pointer(pointer),
                None => None,
            };
            self.part = target.unwrap_or(&Value::Null);
        }
        Self {
            part: &Value::Null,
            ..self
        }
    }
}

/// Whether one of these types has every value of a type.
pub(super) fn covers(types: &[&str], one: &str) -> bool {
    types.contains(&one) || one == "integer" && types.contains(&"number")
}
