//! Place in a text where something looks like the beginning of a credential.

/// A trigger that was found, and the text around it.
#[derive(Clone, Copy)]
pub(super) struct TriggerPlace<'a> {
    pub(super) text: &'a str,
    /// Position of the trigger.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Up to here everything is dealt with; it is zero or the end of something hidden.
    pub(super) floor: usize,
    /// Whether the text was broken off, so that its end need not be the end of a credential.
    pub(super) broken_off: bool,
}

// === impl TriggerPlace ===

impl<'a> TriggerPlace<'a> {
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    pub(super) fn trigger(&self) -> &'a str {
        &self.text[self.start..self.end]
    }

    /// The byte in front of the trigger, unless it is hidden or there is none.
    pub(super) fn before(&self) -> Option<u8> {
        self.byte_before(self.start)
    }

    pub(super) fn byte_before(&self, at: usize) -> Option<u8> {
        (at > self.floor).then(|| self.bytes()[at - 1])
    }

    pub(super) fn has(&self, byte: u8, at: usize) -> bool {
        self.bytes().get(at) == Some(&byte)
    }

    /// Whether no word goes on into the trigger.
    pub(super) fn begins_word(&self) -> bool {
        self.before()
            .is_none_or(|byte| !byte.is_ascii_alphanumeric())
    }

    /// End of the run of such bytes that begins at `from`.
    pub(super) fn run(&self, from: usize, belongs: impl Fn(u8) -> bool) -> usize {
        self.short_run(from, usize::MAX, belongs)
    }

    /// End of the run, looking at no more than `limit` bytes.
    pub(super) fn short_run(
        &self,
        from: usize,
        limit: usize,
        belongs: impl Fn(u8) -> bool,
    ) -> usize {
        let rest = self.bytes()[from..].iter().take(limit);
        from + rest.take_while(|byte| belongs(**byte)).count()
    }

    /// Number of such bytes in front of the trigger, looking at no more than `limit`.
    pub(super) fn count_before(&self, limit: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let before = self.bytes()[self.floor..self.start]
            .iter()
            .rev()
            .take(limit);
        before.take_while(|byte| belongs(**byte)).count()
    }

    /// Whether a credential that ends here may go on in what was broken off.
    pub(super) fn is_broken_off_at(&self, end: usize) -> bool {
        self.broken_off && end == self.text.len()
    }
}

pub(super) fn has_digit(token: &[u8]) -> bool {
    token.iter().any(u8::is_ascii_digit)
}
