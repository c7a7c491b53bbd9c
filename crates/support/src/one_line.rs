//! Foreign text on one line. This module is pure.

use crate::printable::is_hidden;

/// The text with every run of spaces, line breaks and control characters as one space, without
/// characters that cannot be seen, cut with `…` so that it has at most `limit` characters.
pub fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    let mut space = false;
    for character in text.chars().filter(|character| !is_hidden(*character)) {
        if character.is_whitespace() || character.is_control() {
            space = length > 0;
            continue;
        }
        let needed = 1 + usize::from(space);
        if length + needed > limit {
            return shortened(line, limit);
        }
        if std::mem::take(&mut space) {
            line.push(' ');
        }
        line.push(character);
        length += needed;
    }
    line
}

/// Makes room for the mark that says that something was left out.
fn shortened(mut line: String, limit: usize) -> String {
    while line.chars().count() >= limit && line.pop().is_some() {}
    line.truncate(line.trim_end().len());
    line.push('…');
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_becomes_one_bounded_line() {
        let table = [
            ("  a\n\n b\t c ", 20, "a b c"),
            ("abcdef", 6, "abcdef"),
            ("abcdefg", 6, "abcde…"),
            ("abcd efg", 6, "abcd…"),
            ("a\u{202e}b\u{200b}c\u{1b}[0m", 20, "abc [0m"),
            ("äöüß", 3, "äö…"),
            ("", 5, ""),
        ];
        for (text, limit, expected) in table {
            assert_eq!(one_line(text, limit), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_fits(text in any::<String>(), limit in 1_usize..40) {
            let line = one_line(&text, limit);
            prop_assert!(line.chars().count() <= limit);
            prop_assert!(!line.chars().any(|c| c.is_control() || is_hidden(c)));
        }
    }
}
