//! Hiding secrets in text that leaves the program.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// What a secret is replaced with.
pub const MASKED: &str = "***";

/// Shorter values are not masked: they would turn up inside ordinary words.
const SHORTEST_SECRET: usize = 6;

/// The secret values the configuration resolved, to be hidden wherever they turn up.
#[derive(Clone, Default)]
pub struct Mask {
    /// Longest first, so that a secret that contains another is hidden whole.
    secrets: Vec<String>,
}

impl Mask {
    /// Collects the values to hide.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let distinct: BTreeSet<String> = secrets
            .into_iter()
            .filter(|secret| secret.len() >= SHORTEST_SECRET)
            .collect();
        let mut secrets: Vec<String> = distinct.into_iter().collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    /// The text with every secret replaced by `***`.
    pub fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        for secret in &self.secrets {
            if masked.contains(secret.as_str()) {
                masked = Cow::Owned(masked.replace(secret.as_str(), MASKED));
            }
        }
        masked
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Mask({} secrets)", self.secrets.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_every_secret_and_keeps_short_values() {
        let mask = Mask::new(["topsecret".into(), "topsecretlong".into(), "ab".into()]);
        assert_eq!(
            mask.apply("x topsecretlong y topsecret z ab"),
            "x *** y *** z ab"
        );
        assert_eq!(mask.apply("nothing here"), "nothing here");
        assert_eq!(format!("{mask:?}"), "Mask(2 secrets)");
    }
}
