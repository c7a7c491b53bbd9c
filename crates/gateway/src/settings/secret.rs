//! Values that must not be seen.

use std::fmt;

use mcpproxy_redact::mask::MASKED;

/// A value that prints as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    value: String,
    /// The values references were replaced with. They are secrets of their own: a server may
    /// repeat a token without the `Bearer` that stood before it.
    parts: Vec<String>,
}

/// A string of the file with its references replaced; one that had any prints as `***`.
#[derive(Clone, PartialEq, Eq)]
pub enum SettingText {
    /// As written.
    Plain(String),
    /// It came, at least in part, from a reference.
    Secret(Secret),
}

impl Secret {
    /// Hides a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            parts: Vec::new(),
        }
    }

    /// Hides a value, and the parts of it that came from references.
    pub(super) fn with_parts(value: String, parts: Vec<String>) -> Self {
        Self { value, parts }
    }

    /// The value itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.value
    }

    /// Every text that would give the secret away: the value, what references gave, the
    /// credentials after an authentication scheme (`Bearer …`), and the password of an address.
    pub fn exposing_texts(&self) -> impl Iterator<Item = String> {
        let credentials = self
            .value
            .split_once(' ')
            .filter(|(scheme, _)| scheme.chars().all(|one| one.is_ascii_alphanumeric()))
            .map(|(_, credentials)| credentials.trim());
        std::iter::once(self.value.as_str())
            .chain(self.parts.iter().map(String::as_str))
            .chain(credentials)
            .chain(password(&self.value))
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    }
}

/// The password of an address: `postgres://user:password@host`.
fn password(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password)
}

impl SettingText {
    /// A secret only if a reference gave a part of it.
    pub(super) fn new(text: Secret) -> Self {
        if text.parts.is_empty() {
            Self::Plain(text.value)
        } else {
            Self::Secret(text)
        }
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Secret(secret) => secret.expose(),
        }
    }

    /// Another text that is as secret as this one.
    pub(super) fn replaced_by(self, text: String) -> Self {
        match self {
            Self::Plain(_) => Self::Plain(text),
            Self::Secret(secret) => Self::Secret(Secret::with_parts(text, secret.parts)),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(MASKED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(MASKED)
    }
}

impl fmt::Debug for SettingText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => write!(formatter, "{text:?}"),
            Self::Secret(secret) => write!(formatter, "{secret:?}"),
        }
    }
}

impl fmt::Display for SettingText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => formatter.write_str(text),
            Self::Secret(secret) => write!(formatter, "{secret}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_secret_that_gives_it_away_is_known() {
        let texts = |value: &str| Secret::new(value).exposing_texts().collect::<Vec<_>>();
        assert_eq!(texts("Bearer abc"), ["Bearer abc", "abc"]);
        let address = "postgres://me:pass@word@host/log?a=b:c@d";
        assert_eq!(texts(address), [address, "pass@word"]);
        for plain in ["postgres://me@host/a:b", "postgres://host", "abc"] {
            assert_eq!(texts(plain), [plain]);
        }
    }
}
