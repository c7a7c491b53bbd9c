//! Who is told when a resource of a server changes.
//!
//! However many there are, the server has one subscription for each address. Who keeps it is
//! `shelf::streams`; here is what is wanted and what came of it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

use crate::CallError;
use crate::board::Board;

/// The most addresses that are watched at one server.
const MOST_WATCHED: usize = 1_000;

/// Somebody who is told of the changes of one resource, until this is dropped.
#[derive(Debug)]
pub struct Subscription {
    board: Arc<Board>,
    uri: Arc<str>,
    told: watch::Receiver<Told>,
    seen: u64,
}

/// The server is no longer there to tell of anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended;

/// The addresses that are watched at one server.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    table: Mutex<HashMap<Arc<str>, Entry>>,
    /// Wakes who keeps the subscriptions.
    pub(crate) bell: Notify,
    /// Counts what the server acknowledged.
    pub(crate) acknowledged: watch::Sender<u64>,
}

#[derive(Debug)]
struct Entry {
    guards: usize,
    told: watch::Sender<Told>,
}

/// What is known of one address.
#[derive(Debug, Clone)]
struct Told {
    updates: u64,
    standing: Standing,
    /// Whether it was granted before and then was not for a while.
    has_lapsed: bool,
}

#[derive(Debug, Clone)]
enum Standing {
    /// The server is still to be asked.
    Wanted,
    /// The server will tell.
    Active,
    /// It will not.
    Refused(CallError),
    /// It is gone for good.
    Ended,
}

// === impl Subscription ===

impl Subscription {
    /// Waits until the resource has changed since this was last asked. Nothing is lost when the
    /// future is dropped; changes that come together count as one.
    pub async fn updated(&mut self) -> Result<(), Ended> {
        loop {
            let told = self.told.borrow_and_update().clone();
            if told.updates != self.seen {
                self.seen = told.updates;
                return Ok(());
            }
            if matches!(told.standing, Standing::Ended) || self.told.changed().await.is_err() {
                return Err(Ended);
            }
        }
    }

    /// Waits until the server has said whether it will tell.
    pub(crate) async fn granted(&mut self, deadline: Instant) -> Result<(), CallError> {
        let started = Instant::now();
        let is_settled = |told: &Told| !matches!(told.standing, Standing::Wanted);
        let settled = timeout_at(deadline, self.told.wait_for(is_settled)).await;
        let told = settled.map_err(|_| CallError::Timeout {
            after: started.elapsed(),
            sent: true,
        })?;
        match told.as_deref() {
            Ok(Told {
                standing: Standing::Refused(error),
                ..
            }) => Err(error.clone()),
            Ok(Told {
                standing: Standing::Ended,
                ..
            })
            | Err(_) => Err(CallError::unavailable("the server is stopped")),
            Ok(_) => Ok(()),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let watched = &self.board.shelf.watched;
        let mut table = watched.lock();
        let Some(entry) = table.get_mut(&self.uri) else {
            return;
        };
        entry.guards -= 1;
        if entry.guards == 0 {
            table.remove(&self.uri);
            drop(table);
            watched.bell.notify_one();
        }
    }
}

// === impl Watched ===

impl Watched {
    /// Has an address watched.
    pub(crate) fn watch(board: &Arc<Board>, uri: &str) -> Result<Subscription, CallError> {
        let watched = &board.shelf.watched;
        let mut table = watched.lock();
        if !table.contains_key(uri) && table.len() >= MOST_WATCHED {
            return Err(CallError::unavailable(format!(
                "{MOST_WATCHED} of its resources are watched already"
            )));
        }
        let uri: Arc<str> = uri.into();
        let entry = table.entry(Arc::clone(&uri)).or_insert_with(|| Entry {
            guards: 0,
            told: watch::Sender::new(Told {
                updates: 0,
                standing: Standing::Wanted,
                has_lapsed: false,
            }),
        });
        entry.guards += 1;
        if matches!(entry.told.borrow().standing, Standing::Refused(_)) {
            // Whoever was refused is about to leave; this one has the server asked again.
            entry
                .told
                .send_modify(|told| told.standing = Standing::Wanted);
        }
        let told = entry.told.subscribe();
        let seen = told.borrow().updates;
        drop(table);
        watched.bell.notify_one();
        Ok(Subscription {
            board: Arc::clone(board),
            uri,
            told,
            seen,
        })
    }

    /// Whether anybody is to be told of anything.
    pub(crate) fn is_in_use(&self) -> bool {
        !self.lock().is_empty()
    }

    /// The addresses that the server has to tell of.
    pub(crate) fn wanted(&self) -> HashSet<Arc<str>> {
        let table = self.lock();
        let wanted = table.iter().filter(|(_, entry)| {
            let standing = &entry.told.borrow().standing;
            matches!(standing, Standing::Wanted | Standing::Active)
        });
        wanted.map(|(uri, _)| Arc::clone(uri)).collect()
    }

    /// A resource has changed. One that is part of what is watched changes that as well.
    pub(crate) fn update(&self, changed: &str) {
        for (uri, entry) in self.lock().iter() {
            if is_part(changed, uri) {
                entry.told.send_modify(|told| told.updates += 1);
            }
        }
    }

    /// The server will tell of an address from now on. What it would have told of while it was not
    /// granted may have been missed, so that counts as a change.
    pub(crate) fn grant(&self, uri: &str) {
        self.settle(uri, |told| {
            told.standing = Standing::Active;
            told.updates += u64::from(std::mem::take(&mut told.has_lapsed));
        });
    }

    /// The server says which addresses it will tell of.
    pub(crate) fn acknowledge(&self, uris: &[String]) {
        for uri in uris {
            self.grant(uri);
        }
        // A stream for lists may say that there is none of these on it.
        if !uris.is_empty() {
            self.acknowledged.send_modify(|count| *count += 1);
        }
    }

    /// The server will not tell of an address, if it has not said that it will.
    pub(crate) fn refuse(&self, uri: &str, error: CallError) {
        self.settle(uri, |told| {
            if matches!(told.standing, Standing::Wanted) {
                told.standing = Standing::Refused(error);
            }
        });
    }

    /// What was granted no longer is.
    pub(crate) fn lapse(&self) {
        for entry in self.lock().values() {
            entry.told.send_if_modified(|told| {
                let was_active = matches!(told.standing, Standing::Active);
                if was_active {
                    told.standing = Standing::Wanted;
                    told.has_lapsed = true;
                }
                was_active
            });
        }
        self.bell.notify_one();
    }

    /// Another connection begins, on which everything is asked for anew.
    pub(crate) fn reset(&self) {
        for entry in self.lock().values() {
            entry.told.send_if_modified(|told| {
                let was_refused = matches!(told.standing, Standing::Refused(_));
                if was_refused {
                    told.standing = Standing::Wanted;
                }
                was_refused
            });
        }
        self.lapse();
    }

    /// The server is gone for good.
    pub(crate) fn end(&self) {
        for entry in self.lock().values() {
            entry
                .told
                .send_modify(|told| told.standing = Standing::Ended);
        }
    }

    fn settle(&self, uri: &str, change: impl FnOnce(&mut Told)) {
        if let Some(entry) = self.lock().get(uri) {
            entry.told.send_modify(change);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Entry>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an address is that of a resource, or of something below it.
fn is_part(address: &str, resource: &str) -> bool {
    match address.strip_prefix(resource) {
        Some("") => true,
        Some(rest) => resource.ends_with('/') || rest.starts_with(['/', '?', '#']),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;

    fn board() -> Arc<Board> {
        Arc::new(Board::new(State::Starting))
    }

    #[test]
    fn a_part_of_a_resource_changes_the_resource() {
        for (address, resource, expected) in [
            ("file:///a", "file:///a", true),
            ("file:///a/b", "file:///a", true),
            ("file:///a/b", "file:///a/", true),
            ("file:///a#x", "file:///a", true),
            ("file:///ab", "file:///a", false),
            ("file:///", "file:///a", false),
        ] {
            assert_eq!(is_part(address, resource), expected, "{address} {resource}");
        }
    }

    #[tokio::test]
    async fn all_who_watch_an_address_are_told_and_the_last_one_ends_it() {
        let board = board();
        let watched = &board.shelf.watched;
        let mut one = Watched::watch(&board, "test:a").unwrap();
        let mut two = Watched::watch(&board, "test:a").unwrap();
        let mut other = Watched::watch(&board, "test:b").unwrap();
        watched.grant("test:a");
        let soon = Instant::now() + std::time::Duration::from_secs(10);
        assert_eq!(one.granted(soon).await, Ok(()));
        watched.update("test:a");
        watched.update("test:a");
        assert_eq!(one.updated().await, Ok(()));
        assert_eq!(two.updated().await, Ok(()));
        drop(one);
        assert_eq!(watched.wanted().len(), 2);
        drop(two);
        assert_eq!(watched.wanted().len(), 1);
        watched.refuse("test:b", CallError::unavailable("no"));
        assert_eq!(other.granted(soon).await, Err(CallError::unavailable("no")));
        assert!(watched.wanted().is_empty() && watched.is_in_use());
        watched.end();
        assert_eq!(other.updated().await, Err(Ended));
        drop(other);
        assert!(!watched.is_in_use());
    }

    #[tokio::test]
    async fn what_may_have_been_missed_counts_as_a_change() {
        let board = board();
        let mut one = Watched::watch(&board, "test:a").unwrap();
        let watched = &board.shelf.watched;
        watched.reset();
        watched.grant("test:a");
        assert_eq!(one.told.borrow().updates, 0);
        watched.lapse();
        watched.grant("test:a");
        assert_eq!(one.updated().await, Ok(()));
        watched.grant("test:a");
        assert_eq!(one.told.borrow().updates, 1);
        watched.lapse();
        watched.refuse("test:a", CallError::unavailable("no"));
        assert!(watched.wanted().is_empty());
        watched.lapse();
        assert!(watched.wanted().is_empty());
        watched.reset();
        assert_eq!(watched.wanted().len(), 1);
    }

    #[test]
    fn the_number_of_watched_addresses_is_bounded() {
        let board = board();
        let all: Vec<Subscription> = (0..MOST_WATCHED)
            .map(|number| Watched::watch(&board, &format!("test:{number}")).unwrap())
            .collect();
        assert!(Watched::watch(&board, "test:more").is_err());
        assert!(Watched::watch(&board, "test:0").is_ok());
        drop(all);
        assert!(Watched::watch(&board, "test:more").is_ok());
    }
}
