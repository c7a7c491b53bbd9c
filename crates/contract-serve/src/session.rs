//! Sessions without memory: the id carries what the client said of itself when it came.
//!
//! A session gives no rights here, and a client can call itself what it likes anyway, so there is
//! nothing to guard and nothing to forget. It outlives a restart and holds on every replica.

use data_encoding::HEXLOWER;
use http::HeaderMap;
use uuid::Uuid;

/// The header that names the session.
pub(crate) const HEADER: &str = "mcp-session-id";

/// The revision of the protocol since which there are no sessions.
const WITHOUT_SESSIONS: &str = "2026-07-28";

/// The longest name of an agent: it is part of logs and of the keys of kept results.
const LONGEST_NAME: usize = 128;

/// Program that calls, by its own account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) id: String,
    pub(crate) version: String,
}

/// The session of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServedSession {
    /// The id, as the header has it.
    pub(crate) id: String,
    /// Whom the client said to be.
    pub(crate) agent: Agent,
}

/// The request names a session that never began here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownSession;

// === impl Agent ===

impl Agent {
    /// Agent as the client calls itself, within bounds; unknown where it does not.
    pub(crate) fn new(name: &str, version: &str) -> Self {
        Self {
            id: brief(name, "unknown"),
            version: brief(version, "0.0.0"),
        }
    }
}

/// A text of the client in one line of bounded length.
pub(crate) fn brief(text: &str, absent: &str) -> String {
    let printable = text.trim().chars().filter(|letter| !letter.is_control());
    let text: String = printable.take(LONGEST_NAME).collect();
    if text.is_empty() {
        absent.to_owned()
    } else {
        text
    }
}

// === impl ServedSession ===

impl ServedSession {
    /// The id of a new session of this agent: a random part, and the agent in hexadecimal digits,
    /// because a header can hold few letters.
    pub(crate) fn begin(agent: &Agent) -> String {
        let hex = |text: &str| HEXLOWER.encode(text.as_bytes());
        let (name, version) = (hex(&agent.id), hex(&agent.version));
        format!("{}.{name}.{version}", Uuid::new_v4().simple())
    }

    /// The session that a request names, if it does.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, UnknownSession> {
        let revision = headers.get("mcp-protocol-version");
        if revision.is_some_and(|revision| revision.as_bytes() >= WITHOUT_SESSIONS.as_bytes()) {
            return Ok(None);
        }
        let Some(id) = headers.get(HEADER) else {
            return Ok(None);
        };
        let known = id.to_str().ok().and_then(Self::read);
        known.map(Some).ok_or(UnknownSession)
    }

    fn read(id: &str) -> Option<Self> {
        let mut parts = id.split('.');
        let (random, name, version) = (parts.next()?, parts.next()?, parts.next()?);
        Uuid::try_parse(random).ok()?;
        let agent = Agent::new(&from_hex(name)?, &from_hex(version)?);
        let id = id.to_owned();
        parts.next().is_none().then_some(Self { id, agent })
    }
}

fn from_hex(digits: &str) -> Option<String> {
    String::from_utf8(HEXLOWER.decode(digits.as_bytes()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(id: &str, revision: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, id.parse().expect("a header"));
        headers.insert(
            "mcp-protocol-version",
            http::HeaderValue::from_static(revision),
        );
        headers
    }

    #[test]
    fn a_client_cannot_fill_the_memory_or_the_log_with_its_name() {
        let agent = Agent::new(&format!("a\nb{}", "x".repeat(1_000)), "\u{7}");
        assert_eq!(agent.id.len(), LONGEST_NAME);
        assert!(agent.id.starts_with("abx"));
        assert_eq!(agent.version, "0.0.0");
    }

    #[test]
    fn a_session_gives_back_the_agent_that_began_it() {
        for (name, version) in [("claude-ai", "1.2.3"), ("Агент ✓", "0.1-β"), ("", "")] {
            let agent = Agent::new(name, version);
            let id = ServedSession::begin(&agent);
            let session = ServedSession::of(&headers(&id, "2025-11-25"));
            assert_eq!(session, Ok(Some(ServedSession { id, agent })));
        }
    }

    #[test]
    fn a_session_of_another_server_is_unknown_and_a_new_client_has_none() {
        let id = ServedSession::begin(&Agent::new("", ""));
        let long = format!("{id}.00");
        for other in [
            "",
            "abc",
            "1.2.3",
            &long,
            "0af7651916cd43dd8448eb211c80319c.0g.00",
        ] {
            assert_eq!(
                ServedSession::of(&headers(other, "2025-06-18")),
                Err(UnknownSession),
                "{other}"
            );
            assert_eq!(ServedSession::of(&headers(other, "2026-07-28")), Ok(None));
        }
    }
}
