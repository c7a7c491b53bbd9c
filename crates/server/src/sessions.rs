//! Sessions of MCP clients.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use mcpproxy_gateway::Caller;
use mcpproxy_wire::Revision;
use mcpproxy_wire::initialize::ClientHello;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::in_flight::InFlight;

/// The most sessions kept; beyond it the one unused for longest makes room.
const MOST_SESSIONS: usize = 10_000;

/// One client that said hello.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) caller: Arc<Caller>,
    /// What both sides speak.
    pub(crate) revision: Revision,
    /// What it waits for.
    pub(crate) in_flight: InFlight,
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
    pub(crate) fn open(&self, hello: ClientHello) -> String {
        let id = Uuid::new_v4().to_string();
        let session = Session {
            revision: Revision::negotiate(&hello.protocol_version),
            in_flight: InFlight::default(),
            caller: Arc::new(Caller {
                session_id: Some(id.clone()),
                client_name: hello.name,
                client_version: hello.version,
                trace_id: None,
                is_administrator: false,
            }),
            ended: CancellationToken::new(),
            last_used: AtomicU64::new(self.now()),
        };
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MOST_SESSIONS {
            evict_oldest(&mut open);
        }
        open.insert(id.clone(), Arc::new(session));
        id
    }

    /// The session with this id.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Session>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let session = Arc::clone(open.get(id)?);
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
        let first = sessions.open(ClientHello::default());
        for _ in 0..MOST_SESSIONS {
            sessions.open(ClientHello::default());
        }
        assert_eq!(sessions.open.read().unwrap().len(), MOST_SESSIONS);
        drop(first);
        let last = sessions.open(ClientHello::default());
        let session = sessions.find(&last).unwrap();
        assert!(sessions.end(&last));
        assert!(session.ended.is_cancelled());
        assert!(!sessions.end(&last));
        assert!(sessions.find(&last).is_none());
    }
}
