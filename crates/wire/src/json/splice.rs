//! Texts of objects and lists with something put into them; all else keeps its bytes.

use serde::ser::{Serialize, Serializer};

use super::{Fields, Json, to_text};

/// Names and values, written as an object.
pub struct Members<'a, V>(pub Vec<(&'a str, V)>);

impl<V: Serialize> Serialize for Members<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Object with members in front of its own. `members` is written as an object with at least one.
pub(crate) fn prepend_members(object: &str, members: &impl Serialize) -> String {
    let members = to_text(members);
    let body = object.trim_start().strip_prefix('{').unwrap_or("}");
    let comma = comma_unless(body.trim_start().starts_with('}'));
    ["{", inside(&members), comma, body].concat()
}

/// Object with members behind its own. `members` is written as an object with at least one.
pub(crate) fn append_members(object: &str, members: &impl Serialize) -> String {
    let body = object.strip_suffix('}').unwrap_or(object);
    [body, &members_behind(object, members), "}"].concat()
}

/// Text of members as it stands behind the own members of an object, with the comma between.
pub(crate) fn members_behind(object: &str, members: &impl Serialize) -> String {
    let members = to_text(members);
    let comma = comma_unless(inside(object).trim().is_empty());
    [comma, inside(&members)].concat()
}

/// List with one more item at its end; nothing if it is no list.
pub(crate) fn append_item(list: &str, item: &impl Serialize) -> Option<String> {
    let items = list.strip_prefix('[')?.strip_suffix(']')?;
    let comma = comma_unless(items.trim().is_empty());
    Some(["[", items, comma, &to_text(item), "]"].concat())
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

/// Object with a value under this name: in every place where it has such a member, else behind its own members. What is
/// no object stays as it is.
pub fn with_set_member(object: &Json, name: &str, value: &Json) -> Json {
    let has_it = |fields: Fields<'_>| fields.get(name).is_some();
    match object.fields().map(has_it) {
        Some(false) => {
            let added = append_members(object.text(), &Members(vec![(name, value)]));
            Json::parse(added).unwrap_or_else(|_| object.clone())
        }
        _ => with_member(object, name, value),
    }
}

/// Text of an object without its braces.
fn inside(object: &str) -> &str {
    let inside = object
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    inside.unwrap_or_default()
}

const fn comma_unless(is_empty: bool) -> &'static str {
    if is_empty { "" } else { "," }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_set_wherever_it_stands_or_added() {
        let value = Json::parse(r#""v""#).unwrap();
        for (sent, expected) in [
            ("{}", r#"{"n":"v"}"#),
            (r#"{ "a":1e400 }"#, r#"{ "a":1e400 ,"n":"v"}"#),
            (
                r#"{"n":1,"a":{"n":2},"\u006e":3}"#,
                r#"{"n":"v","a":{"n":2},"\u006e":"v"}"#,
            ),
            ("[1]", "[1]"),
        ] {
            let object = Json::parse(sent).unwrap();
            assert_eq!(with_set_member(&object, "n", &value).text(), expected);
        }
    }
}
