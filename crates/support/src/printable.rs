//! Foreign text that cannot steer a terminal, hide anything, or look like a line of ours. This module is pure.

use std::borrow::Cow;
use std::fmt::Write;

/// Text for a terminal: what would steer it or cannot be seen is written as JSON writes it, `\u001b`. Line breaks and
/// tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |character| {
        !matches!(character, '\n' | '\t') && is_unprintable(character)
    })
}

/// Text for one line of a log or a table: as [`printable`], and line breaks and tabs are escaped too.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_unprintable)
}

/// Whether a character changes how text looks without being seen: joiners, marks of direction, tags. A text can hide
/// orders to a model in them, or show people something else than it says.
pub fn is_hidden(character: char) -> bool {
    matches!(u32::from(character),
        0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f
        | 0xfeff | 0xfff9..=0xfffb | 0xe_0000..=0xe_0fff)
}

/// Whether a character steers a terminal, breaks a line, or cannot be seen.
fn is_unprintable(character: char) -> bool {
    // The separators of lines and paragraphs are no controls, and some programs break lines at them.
    character.is_control() || is_hidden(character) || matches!(character, '\u{2028}' | '\u{2029}')
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            _ if !is_escaped(character) => escaped.push(character),
            '\n' => escaped.push_str(r"\n"),
            '\t' => escaped.push_str(r"\t"),
            '\r' => escaped.push_str(r"\r"),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a text cannot fail.
                    let _ = write!(escaped, r"\u{unit:04x}");
                }
            }
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_steers_a_terminal_or_cannot_be_seen_is_escaped() {
        for (text, expected) in [
            ("größe 😀 e\u{301}\n\tx", "größe 😀 e\u{301}\n\tx"),
            (
                "a\u{1b}[31mb\u{7}\u{7f}\0",
                r"a\u001b[31mb\u0007\u007f\u0000",
            ),
            ("a\u{9b}31m\u{85}b", r"a\u009b31m\u0085b"),
            ("a\rb", r"a\rb"),
            (
                "\u{202e}x\u{2066}\u{200f}\u{61c}",
                r"\u202ex\u2066\u200f\u061c",
            ),
            ("a\u{200b}\u{feff}\u{ad}b", r"a\u200b\ufeff\u00adb"),
            ("\u{e0041}", r"\udb40\udc41"),
            ("a\u{2028}b\u{2029}", r"a\u2028b\u2029"),
            (r"a\u001b", r"a\u001b"),
        ] {
            assert_eq!(printable(text), expected);
        }
        assert_eq!(printable_line("a\n\tb\u{1b}"), r"a\n\tb\u001b");
    }

    proptest! {
        #[test]
        fn nothing_unprintable_is_left(text in any::<String>()) {
            prop_assert!(!printable_line(&text).chars().any(is_unprintable));
            let shown = printable(&text);
            prop_assert!(!shown.chars().any(|c| c != '\n' && c != '\t' && is_unprintable(c)));
            prop_assert_eq!(printable(&shown), shown.as_ref());
        }
    }
}
