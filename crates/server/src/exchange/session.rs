//! Sessions of clients: what `initialize` opened, and what belongs to it until it ends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::time::Instant;

use mcpproxy_gateway::client::LogLevel;
use mcpproxy_policy::Caller;
use mcpproxy_wire::initialize::ClientHello;
use mcpproxy_wire::{Json, Revision, RpcError};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::change_feed::ChangeFeed;
use super::client_requests::ClientRequests;
use super::endpoint::Endpoint;
use super::in_flight::InFlight;
use super::params::RequestParams;

/// Most sessions that are kept; beyond it the one unused for longest makes room.
const MOST_SESSIONS: usize = 10_000;

/// Session of one client.
#[derive(Debug)]
pub(crate) struct Session {
    /// Caller that its requests count for, but for what a single request adds.
    pub(crate) caller: Arc<Caller>,
    /// Endpoint it was opened at; it is good for no other.
    pub(crate) endpoint: Endpoint,
    /// Revision that both sides speak.
    pub(crate) revision: Revision,
    /// Id on the wire; empty before `initialize`. Requests of one session may stand in for each other
    /// where a server does not say which one it means.
    pub(crate) id: Arc<str>,
    /// Capabilities that the client declared; none before `initialize`.
    pub(crate) capabilities: Option<Json>,
    /// Position in [`LogLevel::ALL`].
    log_level: AtomicUsize,
    /// Requests under way, so that the client can cancel one.
    pub(crate) in_flight: InFlight,
    /// Client requests that wait for their responses.
    pub(crate) client_requests: ClientRequests,
    /// Changes that the client is notified of.
    pub(crate) changes: ChangeFeed,
    /// Cancelled when the session ends.
    pub(crate) ended: CancellationToken,
    /// Moment in the milliseconds of [`now`].
    last_used: AtomicU64,
}

/// All open sessions of the HTTP endpoints, by the id on the wire.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: RwLock<HashMap<Arc<str>, Arc<Session>>>,
}

// === impl Session ===

impl Session {
    /// Session of the client that said this `initialize`, until `ended` is cancelled. Its id,
    /// which nobody can guess, is that of its caller.
    pub(crate) fn new(
        hello: ClientHello,
        endpoint: Endpoint,
        changes: ChangeFeed,
        ended: CancellationToken,
    ) -> Self {
        let id = Uuid::new_v4().to_string();
        Self {
            id: id.as_str().into(),
            revision: Revision::negotiate(&hello.protocol_version),
            capabilities: hello.capabilities,
            caller: Arc::new(Caller {
                session_id: Some(id),
                client_name: hello.name,
                client_version: hello.version,
                ..Caller::default()
            }),
            ..Self::unopened(endpoint, changes, ended)
        }
    }

    /// Session of a client that sent no `initialize` yet: it can do nothing but be answered.
    pub(crate) fn unopened(
        endpoint: Endpoint,
        changes: ChangeFeed,
        ended: CancellationToken,
    ) -> Self {
        Self {
            caller: Arc::default(),
            endpoint,
            revision: Revision::negotiate(""),
            id: "".into(),
            capabilities: None,
            log_level: AtomicUsize::new(LogLevel::Info as usize),
            in_flight: InFlight::default(),
            client_requests: ClientRequests::new(ended.clone()),
            changes,
            ended,
            last_used: AtomicU64::new(0),
        }
    }

    /// Least severe log messages that the client wants.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        let level = self.log_level.load(Ordering::Relaxed);
        LogLevel::ALL.get(level).copied()
    }

    /// Does what `logging/setLevel` asks for.
    pub(crate) fn set_log_level(&self, params: &RequestParams) -> Result<String, RpcError> {
        let level = params.given("level");
        let level = level.and_then(|level| LogLevel::read(level.text()));
        let level = level.ok_or_else(|| {
            let names = LogLevel::ALL.map(LogLevel::as_str).join(", ");
            let message = format!("logging/setLevel needs params.level, one of {names}");
            RpcError::invalid_params(message)
        })?;
        self.log_level.store(level as usize, Ordering::Relaxed);
        Ok("{}".to_owned())
    }
}

// === impl Sessions ===

impl Sessions {
    /// Adds a session that was just opened.
    pub(crate) fn add(&self, session: Arc<Session>) {
        session.last_used.store(now(), Ordering::Relaxed);
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MOST_SESSIONS {
            let last_used = |session: &&Arc<Session>| session.last_used.load(Ordering::Relaxed);
            if let Some(unused) = open.values().min_by_key(last_used).cloned() {
                open.remove(&unused.id);
                unused.ended.cancel();
            }
        }
        open.insert(Arc::clone(&session.id), session);
    }

    /// Session with this id, if it was opened at this endpoint.
    pub(crate) fn find(&self, id: &str, endpoint: &Endpoint) -> Option<Arc<Session>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let session = open.get(id).filter(|session| session.endpoint == *endpoint);
        let session = Arc::clone(session?);
        session.last_used.store(now(), Ordering::Relaxed);
        Some(session)
    }

    /// Ends a session.
    pub(crate) fn end(&self, session: &Session) {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        open.remove(&*session.id);
        session.ended.cancel();
    }
}

/// Milliseconds since this was first asked.
fn now() -> u64 {
    static SINCE: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(SINCE.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use mcpproxy_gateway::direct::Scope;

    use super::*;

    fn session() -> Session {
        let feed = ChangeFeed::silent();
        Session::new(
            ClientHello::default(),
            Endpoint::Menu,
            feed,
            CancellationToken::new(),
        )
    }

    #[test]
    fn sessions_are_bounded_and_end() {
        let sessions = Sessions::default();
        let open = || {
            let session = Arc::new(session());
            sessions.add(Arc::clone(&session));
            session
        };
        for _ in 0..=MOST_SESSIONS {
            open();
        }
        assert_eq!(sessions.open.read().unwrap().len(), MOST_SESSIONS);
        let last = open();
        let elsewhere = Endpoint::Direct(Scope::All);
        assert!(sessions.find(&last.id, &elsewhere).is_none());
        let found = sessions.find(&last.id, &Endpoint::Menu).unwrap();
        sessions.end(&found);
        assert!(last.ended.is_cancelled());
        sessions.end(&found);
        assert!(sessions.find(&last.id, &Endpoint::Menu).is_none());
    }
}
