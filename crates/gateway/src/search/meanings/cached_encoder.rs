//! Encoder of queries, kept while there are queries and given back when there are none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_embed::Encoder;
use tokio::time::Instant;

/// Time without a query after which the encoder's memory is given back.
const IDLE: Duration = Duration::from_mins(2);

/// Encoder that is kept for the next query.
#[derive(Default)]
pub(super) struct CachedEncoder(Mutex<Option<Used>>);

struct Used {
    encoder: Arc<Encoder>,
    last_use: Instant,
}

impl CachedEncoder {
    /// The encoder, and whether it was loaded for this: then the caller has to see that it is given back.
    pub(super) fn get(&self, now: Instant) -> Option<(Arc<Encoder>, bool)> {
        let mut kept = self.lock();
        if let Some(used) = kept.as_mut() {
            used.last_use = now;
            return Some((Arc::clone(&used.encoder), false));
        }
        let encoder = Arc::new(Encoder::load()?);
        *kept = Some(Used {
            encoder: Arc::clone(&encoder),
            last_use: now,
        });
        Some((encoder, true))
    }

    /// Gives the encoder back if nobody used it for long; else the moment to look again.
    pub(super) fn forget_idle(&self, now: Instant) -> Option<Instant> {
        let mut kept = self.lock();
        let until = kept.as_ref()?.last_use + IDLE;
        if now < until {
            return Some(until);
        }
        *kept = None;
        None
    }

    fn lock(&self) -> MutexGuard<'_, Option<Used>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, feature = "semantic"))]
mod tests {
    use super::*;

    #[test]
    fn the_encoder_is_given_back_when_nobody_used_it_for_long() {
        let (cached, start) = (CachedEncoder::default(), Instant::now());
        assert_eq!(cached.forget_idle(start), None, "there is none");
        let (first, is_new) = cached.get(start).unwrap();
        assert!(is_new);
        let (again, is_new) = cached.get(start + IDLE / 2).unwrap();
        assert!(!is_new && Arc::ptr_eq(&first, &again));
        let memory = Arc::downgrade(&first);
        drop((first, again));

        let until = start + IDLE / 2 + IDLE;
        assert_eq!(cached.forget_idle(start + IDLE), Some(until), "used since");
        assert!(memory.upgrade().is_some());
        assert_eq!(cached.forget_idle(until), None);
        assert!(memory.upgrade().is_none(), "its memory is given back");
        let (_, is_new) = cached.get(until).unwrap();
        assert!(is_new, "the next query loads it again");
    }
}
