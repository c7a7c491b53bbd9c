//! Results, passed on as they came.

mod text;

use std::ops::Range;

use serde_json::json;
use serde_json::value::RawValue;

pub use self::text::ResultText;
use crate::downgrade;
use crate::json::splice::{append_item, append_members, members_behind};
use crate::json::{Fields, Json, JsonText, Members, to_text};
use crate::meta;
use crate::revision::Protocol;
use crate::stateless::{self, says_its_type};

/// Result of a response: its text, and where its members stand if it is an object.
///
/// The members are found while the response is read, so that nobody has to read a result again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcResult {
    json: Json,
    layout: Option<Layout>,
}

/// An upstream's `CallToolResult`: its text, and the little we read of it.
#[derive(Debug, Clone)]
pub struct CallResult {
    json: Json,
    layout: Layout,
}

/// Positions of the members of a result that are read or changed here; the last one of each name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Layout {
    meta: Option<Range<usize>>,
    content: Option<Range<usize>>,
    structured: Option<Range<usize>>,
    result_type: Option<Range<usize>>,
    is_error: bool,
}

// === impl RpcResult ===

impl RpcResult {
    /// Result whose text was not read yet.
    pub fn unread(json: Json) -> Self {
        let layout = json.fields().map(|fields| Layout::of(&json, &fields));
        Self { json, layout }
    }

    /// Result whose members were found when it was read.
    pub(crate) fn read(json: Json, fields: &Fields<'_>) -> Self {
        let layout = Some(Layout::of(&json, fields));
        Self { json, layout }
    }

    /// Result as it was sent.
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// Result as it was sent.
    pub fn into_json(self) -> Json {
        self.json
    }

    /// JSON text of the member `resultType`, if there is one.
    pub fn result_type(&self) -> Option<&str> {
        let span = self.layout.as_ref()?.result_type.clone()?;
        self.json.text().get(span)
    }
}

// === impl CallResult ===

impl CallResult {
    /// Result of a call; nothing if it is not an object.
    pub fn of(result: RpcResult) -> Option<Self> {
        let RpcResult { json, layout } = result;
        layout.map(|layout| Self { json, layout })
    }

    /// Reads a result; nothing if it is not an object.
    pub fn parse(json: Json) -> Option<Self> {
        Self::of(RpcResult::unread(json))
    }

    /// Whether it is no result yet: the caller is to answer something and call again.
    pub fn asks_for_input(&self) -> bool {
        let span = self.layout.result_type.clone();
        span.is_some_and(|span| &self.json.text()[span] == r#""input_required""#)
    }

    /// Whether the tool itself reports a failure.
    pub fn is_error(&self) -> bool {
        self.layout.is_error
    }

    /// Result as the upstream sent it.
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// Structured content, which a program reads, if there is any; the last one, should it be given twice.
    pub fn structured(&self) -> Option<Json> {
        let structured = self.json.part_at(self.layout.structured.as_ref()?);
        (structured.text() != "null").then_some(structured)
    }

    /// Result with another `structuredContent` in the place of its own. All else keeps its bytes.
    /// Where the key was given twice, both places get it: readers do not agree on which of the two
    /// counts.
    #[must_use]
    pub fn with_structured(&self, structured: &Json) -> Self {
        Self::parse(with_member(&self.json, "structuredContent", structured))
            .unwrap_or_else(|| self.clone())
    }

    /// Result with one more text block at the end of its content. A content that is no list has no
    /// end, so it stays as it is.
    #[must_use]
    pub fn with_text(&self, text: &str) -> Self {
        let block = json!({ "type": "text", "text": text });
        let changed = match &self.layout.content {
            None => {
                let content = json!({ "content": [block] });
                Some(append_members(self.json.text(), &content))
            }
            Some(span) => append_item(&self.json.text()[span.clone()], &block)
                .map(|content| self.replacing(span, &content)),
        };
        // Only whole values were put in the place of whole values, so it is a result as before.
        changed
            .and_then(|text| Json::parse(text).ok())
            .and_then(Self::parse)
            .unwrap_or_else(|| self.clone())
    }

    /// Text for a client of a protocol, with keys of ours added to `_meta`: its type is said where
    /// the protocol has types of results, and what the protocol cannot read is left out. All else
    /// keeps its bytes.
    pub fn to_text(&self, protocol: Protocol, additions: &[(&str, &str)]) -> ResultText {
        let text = self.json.text();
        let said = self.layout.result_type.clone().map(|span| &text[span]);
        let (front, start) = match protocol {
            Protocol::Session if said.is_some() || self.has_foreign_structured() => {
                return downgrade::result(self.with_meta(additions)).into();
            }
            Protocol::Session => (String::new(), 0),
            Protocol::Stateless if said.is_some_and(|said| says_its_type(text, said)) => {
                (String::new(), 0)
            }
            Protocol::Stateless if said.is_some() => {
                return stateless::complete(self.with_meta(additions)).into();
            }
            // Something of ours follows, so that there is a member behind the comma.
            Protocol::Stateless => (r#"{"resultType":"complete","#.to_owned(), 1),
        };
        let (span, meta) = self.extended_meta(additions);
        ResultText::spliced(front, &self.json, start, &span, meta)
    }

    /// Text with keys of ours added to `_meta`; all else keeps its bytes.
    pub fn with_meta(&self, additions: &[(&str, &str)]) -> String {
        let (span, meta) = self.extended_meta(additions);
        self.replacing(&span, &meta)
    }

    /// Span to replace and its new text, so that `_meta` has keys of ours.
    fn extended_meta(&self, additions: &[(&str, &str)]) -> (Range<usize>, String) {
        let is_ours = |name: &str| name.starts_with(meta::OWN_PREFIX);
        debug_assert!(
            additions.iter().all(|(name, _)| is_ours(name)),
            "not all of {additions:?} are ours to set"
        );
        let text = self.json.text();
        let ours = additions.iter().map(|(name, json)| (*name, JsonText(json)));
        let mut ours: Vec<_> = ours.collect();
        let Some(span) = &self.layout.meta else {
            let ours = to_text(&Members(ours));
            let end = text.len() - 1;
            let added = Members(vec![(meta::META, JsonText(&ours))]);
            return (end..end, members_behind(text, &added));
        };
        let theirs = &text[span.clone()];
        let extended = match Fields::read(theirs) {
            Some(fields) if !fields.iter().any(|(name, _)| is_ours(name)) => {
                append_members(theirs, &Members(ours))
            }
            fields => {
                let fields = fields.unwrap_or_default();
                let mut all: Vec<_> = fields
                    .iter()
                    .filter(|(name, _)| !is_ours(name))
                    .map(|(name, raw)| (name, JsonText(raw.get())))
                    .collect();
                all.append(&mut ours);
                to_text(&Members(all))
            }
        };
        (span.clone(), extended)
    }

    /// Whether structured content is given that is no object, which only the stateless protocol has.
    fn has_foreign_structured(&self) -> bool {
        let span = self.layout.structured.as_ref();
        span.is_some_and(|span| !self.json.text()[span.start..].starts_with('{'))
    }

    /// Text with something else in the place of a part.
    fn replacing(&self, span: &Range<usize>, part: &str) -> String {
        let text = self.json.text();
        [&text[..span.start], part, &text[span.end..]].concat()
    }
}

// === impl Layout ===

impl Layout {
    fn of(json: &Json, fields: &Fields<'_>) -> Self {
        let span = |name: &str| fields.get(name).map(|raw| json.span_of(raw));
        Self {
            meta: span(meta::META),
            content: span("content"),
            structured: span("structuredContent"),
            result_type: span("resultType"),
            is_error: fields.get("isError").map(RawValue::get) == Some("true"),
        }
    }
}

/// Object with another value in every place where it has a member of this name. All else keeps
/// its bytes; what is no object or has no such member stays as it is.
pub fn with_member(object: &Json, name: &str, value: &Json) -> Json {
    let text = object.text();
    let fields = object.fields().unwrap_or_default();
    let mut changed = String::with_capacity(text.len() + value.text().len());
    let mut at = 0;
    for (_, raw) in fields.iter().filter(|(own, _)| *own == name) {
        let span = object.span_of(raw);
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
    fn a_client_gets_a_result_as_its_protocol_has_it() {
        let additions = [("dev.mcpproxy/request_id", r#""r1""#)];
        for sent in [
            "{}",
            r#" { "content" : [ ] }"#,
            r#"{"structuredContent":{"a":1},"_meta":{"x": 1 }}"#,
            r#"{"structuredContent":[1], "content":[]}"#,
            r#"{"structuredContent":{}, "structuredContent":7}"#,
            r#"{"resultType":"complete", "content":[]}"#,
            r#"{"content":[],"resultType":"input_required"}"#,
            r#"{"resultType":"\u0063omplete","a":"\u00e9"}"#,
            r#"{"a":"resultType structuredContent \u00e9"}"#,
        ] {
            let result = result(sent);
            let text = result.with_meta(&additions);
            let to_text = |protocol| result.to_text(protocol, &additions);
            assert_eq!(
                to_text(Protocol::Session).into_string(),
                downgrade::result(text.clone())
            );
            assert_eq!(
                to_text(Protocol::Stateless).into_string(),
                stateless::complete(text)
            );
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
