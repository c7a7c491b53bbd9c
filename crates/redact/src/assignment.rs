//! Values that stand beside a name that says secret: `password=…`, `"token": "…"`, `--api-key …`.

use std::ops::Range;

use crate::headers;
use crate::names::{LONGEST_NAME, is_secret_name};
use crate::trigger::{TriggerPlace, has_digit};

/// Bytes of a value that are looked at before it is decided whether it is one.
const LOOK: usize = 256;

/// Spaces that may stand around `=` and `:`.
const SPACES: usize = 8;

/// Words without one of which no name says secret.
pub(super) const TRIGGERS: &str = "
    password passwd passphrase passcode dbpass db_pass pgpass smtp_pass secret token jwt
    apikey api_key api-key privatekey private_key private-key signingkey signing_key
    encryptionkey encryption_key accountkey account_key sharedkey shared_key
    accesskey access_key authkey auth_key authorization cookie";

/// Values that stand for no secret.
const NO_SECRETS: &[&str] = &["null", "none", "nil", "undefined", "true", "false", "..."];

/// A value under a name that has the trigger in it.
pub(super) fn assignment(place: TriggerPlace<'_>) -> Option<Range<usize>> {
    let name = name_around(place);
    if !is_secret_name(&place.text[name.clone()]) {
        return None;
    }
    AssignedValue::read(place, name)?.value()
}

/// A parameter whose name says secret only in a URL or a connection string: `&sig=…`, `;pwd=…`.
pub(super) fn parameter(place: TriggerPlace<'_>) -> Option<Range<usize>> {
    let name = name_around(TriggerPlace {
        end: place.end - 1,
        ..place
    });
    let begins = matches!(
        place.byte_before(name.start),
        None | Some(b'?' | b'&' | b';')
    );
    let whole = place.text[name.clone()].to_ascii_lowercase();
    let is_known = matches!(
        whole.as_str(),
        "sig" | "signature" | "x-amz-signature" | "x-goog-signature" | "pwd"
    );
    // `PWD=` at the beginning is the working directory of a shell.
    let is_directory = whole == "pwd" && place.byte_before(name.start) != Some(b';');
    if !begins || !is_known || is_directory || name.end + 1 != place.end {
        return None;
    }
    bare(place, place.end)
}

/// Value with what stands around it.
struct AssignedValue<'a> {
    place: TriggerPlace<'a>,
    name: Range<usize>,
    /// Whether the name is in quotes.
    quoted: bool,
    separator: Separator,
    /// Start of the value, its quotes included.
    value: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    /// `name=value`, `--name value`
    Equals,
    /// `name = value`
    SpacedEquals,
    /// `name: value`
    Colon,
    /// `<name>value`
    Element,
}

// === impl AssignedValue ===

impl<'a> AssignedValue<'a> {
    fn read(place: TriggerPlace<'a>, name: Range<usize>) -> Option<Self> {
        let bytes = place.bytes();
        let after = place.after_quote(name.end);
        let quoted = after > name.end;
        let sign = place.run_of_spaces(after);
        let rest = &bytes[sign..];
        let (separator, width) = match rest {
            [b'=', b'=' | b'~', ..] | [b':', b':', ..] | [b':', b'/', b'/', ..] => return None,
            [b'=', b'>', ..] | [b':', b'=', ..] => (Separator::SpacedEquals, 2),
            [b'=', b' ', ..] => (Separator::SpacedEquals, 1),
            [b'=', ..] if sign == after => (Separator::Equals, 1),
            [b'=', ..] => (Separator::SpacedEquals, 1),
            [b'%', b'3', b'D' | b'd', ..] if sign == after => (Separator::Equals, 3),
            [b':', ..] => (Separator::Colon, 1),
            [b'>', ..] if place.byte_before(name.start) == Some(b'<') && sign == name.end => {
                (Separator::Element, 1)
            }
            // An option that is followed by another one has no value.
            _ if sign > after
                && place.text[name.clone()].starts_with("--")
                && !place.has(b'-', place.run_of_spaces(sign)) =>
            {
                (Separator::Equals, 0)
            }
            _ => return None,
        };
        Some(Self {
            place,
            name,
            quoted,
            separator,
            value: place.run_of_spaces(sign + width),
        })
    }

    fn value(&self) -> Option<Range<usize>> {
        let opened = self.place.after_quote(self.value);
        if opened > self.value {
            return Some(opened..self.closing_quote(opened));
        }
        if self.quoted && self.separator == Separator::Colon && self.place.has(b'[', self.value) {
            // All of a list in a document that a text quotes.
            let begins = self.value + 1;
            let belongs = |byte: u8| byte != b']' && byte != b'\n';
            return Some(begins..self.place.run(begins, belongs));
        }
        let name = &self.place.text[self.name.clone()];
        match self.separator {
            Separator::Element => {
                let belongs = |byte: u8| byte != b'<' && byte != b'\n';
                Some(self.value..self.place.run(self.value, belongs))
            }
            Separator::Colon if ends_with(name, "authorization") => {
                headers::authorization(self.place, self.value)
            }
            Separator::Colon if ends_with(name, "cookie") => {
                headers::cookie(self.place, self.value)
            }
            Separator::Colon => self.after_colon(),
            Separator::SpacedEquals if self.is_expression() => None,
            Separator::Equals | Separator::SpacedEquals => bare(self.place, self.value),
        }
    }

    /// Colons also stand in sentences. What follows is a value if it looks like one, or if name
    /// and value are all there is on the line.
    fn after_colon(&self) -> Option<Range<usize>> {
        let place = self.place;
        if self.quoted {
            // The value of an object's member that has no quotes is secret if it is a number.
            let is_number = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
            let end = place.short_run(self.value, LOOK, is_number);
            let number = &place.bytes()[self.value..end];
            return has_digit(number).then_some(self.value..end);
        }
        let look = place.short_run(self.value, LOOK, is_bare);
        let word = &place.bytes()[self.value..look];
        let looks_drawn =
            word.len() >= 6 && has_digit(word) && word.iter().any(u8::is_ascii_alphabetic);
        let fills_line = || self.begins_line() && self.ends_line();
        if !looks_drawn && !fills_line() {
            return None;
        }
        bare(place, self.value)
    }

    fn begins_line(&self) -> bool {
        let name = TriggerPlace {
            start: self.name.start,
            ..self.place
        };
        let indent = name.count_before(LONGEST_NAME, |byte| matches!(byte, b' ' | b'\t' | b'-'));
        let before = name.byte_before(name.start - indent);
        before.map_or(name.floor == 0, |before| before == b'\n')
    }

    fn ends_line(&self) -> bool {
        let place = self.place;
        let end = place.run_of_spaces(place.run(self.value, is_bare));
        matches!(place.bytes().get(end), None | Some(b'\r' | b'\n'))
    }

    /// `token = read()` is a piece of a program.
    fn is_expression(&self) -> bool {
        let look = self.place.short_run(self.value, LOOK, is_bare);
        let mut bytes = self.place.bytes()[self.value..look].iter();
        bytes.any(|byte| b"([{".contains(byte))
    }

    /// End of a value in quotes. Inside a quoted text the quotes themselves are escaped, so
    /// the closing one has as many backslashes as the opening one.
    fn closing_quote(&self, opened: usize) -> usize {
        let bytes = self.place.bytes();
        let quote = bytes[opened - 1];
        let depth = opened - 1 - self.value;
        let mut backslashes = 0;
        for (index, byte) in bytes.iter().enumerate().skip(opened) {
            if *byte == quote && (backslashes == depth || (depth == 0 && backslashes % 2 == 0)) {
                return index - depth.min(backslashes);
            }
            if *byte == b'\n' {
                return index;
            }
            backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
        }
        bytes.len()
    }
}

// === impl TriggerPlace ===

impl TriggerPlace<'_> {
    /// End of a few spaces that begin at `from`.
    pub(super) fn run_of_spaces(&self, from: usize) -> usize {
        self.short_run(from, SPACES, |byte| byte == b' ' || byte == b'\t')
    }

    /// Place after the quote at `from`, which may be escaped; `from` if there is none.
    fn after_quote(&self, from: usize) -> usize {
        let quote = self.short_run(from, SPACES, |byte| byte == b'\\');
        match self.bytes().get(quote) {
            Some(b'"' | b'\'' | b'`') => quote + 1,
            _ => from,
        }
    }
}

/// The name around a trigger, without the beginning of one that is too long.
fn name_around(place: TriggerPlace<'_>) -> Range<usize> {
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let before = place.count_before(LONGEST_NAME + 1, belongs);
    place.start - before..place.short_run(place.end, LONGEST_NAME + 1, belongs)
}

/// A value without quotes. A scheme in front of a credential is kept.
fn bare(place: TriggerPlace<'_>, from: usize) -> Option<Range<usize>> {
    // `${env:NAME}` refers to a secret without telling it.
    if matches!(place.bytes()[from..], [b'$', b'{' | b'(', ..]) {
        return None;
    }
    let end = place.run(from, is_bare);
    let value = &place.text[from..end];
    if headers::is_scheme(value) && place.has(b' ', end) {
        let start = place.run_of_spaces(end);
        return Some(start..place.run(start, is_bare));
    }
    let trimmed = value.trim_end_matches([')', ']', '}', '.']);
    let is_trimmed = |one: &&str| one.eq_ignore_ascii_case(trimmed);
    (!NO_SECRETS.iter().any(is_trimmed)).then(|| from..from + trimmed.len())
}

fn is_bare(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b"\"'`&;,<>\\".contains(&byte)
}

fn ends_with(name: &str, ending: &str) -> bool {
    let start = name.len().saturating_sub(ending.len());
    name[start..].eq_ignore_ascii_case(ending)
}
