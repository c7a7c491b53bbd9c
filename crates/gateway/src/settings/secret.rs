//! Values that must not be seen.

pub(super) mod credentials;

use std::fmt;

use mcpproxy_redact::mask::MASKED;
use serde::Deserialize;

/// A value that prints as `***`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Secret {
    pub(super) value: String,
    /// The values references were replaced with, or the credentials that were written out. They are secrets of their
    /// own: a server may repeat a token without the `Bearer` that stood before it.
    pub(super) parts: Vec<String>,
}

/// A string of the file with its references replaced; one that had any, or holds a credential, prints as `***`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Secret")]
pub enum SettingText {
    /// Text as written.
    Plain(String),
    /// Secret that came, at least in part, from a reference, or holds a credential.
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

    /// The value itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.value
    }

    /// Parts of the value that references gave, or that are credentials.
    pub(crate) fn referenced_parts(&self) -> &[String] {
        &self.parts
    }

    /// The secret without parts that are plain numbers, if those are harmless: a port or a timeout that came from a
    /// variable would be hidden in every other number. Nothing if nothing is left.
    pub(super) fn without_numbers(mut self, are_harmless: bool) -> Option<Self> {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if are_harmless {
            self.parts.retain(|part| !is_number(part));
        }
        (!are_harmless || !is_number(&self.value)).then_some(self)
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
    /// The text itself.
    pub fn expose(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Secret(secret) => secret.expose(),
        }
    }
}

impl From<Secret> for SettingText {
    /// A secret only if a part of it is.
    fn from(text: Secret) -> Self {
        if text.parts.is_empty() {
            Self::Plain(text.value)
        } else {
            Self::Secret(text)
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(MASKED)
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
