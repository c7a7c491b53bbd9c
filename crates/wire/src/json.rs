//! JSON kept as the bytes it arrived in.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// One complete JSON value, as the bytes a peer sent. Cloning shares them.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Bytes);

/// The top level of a JSON object: names and untouched values, in their order.
#[derive(Debug, Default)]
pub struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// Why bytes are not the JSON that was asked for.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(#[from] serde_json::Error);

/// Reads a JSON value and refuses an object that names a key twice.
///
/// Arguments are checked as a decoded value and sent on as text. A key given twice would let
/// the two differ, because readers do not agree on which of the two counts.
pub fn parse_strict(text: &str) -> Result<Value, JsonError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let Strict(value) = Strict::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// The same JSON without line breaks.
///
/// Where a line break ends a message, a message must not have any. JSON has them between
/// values only (inside strings they are escaped), so a space means the same.
pub fn on_one_line(json: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_none() {
        return Cow::Borrowed(json);
    }
    Cow::Owned(json.replace(['\n', '\r'], " "))
}

/// Decodes JSON for people to look at, whatever numbers it holds: one that no decoder takes,
/// such as `1e400`, becomes a string, and so does what is nested too deep to be looked at.
pub fn decode_for_display(text: &str) -> Value {
    const DEEPEST: usize = 100;
    fn decode(raw: &RawValue, depth: usize) -> Value {
        let text = raw.get();
        if depth < DEEPEST {
            if let Ok(fields) = serde_json::from_str::<Fields<'_>>(text) {
                let decoded = fields
                    .iter()
                    .map(|(name, value)| (name.to_owned(), decode(value, depth + 1)));
                return Value::Object(decoded.collect());
            }
            if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
                return items
                    .into_iter()
                    .map(|item| decode(item, depth + 1))
                    .collect();
            }
        }
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    }
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    serde_json::from_str::<&RawValue>(text).map_or(Value::Null, |raw| decode(raw, 0))
}

// === impl Json ===

impl Json {
    /// Checks that the bytes are one JSON value.
    pub fn parse(bytes: impl Into<Bytes>) -> Result<Self, JsonError> {
        let bytes: Bytes = bytes.into();
        let raw: &RawValue = serde_json::from_slice(&bytes)?;
        Ok(Self::slice_of(&bytes, raw))
    }

    /// Keeps a value found inside bytes by sharing them.
    pub fn slice_of(bytes: &Bytes, raw: &RawValue) -> Self {
        Self(bytes.slice_ref(raw.get().as_bytes()))
    }

    /// A part of this value, sharing its bytes.
    #[must_use]
    pub fn part(&self, raw: &RawValue) -> Self {
        Self::slice_of(&self.0, raw)
    }

    /// The JSON of a decoded value.
    pub fn of(value: &Value) -> Self {
        Self(Bytes::from(value.to_string()))
    }

    /// An object without members.
    pub const fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// The text as it was sent.
    pub fn text(&self) -> &str {
        // Both constructors saw these bytes as part of a string.
        std::str::from_utf8(&self.0).unwrap_or("null")
    }

    /// The bytes as they were sent.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// Decodes the value, see [`decode_for_display`].
    pub fn to_value(&self) -> Value {
        decode_for_display(self.text())
    }

    /// The fields, if this is an object.
    pub fn fields(&self) -> Option<Fields<'_>> {
        serde_json::from_slice(&self.0).ok()
    }

    /// Whether this is an object.
    pub fn is_object(&self) -> bool {
        self.0.first() == Some(&b'{')
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text())
    }
}

impl serde::Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

// === impl Fields ===

impl<'a> Fields<'a> {
    /// The value of a field; the last one, should it be given twice.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.iter()
            .filter(|(key, _)| *key == name)
            .last()
            .map(|(_, value)| value)
    }

    /// The value of a field that is there and not null.
    pub fn given(&self, name: &str) -> Option<&'a RawValue> {
        self.get(name).filter(|value| value.get() != "null")
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
#[derive(Deserialize)]
struct BorrowedName<'a>(#[serde(borrow)] Cow<'a, str>);

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
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
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
                return Err(de::Error::custom(format_args!(
                    "key '{name}' is given twice"
                )));
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
    fn anything_can_be_looked_at() {
        let text = r#"{"huge":1e400,"list":[1,-1e999,{"a":null}]}"#;
        let expected = serde_json::json!({ "huge": "1e400", "list": [1, "-1e999", { "a": null }] });
        assert_eq!(decode_for_display(text), expected);
        let deep = format!("{}1e400{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(decode_for_display(&deep).is_array());
        assert_eq!(decode_for_display("no JSON"), Value::Null);
    }

    #[test]
    fn a_part_keeps_its_bytes() {
        let json =
            Json::parse(r#" { "n" : 12345678901234567890123 , "n2":{"z":1,"a":2} } "#).unwrap();
        let fields = json.fields().unwrap();
        assert_eq!(
            json.part(fields.get("n").unwrap()).text(),
            "12345678901234567890123"
        );
        assert_eq!(
            json.part(fields.get("n2").unwrap()).text(),
            r#"{"z":1,"a":2}"#
        );
        assert!(fields.get("missing").is_none());
    }
}
