//! Ids of events: positions in the log, sealed for those who may not see all of it.
//!
//! A position counts every record. A token that sees its own alone would learn from two ids how many others were made
//! in between.

use data_encoding::BASE64URL_NOPAD;
use mcpproxy_activity::LogPosition;
use mcpproxy_policy::RecordScope;
use sha2::{Digest, Sha256};

/// Random bytes in front of a sealed position: without them two ids of one place would be equal.
const NONCE: usize = 12;

/// Bytes that tell an id of ours from any other.
const CHECK: usize = 8;

/// Longest id that is read: a position in a hundred chains.
const LONGEST: usize = 8 * 1024;

/// Writer and reader of the ids that one asker gets.
pub struct EventIds {
    /// Key of an asker that may not see all.
    key: Option<[u8; 32]>,
}

impl EventIds {
    /// Ids for an asker with this scope. The key comes from the id of the token, which is random, the same for every
    /// gateway on this store for as long as there is the token, and shown to nobody. It must not come from what is on
    /// record: there may be nothing yet, and the oldest is removed one day.
    pub fn of(scope: &RecordScope) -> Self {
        let random = uuid::Uuid::new_v4();
        let known = match scope {
            RecordScope::All => return Self::plain(),
            RecordScope::Token(id) => id.as_bytes(),
            // They have no stream to come back to: only tokens and the administrator follow events.
            RecordScope::Session(_) | RecordScope::Nothing => random.as_bytes(),
        };
        let key = Sha256::new_with_prefix("event ids").chain_update(known);
        Self {
            key: Some(key.finalize().into()),
        }
    }

    /// Ids for an asker that may see all: positions as they are.
    pub fn plain() -> Self {
        Self { key: None }
    }

    /// Id of an event after which the log was followed up to this position.
    pub fn write(&self, position: &LogPosition) -> String {
        let Some(key) = &self.key else {
            return position.to_string();
        };
        // Every number takes the same room, so that the length tells nothing.
        let mut text = format!("{position:#}").into_bytes();
        let nonce = uuid::Uuid::new_v4().into_bytes();
        let mut sealed = nonce[..NONCE].to_vec();
        sealed.extend(check(key, &nonce[..NONCE], &text));
        cover(key, &nonce[..NONCE], &mut text);
        sealed.extend(text);
        BASE64URL_NOPAD.encode(&sealed)
    }

    /// Position that an id stands for; nothing if it is not one that this asker was given.
    pub fn read(&self, id: &str) -> Option<LogPosition> {
        let Some(key) = &self.key else {
            return LogPosition::parse(id);
        };
        let sealed = (id.len() <= LONGEST).then_some(id.as_bytes())?;
        let sealed = BASE64URL_NOPAD.decode(sealed).ok()?;
        let (nonce, rest) = sealed.split_at_checked(NONCE)?;
        let (expected, text) = rest.split_at_checked(CHECK)?;
        let mut text = text.to_vec();
        cover(key, nonce, &mut text);
        let genuine = check(key, nonce, &text) == expected;
        LogPosition::parse(std::str::from_utf8(&text).ok().filter(|_| genuine)?)
    }
}

/// Covers a text, or uncovers it again.
fn cover(key: &[u8; 32], nonce: &[u8], text: &mut [u8]) {
    for (block, number) in text.chunks_mut(32).zip(0_u32..) {
        let pad = Sha256::new_with_prefix(key).chain_update([0]);
        let pad = pad.chain_update(nonce).chain_update(number.to_be_bytes());
        for (byte, pad) in block.iter_mut().zip(pad.finalize()) {
            *byte ^= pad;
        }
    }
}

/// Check of a text that only a holder of the key can make.
fn check(key: &[u8; 32], nonce: &[u8], text: &[u8]) -> [u8; CHECK] {
    let hash = Sha256::new_with_prefix(key).chain_update([1]);
    let hash = hash.chain_update(nonce).chain_update(text).finalize();
    std::array::from_fn(|index| hash[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(seq: u64) -> LogPosition {
        let chain = uuid::Uuid::from_u128(7).simple();
        LogPosition::parse(&format!("{chain}.{seq}")).unwrap()
    }

    #[test]
    fn ids_of_a_token_told_how_many_records_others_made() {
        let ids = EventIds { key: Some([7; 32]) };
        let (first, second) = (ids.write(&position(9)), ids.write(&position(1_000_000)));
        assert_eq!(ids.read(&first), Some(position(9)));
        assert_eq!(ids.read(&second), Some(position(1_000_000)));
        assert_eq!(first.len(), second.len());
        assert_ne!(ids.write(&position(9)), first);
        let others = EventIds { key: Some([8; 32]) };
        assert_eq!(others.read(&first), None);
        let mut changed = first.clone().into_bytes();
        changed[40] ^= 1;
        assert_eq!(ids.read(&String::from_utf8(changed).unwrap()), None);
        for wrong in [
            "",
            "yesterday",
            &position(9).to_string(),
            &"A".repeat(10_000),
        ] {
            assert_eq!(ids.read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_id_was_refused_that_was_given_before_anything_was_on_record() {
        let of = |id: &str| EventIds::of(&RecordScope::Token(id.to_owned()));
        let given = of("one").write(&LogPosition::default());
        assert_eq!(of("one").read(&given), Some(LogPosition::default()));
        assert_eq!(of("another").read(&given), None);
        for scope in [RecordScope::Nothing, RecordScope::Session("s".to_owned())] {
            let given = EventIds::of(&scope).write(&position(9));
            assert!(!given.contains('.'), "{given}");
        }
    }

    #[test]
    fn who_sees_all_gets_the_position_itself() {
        let ids = EventIds::plain();
        assert_eq!(ids.write(&position(9)), position(9).to_string());
        assert_eq!(ids.read(&position(9).to_string()), Some(position(9)));
    }
}
