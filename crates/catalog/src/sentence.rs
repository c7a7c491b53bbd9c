//! Sentences of descriptions.

/// Words before a full stop that do not end a sentence.
const ABBREVIATIONS: &[&str] = &["e.g", "i.e", "etc", "vs", "cf", "approx", "incl", "no"];

/// First sentence of a text, with its full stop.
pub(crate) fn first_sentence(text: &str) -> &str {
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        let rest = &text[end..];
        let ends = match character {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => rest.starts_with(char::is_whitespace) && !goes_on(&text[..at], rest),
            // An empty line ends a paragraph, and with it a sentence without a full stop.
            '\n' => rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n'),
            _ => false,
        };
        if ends {
            return &text[..end];
        }
    }
    text
}

/// Whether a full stop belongs to an abbreviation.
fn goes_on(before: &str, after: &str) -> bool {
    let word = before
        .rsplit(|character: char| character.is_whitespace() || character == '(')
        .next()
        .unwrap_or_default();
    ABBREVIATIONS
        .iter()
        .any(|abbreviation| word.eq_ignore_ascii_case(abbreviation))
        || after.trim_start().starts_with(char::is_lowercase)
}
