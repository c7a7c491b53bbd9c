//! Escapes in a text that is no document, such as a message that quotes one.
//!
//! Servers write `\u0026` for `&`, or for every character that is not ASCII, so a secret with such a character is
//! not spelled as it is known.

use std::ops::Range;

/// A text with its escapes undone.
pub(super) struct Undone {
    pub(super) text: String,
    /// Escapes: where the character of each is, and how far it reaches in the text as written.
    escapes: Vec<(usize, Range<usize>)>,
}

/// Undoes `\uXXXX`, however often the backslash was escaped itself; nothing if there is none.
pub(super) fn undo(text: &str) -> Option<Undone> {
    let mut undone = Undone {
        text: String::new(),
        escapes: Vec::new(),
    };
    let mut copied_to = 0;
    let mut from = 0;
    while let Some(found) = text[from..].find("\\u") {
        let mark = from + found + 1;
        from = mark + 1;
        let Some((character, end)) = read(text, mark) else {
            continue;
        };
        let before = &text[copied_to..mark];
        let start = copied_to + before.trim_end_matches('\\').len();
        undone.text.push_str(&text[copied_to..start]);
        undone.escapes.push((undone.text.len(), start..end));
        undone.text.push(character);
        copied_to = end;
        from = end;
    }
    undone.text.push_str(&text[copied_to..]);
    (!undone.escapes.is_empty()).then_some(undone)
}

/// The character of the `uXXXX` at `mark`, and where it ends. Half of a pair is no character.
fn read(text: &str, mark: usize) -> Option<(char, usize)> {
    let first = unit(&text[mark + 1..])?;
    let rest = &text[mark + 5..];
    let after = rest.trim_start_matches('\\');
    let is_escaped = after.len() < rest.len();
    let second = after.strip_prefix('u').filter(|_| is_escaped);
    let units = [first].into_iter().chain(second.and_then(unit));
    let character = char::decode_utf16(units).next()?.ok()?;
    match character.len_utf16() {
        1 => Some((character, mark + 5)),
        _ => Some((character, text.len() - after.len() + 5)),
    }
}

/// The number that a text begins with, in four hexadecimal digits.
pub(super) fn unit(text: &str) -> Option<u16> {
    let digits = text.get(..4)?;
    let is_hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16)
        .ok()
        .filter(|_| is_hexadecimal)
}

impl Undone {
    /// Range of the text as written that a range of the undone text comes from.
    pub(super) fn written(&self, range: &Range<usize>) -> Range<usize> {
        self.place(range.start)..self.place(range.end)
    }

    /// Place of the text as written that a place of the undone text comes from.
    fn place(&self, at: usize) -> usize {
        let before = self.escapes.partition_point(|(place, _)| *place < at);
        let Some((place, written)) = before.checked_sub(1).map(|last| &self.escapes[last]) else {
            return at;
        };
        let character = self.text[*place..].chars().next().map_or(0, char::len_utf8);
        written.end + (at - place - character)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_text_as_written() {
        let text = r"a\u0026b \\\u00fcc \u00zz \ud83d\ude00! \ud83d \ud83d\\ude00";
        let undone = undo(text).unwrap();
        assert_eq!(undone.text, r"a&b üc \u00zz 😀! \ud83d 😀");
        for (part, written) in [
            ("a&b", r"a\u0026b"),
            ("&", r"\u0026"),
            ("üc", r"\\\u00fcc"),
            ("zz 😀!", r"zz \ud83d\ude00!"),
            ("a", "a"),
        ] {
            let start = undone.text.find(part).unwrap();
            let range = undone.written(&(start..start + part.len()));
            assert_eq!(&text[range], written);
        }
        assert!(undo(r"C:\users \u12 \u+123").is_none());
    }
}
