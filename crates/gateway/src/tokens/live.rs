//! Tokens in memory: those of the store as they were last read, found by the hash of what an agent sends.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use mcpproxy_activity::StoredToken;
use mcpproxy_policy::{AgentToken, Rights};
use tokio_util::sync::CancellationToken;

use super::TokenSecret;

/// Token that is good until it expires, is revoked or gets another secret.
#[derive(Debug)]
pub(super) struct LiveToken {
    stored: StoredToken,
    rights: Rights,
    /// Last use in milliseconds; 0 before the first one.
    last_used: AtomicI64,
    /// Last use that the store knows.
    last_stored: AtomicI64,
    /// Cancelled when the token is not good any more.
    ended: CancellationToken,
}

/// All tokens. Each has one secret and one id, so both maps have all of them.
#[derive(Debug, Default)]
pub(super) struct LiveTokens {
    by_hash: HashMap<String, Arc<LiveToken>>,
    by_id: HashMap<String, Arc<LiveToken>>,
}

/// Admission of a request by the credential that it shows: the rights of that, and until when they hold.
#[derive(Debug, Clone)]
pub struct Admission {
    /// Rights of the credential.
    pub rights: Rights,
    /// Cancelled when the credential is not good any more: what was opened with it ends.
    pub ended: CancellationToken,
}

// === impl LiveToken ===

impl LiveToken {
    fn new(stored: StoredToken) -> Self {
        let token = AgentToken {
            id: stored.id.as_str().into(),
            name: stored.name.as_str().into(),
            grant: stored.grant.clone(),
        };
        let last_used = stored.last_used.map_or(0, Timestamp::as_millisecond);
        Self {
            rights: Rights::Token(Arc::new(token)),
            last_used: last_used.into(),
            last_stored: last_used.into(),
            ended: CancellationToken::new(),
            stored,
        }
    }

    /// Token as the store has it, with its last use.
    pub(super) fn shown(&self) -> StoredToken {
        let last_used = match self.last_used.load(Ordering::Relaxed) {
            0 => None,
            at => Timestamp::from_millisecond(at).ok(),
        };
        StoredToken {
            last_used,
            ..self.stored.clone()
        }
    }

    fn is_expired(&self, now: Timestamp) -> bool {
        self.stored.expires.is_some_and(|expires| expires <= now)
    }
}

// === impl LiveTokens ===

impl LiveTokens {
    /// Tokens of the store. Those that are here already with the same secret go on, so that what was opened with them
    /// does too; all others end.
    pub(super) fn updated(&self, stored: Vec<StoredToken>) -> Self {
        let tokens = stored.into_iter().map(|stored| {
            let same = |live: &&Arc<LiveToken>| {
                let now = &live.stored;
                (&now.id, &now.grant, now.expires) == (&stored.id, &stored.grant, stored.expires)
            };
            let known = self.by_hash.get(&stored.hash).filter(same);
            known.map_or_else(|| Arc::new(LiveToken::new(stored)), Arc::clone)
        });
        let mut updated = Self::default();
        for token in tokens {
            let (hash, id) = (token.stored.hash.clone(), token.stored.id.clone());
            updated.by_hash.insert(hash, Arc::clone(&token));
            updated.by_id.insert(id, token);
        }
        for (hash, token) in &self.by_hash {
            let new = updated.by_hash.get(hash);
            let goes_on = new.is_some_and(|new| Arc::ptr_eq(new, token));
            if !goes_on {
                token.ended.cancel();
            }
        }
        updated
    }

    /// Admission of whoever sends this secret at this moment.
    pub(super) fn admit(&self, secret: &TokenSecret, now: Timestamp) -> Option<Admission> {
        let token = self.by_hash.get(&secret.hash())?;
        if token.is_expired(now) {
            token.ended.cancel();
            return None;
        }
        token
            .last_used
            .fetch_max(now.as_millisecond(), Ordering::Relaxed);
        Some(Admission {
            rights: token.rights.clone(),
            ended: token.ended.clone(),
        })
    }

    /// Whether rights are those of a token that is good at this moment.
    pub(super) fn is_good(&self, rights: &Arc<AgentToken>, now: Timestamp) -> bool {
        let is_it = |token: &&Arc<LiveToken>| matches!(&token.rights, Rights::Token(own) if Arc::ptr_eq(own, rights));
        let token = self.by_id.get(&*rights.id).filter(is_it);
        token.is_some_and(|token| !token.is_expired(now))
    }

    /// Ends what was opened with tokens that have expired.
    pub(super) fn end_expired(&self, now: Timestamp) {
        let expired = self.by_hash.values().filter(|token| token.is_expired(now));
        expired.for_each(|token| token.ended.cancel());
    }

    /// Ids and times of uses that the store does not know yet; from now on it does.
    pub(super) fn take_uses(&self) -> Vec<(String, Timestamp)> {
        let uses = self.by_hash.values().filter_map(|token| {
            let last = token.last_used.load(Ordering::Relaxed);
            let stored = token.last_stored.swap(last, Ordering::Relaxed);
            let at = Timestamp::from_millisecond(last).ok()?;
            (last > stored).then(|| (token.stored.id.clone(), at))
        });
        uses.collect()
    }

    /// Tokens in the order of their names.
    pub(super) fn by_name(&self) -> Vec<StoredToken> {
        let mut tokens: Vec<StoredToken> =
            self.by_hash.values().map(|token| token.shown()).collect();
        tokens.sort_by(|one, other| one.name.cmp(&other.name));
        tokens
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_policy::TokenGrant;

    use super::*;

    fn stored(name: &str, secret: &TokenSecret, expires: Option<i64>) -> StoredToken {
        StoredToken {
            id: format!("id of {name}"),
            name: name.to_owned(),
            hash: secret.hash(),
            grant: TokenGrant::default(),
            created: Timestamp::UNIX_EPOCH,
            expires: expires.map(|at| Timestamp::from_second(at).unwrap()),
            last_used: None,
        }
    }

    #[test]
    fn a_call_that_had_waited_was_made_after_its_token_was_revoked() {
        let secret = TokenSecret::random().unwrap();
        let live = LiveTokens::default().updated(vec![stored("ci", &secret, Some(100))]);
        let at = |second| Timestamp::from_second(second).unwrap();
        let Rights::Token(token) = live.admit(&secret, at(1)).unwrap().rights else {
            panic!("it is a token");
        };
        assert!(live.is_good(&token, at(99)));
        assert!(!live.is_good(&token, at(100)), "expired");
        assert!(!live.updated(Vec::new()).is_good(&token, at(1)), "revoked");
        let rotated = TokenSecret::random().unwrap();
        let live = live.updated(vec![stored("ci", &rotated, Some(100))]);
        assert!(!live.is_good(&token, at(1)), "it has another secret now");
    }

    #[test]
    fn who_has_the_secret_is_admitted_until_it_expires() {
        let [known, other] = [(); 2].map(|()| TokenSecret::random().unwrap());
        let live = LiveTokens::default().updated(vec![stored("ci", &known, Some(100))]);
        let at = |second| Timestamp::from_second(second).unwrap();
        let admitted = live.admit(&known, at(99)).unwrap();
        assert_eq!(&*admitted.rights.token().unwrap().name, "ci");
        assert!(live.admit(&other, at(99)).is_none());
        assert!(!admitted.ended.is_cancelled());
        assert_eq!(live.take_uses(), [("id of ci".to_owned(), at(99))]);
        assert_eq!(live.take_uses(), []);
        assert!(live.admit(&known, at(100)).is_none());
        assert!(admitted.ended.is_cancelled());
    }

    #[test]
    fn what_was_opened_with_a_secret_ends_with_it() {
        let [first, second] = [(); 2].map(|()| TokenSecret::random().unwrap());
        let now = Timestamp::from_second(1).unwrap();
        let before = LiveTokens::default()
            .updated(vec![stored("a", &first, None), stored("b", &second, None)]);
        let [a, b] = [&first, &second].map(|secret| before.admit(secret, now).unwrap());
        // `a` gets another secret, `b` stays.
        let third = TokenSecret::random().unwrap();
        let after = before.updated(vec![stored("a", &third, None), stored("b", &second, None)]);
        assert!(a.ended.is_cancelled() && !b.ended.is_cancelled());
        assert!(after.admit(&first, now).is_none() && after.admit(&third, now).is_some());
        // `b` is revoked.
        after.updated(vec![stored("a", &third, None)]);
        assert!(b.ended.is_cancelled());
        let soon = LiveTokens::default().updated(vec![stored("c", &first, Some(5))]);
        let c = soon.admit(&first, now).unwrap();
        soon.end_expired(Timestamp::from_second(6).unwrap());
        assert!(c.ended.is_cancelled());
    }
}
