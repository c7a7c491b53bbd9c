//! Secret of a token: what an agent sends.
//!
//! It has as much chance in it as nobody can guess, so that its plain hash can be stored. The beginning tells people and
//! scanners what it is.

use std::fmt;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use sha2::{Digest, Sha256};

/// Beginning of every secret.
const PREFIX: &str = "mcpp_";

/// Random bytes of a secret.
const RANDOM_BYTES: usize = 32;

/// Secret of a token. Nothing shows it but [`Self::expose`].
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(String);

impl TokenSecret {
    /// Secret that nobody can guess.
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0_u8; RANDOM_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(format!("{PREFIX}{}", BASE64URL_NOPAD.encode(&bytes))))
    }

    /// Reads what was sent; nothing if no token looks like that.
    pub fn parse(sent: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(sent).ok()?;
        let random = text.strip_prefix(PREFIX)?;
        // Bounded before it is decoded: the header may be long.
        if random.len() != BASE64URL_NOPAD.encode_len(RANDOM_BYTES) {
            return None;
        }
        let bytes = BASE64URL_NOPAD.decode(random.as_bytes()).ok()?;
        (bytes.len() == RANDOM_BYTES).then(|| Self(text.to_owned()))
    }

    /// Text of the secret, for its owner alone.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Hash that is stored in its place.
    pub(super) fn hash(&self) -> String {
        HEXLOWER.encode(&Sha256::digest(self.0.as_bytes()))
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_as_it_was_made_and_nothing_else_is() {
        let secret = TokenSecret::random().unwrap();
        let text = secret.expose().to_owned();
        assert_eq!(text.len(), PREFIX.len() + 43);
        assert_eq!(TokenSecret::parse(text.as_bytes()), Some(secret.clone()));
        assert_ne!(TokenSecret::random().unwrap(), secret);
        assert_eq!(secret.hash().len(), 64);
        assert!(!format!("{secret:?}").contains(&text[5..10]));
        let wrong = [
            String::new(),
            "mcpp_".to_owned(),
            text[1..].to_owned(),
            text[..text.len() - 1].to_owned(),
            format!("{text}A"),
            format!(" {text}"),
            text.to_uppercase(),
            text.replace(&text[5..6], "="),
            format!("mcpp_{}", "A".repeat(1_000_000)),
        ];
        for text in wrong {
            assert_eq!(TokenSecret::parse(text.as_bytes()), None);
        }
        assert_eq!(TokenSecret::parse(&[0xff; 48]), None);
    }
}
