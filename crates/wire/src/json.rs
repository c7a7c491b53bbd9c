//! JSON kept as the text it arrived in.

mod fields;
mod number;
mod object;
pub(crate) mod splice;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use bytestring::ByteString;
use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

pub use self::fields::Fields;
pub use self::number::{InexactNumber, first_inexact};
pub(crate) use self::object::check_keys;
pub use self::object::{JsonObject, ObjectError, parse_strict};
pub use self::splice::{Members, with_member, with_set_member};

/// One complete JSON value, as the text a peer sent. Its UTF-8 was checked once; cloning shares it.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(ByteString);

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

/// JSON without line breaks, which means the same.
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

/// Whether JSON may have a member or value of this name, also one that is spelt in escapes. Spares
/// most texts from being read.
pub(crate) fn may_name(json: &str, name: &str) -> bool {
    let is_in = |part: &str| memchr::memmem::find(json.as_bytes(), part.as_bytes()).is_some();
    is_in(name) || is_in(r"\u")
}

/// JSON text of what always serializes: strings, numbers, and JSON that was read before.
pub fn to_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// Decodes JSON for people to look at, whatever numbers it holds: one that no decoder takes,
/// such as `1e400`, becomes a string, and so does what is nested too deep to be looked at.
pub fn decode_for_display(text: &str) -> Value {
    const DEEPEST: usize = 100;
    fn decode(raw: &RawValue, depth: usize) -> Value {
        let text = raw.get();
        if depth < DEEPEST {
            if let Some(fields) = Fields::read(text) {
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
            Err(_) => Err(match serde_json::from_slice::<&RawValue>(&bytes) {
                Err(error) => JsonError(error),
                Ok(_) => JsonError(de::Error::custom("it is not UTF-8")),
            }),
        }
    }

    /// Part of a text that a reader found to be JSON, sharing its bytes.
    pub(crate) fn part_of(text: &ByteString, part: &str) -> Self {
        Self(text.slice_ref(part))
    }

    /// Part of this value, sharing its bytes.
    #[must_use]
    pub fn part(&self, raw: &RawValue) -> Self {
        Self::part_of(&self.0, raw.get())
    }

    /// Part of this value that stands there, sharing its bytes.
    pub(crate) fn part_at(&self, span: &Range<usize>) -> Self {
        Self::part_of(&self.0, &self.0[span.clone()])
    }

    /// Piece of the text, sharing its bytes.
    pub(crate) fn slice(&self, range: Range<usize>) -> ByteString {
        self.0.slice_ref(&self.0[range])
    }

    /// Position of a part of this value in its text.
    pub(crate) fn span_of(&self, part: &RawValue) -> Range<usize> {
        let start = part.get().as_ptr() as usize - self.0.as_ptr() as usize;
        start..start + part.get().len()
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

    /// Decodes the value, see [`decode_for_display`].
    pub fn to_value(&self) -> Value {
        decode_for_display(self.text())
    }

    /// Fields, if this is an object.
    pub fn fields(&self) -> Option<Fields<'_>> {
        Fields::read(&self.0)
    }

    /// Whether this is an object.
    pub fn is_object(&self) -> bool {
        self.0.starts_with('{')
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

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(ByteString::from(raw.get())))
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_name_is_noticed_however_it_is_spelt() {
        for text in [r#"{"name":1}"#, r#"{"n\u0061me":1}"#, r#""\u00e9""#] {
            assert!(may_name(text, "name"), "{text}");
        }
        assert!(!may_name(r#"{"other":"\n"}"#, "name"));
    }

    #[test]
    fn json_text_is_written_as_it_is() {
        #[derive(serde::Serialize)]
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
