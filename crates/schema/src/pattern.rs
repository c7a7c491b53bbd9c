//! Patterns: regular expressions as JSON Schema has them, on an engine that never runs away.
//!
//! The engine is `regex-lite`: it compiles in a hundredth of the time of its large sister, and its classes `\d` and
//! `\w` mean what ECMAScript, the language of schemas, means by them. It has no look-around, no back references and
//! no classes of Unicode; a schema with such a pattern cannot be used.

use mcpproxy_support::one_line::one_line;
use regex_lite::{Regex, RegexBuilder};

/// Sizes, in bytes, of which a compiled pattern takes the first that suffices; the last is the most it may take.
const SIZES: [usize; 5] = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18];

/// Work of the engine that counts as one step: bytes of text times bytes of the compiled pattern.
const WORK_OF_STEP: usize = 512;

/// The longest pattern, in bytes.
const LENGTH_LIMIT: usize = 4096;

/// The longest pattern that a message repeats, in characters.
const SOURCE_SHOWN: usize = 100;

/// Text pattern of a schema, compiled.
#[derive(Debug)]
pub(crate) struct TextPattern {
    regex: Regex,
    size: usize,
    /// Source, as the schema has it.
    pub(crate) source: String,
}

impl TextPattern {
    pub(crate) fn compile(source: &str) -> Result<Self, String> {
        if source.len() > LENGTH_LIMIT {
            return Err(format!("a pattern is longer than {LENGTH_LIMIT} bytes"));
        }
        let translated = translated(source);
        let build = |size: usize| {
            let regex = RegexBuilder::new(&translated).size_limit(size).build();
            regex.map(|regex| (regex, size))
        };
        let mut first = build(SIZES[0]);
        for size in &SIZES[1..] {
            first = first.or_else(|_| build(*size));
        }
        let (regex, size) = first.map_err(|error| {
            let shown = one_line(source, SOURCE_SHOWN);
            format!("the pattern '{shown}' cannot be used: {error}")
        })?;
        Ok(Self {
            regex,
            size,
            source: source.to_owned(),
        })
    }

    /// Number of steps that a search in a text counts for.
    pub(crate) fn cost(&self, text: &str) -> usize {
        text.len().saturating_mul(self.size) / WORK_OF_STEP
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// A pattern of ECMAScript in the words of the engine, where the two differ: inside a class `[` and doubled signs are
/// ordinary there, and some escaped characters stand for themselves.
fn translated(source: &str) -> String {
    let mut pattern = String::with_capacity(source.len());
    let mut characters = source.chars().peekable();
    let mut is_in_class = false;
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(plain @ ('<' | '>')) => pattern.push(plain),
                Some('0') => pattern.push_str("\\x00"),
                Some('c') => {
                    let letter = characters.next().unwrap_or('@');
                    pattern.push_str(&format!("\\x{:02X}", letter as u32 % 32));
                }
                Some(escaped) => pattern.extend(['\\', escaped]),
                None => pattern.push('\\'),
            },
            '[' if is_in_class => pattern.push_str("\\["),
            '&' | '-' | '~' if is_in_class && characters.peek() == Some(&character) => {
                // The first may be the dash of a range.
                characters.next();
                pattern.extend([character, '\\', character]);
            }
            '[' => {
                is_in_class = true;
                pattern.push('[');
            }
            ']' => {
                is_in_class = false;
                pattern.push(']');
            }
            other => pattern.push(other),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_ecmascript() {
        for (pattern, text, expected) in [
            ("^a\\/b$", "a/b", true),
            ("^[^[]+$", "abc", true),
            ("^[^[]+$", "a[c", false),
            ("^[a&&b]+$", "a&b", true),
            ("^[!--]+$", "!,-", true),
            ("^\\d+$", "12", true),
            ("^\\d+$", "৪২", false),
            ("^\\cJ$", "\n", true),
            ("^\\u00e4$", "ä", true),
            ("es", "expression", true),
            ("^(?<year>\\d{4})-\\d\\d$", "2026-11", true),
        ] {
            let compiled = TextPattern::compile(pattern).unwrap();
            assert_eq!(compiled.is_match(text), expected, "{pattern} {text}");
        }
        for pattern in [
            "(?=a)b",
            "(a)\\1",
            "((x{1,1000}){1,1000}){1,1000}",
            "(",
            "\\p{L}",
        ] {
            assert!(TextPattern::compile(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn larger_patterns_cost_more() {
        let small = TextPattern::compile("^a").unwrap();
        let large = TextPattern::compile("^[a-z]{1,300}$").unwrap();
        assert!(small.cost("x") < large.cost("x"));
        assert!(large.cost(&"x".repeat(1_000)) > 10_000);
    }
}
