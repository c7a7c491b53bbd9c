//! Warnings that another configuration brings, beside those that the log was told already.

use std::sync::{Mutex, PoisonError};

/// Warnings that the log was told last: there is one log in a process, and their number is bounded where they are made.
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Warnings that the log is to be told now, of all those that the settings have.
pub(super) fn tell(warnings: Vec<String>) -> Vec<String> {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let before = std::mem::take(&mut *told);
    let new = new_warnings(before, &warnings).into_iter();
    let new = new.map(str::to_owned).collect();
    *told = warnings;
    new
}

/// Warnings of now that were not told before. A warning that only stands at another place of the file is none of them;
/// one that comes a second time is.
fn new_warnings(mut told: Vec<String>, now: &[String]) -> Vec<&str> {
    let mut is_told = |warning: &&str, same: fn(&str, &str) -> bool| {
        let place = told.iter().position(|one| same(one, warning));
        place.map(|place| told.swap_remove(place)).is_some()
    };
    // Those that did not move come first, so that of two alike the one that is new is told.
    let mut left: Vec<&str> = now.iter().map(String::as_str).collect();
    left.retain(|warning| !is_told(warning, |one, other| one == other));
    left.retain(|warning| {
        !is_told(warning, |one, other| {
            without_place(one) == without_place(other)
        })
    });
    left
}

/// Warning without the line and column in front of it.
fn without_place(warning: &str) -> &str {
    let Some((place, rest)) = warning.split_once(": ") else {
        return warning;
    };
    let is_number = |part: Option<&str>| {
        part.is_some_and(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut parts = place.rsplit(':');
    if is_number(parts.next()) && is_number(parts.next()) {
        rest
    } else {
        warning
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_warnings_that_are_new_are_told() {
        for (told, now, expected) in [
            (
                &[][..],
                &["c.json:1:2: a", "b"][..],
                &["c.json:1:2: a", "b"][..],
            ),
            (&["c.json:1:2: a", "b"], &["c.json:1:2: a", "b"], &[]),
            (&["c.json:1:2: a"], &["c.json:12:2: a"], &[]),
            (&["b"], &["a", "b"], &["a"]),
            (&["a", "b"], &["a"], &[]),
            // A second server with the same field.
            (
                &["c.json:5:2: a"],
                &["c.json:1:2: a", "c.json:5:2: a"],
                &["c.json:1:2: a"],
            ),
            (
                &["c.json:5:2: a"],
                &["c.json:7:2: a", "c.json:9:2: a"],
                &["c.json:9:2: a"],
            ),
            (&["x: a"], &["y: a"], &["y: a"]),
            (&["8:x: a"], &["9:x: a"], &["9:x: a"]),
        ] {
            let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(
                new_warnings(texts(told), &texts(now)),
                expected,
                "{told:?} {now:?}"
            );
        }
    }
}
