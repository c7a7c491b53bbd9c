//! Keys of ours in `_meta` that stands deeper than that of the result: of content, of resources in it, of messages.

use memchr::memmem;
use serde_json::value::RawValue;

use super::kept_members;
use crate::json::{Fields, Json, JsonText, Members, to_text};
use crate::meta::{META, OWN_PREFIX, ServerIdentity};

/// Members of results that have content, or have what has it.
const HOLDERS: [&str; 4] = ["content", "contents", "messages", "resource"];

/// Levels below a result that MCP has content on: a message of a list has content, a block of it a resource.
const DEEPEST: usize = 8;

/// [`OWN_PREFIX`] without its slash, which has two spellings.
const OWN: &str = OWN_PREFIX.split_at(OWN_PREFIX.len() - 1).0;

/// Result without keys of `_meta` in its content that are not the upstream's to set; nothing if it has none of them. Its
/// own `_meta` stays as it is.
pub(super) fn cleaned(result: &str, identity: ServerIdentity) -> Option<String> {
    if !may_have_own_keys(result) {
        return None;
    }
    cleaned_holders(&Fields::read(result)?, identity, DEEPEST)
}

/// Definition of a prompt, a resource or a template without keys of its `_meta` that are not the upstream's to set.
#[must_use]
pub fn without_own_keys(item: Json) -> Json {
    if !may_have_own_keys(item.text()) {
        return item;
    }
    let cleaned = cleaned_value(item.text(), ServerIdentity::Shown, 1);
    // Only whole values were put in the place of whole values.
    let cleaned = cleaned.and_then(|text| Json::parse(text).ok());
    cleaned.unwrap_or(item)
}

/// Whether a key of ours may be in a text. Hardly any has one, and only those are read.
fn may_have_own_keys(text: &str) -> bool {
    let bytes = text.as_bytes();
    // Escaped, a character of the prefix is `\u00` and two digits. Other escapes are usual in some languages.
    let is_of_prefix = |at: usize| {
        let digits = text.get(at + 4..at + 6).unwrap_or_default();
        let code = u8::from_str_radix(digits, 16).unwrap_or_default();
        OWN_PREFIX.as_bytes().contains(&code) || META.as_bytes().contains(&code)
    };
    memmem::find(bytes, OWN.as_bytes()).is_some()
        || memmem::find_iter(bytes, br"\u00").any(is_of_prefix)
}

fn cleaned_value(text: &str, identity: ServerIdentity, levels: usize) -> Option<String> {
    let levels = levels.checked_sub(1)?;
    if let Some(fields) = Fields::read(text) {
        let own = cleaned_meta(&fields, identity);
        let below = {
            let left = own.as_deref().and_then(Fields::read).unwrap_or(fields);
            cleaned_holders(&left, identity, levels)
        };
        return below.or(own);
    }
    let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    let cleaned = items
        .iter()
        .map(|item| cleaned_value(item.get(), identity, levels));
    let cleaned: Vec<_> = cleaned.collect();
    cleaned.iter().any(Option::is_some).then(|| {
        let texts = items.iter().zip(&cleaned);
        let texts = texts.map(|(item, cleaned)| JsonText(cleaned.as_deref().unwrap_or(item.get())));
        to_text(&texts.collect::<Vec<_>>())
    })
}

/// Object with its `_meta` cleaned, if that has keys that are dropped.
fn cleaned_meta(fields: &Fields<'_>, identity: ServerIdentity) -> Option<String> {
    replaced(fields, |name, raw| {
        let meta = (name == META).then(|| Fields::read(raw)).flatten()?;
        let has_dropped = meta.iter().any(|(key, _)| identity.drops(key));
        has_dropped.then(|| to_text(&Members(kept_members(&meta, identity))))
    })
}

/// Object with what holds content cleaned, if there is anything to clean.
fn cleaned_holders(fields: &Fields<'_>, identity: ServerIdentity, levels: usize) -> Option<String> {
    replaced(fields, |name, raw| {
        let holds = HOLDERS.contains(&name);
        holds
            .then(|| cleaned_value(raw, identity, levels))
            .flatten()
    })
}

/// Object with other values for those members that `replace` gives one for; nothing if that is none of them.
fn replaced(fields: &Fields<'_>, replace: impl Fn(&str, &str) -> Option<String>) -> Option<String> {
    let members = fields
        .iter()
        .map(|(name, raw)| (name, raw.get(), replace(name, raw.get())));
    let members: Vec<_> = members.collect();
    let is_changed = members.iter().any(|(_, _, replaced)| replaced.is_some());
    is_changed.then(|| {
        let members = members.iter();
        let members = members
            .map(|(name, own, replaced)| (*name, JsonText(replaced.as_deref().unwrap_or(own))));
        to_text(&Members(members.collect()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_let_an_upstream_set_our_keys() {
        let check = |text: &str, expected: Option<&str>| {
            let found = cleaned(text, ServerIdentity::Shown);
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check(
            r#"{"content":[{"text":"a","n":1e400,"_meta":{"dev.mcpproxy/hints":1,"vendor/k":1.50}}],"x":1.0}"#,
            Some(r#"{"content":[{"text":"a","n":1e400,"_meta":{"vendor/k":1.50}}],"x":1.0}"#),
        );
        check(
            r#"{"contents":[{"uri":"a"},{"_meta":{"dev.mcpproxy\/x":1},"_meta":{"\u0064ev.mcpproxy/y":2}}]}"#,
            Some(r#"{"contents":[{"uri":"a"},{"_meta":{},"_meta":{}}]}"#),
        );
        check(
            r#"{"contents":[{"\u005fmeta":{"\u0064ev.mcpproxy/y":2}}]}"#,
            Some(r#"{"contents":[{"_meta":{}}]}"#),
        );
        check(
            r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"_meta":{"dev.mcpproxy/x":1}}}}]}"#,
            Some(
                r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"_meta":{}}}}]}"#,
            ),
        );
        for unchanged in [
            r#"{"content":[{"text":"dev.mcpproxy/x","_meta":{"vendor/k":1}}]}"#,
            r#"{"structuredContent":{"content":[{"_meta":{"dev.mcpproxy/x":1}}]}}"#,
            r#"{"_meta":{"dev.mcpproxy/x":1},"content":[]}"#,
            r#"{"content":"\u00e9\u003c"}"#,
            r#"{"content":7,"messages":null,"x":"dev.mcpproxy"}"#,
            "[]",
        ] {
            check(unchanged, None);
        }
        let deep = format!(
            r#"{{"content":{}{{"_meta":{{"dev.mcpproxy/x":1}}}}{}}}"#,
            "[".repeat(90),
            "]".repeat(90)
        );
        check(&deep, None);
        let hidden = cleaned(
            r#"{"content":[{"_meta":{"io.modelcontextprotocol/serverInfo":1,"dev.mcpproxy/x":1}}]}"#,
            ServerIdentity::Hidden,
        );
        assert_eq!(hidden.as_deref(), Some(r#"{"content":[{"_meta":{}}]}"#));
    }

    #[test]
    fn escapes_that_spell_no_key_of_ours_cost_nothing() {
        for text in [
            r"\u00e9",
            r"\u003c\u003e\u0026",
            r"\u2014",
            r"\u0041\u005",
            r"\u00",
        ] {
            assert!(!may_have_own_keys(text), "{text}");
        }
        for text in [
            r"\u0064ev",
            r"\u005Fmeta",
            "dev.mcpproxy",
            r"de\u0076.mcpproxy",
        ] {
            assert!(may_have_own_keys(text), "{text}");
        }
    }

    #[test]
    fn definitions_lose_keys_of_ours_and_keep_the_rest() {
        let item = |text: &'static str| without_own_keys(Json::parse(text).unwrap());
        assert_eq!(
            item(r#"{"uri":"x:y","_meta":{"dev.mcpproxy/x":1,"v/k":2}}"#).text(),
            r#"{"uri":"x:y","_meta":{"v/k":2}}"#
        );
        let kept = r#"{"uri":"dev.mcpproxy/x", "_meta":{"v/k":1e400}}"#;
        assert_eq!(item(kept).text(), kept);
    }
}
