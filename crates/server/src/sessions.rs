//! Sessions of MCP clients.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use mcpproxy_policy::{Caller, Rights};
use mcpproxy_wire::Revision;
use mcpproxy_wire::initialize::ClientHello;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::changes::Changes;
use crate::endpoint::Endpoint;
use crate::in_flight::InFlight;
use crate::message::InSession;
use crate::news::Listener;
use crate::peer::Peer;

/// The most sessions kept; beyond it the one unused for longest makes room.
const MOST_SESSIONS: usize = 10_000;

/// One client that said hello.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) caller: Arc<Caller>,
    /// Where it was opened; it is good for nowhere else.
    endpoint: Endpoint,
    /// Stands for what was offered when it was opened, or when the client was last told of a change.
    told: AtomicU64,
    /// What both sides speak.
    pub(crate) revision: Revision,
    /// What it waits for.
    pub(crate) in_flight: InFlight,
    /// What it said of itself, and what it is asked.
    pub(crate) peer: Arc<Peer>,
    /// Cancelled when the session ends.
    pub(crate) ended: CancellationToken,
    last_used: AtomicU64,
}

/// All open sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    open: RwLock<HashMap<String, Arc<Session>>>,
    since: Instant,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            open: RwLock::default(),
            since: Instant::now(),
        }
    }
}

impl Sessions {
    /// Opens a session and gives its id, which nobody can guess.
    pub(crate) fn open(
        &self,
        hello: ClientHello,
        endpoint: &Endpoint,
        (told, listener): (u64, Listener),
    ) -> String {
        let id = Uuid::new_v4().to_string();
        let ended = CancellationToken::new();
        let peer = Peer::new(&id, hello.capabilities, ended.clone()).who_hears(listener);
        let session = Session {
            peer: Arc::new(peer),
            revision: Revision::negotiate(&hello.protocol_version),
            in_flight: InFlight::default(),
            endpoint: endpoint.clone(),
            told: AtomicU64::new(told),
            caller: Arc::new(Caller {
                session_id: Some(id.clone()),
                client_name: hello.name,
                client_version: hello.version,
                trace_id: None,
                rights: Rights::UseTools,
            }),
            ended,
            last_used: AtomicU64::new(self.now()),
        };
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MOST_SESSIONS {
            evict_oldest(&mut open);
        }
        open.insert(id.clone(), Arc::new(session));
        id
    }

    /// The session with this id, if it was opened at this endpoint.
    pub(crate) fn find(&self, id: &str, endpoint: &Endpoint) -> Option<Arc<Session>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let session = open.get(id).filter(|session| session.endpoint == *endpoint);
        let session = Arc::clone(session?);
        session.last_used.store(self.now(), Ordering::Relaxed);
        Some(session)
    }

    /// Ends a session; false if there is none.
    pub(crate) fn end(&self, id: &str) -> bool {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let Some(session) = open.remove(id) else {
            return false;
        };
        session.ended.cancel();
        true
    }

    fn now(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Session {
    /// What it knows of its client.
    pub(crate) fn client(&self) -> InSession<'_> {
        InSession {
            in_flight: &self.in_flight,
            peer: &self.peer,
        }
    }

    /// Waits until the client has to be told that other tools are offered. Of several streams of a
    /// session one tells it.
    pub(crate) async fn has_other_tools(&self, changes: &mut Changes) {
        loop {
            let told = self.told.load(Ordering::Acquire);
            let now = changes.other_than(told).await;
            let was = self
                .told
                .compare_exchange(told, now, Ordering::AcqRel, Ordering::Acquire);
            if was.is_ok() {
                return;
            }
        }
    }
}

fn evict_oldest(open: &mut HashMap<String, Arc<Session>>) {
    let oldest = open
        .iter()
        .min_by_key(|(_, session)| session.last_used.load(Ordering::Relaxed))
        .map(|(id, _)| id.clone());
    if let Some(session) = oldest.and_then(|id| open.remove(&id)) {
        session.ended.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_bounded_and_end() {
        let sessions = Sessions::default();
        let open = || {
            let knows = (0, Listener::of_nothing());
            sessions.open(ClientHello::default(), &Endpoint::Menu, knows)
        };
        let first = open();
        for _ in 0..MOST_SESSIONS {
            open();
        }
        assert_eq!(sessions.open.read().unwrap().len(), MOST_SESSIONS);
        drop(first);
        let last = open();
        let elsewhere = Endpoint::Offered(mcpproxy_gateway::direct::Scope::All);
        assert!(sessions.find(&last, &elsewhere).is_none());
        let session = sessions.find(&last, &Endpoint::Menu).unwrap();
        assert!(sessions.end(&last));
        assert!(session.ended.is_cancelled());
        assert!(!sessions.end(&last));
        assert!(sessions.find(&last, &Endpoint::Menu).is_none());
    }
}
