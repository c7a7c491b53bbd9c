//! JSON objects that say one thing only: no key is given twice.

use std::fmt;

use bytestring::ByteString;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::number::{InexactNumber, first_inexact};
use super::{Json, JsonError, JsonText};

/// JSON object in which no object names a key twice: the text to send on, and its decoded value.
///
/// Arguments are checked as a decoded value and sent on as text. A key given twice would let the
/// two differ, because readers do not agree on which of the two counts; so may a number, see
/// [`JsonObject::inexact_number`]. Text of this type is exactly one object, so put into a message it
/// cannot change what stands around it.
#[derive(Debug, Clone)]
pub struct JsonObject {
    text: ByteString,
    value: Value,
}

/// Why a text is not a [`JsonObject`].
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// Text that is no JSON, or an object that names a key twice.
    #[error("is not valid JSON: {0}")]
    Json(#[from] JsonError),
    /// JSON of another kind.
    #[error("must be an object")]
    NotAnObject,
}

/// Reads a JSON value and refuses an object that names a key twice, see [`JsonObject`].
pub fn parse_strict(text: &str) -> Result<Value, JsonError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let Strict(value) = Strict::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Refuses JSON in which an object names a key twice. JSON that cannot be decoded, such as what is nested too deep, is
/// left to who decodes it.
pub(crate) fn check_keys(text: &str) -> Result<(), JsonError> {
    match parse_strict(text) {
        Err(error) if error.0.is_data() => Err(error),
        _ => Ok(()),
    }
}

impl JsonObject {
    /// Object without members.
    pub fn empty() -> Self {
        Self {
            text: ByteString::from_static("{}"),
            value: Value::Object(Map::new()),
        }
    }

    /// Reads the text of one object in one pass, and copies it.
    pub fn parse(text: &str) -> Result<Self, ObjectError> {
        Self::read(text, || text.into())
    }

    /// Reads an object whose bytes are shared.
    pub fn of(json: &Json) -> Result<Self, ObjectError> {
        Self::read(json.text(), || json.0.clone())
    }

    fn read(text: &str, kept: impl FnOnce() -> ByteString) -> Result<Self, ObjectError> {
        match parse_strict(text)? {
            value @ Value::Object(_) => Ok(Self {
                text: kept(),
                value,
            }),
            _ => Err(ObjectError::NotAnObject),
        }
    }

    /// Text to send on, as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Decoded value, an object.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// First number that the decoded value has otherwise than the text, if there is one.
    pub fn inexact_number(&self) -> Option<InexactNumber> {
        first_inexact(&self.text)
    }
}

impl Serialize for JsonObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JsonText(&self.text).serialize(serializer)
    }
}

/// A value in which no object names a key twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Strict(item)) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let Strict(value) = map.next_value()?;
            if object.contains_key(&name) {
                return Err(de::Error::custom(format!("key '{name}' is given twice")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_reading_equals_ordinary_reading_but_for_repeated_keys() {
        for text in [
            "null",
            "true",
            "-1",
            "18446744073709551615",
            "1.5e3",
            r#""a\u00e9\n""#,
            "[]",
            "{}",
            r#"{"b":[1,{"c":null}],"a":"x"}"#,
        ] {
            let ordinary: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parse_strict(text).unwrap(), ordinary, "{text}");
        }
        for text in [
            "",
            "{",
            "1 2",
            r#"{"a":1,"a":1}"#,
            r#"[{"x":{"a":1,"\u0061":2}}]"#,
        ] {
            assert!(parse_strict(text).is_err(), "{text}");
        }
        assert!(parse_strict(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn an_object_keeps_its_text_and_names_no_key_twice() {
        let text = " {\"b\" : [1e2] ,\"a\":{}}\n";
        let object = JsonObject::parse(text).unwrap();
        assert_eq!(object.text(), text);
        assert_eq!(*object.value(), serde_json::json!({ "b": [1e2], "a": {} }));
        let json = Json::parse(text).unwrap();
        assert_eq!(JsonObject::of(&json).unwrap().text(), json.text());
        assert_eq!(JsonObject::empty().text(), "{}");
        assert!(matches!(
            JsonObject::parse("[]"),
            Err(ObjectError::NotAnObject)
        ));
        for wrong in [r#"{"a":1,"a":1}"#, "{}{}", r#"{},"name":"x""#, ""] {
            assert!(
                matches!(JsonObject::parse(wrong), Err(ObjectError::Json(_))),
                "{wrong}"
            );
        }
    }
}
