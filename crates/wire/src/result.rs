//! The result of a tool call, passed on as it came.

use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{Fields, Json};
use crate::meta;

/// An upstream's `CallToolResult`: its bytes, and the little we read of them.
#[derive(Debug, Clone)]
pub struct CallResult {
    json: Json,
    is_error: bool,
    asks_for_input: bool,
    meta: Option<Meta>,
    is_empty: bool,
}

/// Where `_meta` stands in the text, and whether it can be extended in place.
#[derive(Debug, Clone)]
struct Meta {
    span: Range<usize>,
    shape: MetaShape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MetaShape {
    /// An object without keys of ours: extended in place.
    Extensible { is_empty: bool },
    /// Something else, or keys that only we may set: written anew.
    Rewritten,
}

impl CallResult {
    /// Reads the top level of a result; nothing if it is not an object.
    pub fn parse(json: Json) -> Option<Self> {
        let fields = json.fields()?;
        let is_error = fields.get("isError").is_some_and(|raw| raw.get() == "true");
        let kind = fields.get("resultType").map(RawValue::get);
        let asks_for_input = kind == Some(r#""input_required""#);
        let is_empty = fields.iter().next().is_none();
        let meta = fields.get(meta::META).map(|raw| Meta {
            span: span(json.text(), raw),
            shape: MetaShape::of(raw.get()),
        });
        drop(fields);
        Some(Self {
            json,
            is_error,
            asks_for_input,
            meta,
            is_empty,
        })
    }

    /// Whether it is no result yet: the caller is to answer something and call again.
    pub fn asks_for_input(&self) -> bool {
        self.asks_for_input
    }

    /// Whether the tool itself reports a failure.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// The result as the upstream sent it.
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// What a program reads of the result, if there is any; the last one, should it be given twice.
    pub fn structured(&self) -> Option<Json> {
        let fields = self.json.fields()?;
        let raw = fields.given("structuredContent")?;
        Some(self.json.part(raw))
    }

    /// The same result with another `structuredContent` in the place of its own. All else keeps its
    /// bytes. Where the key was given twice, both places get it: readers do not agree on which
    /// of the two counts.
    #[must_use]
    pub fn with_structured(&self, structured: &Json) -> Self {
        Self::parse(with_member(&self.json, "structuredContent", structured))
            .unwrap_or_else(|| self.clone())
    }

    /// The same result with one more text block at the end of its content. A content that is no
    /// list has no end, so it stays as it is.
    #[must_use]
    pub fn with_text(&self, block: &str) -> Self {
        let Some(fields) = self.json.fields() else {
            return self.clone();
        };
        let text = self.json.text();
        let block = format!(r#"{{"type":"text","text":{}}}"#, Value::from(block));
        let Some(content) = fields.get("content") else {
            let comma = if self.is_empty { "" } else { "," };
            let body = text.strip_suffix('}').unwrap_or(text);
            return self.rewritten([body, comma, r#""content":["#, &block, "]}"].concat());
        };
        let Some(inside) = content
            .get()
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        else {
            return self.clone();
        };
        let comma = if inside.trim().is_empty() { "" } else { "," };
        let end = span(text, content).end - 1;
        self.rewritten([&text[..end], comma, &block, &text[end..]].concat())
    }

    /// What became of the text. It is a result as before, since only whole values were put in
    /// the place of whole values.
    fn rewritten(&self, text: String) -> Self {
        let parsed = Json::parse(text).ok().and_then(Self::parse);
        parsed.unwrap_or_else(|| self.clone())
    }

    /// The same text with keys of ours added to `_meta`; all else keeps its bytes.
    pub fn with_meta(&self, additions: &[(&str, &str)]) -> String {
        let text = self.json.text();
        let ours = members(additions);
        let Some(meta) = &self.meta else {
            let comma = if self.is_empty { "" } else { "," };
            let body = text.strip_suffix('}').unwrap_or(text);
            return [body, comma, r#""_meta":{"#, &ours, "}}"].concat();
        };
        let (before, after) = (&text[..meta.span.start], &text[meta.span.end..]);
        let inner = &text[meta.span.clone()];
        match meta.shape {
            MetaShape::Extensible { is_empty } => {
                let comma = if is_empty { "" } else { "," };
                let inner = inner.strip_suffix('}').unwrap_or(inner);
                [before, inner, comma, &ours, "}", after].concat()
            }
            MetaShape::Rewritten => [before, "{", &without_ours(inner, &ours), "}", after].concat(),
        }
    }
}

/// An object with another value in every place where it has a member of this name. All else keeps
/// its bytes; what is no object or has no such member stays as it is.
pub fn with_member(object: &Json, name: &str, value: &Json) -> Json {
    let text = object.text();
    let fields = object.fields().unwrap_or_default();
    let mut changed = String::with_capacity(text.len() + value.text().len());
    let mut at = 0;
    for (_, raw) in fields.iter().filter(|(own, _)| *own == name) {
        let span = span(text, raw);
        changed.push_str(&text[at..span.start]);
        changed.push_str(value.text());
        at = span.end;
    }
    if at == 0 {
        return object.clone();
    }
    changed.push_str(&text[at..]);
    Json::parse(changed).unwrap_or_else(|_| object.clone())
}

/// An object without the members of this name. All values keep their bytes.
pub(crate) fn without_member(fields: &Fields<'_>, name: &str) -> String {
    let kept: Vec<String> = fields
        .iter()
        .filter(|(own, _)| *own != name)
        .map(|(own, value)| member(own, value))
        .collect();
    format!("{{{}}}", kept.join(","))
}

/// One member of an object.
pub(crate) fn member(name: &str, value: &RawValue) -> String {
    format!("{}:{}", Value::from(name), value.get())
}

/// Where a part of a text stands in it.
fn span(text: &str, part: &RawValue) -> Range<usize> {
    let start = part.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.get().len()
}

impl MetaShape {
    fn of(text: &str) -> Self {
        let Ok(fields) = serde_json::from_str::<Fields<'_>>(text) else {
            return Self::Rewritten;
        };
        if fields
            .iter()
            .any(|(name, _)| name.starts_with(meta::OWN_PREFIX))
        {
            return Self::Rewritten;
        }
        Self::Extensible {
            is_empty: fields.iter().next().is_none(),
        }
    }
}

/// The members of an upstream's `_meta` that are not ours to set, followed by ours.
fn without_ours(meta: &str, ours: &str) -> String {
    let fields: Fields<'_> = serde_json::from_str(meta).unwrap_or_default();
    let mut text = String::new();
    for (name, value) in fields
        .iter()
        .filter(|(name, _)| !name.starts_with(meta::OWN_PREFIX))
    {
        text.push_str(&Value::from(name).to_string());
        text.push(':');
        text.push_str(value.get());
        text.push(',');
    }
    text + ours
}

/// Names and JSON values as the inside of an object.
fn members(additions: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in additions {
        debug_assert!(
            name.starts_with(meta::OWN_PREFIX),
            "{name} is not ours to set"
        );
        if !text.is_empty() {
            text.push(',');
        }
        // The names are ours and hold nothing that JSON would escape.
        text.push('"');
        text.push_str(name);
        text.push_str("\":");
        text.push_str(value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sent: &'static str, expected: &str) {
        let result = CallResult::parse(Json::parse(sent).unwrap()).unwrap();
        let text = result.with_meta(&[("dev.mcpproxy/request_id", r#""r1""#)]);
        assert_eq!(text, expected);
        Json::parse(text).unwrap();
    }

    #[test]
    fn meta_is_added_and_the_rest_keeps_its_bytes() {
        check("{}", r#"{"_meta":{"dev.mcpproxy/request_id":"r1"}}"#);
        check(
            r#"{ "content":[{"type":"hologram","n":9007199254740993, "x":1e400}] ,"zeta":[ ] }"#,
            r#"{ "content":[{"type":"hologram","n":9007199254740993, "x":1e400}] ,"zeta":[ ] ,"_meta":{"dev.mcpproxy/request_id":"r1"}}"#,
        );
        check(
            r#"{"_meta":{},"content":[]}"#,
            r#"{"_meta":{"dev.mcpproxy/request_id":"r1"},"content":[]}"#,
        );
        check(
            r#"{"_meta":{"vendor/x" : 1.0 },"content":[]}"#,
            r#"{"_meta":{"vendor/x" : 1.0 ,"dev.mcpproxy/request_id":"r1"},"content":[]}"#,
        );
    }

    fn result(text: &'static str) -> CallResult {
        CallResult::parse(Json::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn structured_content_is_replaced_and_the_rest_keeps_its_bytes() {
        let ours = Json::parse(r#"{"n":1.10}"#).unwrap();
        let table = [
            (
                r#"{ "structuredContent" : {"a":1} , "content":[{"x":1e400}],"isError":true }"#,
                r#"{ "structuredContent" : {"n":1.10} , "content":[{"x":1e400}],"isError":true }"#,
            ),
            (
                r#"{"structuredContent":1,"b":1.0,"structuredContent":{"c":2}}"#,
                r#"{"structuredContent":{"n":1.10},"b":1.0,"structuredContent":{"n":1.10}}"#,
            ),
            (r#"{"content":[]}"#, r#"{"content":[]}"#),
        ];
        for (sent, expected) in table {
            let changed = result(sent).with_structured(&ours);
            assert_eq!(changed.json().text(), expected);
            assert_eq!(changed.is_error(), result(sent).is_error());
        }
        let twice = result(r#"{"structuredContent":1,"structuredContent":{"c":2}}"#);
        assert_eq!(twice.structured().unwrap().text(), r#"{"c":2}"#);
        assert!(
            result(r#"{"structuredContent":null}"#)
                .structured()
                .is_none()
        );
    }

    #[test]
    fn a_text_block_is_appended_and_the_rest_keeps_its_bytes() {
        let table = [
            ("{}", r#"{"content":[{"type":"text","text":"a\"b"}]}"#),
            (
                r#"{ "z":1 }"#,
                r#"{ "z":1 ,"content":[{"type":"text","text":"a\"b"}]}"#,
            ),
            (
                r#"{"content":[ ],"z":1.0}"#,
                r#"{"content":[ {"type":"text","text":"a\"b"}],"z":1.0}"#,
            ),
            (
                r#"{"content":[{"n":1e400} ],"z":[]}"#,
                r#"{"content":[{"n":1e400} ,{"type":"text","text":"a\"b"}],"z":[]}"#,
            ),
            (r#"{"content":"x"}"#, r#"{"content":"x"}"#),
        ];
        for (sent, expected) in table {
            assert_eq!(result(sent).with_text("a\"b").json().text(), expected);
        }
    }

    #[test]
    fn an_upstream_cannot_set_our_keys() {
        check(
            r#"{"_meta":{"a":1,"dev.mcpproxy/request_id":"forged","b":[2]}}"#,
            r#"{"_meta":{"a":1,"b":[2],"dev.mcpproxy/request_id":"r1"}}"#,
        );
        check(
            r#"{"_meta":7}"#,
            r#"{"_meta":{"dev.mcpproxy/request_id":"r1"}}"#,
        );
    }

    #[test]
    fn failure_is_read_and_other_shapes_are_no_result() {
        let parse = |text: &'static str| CallResult::parse(Json::parse(text).unwrap());
        assert!(parse(r#"{"isError":true}"#).unwrap().is_error());
        assert!(!parse(r#"{"isError":"true"}"#).unwrap().is_error());
        assert!(parse("[]").is_none());
        assert!(parse("null").is_none());
    }
}
