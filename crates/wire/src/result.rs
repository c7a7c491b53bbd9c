//! Results, passed on as they came.

mod nested_meta;
mod text;

use std::ops::Range;

use serde_json::json;
use serde_json::value::RawValue;

pub use self::nested_meta::without_own_keys;
pub use self::text::ResultText;
use crate::downgrade;
use crate::json::splice::{append_item, append_members, members_behind};
use crate::json::{Fields, Json, JsonText, Members, may_name, text_of, to_text, with_member};
use crate::meta::{self, ServerIdentity};
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
    has_two_metas: bool,
    has_two_types: bool,
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

    /// Whether `resultType` is given twice: readers do not agree on which of the two counts.
    pub fn has_two_types(&self) -> bool {
        let layout = self.layout.as_ref();
        layout.is_some_and(|layout| layout.has_two_types)
    }
}

// === impl CallResult ===

impl CallResult {
    /// Result of a call; nothing if it is not an object. Of a `_meta` that is given twice the last one stays: a key
    /// of ours in the first would be read by some. In its content no key of ours stays.
    pub fn of(result: RpcResult) -> Option<Self> {
        let cleaned = nested_meta::cleaned(result.json.text(), ServerIdentity::Shown);
        let result = match cleaned.and_then(|text| Json::parse(text).ok()) {
            Some(cleaned) => RpcResult::unread(cleaned),
            None => result,
        };
        let RpcResult { json, layout } = result;
        let layout = layout?;
        if !layout.has_two_metas {
            return Some(Self { json, layout });
        }
        let json = Json::parse(with_one_meta(&json.fields()?)).ok()?;
        let layout = Layout::of(&json, &json.fields()?);
        Some(Self { json, layout })
    }

    /// Reads a result; nothing if it is not an object.
    pub fn parse(json: Json) -> Option<Self> {
        Self::of(RpcResult::unread(json))
    }

    /// Whether it is no result yet: the caller is to answer something and call again.
    pub fn asks_for_input(&self) -> bool {
        let span = self.layout.result_type.clone();
        let said = span.and_then(|span| text_of(&self.json.text()[span]));
        said.as_deref() == Some("input_required")
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

    /// Result with another `content` in the place of its own, likewise.
    #[must_use]
    pub fn with_content(&self, content: &Json) -> Self {
        Self::parse(with_member(&self.json, "content", content)).unwrap_or_else(|| self.clone())
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
    pub fn to_text(
        &self,
        protocol: Protocol,
        identity: ServerIdentity,
        additions: &[(&str, &str)],
    ) -> ResultText {
        let text = self.json.text();
        let said = self.layout.result_type.clone().map(|span| &text[span]);
        let (front, start) = match protocol {
            Protocol::Session if said.is_some() || self.has_foreign_structured() => {
                return downgrade::result(self.with_meta(identity, additions)).into();
            }
            Protocol::Session => (String::new(), 0),
            Protocol::Stateless if said.is_some_and(|said| says_its_type(text, said)) => {
                (String::new(), 0)
            }
            Protocol::Stateless if said.is_some() => {
                return stateless::complete(self.with_meta(identity, additions)).into();
            }
            // Something of ours follows, so that there is a member behind the comma.
            Protocol::Stateless => (r#"{"resultType":"complete","#.to_owned(), 1),
        };
        let (span, meta) = self.extended_meta(identity, additions);
        ResultText::spliced(front, &self.json, start, &span, meta)
    }

    /// Text with keys of ours added to `_meta`; all else keeps its bytes.
    pub fn with_meta(&self, identity: ServerIdentity, additions: &[(&str, &str)]) -> String {
        let (span, meta) = self.extended_meta(identity, additions);
        self.replacing(&span, &meta)
    }

    /// Span to replace and its new text, so that `_meta` has keys of ours, and none that are not the upstream's to set.
    fn extended_meta(
        &self,
        identity: ServerIdentity,
        additions: &[(&str, &str)],
    ) -> (Range<usize>, String) {
        debug_assert!(
            additions.iter().all(|(name, _)| identity.drops(name)),
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
            Some(fields) if !fields.iter().any(|(name, _)| identity.drops(name)) => {
                append_members(theirs, &Members(ours))
            }
            fields => {
                let fields = fields.unwrap_or_default();
                let mut all = kept_members(&fields, identity);
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
            has_two_metas: fields.all(meta::META).nth(1).is_some(),
            has_two_types: fields.all("resultType").nth(1).is_some(),
        }
    }
}

/// Result of a prompt, a resource or a completion, without keys of `_meta` that are not the upstream's to set. One that
/// has none of them is not read, and keeps its bytes.
#[must_use]
pub fn without_dropped_keys(result: Json, identity: ServerIdentity) -> Json {
    let has_dropped = |raw: &RawValue| {
        let fields = Fields::read(raw.get()).unwrap_or_default();
        fields.iter().any(|(name, _)| identity.drops(name))
    };
    let text = result.text();
    if !meta::DROPPED_PARTS.iter().any(|part| may_name(text, part)) {
        return result;
    }
    let cleaned = nested_meta::cleaned(text, identity);
    let cleaned = cleaned.and_then(|text| Json::parse(text).ok());
    let result = cleaned.unwrap_or(result);
    let fields = result.fields().unwrap_or_default();
    if !fields.all(meta::META).any(has_dropped) {
        return result;
    }
    let once = with_one_meta(&fields);
    let fields = Fields::read(&once).unwrap_or_default();
    let kept = fields
        .get(meta::META)
        .and_then(|raw| Fields::read(raw.get()));
    let kept = to_text(&Members(kept_members(&kept.unwrap_or_default(), identity)));
    let members = fields.iter().map(|(name, raw)| match name {
        meta::META => (name, JsonText(&kept)),
        _ => (name, JsonText(raw.get())),
    });
    // Only whole values were put in the place of whole values.
    Json::parse(to_text(&Members(members.collect()))).unwrap_or_else(|_| Json::empty_object())
}

/// Members of an upstream's `_meta` that are passed on.
fn kept_members<'a>(
    fields: &'a Fields<'a>,
    identity: ServerIdentity,
) -> Vec<(&'a str, JsonText<'a>)> {
    let kept = fields.iter().filter(|(name, _)| !identity.drops(name));
    kept.map(|(name, raw)| (name, JsonText(raw.get())))
        .collect()
}

/// Text of a result whose `_meta` stands once: the last one, as most readers of JSON take it.
fn with_one_meta(fields: &Fields<'_>) -> String {
    let others = fields.iter().filter(|(name, _)| *name != meta::META);
    let mut members: Vec<_> = others.collect();
    members.extend(fields.get(meta::META).map(|raw| (meta::META, raw)));
    to_text(&Members(members))
}

#[cfg(test)]
mod tests;
