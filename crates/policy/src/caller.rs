//! Caller: who a request counts for.

/// Caller, who a request counts for: the client within its session, with the rights of its credential.
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
    /// The W3C trace id of the request, where it came with one.
    pub trace_id: Option<String>,
    /// Rights of the caller. Decides about calls and is not part of a record.
    pub rights: Rights,
}

/// Rights of a caller. Those of single tokens will live here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Rights {
    /// Use the tools of upstreams.
    #[default]
    UseTools,
    /// Administer the gateway, too: a person at the terminal, or whoever shows the key.
    Administer,
}

impl Caller {
    /// Whether the caller may administer the gateway.
    pub fn is_administrator(&self) -> bool {
        self.rights == Rights::Administer
    }
}
