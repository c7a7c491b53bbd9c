//! Patterns of texts: published as regular expressions, checked by a function each.
//!
//! A literal in garde's `pattern` does both by itself, with garde's feature `regex`. That feature compiles an engine
//! for regular expressions once more for the macro alone, which is a lot for two patterns.

use std::fmt;

use garde::rules::AsStr;
use garde::rules::pattern::Matcher;

/// Pattern that a text has to match.
pub(super) struct TextPattern {
    regex: &'static str,
    matches: fn(&str) -> bool,
}

/// Text with something to see in it.
pub(super) const NOT_BLANK: TextPattern = TextPattern {
    regex: r"[^ \t\r\n]",
    matches: |text| !text.chars().all(is_blank),
};

/// One line that neither begins nor ends with a space.
pub(super) const TRIMMED: TextPattern = TextPattern {
    regex: r"^[^ \t\r\n](.*[^ \t\r\n])?$",
    matches: |text| {
        let is_one_line = !text.is_empty() && !text.contains('\n');
        is_one_line && !text.starts_with(is_blank) && !text.ends_with(is_blank)
    },
};

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n')
}

impl AsStr for TextPattern {
    fn as_str(&self) -> &str {
        self.regex
    }
}

impl Matcher for TextPattern {
    fn is_match(&self, text: &str) -> bool {
        (self.matches)(text)
    }
}

/// Shows the regular expression, which is how schemars takes it into the schema.
impl fmt::Display for TextPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.regex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_what_its_regular_expression_matches() {
        let letters = ["a", "é", " ", "\t", "\r", "\n", "\u{a0}"];
        let mut texts = vec![String::new()];
        for _ in 0..4 {
            let longer = |text: &String| letters.map(|letter| format!("{text}{letter}"));
            let grown: Vec<String> = texts.iter().flat_map(longer).collect();
            texts.extend(grown);
        }
        for pattern in [NOT_BLANK, TRIMMED] {
            let regex = regex::Regex::new(pattern.regex).unwrap();
            for text in &texts {
                let expected = regex.is_match(text);
                assert_eq!(pattern.is_match(text), expected, "{pattern} and {text:?}");
            }
        }
    }
}
