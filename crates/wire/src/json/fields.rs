//! Members of a JSON object, untouched.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::text_of;

/// Members of a JSON object: names and untouched values, in their order.
#[derive(Debug, Default)]
pub struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Reads the text of an object; nothing if it is none.
    pub fn read(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The value of a field; the last one, should it be given twice.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        let mut fields = self.0.iter().rev();
        fields.find(|(own, _)| own == name).map(|(_, value)| *value)
    }

    /// All values of a name, in their order.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a RawValue> {
        let named = self.0.iter().filter(move |(own, _)| own == name);
        named.map(|(_, value)| *value)
    }

    /// First name that is given a second time.
    pub fn repeated(&self) -> Option<&str> {
        let mut seen = HashSet::new();
        let mut names = self.0.iter().map(|(name, _)| name.as_ref());
        names.find(|name| !seen.insert(*name))
    }

    /// The value of a field that is there and not null.
    pub fn given(&self, name: &str) -> Option<&'a RawValue> {
        self.get(name).filter(|value| value.get() != "null")
    }

    /// The text of a field that is a string.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        text_of(self.get(name)?.get())
    }

    /// Members without those of this name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.0.retain(|(own, _)| own != name);
        self
    }

    /// Names and values in the order they were sent.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Top;
        impl<'de> Visitor<'de> for Top {
            type Value = Fields<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(BorrowedName(name)) = map.next_key()? {
                    fields.push((name, map.next_value()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Top)
    }
}

/// A key that is borrowed unless it holds an escape.
#[derive(serde::Deserialize)]
struct BorrowedName<'a>(#[serde(borrow)] Cow<'a, str>);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
