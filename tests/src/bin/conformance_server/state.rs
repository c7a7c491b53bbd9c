//! What the server remembers: for everybody, and for each session.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestStateCodec;
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::Protocol;
use crate::log::Level;

/// How many changes may wait for a client that reads slowly; it misses what is beyond that.
const WAITING_CHANGES: usize = 64;

/// How many subscriptions may be between their acknowledgement and their first look at changes.
const OPENING_SUBSCRIPTIONS: usize = 16;

/// Something that clients may have asked to be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    /// The resource with this URI has other contents.
    Resource(String),
}

/// What all clients share.
pub(crate) struct Shared {
    pub(crate) protocol: Protocol,
    pub(crate) changes: broadcast::Sender<Change>,
    /// Whether the tool `added` is there.
    pub(crate) has_added: AtomicBool,
    pub(crate) tool_revision: AtomicU64,
    pub(crate) prompt_revision: AtomicU64,
    pub(crate) resource_revision: AtomicU64,
    /// How many calls of `wait` have begun.
    pub(crate) waits: AtomicU64,
    /// How many of them were cancelled.
    pub(crate) cancellations: AtomicU64,
    /// How many questions got no answer: their calls were cancelled, or the client refused.
    pub(crate) unanswered: AtomicU64,
    /// Seals what travels through a client and comes back, so that it cannot be changed on the way.
    pub(crate) seal: RequestStateCodec,
}

/// What one session has said; requests without a session get a fresh one each.
#[derive(Debug, Default)]
pub(crate) struct Session {
    level: Mutex<Option<Level>>,
    watched: Mutex<HashSet<String>>,
    opening: Mutex<VecDeque<broadcast::Receiver<Change>>>,
}

impl Shared {
    pub(crate) fn new(protocol: Protocol) -> Self {
        let (changes, _) = broadcast::channel(WAITING_CHANGES);
        let key = [Uuid::new_v4().into_bytes(), Uuid::new_v4().into_bytes()].concat();
        Self {
            protocol,
            changes,
            has_added: AtomicBool::new(false),
            tool_revision: AtomicU64::new(1),
            prompt_revision: AtomicU64::new(1),
            resource_revision: AtomicU64::new(1),
            waits: AtomicU64::new(0),
            cancellations: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
            seal: RequestStateCodec::try_new(key).expect("the key has 32 bytes"),
        }
    }

    /// Tells everybody who listens; that may be nobody.
    pub(crate) fn announce(&self, change: Change) {
        let _ = self.changes.send(change);
    }
}

impl Session {
    pub(crate) fn level(&self) -> Option<Level> {
        *lock(&self.level)
    }

    pub(crate) fn set_level(&self, level: Level) {
        *lock(&self.level) = Some(level);
    }

    pub(crate) fn watch(&self, uri: String) {
        lock(&self.watched).insert(uri);
    }

    pub(crate) fn unwatch(&self, uri: &str) {
        lock(&self.watched).remove(uri);
    }

    pub(crate) fn watches(&self, uri: &str) -> bool {
        lock(&self.watched).contains(uri)
    }

    /// Begins to collect changes before a subscription is acknowledged, so that none is lost right after that.
    pub(crate) fn open_subscription(&self, changes: broadcast::Receiver<Change>) {
        let mut opening = lock(&self.opening);
        if opening.len() == OPENING_SUBSCRIPTIONS {
            opening.pop_front();
        }
        opening.push_back(changes);
    }

    /// The changes since a subscription was opened.
    pub(crate) fn opened_subscription(&self) -> Option<broadcast::Receiver<Change>> {
        lock(&self.opening).pop_front()
    }
}

/// What these locks guard is whole between any two statements, also after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
