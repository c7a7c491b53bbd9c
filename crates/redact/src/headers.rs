//! Credentials in headers and URLs.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

use crate::trigger::{TriggerPlace, has_digit};

/// Reader of base64 that does not mind how a writer filled the last character.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));

/// Bytes that a matcher looks at before it decides.
const LOOK: usize = 512;

/// Schemes whose name is followed by one credential.
const SCHEMES: &str = "bearer basic token apikey api-key key negotiate ntlm ssws splunk dpop";

/// Schemes whose name is followed by several parameters, a signature among them.
const PARAMETER_SCHEMES: &str = "digest hawk oauth signature aws4-hmac-sha256";

/// `Bearer` and a token, wherever it stands. After the word may also follow ordinary ones.
pub(super) fn bearer(place: TriggerPlace<'_>) -> Option<Range<usize>> {
    let (start, end) = next_word(place, is_token)?;
    let token = &place.bytes()[start..end];
    // A challenge names parameters: `Bearer realm="…"`.
    let is_parameter = place.has(b'"', end);
    let look = &token[..token.len().min(LOOK)];
    let has_inner_capital =
        look.iter().skip(1).any(u8::is_ascii_uppercase) && look.iter().any(u8::is_ascii_lowercase);
    let looks_drawn =
        token.len() >= 20 || (token.len() >= 6 && (has_digit(look) || has_inner_capital));
    (looks_drawn && !is_parameter).then_some(start..end)
}

/// `Basic` and what decodes to a user and a password.
pub(super) fn basic(place: TriggerPlace<'_>) -> Option<Range<usize>> {
    let (start, end) = next_word(place, |byte| is_token(byte) && !b".~".contains(&byte))?;
    let look = &place.bytes()[start..end.min(start + LOOK)];
    let decoded = decoded(look);
    let is_pair = decoded.contains(&b':') && !decoded.iter().any(u8::is_ascii_control);
    (is_pair && end - start >= 4).then_some(start..end)
}

/// The password in `scheme://user:password@host`.
pub(super) fn url_password(place: TriggerPlace<'_>) -> Option<Range<usize>> {
    let ends = |byte: u8| {
        byte.is_ascii_whitespace() || byte.is_ascii_control() || b"/?#\"'<>`\\|".contains(&byte)
    };
    let end = place.run(place.end, |byte| !ends(byte));
    let authority = &place.bytes()[place.end..end];
    let colon = memchr::memchr(b':', authority)?;
    let at = match memchr::memrchr(b'@', authority) {
        Some(at) => at,
        // The host is missing; a port would be digits.
        None if place.is_broken_off_at(end)
            && !authority[colon + 1..].iter().all(u8::is_ascii_digit) =>
        {
            authority.len()
        }
        None => return None,
    };
    (colon < at).then(|| place.end + colon + 1..place.end + at)
}

/// The part of a Slack webhook's address that lets anybody post.
pub(super) fn slack_webhook(place: TriggerPlace<'_>) -> Option<Range<usize>> {
    let path = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte);
    let end = place.run(place.end, path);
    (end - place.end >= 20 || place.is_broken_off_at(end)).then_some(place.end..end)
}

/// The credential in the value of an `Authorization` header that begins at `from`. The scheme is
/// kept; a sentence about the header is no credential.
pub(super) fn authorization(place: TriggerPlace<'_>, from: usize) -> Option<Range<usize>> {
    let in_line = |byte: u8| !b"\r\n\"'`\\".contains(&byte);
    let in_word = |byte: u8| in_line(byte) && !b" \t,;<>".contains(&byte);
    let first = from..place.short_run(from, LOOK, in_word);
    if first.len() >= LOOK {
        return Some(from..place.run(from, in_word));
    }
    let word = place.text.get(first.clone())?;
    let second_start = place.run_of_spaces(first.end);
    let is_alone = |end: usize| {
        let next = place.run_of_spaces(end);
        place.bytes().get(next).is_none_or(|byte| !in_line(*byte))
    };
    if is_listed(word, PARAMETER_SCHEMES) {
        // Double quotes stand around the parameters.
        let in_parameters = |byte: u8| in_line(byte) || byte == b'"';
        return Some(second_start..place.run(second_start, in_parameters));
    }
    let is_scheme = is_listed(word, SCHEMES);
    if is_alone(first.end) {
        return (!is_scheme && !word.is_empty()).then_some(first);
    }
    let second = second_start..place.short_run(second_start, LOOK, in_word);
    if second_start > first.end && (is_scheme || second.len() >= LOOK || is_alone(second.end)) {
        return Some(second_start..place.run(second_start, in_word));
    }
    (word.len() >= 8 && has_digit(word.as_bytes())).then_some(first)
}

/// The value of a `Cookie` or `Set-Cookie` header that begins at `from`.
pub(super) fn cookie(place: TriggerPlace<'_>, from: usize) -> Option<Range<usize>> {
    let in_line = |byte: u8| !b"\r\n\"'`\\".contains(&byte);
    let name = place.short_run(from, LOOK, |byte| in_line(byte) && !b"=; ".contains(&byte));
    place
        .has(b'=', name)
        .then(|| from..place.run(from, in_line))
}

/// Whether a word is a scheme that a credential follows.
pub(super) fn is_scheme(word: &str) -> bool {
    is_listed(word, SCHEMES)
}

fn is_listed(word: &str, list: &str) -> bool {
    let mut words = list.split_ascii_whitespace();
    words.any(|one| one.eq_ignore_ascii_case(word))
}

/// The word after the trigger, if spaces and nothing else are between them.
fn next_word(place: TriggerPlace<'_>, belongs: impl Fn(u8) -> bool) -> Option<(usize, usize)> {
    let start = place.run_of_spaces(place.end);
    if start == place.end || !place.begins_word() {
        return None;
    }
    let end = place.run(start, belongs);
    (end > start).then_some((start, end))
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

/// Bytes that base64 of either alphabet stands for, padded or not; nothing if it is not base64.
fn decoded(text: &[u8]) -> Vec<u8> {
    let end = text.iter().rposition(|byte| *byte != b'=');
    let text = &text[..end.map_or(0, |last| last + 1)];
    // The first character of a group says less than a byte.
    let text = &text[..text.len() - usize::from(text.len() % 4 == 1)];
    let standard = text.iter().map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    });
    let standard: Vec<u8> = standard.collect();
    BASE64.decode(standard).unwrap_or_default()
}
