//! Tokens and keys that begin with a mark of who issued them.

use std::ops::Range;

use crate::trigger::{TriggerPlace, has_digit};

/// Tokens that begin with one of some fixed prefixes.
struct Prefixed {
    /// The prefixes, with spaces between them.
    prefixes: &'static str,
    /// Characters that they consist of after the prefix.
    alphabet: Alphabet,
    shortest: usize,
    longest: usize,
}

#[derive(Clone, Copy)]
enum Alphabet {
    /// `A-Z` and `0-9`.
    Capitals,
    /// Letters and digits.
    Plain,
    /// Letters, digits, `-` and `_`.
    Url,
    /// URL-safe letters as in `Url` that also look random: the prefix alone could begin ordinary words.
    RandomUrl,
    /// Letters, digits, `-`, `_` and `.`.
    Dotted,
}

/// Lengths are those the issuers use, or somewhat less where they vary.
const PREFIXED: &[Prefixed] = &[
    // Amazon: the name of a key, which a secret key belongs to.
    exactly("AKIA ASIA", Alphabet::Capitals, 16),
    // Google: API keys, access tokens, client secrets.
    exactly("AIza", Alphabet::Url, 35),
    at_least("ya29.", Alphabet::Dotted, 20),
    at_least("GOCSPX-", Alphabet::Url, 20),
    // GitHub and GitLab.
    at_least("ghp_ gho_ ghu_ ghs_ ghr_", Alphabet::Plain, 30),
    at_least("github_pat_", Alphabet::Url, 22),
    at_least("glpat- glrt-", Alphabet::Dotted, 20),
    at_least("gldt- glptt-", Alphabet::Url, 20),
    // Slack.
    at_least("xoxa- xoxb- xoxc- xoxd- xoxe- xoxe.xox", Alphabet::Url, 10),
    at_least("xoxo- xoxp- xoxr- xoxs-", Alphabet::Url, 10),
    at_least("xapp-", Alphabet::RandomUrl, 20),
    // OpenAI, Anthropic and those who copied them; Groq; xAI.
    at_least("sk-", Alphabet::RandomUrl, 20),
    at_least("gsk_", Alphabet::Plain, 30),
    at_least("xai-", Alphabet::RandomUrl, 40),
    // Stripe.
    at_least("sk_live_ rk_live_ sk_test_ rk_test_", Alphabet::Plain, 10),
    at_least("whsec_", Alphabet::Plain, 20),
    // Package registries.
    at_least("npm_", Alphabet::Plain, 36),
    at_least("pypi-", Alphabet::RandomUrl, 40),
    at_least("dckr_pat_", Alphabet::Url, 20),
    // Ours.
    at_least("mcpp_", Alphabet::Url, 43),
    // Others.
    at_least("hf_ shpat_ lin_api_", Alphabet::Plain, 30),
    at_least("dop_v1_", Alphabet::Plain, 40),
    at_least("hvs.", Alphabet::Url, 24),
    at_least("ATATT3", Alphabet::RandomUrl, 40),
    at_least("AGE-SECRET-KEY-1", Alphabet::Capitals, 40),
];

/// Bytes of a token that are looked at to tell whether it looks random.
const LOOK: usize = 128;

/// Shortest rest after a prefix that is hidden where a text breaks off in it, if the prefix
/// alone could begin ordinary words.
const BROKEN_OFF_RANDOM: usize = 8;

/// A token with one of the prefixes.
pub(super) fn prefixed(place: TriggerPlace<'_>) -> Option<Range<usize>> {
    if !place.begins_word() {
        return None;
    }
    // Triggers are found in any case, but prefixes are written in one.
    let has_trigger = |shape: &&Prefixed| shape.each().any(|prefix| prefix == place.trigger());
    let shape = PREFIXED.iter().find(has_trigger)?;
    let belongs = |byte: u8| shape.alphabet.has(byte);
    if matches!(shape.alphabet, Alphabet::RandomUrl) {
        let look = place.short_run(place.end, LOOK, belongs);
        let token = &place.bytes()[place.end..look];
        let cut = place.is_broken_off_at(look) && token.len() >= BROKEN_OFF_RANDOM;
        let whole = token.len() >= shape.shortest && looks_random(token);
        return (whole || (cut && has_digit(token))).then(|| place.start..place.run(look, belongs));
    }
    // One more than the longest is enough to see that it is too long.
    let end = place.short_run(place.end, shape.longest.saturating_add(1), belongs);
    let length = end - place.end;
    let next = place.bytes().get(end);
    let goes_on = next.is_some_and(u8::is_ascii_alphanumeric);
    let long_enough = length >= shape.shortest || place.is_broken_off_at(end);
    (long_enough && length <= shape.longest && !goes_on).then_some(place.start..end)
}

/// `eyJ….….…`: three parts of which the first is a JSON object.
pub(super) fn json_web_token(place: TriggerPlace<'_>) -> Option<Range<usize>> {
    let continues = |byte: u8| Alphabet::Url.has(byte);
    if place.trigger() != "eyJ" || place.before().is_some_and(continues) {
        return None;
    }
    let header = place.run(place.end, continues);
    if place.is_broken_off_at(header) {
        return (header - place.start >= 10).then_some(place.start..header);
    }
    if header - place.start < 10 || !place.has(b'.', header) {
        return None;
    }
    let payload = place.run(header + 1, continues);
    if place.is_broken_off_at(payload) {
        return Some(place.start..payload);
    }
    if payload - header < 4 || !place.has(b'.', payload) {
        return None;
    }
    // Encrypted tokens have five parts. An unsigned one ends with the dot.
    let mut end = place.run(payload + 1, continues);
    for _ in 0..2 {
        if place.has(b'.', end) {
            let next = place.run(end + 1, continues);
            if next > end + 1 {
                end = next;
            }
        }
    }
    Some(place.start..end)
}

/// `SG.`, 22 characters, a dot and 43 more.
pub(super) fn send_grid(place: TriggerPlace<'_>) -> Option<Range<usize>> {
    if place.trigger() != "SG." || !place.begins_word() {
        return None;
    }
    let url = |byte: u8| Alphabet::Url.has(byte);
    let name = place.short_run(place.end, 32, url);
    if place.is_broken_off_at(name) && name - place.end >= BROKEN_OFF_RANDOM {
        return Some(place.start..name);
    }
    if name - place.end < 16 || !place.has(b'.', name) {
        return None;
    }
    let end = place.run(name + 1, url);
    (end - name > 30 || place.is_broken_off_at(end)).then_some(place.start..end)
}

/// The token of a Telegram bot: its number, `:AA` and 33 characters.
pub(super) fn telegram(place: TriggerPlace<'_>) -> Option<Range<usize>> {
    let digits = place.count_before(13, |byte| byte.is_ascii_digit());
    if !place.trigger().ends_with("AA") || !(8..=12).contains(&digits) {
        return None;
    }
    let end = place.short_run(place.end, 40, |byte| Alphabet::Url.has(byte));
    let is_whole = (32..=36).contains(&(end - place.end));
    (is_whole || place.is_broken_off_at(end)).then_some(place.start - digits..end)
}

/// A private key in PEM, from its first line to its last; to the end of the text if the last
/// line is missing.
pub(super) fn private_key(place: TriggerPlace<'_>) -> Option<Range<usize>> {
    const LONGEST_LABEL: usize = 64;
    let is_label = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
    let label = place.short_run(place.end, LONGEST_LABEL, is_label);
    if place.trigger() != "-----BEGIN"
        || memchr::memmem::find(&place.bytes()[place.end..label], b"PRIVATE KEY").is_none()
    {
        return None;
    }
    let rest = &place.bytes()[label..];
    let end = memchr::memmem::find(rest, b"-----END").map(|at| {
        let label = place.short_run(label + at + b"-----END".len(), LONGEST_LABEL, is_label);
        place.short_run(label, "-----".len(), |byte| byte == b'-')
    });
    Some(place.start..end.unwrap_or(place.text.len()))
}

/// Whether these bytes look drawn rather than written: they have a digit, and capitals mixed with small
/// letters or a long piece without separators.
fn looks_random(token: &[u8]) -> bool {
    let token = &token[..token.len().min(LOOK)];
    let has_both_cases =
        token.iter().any(u8::is_ascii_uppercase) && token.iter().any(u8::is_ascii_lowercase);
    let has_long_piece = token
        .split(|byte| matches!(byte, b'-' | b'_' | b'.'))
        .any(|piece| piece.len() >= 16 && has_digit(piece));
    has_digit(token) && (has_both_cases || has_long_piece)
}

const fn at_least(prefixes: &'static str, alphabet: Alphabet, shortest: usize) -> Prefixed {
    Prefixed {
        longest: usize::MAX,
        ..exactly(prefixes, alphabet, shortest)
    }
}

const fn exactly(prefixes: &'static str, alphabet: Alphabet, length: usize) -> Prefixed {
    Prefixed {
        prefixes,
        alphabet,
        shortest: length,
        longest: length,
    }
}

/// All prefixes of tokens.
pub(super) fn prefixes() -> impl Iterator<Item = &'static str> {
    PREFIXED.iter().flat_map(Prefixed::each)
}

impl Prefixed {
    fn each(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.prefixes.split(' ')
    }
}

// === impl Alphabet ===

impl Alphabet {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Plain => byte.is_ascii_alphanumeric(),
            Self::Url | Self::RandomUrl => byte.is_ascii_alphanumeric() || b"-_".contains(&byte),
            Self::Dotted => byte.is_ascii_alphanumeric() || b"-_.".contains(&byte),
        }
    }
}
