//! Caller: who a request counts for.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use uuid::Uuid;

use crate::{AccessTo, CallMetadata, Rights};

/// Caller, who a request counts for: the token, else the client within its session, with the rights of its credential.
///
/// It is made once for each request, where that is decoded, and passed on unchanged: decisions, records, limits
/// and keys of caches all read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The session the request came in, where there is one.
    pub session_id: Option<String>,
    /// The client's own name.
    pub client_name: Option<String>,
    /// The client's own version.
    pub client_version: Option<String>,
    /// The W3C trace id of the request. One that came without a trace begins one.
    pub trace_id: Option<String>,
    /// Span of the client within that trace, and its flags: how the `traceparent` ends that the request came with.
    pub parent_span: Option<String>,
    /// Id by which the client links its calls, where it sent one.
    pub correlation_id: Option<Uuid>,
    /// Metadata that the client sent along besides, for tools of the contract.
    pub metadata: CallMetadata,
    /// Address that the request came from; none for those that came through a pipe or the local socket.
    pub peer: Option<IpAddr>,
    /// Rights of the caller. Decide about calls, and are no part of a record.
    pub rights: Rights,
}

/// Key that limits count a caller by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LimitKey {
    /// The administrator.
    Administrator,
    /// The token with this id.
    Token(Arc<str>),
    /// All callers without a credential that come from this address.
    Peer(IpAddr),
    /// All callers without a credential that come through a pipe or the local socket.
    Local,
}

/// Records that a caller may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RecordScope {
    /// All of them.
    #[default]
    All,
    /// Records of the token with this id.
    Token(String),
    /// Records of this session, as far as no token was shown in it.
    Session(String),
    /// None: who has neither token nor session has no records of its own.
    Nothing,
}

impl fmt::Display for LimitKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Administrator => formatter.write_str("administrator"),
            Self::Token(id) => write!(formatter, "token {id}"),
            Self::Peer(address) => write!(formatter, "peer {address}"),
            Self::Local => formatter.write_str("local"),
        }
    }
}

impl Caller {
    /// Whether the caller may administer the gateway.
    pub fn is_administrator(&self) -> bool {
        self.rights.allow(AccessTo::Administration)
    }

    /// Name that records and people know the caller by: the token's, else the client's own.
    pub fn agent(&self) -> Option<&str> {
        let token = self.rights.token().map(|token| &*token.name);
        token.or(self.client_name.as_deref())
    }

    /// Key that limits count the caller by. It is nothing that the caller chooses.
    pub fn limit_key(&self) -> LimitKey {
        match (&self.rights, self.peer) {
            (Rights::Administrator, _) => LimitKey::Administrator,
            (Rights::Token(token), _) => LimitKey::Token(Arc::clone(&token.id)),
            (Rights::Anonymous(_), Some(peer)) => LimitKey::Peer(peer),
            (Rights::Anonymous(_), None) => LimitKey::Local,
        }
    }

    /// Key of who may be given a result that was cached for the caller; none where callers cannot be told apart. It is
    /// nothing that the caller chooses.
    pub fn cache_key(&self) -> Option<String> {
        match self.limit_key() {
            key @ (LimitKey::Administrator | LimitKey::Token(_)) => Some(key.to_string()),
            LimitKey::Peer(_) | LimitKey::Local => {
                let session = self.session_id.as_ref();
                session.map(|session| format!("session {session}"))
            }
        }
    }

    /// Records that the caller may see.
    pub fn record_scope(&self) -> RecordScope {
        if self.rights.allow(AccessTo::AllRecords) {
            return RecordScope::All;
        }
        match (self.rights.token(), &self.session_id) {
            (Some(token), _) => RecordScope::Token(token.id.to_string()),
            (None, Some(session)) => RecordScope::Session(session.clone()),
            (None, None) => RecordScope::Nothing,
        }
    }
}
