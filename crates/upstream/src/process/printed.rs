//! Lines that a program printed, as people may see them: secrets hidden, also those that a bound cuts through, and
//! nothing in them that steers a terminal or cannot be seen.

use std::borrow::Cow;

use mcpproxy_redact::Mask;
use mcpproxy_support::printable::printable_line;

/// Line that a program printed, or the beginning of one.
pub(crate) struct PrintedLine<'a> {
    text: Cow<'a, str>,
    is_cut: bool,
    mask: &'a Mask,
}

impl<'a> PrintedLine<'a> {
    /// Line of which so many bytes are looked at. One that has all of them may go on, and so it counts as cut.
    pub(crate) fn read(bytes: &'a [u8], most: usize, mask: &'a Mask) -> Self {
        let is_cut = bytes.len() >= most;
        let bytes = &bytes[..bytes.len().min(most)];
        let bytes = if is_cut { whole(bytes) } else { bytes };
        Self {
            text: String::from_utf8_lossy(bytes),
            is_cut,
            mask,
        }
    }

    /// The line, which may go on if it is open.
    pub(crate) fn open(mut self, is_open: bool) -> Self {
        self.is_cut |= is_open;
        self
    }

    /// The line with control characters escaped.
    pub(crate) fn escaped(&self) -> String {
        let shown = self.hide(self.text.trim_end_matches('\r'));
        // Once more, for a secret that control characters were hiding.
        self.hide(&printable_line(&shown)).into_owned()
    }

    /// The line with control characters left out.
    pub(crate) fn without_controls(&self) -> String {
        let shown = self.hide(&self.text);
        let plain: String = shown.chars().filter(|one| !one.is_control()).collect();
        printable_line(&self.hide(&plain)).into_owned()
    }

    fn hide<'b>(&self, text: &'b str) -> Cow<'b, str> {
        if self.is_cut {
            self.mask.apply_to_beginning(text)
        } else {
            self.mask.apply(text)
        }
    }
}

/// Bytes without the beginning of a character that they end with.
fn whole(bytes: &[u8]) -> &[u8] {
    match bytes.utf8_chunks().last() {
        Some(last) if last.invalid().len() < 4 && is_begun(last.invalid()) => {
            &bytes[..bytes.len() - last.invalid().len()]
        }
        _ => bytes,
    }
}

/// Whether these bytes begin a character and lack its end.
fn is_begun(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_was_cut_in_half_and_its_beginning_shown() {
        let long = "s3cret-é-".repeat(600);
        let mask = Mask::new([long.clone()]);
        for most in 100..120 {
            for text in [long.clone(), format!("x\u{1b}{long}")] {
                let line = PrintedLine::read(text.as_bytes(), most, &mask);
                for shown in [line.escaped(), line.without_controls()] {
                    assert!(
                        !shown.contains("s3cret") && shown.ends_with("***"),
                        "{shown}"
                    );
                }
            }
        }
        let whole = PrintedLine::read(b"s3cret-", 100, &mask);
        assert_eq!(whole.escaped(), "s3cret-", "it is no beginning");
    }

    #[test]
    fn what_cannot_be_seen_is_escaped_and_what_is_no_text_is_marked() {
        let mask = Mask::default();
        for (line, escaped, without) in [
            (&b"a\x1b[0m\tb\r"[..], r"a\u001b[0m\tb", "a[0mb"),
            (
                "\u{202e}x\u{200b}".as_bytes(),
                r"\u202ex\u200b",
                r"\u202ex\u200b",
            ),
            (
                b"\xff end \xc3",
                "\u{fffd} end \u{fffd}",
                "\u{fffd} end \u{fffd}",
            ),
        ] {
            let line = PrintedLine::read(line, 100, &mask);
            assert_eq!(line.escaped(), escaped);
            assert_eq!(line.without_controls(), without);
        }
    }
}
