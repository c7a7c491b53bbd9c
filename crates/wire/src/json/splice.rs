//! Texts of objects and lists with something put into them; all else keeps its bytes.

use serde::ser::{Serialize, Serializer};

use super::to_text;

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
