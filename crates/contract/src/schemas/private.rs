//! Items that [`branded_id!`](crate::branded_id) needs in the crate that uses it. Not for anybody else.

pub use garde;
pub use schemars;
pub use serde;

/// Most characters that may follow the prefix.
const LONGEST_SUFFIX: usize = 64;

/// Part of a wrong id that is repeated to the caller; the rest says nothing more.
const LONGEST_ECHO: usize = 80;

/// A text that is not the id it was taken for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{given}' is no {prefix} id: send `{prefix}_` followed by 1 to {LONGEST_SUFFIX} letters, digits, `_` or `-`, \
     for example {prefix}_123"
)]
pub struct InvalidId {
    prefix: &'static str,
    given: String,
}

/// Whether ids may begin with this.
pub const fn is_prefix(prefix: &str) -> bool {
    let bytes = prefix.as_bytes();
    if bytes.is_empty() || bytes.len() > 32 || !bytes[0].is_ascii_lowercase() {
        return false;
    }
    let mut index = 0;
    while index < bytes.len() {
        if !matches!(bytes[index], b'a'..=b'z' | b'0'..=b'9' | b'_') {
            return false;
        }
        index += 1;
    }
    bytes[bytes.len() - 1] != b'_'
}

/// The text itself, if it has the form of an id with this prefix.
pub fn parse(prefix: &'static str, text: String) -> Result<String, InvalidId> {
    let suffix = text
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('_'));
    let holds = suffix.is_some_and(|suffix| {
        (1..=LONGEST_SUFFIX).contains(&suffix.len())
            && suffix
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    });
    if holds {
        return Ok(text);
    }
    let given = text.chars().take(LONGEST_ECHO);
    Err(InvalidId {
        prefix,
        given: given.flat_map(char::escape_debug).collect(),
    })
}

/// Schema of an id, described by the lines of its documentation comment.
pub fn schema(prefix: &str, lines: &[&str]) -> schemars::Schema {
    let lines = lines.iter().map(|line| line.trim());
    let description: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    schemars::json_schema!({
        "type": "string",
        "description": description.join(" "),
        "pattern": format!("^{prefix}_[A-Za-z0-9_-]{{1,{LONGEST_SUFFIX}}}$"),
        "examples": [format!("{prefix}_123")],
    })
}
