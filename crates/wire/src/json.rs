//! JSON kept as the bytes it arrived in.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use bytestring::ByteString;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// One complete JSON value, as the text a peer sent. Its UTF-8 was checked once; cloning shares it.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(ByteString);

/// JSON object in which no object names a key twice: the text to send on, and its decoded value.
///
/// Arguments are checked as a decoded value and sent on as text. A key given twice would let the
/// two differ, because readers do not agree on which of the two counts. Text of this type is exactly
/// one object, so put into a message it cannot change what stands around it.
#[derive(Debug, Clone)]
pub struct JsonObject {
    text: ByteString,
    value: Value,
}

/// Why a text is not a [`JsonObject`].
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// It is no JSON, or an object names a key twice.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// It is JSON of another kind.
    #[error("it is not an object")]
    NotAnObject,
}

/// The top level of a JSON object: names and untouched values, in their order.
#[derive(Debug, Default)]
pub struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// Text that is known to be one JSON value, to be written as it is by a serializer of `serde_json`.
///
/// A `RawValue` can be made from a text only by reading it again. This writes as one does, which
/// `wire` may rely on because the test `json_text_is_written_as_it_is` notices if it ever differs.
#[derive(Debug, Clone, Copy)]
pub struct JsonText<'a>(pub &'a str);

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

/// Text of a JSON string; most have no escapes and are not copied.
pub fn text_of(json: &str) -> Option<Cow<'_, str>> {
    if !json.contains('\\') {
        let inside = json.strip_prefix('"')?.strip_suffix('"')?;
        return Some(Cow::Borrowed(inside));
    }
    serde_json::from_str(json).ok().map(Cow::Owned)
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
        match ByteString::try_from(bytes.clone()) {
            Ok(text) => {
                let raw: &RawValue = serde_json::from_str(&text)?;
                Ok(Self(text.slice_ref(raw.get())))
            }
            // The reader says better where it is not UTF-8.
            Err(_) => Err(not_json(&bytes)),
        }
    }

    /// Part of a text that a reader found to be JSON, sharing its bytes.
    pub(crate) fn part_of(text: &ByteString, raw: &RawValue) -> Self {
        Self(text.slice_ref(raw.get()))
    }

    /// Part of bytes that a reader found to be JSON, sharing them.
    pub fn slice_of(bytes: &Bytes, raw: &RawValue) -> Self {
        // What a reader gave out as a string is UTF-8.
        ByteString::try_from(bytes.slice_ref(raw.get().as_bytes()))
            .map_or_else(|_| Self::copy_of(raw), Self)
    }

    /// Part of this value, sharing its bytes.
    #[must_use]
    pub fn part(&self, raw: &RawValue) -> Self {
        Self::part_of(&self.0, raw)
    }

    /// Copy of a value found elsewhere.
    pub fn copy_of(raw: &RawValue) -> Self {
        Self(raw.get().into())
    }

    /// JSON of a decoded value.
    pub fn of(value: &Value) -> Self {
        Self(value.to_string().into())
    }

    /// Object without members.
    pub const fn empty_object() -> Self {
        Self(ByteString::from_static("{}"))
    }

    /// Text as it was sent.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Bytes as they were sent.
    pub fn bytes(&self) -> &Bytes {
        self.0.as_bytes()
    }

    /// Decodes the value, see [`decode_for_display`].
    pub fn to_value(&self) -> Value {
        decode_for_display(self.text())
    }

    /// Fields, if this is an object.
    pub fn fields(&self) -> Option<Fields<'_>> {
        serde_json::from_str(&self.0).ok()
    }

    /// Whether this is an object.
    pub fn is_object(&self) -> bool {
        self.0.starts_with('{')
    }
}

/// Why bytes are no JSON.
fn not_json(bytes: &[u8]) -> JsonError {
    match serde_json::from_slice::<&RawValue>(bytes) {
        Err(error) => JsonError(error),
        Ok(_) => JsonError(de::Error::custom("it is not UTF-8")),
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JsonText(&self.0).serialize(serializer)
    }
}

// === impl JsonText ===

impl Serialize for JsonText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const RAW: &str = "$serde_json::private::RawValue";
        let mut raw = serializer.serialize_struct(RAW, 1)?;
        raw.serialize_field(RAW, self.0)?;
        raw.end()
    }
}

// === impl JsonObject ===

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

    #[test]
    fn json_text_is_written_as_it_is() {
        #[derive(Serialize)]
        struct Around<'a> {
            inside: JsonText<'a>,
            json: Json,
        }
        let text = r#"{ "n" : 1e400, "a":[ ] }"#;
        let around = Around {
            inside: JsonText(text),
            json: Json::parse(text).unwrap(),
        };
        let expected = format!(r#"{{"inside":{text},"json":{text}}}"#);
        assert_eq!(serde_json::to_string(&around).unwrap(), expected);
        let small = serde_json::to_value(JsonText(r#"{"a":[1]}"#)).unwrap();
        assert_eq!(small, serde_json::json!({ "a": [1] }));
    }

    #[test]
    fn bytes_that_are_no_text_are_no_json() {
        assert!(Json::parse(&b"\"\xff\""[..]).is_err());
        assert!(Json::parse(&b"1 \xff"[..]).is_err());
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
