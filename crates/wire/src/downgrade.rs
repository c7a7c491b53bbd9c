//! Results and definitions of servers of the newest revision, as clients with a session can read them.
//!
//! The newest revision lets structured content be any JSON, and a schema describe any. In the ones
//! before both are objects, and a client that insists on it would read nothing at all.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::json::{Fields, JsonText, Members, may_name, to_text};
use crate::stateless::without_result_type;

const STRUCTURED: &str = "structuredContent";
const SCHEMA: &str = "outputSchema";

/// The result of a call: its type is left out, and structured content that is no object. Content
/// blocks say the same for people and models.
pub fn result(result: String) -> String {
    let result = match without_result_type(&result) {
        Cow::Owned(without) => without,
        Cow::Borrowed(_) => result,
    };
    if !may_name(&result, STRUCTURED) {
        return result;
    }
    let is_foreign = |raw: &RawValue| !raw.get().starts_with('{');
    match Fields::read(&result) {
        Some(fields) if fields.get(STRUCTURED).is_some_and(is_foreign) => {
            to_text(&fields.without(STRUCTURED))
        }
        _ => result,
    }
}

/// The result of `tools/list`: a schema of results that is not one of objects is left out.
pub fn tools(page: String) -> String {
    if !may_name(&page, SCHEMA) {
        return page;
    }
    let read = || {
        let fields = Fields::read(&page)?;
        let tools: Vec<&RawValue> = serde_json::from_str(fields.get("tools")?.get()).ok()?;
        let mut is_changed = false;
        let kept: Vec<_> = tools
            .into_iter()
            .map(|tool| {
                let fields = Fields::read(tool.get()).unwrap_or_default();
                if fields.get(SCHEMA).is_none_or(is_of_objects) {
                    return Cow::Borrowed(tool.get());
                }
                is_changed = true;
                Cow::Owned(to_text(&fields.without(SCHEMA)))
            })
            .collect();
        let kept: Vec<JsonText<'_>> = kept.iter().map(|tool| JsonText(tool)).collect();
        let kept = to_text(&kept);
        let members = fields.iter().map(|(name, value)| match name {
            "tools" => (name, JsonText(&kept)),
            _ => (name, JsonText(value.get())),
        });
        is_changed.then(|| to_text(&Members(members.collect())))
    };
    read().unwrap_or(page)
}

fn is_of_objects(schema: &RawValue) -> bool {
    let kind = Fields::read(schema.get()).and_then(|fields| fields.get("type"));
    kind.map(RawValue::get) == Some(r#""object""#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_older_clients_cannot_read_is_left_out_of_a_result() {
        for text in [
            r#"{"content":[]}"#,
            r#"{ "structuredContent" : {"a":1e400} , "content":[]}"#,
            r#"{"content":[{"type":"text","text":"structuredContent: [1]"}]}"#,
            r#"{"_meta":{"structuredContent":[1]},"content":[]}"#,
            "[]",
        ] {
            assert_eq!(result(text.to_owned()), text);
        }
        for value in ["[1]", "1", "\"x\"", "null", "true"] {
            let text = format!(
                r#"{{"resultType":"complete","a":1.50,"structuredContent":{value},"b":{{}}}}"#
            );
            assert_eq!(result(text), r#"{"a":1.50,"b":{}}"#);
        }
        let escaped = r#"{"structured\u0043ontent":[1],"b":2}"#;
        assert_eq!(result(escaped.to_owned()), r#"{"b":2}"#);
    }

    #[test]
    fn only_schemas_that_older_clients_cannot_read_are_left_out_of_a_list() {
        let object = r#"{"name":"a","outputSchema":{ "type":"object","x":1.50 },"inputSchema":{}}"#;
        let untouched = format!(r#"{{"tools":[{object}],"nextCursor":"c"}}"#);
        assert_eq!(tools(untouched.clone()), untouched);
        let page = |schema: &str| {
            let tool = format!(r#"{{"name":"b","outputSchema":{schema},"inputSchema":{{}}}}"#);
            format!(r#"{{"tools":[{object},{tool}],"nextCursor":"c"}}"#)
        };
        for schema in [
            r#"{"type":"array"}"#,
            "true",
            "{}",
            r#"{"type":["object","null"]}"#,
        ] {
            let expected = format!(
                r#"{{"tools":[{object},{{"name":"b","inputSchema":{{}}}}],"nextCursor":"c"}}"#
            );
            assert_eq!(tools(page(schema)), expected, "{schema}");
        }
        for broken in ["[]", "{}", r#"{"tools":"outputSchema"}"#] {
            assert_eq!(tools(broken.to_owned()), broken);
        }
    }
}
