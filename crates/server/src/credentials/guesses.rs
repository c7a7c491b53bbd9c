//! Wrong credentials: whoever shows many of them waits for each further answer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcpproxy_gateway::{Code, Failure};
use tokio::sync::Semaphore;

/// Time that a wrong credential counts.
const COUNTS_FOR: Duration = Duration::from_mins(1);

/// Wrong credentials within that time that are answered at once: a person mistypes, a client is started with an old one.
const FREE: u32 = 4;

/// First delay; each further wrong credential doubles it.
const FIRST_DELAY: Duration = Duration::from_millis(125);

/// Longest delay.
const LONGEST_DELAY: Duration = Duration::from_secs(2);

/// Most answers to one peer that are delayed at a time; the rest is refused at once, so that waiting costs nothing.
const MOST_WAITING: usize = 16;

/// Most peers that are remembered.
const MOST_PEERS: usize = 4_096;

/// Wrong credentials of the last minute, by the address they came from.
#[derive(Debug, Default)]
pub(crate) struct Guesses {
    by_peer: Mutex<HashMap<IpAddr, AddressGuesses>>,
}

#[derive(Debug)]
struct AddressGuesses {
    count: u32,
    last: Instant,
    waiting: Arc<Semaphore>,
}

impl Guesses {
    /// Counts a wrong credential and waits as long as its answer is to be delayed. The error is for a peer of whom too
    /// many are waiting.
    pub(crate) async fn failed(&self, peer: IpAddr) -> Result<(), Failure> {
        let (delay, waiting) = self.count(peer, Instant::now());
        if delay.is_zero() {
            return Ok(());
        }
        let Ok(_place) = waiting.try_acquire() else {
            let wait = u64::try_from(LONGEST_DELAY.as_millis()).unwrap_or(u64::MAX);
            let message = "Too many wrong credentials came from this address, try again later";
            let failure = Failure::new(Code::RateLimited, message);
            return Err(failure.with("retry_after_ms", wait));
        };
        tokio::time::sleep(delay).await;
        Ok(())
    }

    fn count(&self, peer: IpAddr, now: Instant) -> (Duration, Arc<Semaphore>) {
        let mut peers = self.lock();
        if peers.len() >= MOST_PEERS && !peers.contains_key(&peer) {
            peers.retain(|_, guesses| now.duration_since(guesses.last) < COUNTS_FOR);
            if peers.len() >= MOST_PEERS {
                // Who has so many addresses is not slowed by remembering one more of them.
                peers.clear();
            }
        }
        let guesses = peers.entry(peer).or_insert_with(|| AddressGuesses {
            count: 0,
            last: now,
            waiting: Arc::new(Semaphore::new(MOST_WAITING)),
        });
        if now.duration_since(guesses.last) >= COUNTS_FOR {
            guesses.count = 0;
        }
        guesses.count = guesses.count.saturating_add(1);
        guesses.last = now;
        (delay(guesses.count), Arc::clone(&guesses.waiting))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, AddressGuesses>> {
        self.by_peer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Delay of the answer to the so many-th wrong credential.
fn delay(count: u32) -> Duration {
    let Some(doublings) = count.checked_sub(FREE + 1) else {
        return Duration::ZERO;
    };
    let factor = 2_u32.saturating_pow(doublings);
    FIRST_DELAY.saturating_mul(factor).min(LONGEST_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifth_wrong_credential_and_each_after_it_waits_twice_as_long() {
        let delays = (1..=10).map(|count| delay(count).as_millis());
        let expected = [0, 0, 0, 0, 125, 250, 500, 1_000, 2_000, 2_000];
        assert_eq!(delays.collect::<Vec<_>>(), expected);
        assert_eq!(delay(u32::MAX), LONGEST_DELAY);
    }

    #[test]
    fn guesses_count_by_peer_and_for_a_minute() {
        let guesses = Guesses::default();
        let now = Instant::now();
        let [one, other]: [IpAddr; 2] = [[192, 0, 2, 1].into(), [192, 0, 2, 2].into()];
        for _ in 0..4 {
            assert!(guesses.count(one, now).0.is_zero());
        }
        assert!(!guesses.count(one, now).0.is_zero());
        assert!(guesses.count(other, now).0.is_zero());
        assert!(guesses.count(one, now + COUNTS_FOR).0.is_zero());
    }

    #[test]
    fn the_table_of_peers_is_bounded() {
        let guesses = Guesses::default();
        let now = Instant::now();
        for number in 0..10_000_u32 {
            guesses.count(IpAddr::from(number.to_be_bytes()), now);
            assert!(guesses.lock().len() <= MOST_PEERS);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn of_many_who_wait_the_seventeenth_is_refused_at_once() {
        let guesses = Arc::new(Guesses::default());
        let peer: IpAddr = [192, 0, 2, 1].into();
        for _ in 0..FREE {
            guesses.failed(peer).await.unwrap();
        }
        let failed = (0..=MOST_WAITING).map(|_| {
            let guesses = Arc::clone(&guesses);
            async move { guesses.failed(peer).await }
        });
        let failed = futures_util::future::join_all(failed).await;
        let refused: Vec<_> = failed.iter().filter_map(|one| one.as_ref().err()).collect();
        assert_eq!(refused.len(), 1);
        assert_eq!(refused[0].code, Code::RateLimited);
    }
}
