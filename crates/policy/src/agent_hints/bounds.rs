//! Bounds of what an upstream may hint.

use serde_json::{Map, Value};

/// The most suggestions. An agent takes one next step; twenty leave room for a menu of them.
pub(super) const MOST_ACTIONS: usize = 20;

/// The most items of any other list, and members of any object: more is data, which belongs into
/// the result itself.
pub(super) const MOST_ITEMS: usize = 50;

/// The longest text, in characters: a page of reasoning is about this long.
pub(super) const LONGEST_TEXT: usize = 4_000;

/// The longest name of a member, in characters.
pub(super) const LONGEST_KEY: usize = 200;

/// Depth to which values may be nested below the hints. The contract itself needs four levels; the rest
/// is for the data of an action.
pub(super) const DEEPEST: usize = 12;

/// The most bytes of all hints together: about what a model reads of a result without losing
/// sight of it.
pub(super) const MOST_BYTES: usize = 64 * 1024;

/// Cuts hints down to the bounds. It tells whether anything other than a suggestion was cut.
pub(super) fn apply(hints: &mut Map<String, Value>) -> bool {
    if let Some(Value::Array(actions)) = hints.get_mut(super::ACTIONS) {
        actions.truncate(MOST_ACTIONS);
    }
    let is_cut = bound_members(hints, DEEPEST);
    fit(hints) || is_cut
}

fn bound(value: &mut Value, levels: usize) -> bool {
    match value {
        Value::String(text) => cut(text),
        Value::Array(items) => {
            let most = if levels == 0 { 0 } else { MOST_ITEMS };
            let mut is_cut = items.len() > most;
            items.truncate(most);
            for item in items {
                is_cut |= bound(item, levels.saturating_sub(1));
            }
            is_cut
        }
        Value::Object(members) => bound_members(members, levels),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn bound_members(members: &mut Map<String, Value>, levels: usize) -> bool {
    let most = if levels == 0 { 0 } else { MOST_ITEMS };
    let before = members.len();
    let mut kept = 0;
    members.retain(|key, _| {
        let is_kept = kept < most && key.chars().count() <= LONGEST_KEY;
        kept += usize::from(is_kept);
        is_kept
    });
    let mut is_cut = members.len() < before;
    for value in members.values_mut() {
        is_cut |= bound(value, levels.saturating_sub(1));
    }
    is_cut
}

/// Cuts a text that is too long, and shows that it was.
fn cut(text: &mut String) -> bool {
    let Some((end, _)) = text.char_indices().nth(LONGEST_TEXT) else {
        return false;
    };
    text.truncate(end);
    text.push('…');
    true
}

/// Halves the largest lists, and removes what is large and no list, until all of it fits.
fn fit(hints: &mut Map<String, Value>) -> bool {
    let mut sizes: Vec<usize> = hints
        .iter()
        .map(|(key, value)| key.len() + size(value))
        .collect();
    let mut is_cut = false;
    while sizes.iter().sum::<usize>() > MOST_BYTES {
        let largest = sizes.iter().enumerate().max_by_key(|(_, size)| **size);
        let Some((at, _)) = largest else {
            return is_cut;
        };
        is_cut |= shrink(hints, at);
        match hints.iter().nth(at) {
            Some((key, value)) if hints.len() == sizes.len() => sizes[at] = key.len() + size(value),
            _ => {
                sizes.remove(at);
            }
        }
    }
    is_cut
}

/// Makes one member smaller. It tells whether that was anything but suggestions, which are
/// counted elsewhere.
fn shrink(hints: &mut Map<String, Value>, at: usize) -> bool {
    let Some(key) = hints.keys().nth(at).cloned() else {
        return false;
    };
    match hints.get_mut(&key) {
        Some(Value::Array(items)) if !items.is_empty() => {
            items.truncate(items.len() / 2);
            key != super::ACTIONS
        }
        _ => hints.shift_remove(&key).is_some(),
    }
}

fn size(value: &Value) -> usize {
    // Serialising a value that was decoded from JSON does not fail.
    serde_json::to_string(value).map_or(0, |text| text.len())
}
