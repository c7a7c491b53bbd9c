//! Going through the text of a JSON document, or the beginning of one.
//!
//! Only strings and numbers are looked at; everything else is passed over. Nothing is parsed into a
//! tree, because what is recorded may be broken off anywhere, and what has no secrets must stay
//! byte for byte.

use std::borrow::Cow;

use super::{Layer, Redactor};
use crate::escapes::unit;
use crate::mask::MASKED;
use crate::names::is_secret_name;

/// The document with its secrets hidden, and where in the result it stops being JSON, if it does.
pub(super) fn walk<'a>(
    redactor: &Redactor,
    text: &'a str,
    layer: Layer<'_>,
) -> (Cow<'a, str>, Option<usize>) {
    let mut walk = Walk {
        redactor,
        layer,
        text,
        at: 0,
        copied_to: 0,
        output: String::new(),
        is_quiet: !redactor.is_suspicious(text, layer.own),
        under_secret_name: false,
        open: Vec::new(),
    };
    let is_json = walk.run();
    if walk.copied_to == 0 {
        return (Cow::Borrowed(text), (!is_json).then_some(walk.at));
    }
    let mut output = walk.output;
    output.push_str(&text[walk.copied_to..]);
    let foreign = output.len() - (text.len() - walk.at);
    (Cow::Owned(output), (!is_json).then_some(foreign))
}

struct Walk<'a, 'b> {
    redactor: &'b Redactor,
    layer: Layer<'b>,
    text: &'a str,
    /// Position that is looked at next.
    at: usize,
    /// Up to here the text is in the output, changed or not; zero as long as nothing changed.
    copied_to: usize,
    output: String,
    /// Nothing in the text as written may be a value or a shape to hide. Then only names
    /// and strings with escapes have to be looked at.
    is_quiet: bool,
    /// The name in front of the next value says secret.
    under_secret_name: bool,
    /// The objects and lists around the next value: whether it is a list under such a name.
    open: Vec<bool>,
}

impl Walk<'_, '_> {
    /// Goes through the document; `false` if it met something that is not JSON.
    fn run(&mut self) -> bool {
        while let Some(byte) = self.text.as_bytes().get(self.at) {
            match byte {
                b'"' => self.string(),
                b'-' | b'0'..=b'9' => self.number(),
                b'[' => self.enter(self.under_secret_name),
                b'{' => self.enter(false),
                b']' | b'}' => {
                    self.open.pop();
                    self.at += 1;
                }
                b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                _ if self.literal() => {}
                _ => return false,
            }
        }
        true
    }

    fn enter(&mut self, is_secret_list: bool) {
        self.open.push(is_secret_list);
        self.under_secret_name = false;
        self.at += 1;
    }

    /// Passes `true`, `false` or `null`, or the beginning of one at the end of the text.
    fn literal(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let word = ["true", "false", "null"]
            .into_iter()
            .find(|word| rest.starts_with(word) || word.starts_with(rest));
        self.under_secret_name = false;
        self.at += word.map_or(0, |word| word.len().min(rest.len()));
        word.is_some()
    }

    fn number(&mut self) {
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        let length = rest
            .iter()
            .position(|byte| !byte.is_ascii_digit() && !b"+-.eE".contains(byte))
            .unwrap_or(rest.len());
        self.at += length;
        let number = &self.text[start..self.at];
        if self.takes_secret() || self.is_secret_number(number) {
            self.replace(start, &format!("\"{MASKED}\""));
        }
    }

    fn is_secret_number(&self, number: &str) -> bool {
        let (known, own) = (&self.redactor.known, self.layer.own);
        if self.layer.broken_off && self.at == self.text.len() {
            let mut found = Vec::new();
            known.find_broken_off(number, &mut found);
            own.find_broken_off(number, &mut found);
            if !found.is_empty() {
                return true;
            }
        }
        own.is_exactly(number) || (!self.is_quiet && (known.is_in(number) || own.is_in(number)))
    }

    fn string(&mut self) {
        let start = self.at;
        let scan = scan(&self.text[start + 1..]);
        let written = &self.text[start + 1..start + 1 + scan.length];
        self.at = start + 1 + scan.length + usize::from(scan.is_closed);
        let is_name = scan.is_closed && self.is_before_colon();
        // A string that nothing can be in is the rule.
        let may_skip = self.is_quiet && !scan.has_escapes && scan.is_closed;
        let value = if scan.has_escapes {
            Cow::Owned(decode(written))
        } else {
            Cow::Borrowed(written)
        };
        let layer = Layer {
            broken_off: self.layer.broken_off && !scan.is_closed,
            ..self.layer
        };
        let hidden = if is_name {
            self.under_secret_name = is_secret_name(&value);
            if may_skip {
                return;
            }
            let hidden = self.redactor.name(&value, layer);
            // What is left may say secret where the whole did not.
            self.under_secret_name |= is_secret_name(&hidden);
            hidden
        } else if self.takes_secret() {
            Cow::Borrowed(MASKED)
        } else if may_skip && !self.layer.own.is_exactly(value.trim()) {
            return;
        } else {
            self.redactor.string(&value, layer)
        };
        if *hidden != *value {
            let mut encoded = serde_json::Value::from(&*hidden).to_string();
            if !scan.is_closed {
                encoded.pop();
            }
            self.replace(start, &encoded);
        }
    }

    /// Whether the value that was just passed is secret by the name it stands under.
    fn takes_secret(&mut self) -> bool {
        let in_secret_list = self.open.last() == Some(&true);
        std::mem::take(&mut self.under_secret_name) || in_secret_list
    }

    fn is_before_colon(&self) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
    }

    /// Puts something else in the place of what was read since `start`.
    fn replace(&mut self, start: usize, replacement: &str) {
        self.output.push_str(&self.text[self.copied_to..start]);
        self.output.push_str(replacement);
        self.copied_to = self.at;
    }
}

/// Form of a string in a document after its opening quote.
#[derive(Default)]
struct Scan {
    /// Length without the closing quote.
    length: usize,
    has_escapes: bool,
    /// Whether the closing quote is there.
    is_closed: bool,
}

fn scan(text: &str) -> Scan {
    let bytes = text.as_bytes();
    let mut scan = Scan::default();
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[scan.length..]) {
        scan.length += found;
        if bytes[scan.length] == b'"' {
            scan.is_closed = true;
            return scan;
        }
        scan.has_escapes = true;
        scan.length = (scan.length + 2).min(bytes.len());
    }
    scan.length = bytes.len();
    scan
}

/// The value of a string. An escape that is broken off is left out; one that does not exist stays
/// as it is written; half a surrogate pair becomes the replacement character.
fn decode(written: &str) -> String {
    let mut decoded = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        decoded.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(kind) = rest.chars().next() else {
            break;
        };
        rest = &rest[kind.len_utf8()..];
        match kind {
            '"' | '\\' | '/' => decoded.push(kind),
            'b' => decoded.push('\u{8}'),
            'f' => decoded.push('\u{c}'),
            'n' => decoded.push('\n'),
            'r' => decoded.push('\r'),
            't' => decoded.push('\t'),
            'u' => match unicode(rest) {
                Some((character, length)) => {
                    decoded.push(character);
                    rest = &rest[length..];
                }
                None if rest.len() < 4 => rest = "",
                None => decoded.push_str("\\u"),
            },
            other => {
                decoded.push('\\');
                decoded.push(other);
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

/// The character after `\u`, and how many bytes it is written with.
fn unicode(text: &str) -> Option<(char, usize)> {
    let first = unit(text)?;
    let second = text[4..].strip_prefix("\\u").and_then(unit);
    let mut characters = char::decode_utf16([first].into_iter().chain(second));
    let character = characters.next()?.unwrap_or(char::REPLACEMENT_CHARACTER);
    let length = if character.len_utf16() == 1 { 4 } else { 10 };
    Some((character, length))
}
