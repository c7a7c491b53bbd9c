//! Sessions of clients: what `initialize` opened, and what belongs to it until it ends.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::time::Instant;

use mcpproxy_gateway::client::LogLevel;
use mcpproxy_policy::{Caller, Rights};
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
    /// Caller that its requests count for, but for what a single request adds. Its `session_id` is
    /// what records and tools know the session by; it admits nobody.
    pub(crate) caller: Arc<Caller>,
    /// Endpoint it was opened at; it is good for no other.
    pub(crate) endpoint: Endpoint,
    /// Revision that both sides speak.
    pub(crate) revision: Revision,
    /// Id on the wire; empty before `initialize`. Who knows it can speak in the session, so it goes to
    /// its client alone.
    pub(crate) id: SessionId,
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

/// Id of a session on the wire. It is a credential: nothing shows it but the header to its client.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionId(Arc<str>);

/// All open sessions of the HTTP endpoints, by the id on the wire.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: RwLock<HashMap<SessionId, Arc<Session>>>,
}

// === impl SessionId ===

impl SessionId {
    /// Id that nobody can guess.
    fn random() -> Self {
        Self(Uuid::new_v4().to_string().into())
    }

    /// Text of the id, for its client alone.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for SessionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

// === impl Session ===

impl Session {
    /// Session of the client that said this `initialize` with the rights of its credential, until `ended`
    /// is cancelled.
    pub(crate) fn new(
        hello: ClientHello,
        (rights, peer): (Rights, Option<IpAddr>),
        endpoint: Endpoint,
        changes: ChangeFeed,
        ended: CancellationToken,
    ) -> Self {
        Self {
            id: SessionId::random(),
            revision: Revision::negotiate(&hello.protocol_version),
            capabilities: hello.capabilities,
            caller: Arc::new(Caller {
                session_id: Some(Uuid::new_v4().to_string()),
                client_name: hello.name,
                client_version: hello.version,
                peer,
                rights,
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
            id: SessionId("".into()),
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
            open.retain(|_, session| !session.ended.is_cancelled());
        }
        if open.len() >= MOST_SESSIONS {
            let last_used = |session: &&Arc<Session>| session.last_used.load(Ordering::Relaxed);
            if let Some(unused) = open.values().min_by_key(last_used).cloned() {
                open.remove(&unused.id);
                unused.ended.cancel();
            }
        }
        open.insert(session.id.clone(), session);
    }

    /// Session with this id, if it was opened at this endpoint and with the credential of these rights, which is good
    /// still.
    pub(crate) fn find(
        &self,
        id: &str,
        endpoint: &Endpoint,
        rights: &Rights,
    ) -> Option<Arc<Session>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let is_bound_to = |session: &&Arc<Session>| {
            session.endpoint == *endpoint
                && session.caller.rights == *rights
                && !session.ended.is_cancelled()
        };
        let session = Arc::clone(open.get(id).filter(is_bound_to)?);
        session.last_used.store(now(), Ordering::Relaxed);
        Some(session)
    }

    /// Ends a session.
    pub(crate) fn end(&self, session: &Session) {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        open.remove(&session.id);
        session.ended.cancel();
    }

    /// Ends the sessions for which this holds.
    pub(crate) fn end_where(&self, ends: impl Fn(&Session) -> bool) {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, session| {
            let stays = !ends(session);
            if !stays {
                session.ended.cancel();
            }
            stays
        });
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
    use mcpproxy_policy::{AgentToken, AnonymousRole, TokenGrant};

    use super::*;

    fn session(rights: Rights) -> Session {
        let feed = ChangeFeed::silent();
        Session::new(
            ClientHello::default(),
            (rights, None),
            Endpoint::Menu,
            feed,
            CancellationToken::new(),
        )
    }

    fn token(id: &str) -> Rights {
        Rights::Token(Arc::new(AgentToken {
            id: id.into(),
            name: "ci".into(),
            grant: TokenGrant::default(),
        }))
    }

    #[test]
    fn sessions_are_bounded_and_end() {
        let sessions = Sessions::default();
        let open = || {
            let session = Arc::new(session(Rights::default()));
            sessions.add(Arc::clone(&session));
            session
        };
        for _ in 0..=MOST_SESSIONS {
            open();
        }
        assert_eq!(sessions.open.read().unwrap().len(), MOST_SESSIONS);
        let last = open();
        let find = |session: &Session| {
            let id = session.id.expose();
            sessions.find(id, &Endpoint::Menu, &session.caller.rights)
        };
        let found = find(&last).unwrap();
        sessions.end(&found);
        assert!(last.ended.is_cancelled());
        sessions.end(&found);
        assert!(find(&last).is_none());
    }

    #[test]
    fn a_session_belongs_to_its_endpoint_and_to_the_credential_that_opened_it() {
        let sessions = Sessions::default();
        let everything = Endpoint::Direct(Scope::All);
        let credentials = [
            Rights::default(),
            Rights::Anonymous(AnonymousRole::Read),
            Rights::Administrator,
            token("one"),
            token("another of the same name"),
        ];
        for own in &credentials {
            let session = Arc::new(session(own.clone()));
            sessions.add(Arc::clone(&session));
            let find = |endpoint, rights| sessions.find(session.id.expose(), endpoint, rights);
            for other in &credentials {
                assert_eq!(find(&Endpoint::Menu, other).is_some(), other == own);
            }
            assert!(find(&everything, own).is_none());
            session.ended.cancel();
            assert!(find(&Endpoint::Menu, own).is_none());
        }
    }

    #[test]
    fn the_id_on_the_wire_is_not_the_one_that_is_shown() {
        let session = session(Rights::default());
        let id = session.id.expose();
        assert_ne!(session.caller.session_id.as_deref(), Some(id));
        assert!(!format!("{session:?}").contains(id));
    }
}
