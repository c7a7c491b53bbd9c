//! Context of a call: who calls, on whose behalf, and as part of what.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use mcpproxy_support::traceparent::read_traceparent;
use serde_json::{Map, Value};
use uuid::Uuid;

/// Facts that a handler knows of the call it serves.
#[derive(Debug, Clone)]
#[must_use]
pub struct ToolContext {
    /// The user on whose behalf the call is made; none for requests of the system itself.
    pub user_id: Option<String>,
    /// The session the call belongs to.
    pub session_id: Option<String>,
    /// Links operations that belong together. New for each call, unless one was sent along.
    pub correlation_id: Uuid,
    /// The W3C trace id: 32 hexadecimal digits, taken from `traceparent` where that was sent.
    pub trace_id: String,
    /// Which agent calls.
    pub agent_id: String,
    /// The version of that agent.
    pub agent_version: String,
    /// When the request was made.
    pub timestamp: Timestamp,
    /// Whatever else came along.
    pub metadata: Map<String, Value>,
    /// Permissions of the caller.
    pub grants: Grants,
    /// Something that the host of a service tells its own tools; clients cannot set it.
    pub extension: Option<Arc<dyn Any + Send + Sync>>,
    /// Keys of the caller, where its host knows them.
    keys: Option<CallerKeys>,
}

/// Keys that stand for a caller whom the host of the service knows by more than the names that the caller gives.
#[derive(Debug, Clone)]
struct CallerKeys {
    limit: String,
    cache: Option<String>,
}

/// Permissions that a caller has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grants {
    /// Everything: the owner of the process, as over stdio.
    Everything,
    /// These permissions, each `resource:action`, and no other.
    Only(BTreeSet<String>),
}

// === impl ToolContext ===

impl ToolContext {
    /// A call by an agent of this name and version, with new ids and at this moment.
    pub fn new(agent: impl Into<String>, version: impl Into<String>, grants: Grants) -> Self {
        Self {
            user_id: None,
            session_id: None,
            correlation_id: Uuid::now_v7(),
            trace_id: Uuid::new_v4().simple().to_string(),
            agent_id: agent.into(),
            agent_version: version.into(),
            timestamp: Timestamp::now(),
            metadata: Map::new(),
            grants,
            extension: None,
            keys: None,
        }
    }

    /// Context of the call on behalf of a user.
    pub fn for_user(mut self, user_id: impl Into<String>) -> Self {
        self.user_id = Some(user_id.into());
        self
    }

    /// Context of the call within a session.
    pub fn in_session(mut self, session_id: impl Into<String>) -> Self {
        self.session_id = Some(session_id.into());
        self
    }

    /// Context of the call of a caller whom the host knows. Calls of one `limit` count together in limits, whatever the
    /// callers name themselves. Results are kept for one `cache`, and none where the host cannot tell callers apart.
    pub fn known_as(mut self, limit: impl Into<String>, cache: Option<String>) -> Self {
        let limit = limit.into();
        self.keys = Some(CallerKeys { limit, cache });
        self
    }

    /// Context of the call as part of a trace, if `traceparent` is one of W3C Trace Context.
    pub fn traced(mut self, traceparent: &str) -> Self {
        if let Some((trace_id, _)) = read_traceparent(traceparent) {
            trace_id.clone_into(&mut self.trace_id);
        }
        self
    }

    /// Context of the call, linked to others, if the text is a UUID.
    pub fn correlated(mut self, correlation_id: &str) -> Self {
        if let Ok(id) = Uuid::parse_str(correlation_id) {
            self.correlation_id = id;
        }
        self
    }

    /// Key whose calls count together in limits.
    pub(crate) fn limit_key(&self) -> String {
        match &self.keys {
            Some(keys) => format!("host\n{}", keys.limit),
            None => self.named_caller(),
        }
    }

    /// Key of who may see a kept result; none where nothing is kept for the caller. What the client sent besides is part
    /// of it, because a tool may answer by it.
    pub(crate) fn cache_key(&self) -> Option<String> {
        let caller = match &self.keys {
            Some(keys) => format!("host\n{}", keys.cache.as_ref()?),
            None => self.named_caller(),
        };
        Some(format!("{caller}\n{}", serde_json::json!(self.metadata)))
    }

    /// Caller by the names in the context: the user if there is one, else the agent in its session.
    fn named_caller(&self) -> String {
        if let Some(user) = &self.user_id {
            return format!("user\n{user}");
        }
        let session = self.session_id.as_deref().unwrap_or_default();
        format!("agent\n{}\n{session}", self.agent_id)
    }
}

// === impl Grants ===

impl Grants {
    /// Grants of these permissions and no other.
    pub fn only<I: IntoIterator<Item: Into<String>>>(permissions: I) -> Self {
        Self::Only(permissions.into_iter().map(Into::into).collect())
    }

    /// The permissions of this list that the caller lacks.
    pub fn missing<'a>(&self, needed: &'a [String]) -> Vec<&'a str> {
        match self {
            Self::Everything => Vec::new(),
            Self::Only(held) => {
                let needed = needed.iter().map(String::as_str);
                needed.filter(|one| !held.contains(*one)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_taken_from_a_valid_traceparent_only() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        for (given, expected) in [
            (format!("00-{trace}-b7ad6b7169203331-01"), Some(trace)),
            (
                format!("cc-{trace}-b7ad6b7169203331-01-what-follows"),
                Some(trace),
            ),
            (format!("ff-{trace}-b7ad6b7169203331-01"), None),
            (format!("00-{trace}-0000000000000000-01"), None),
            (format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)), None),
            (
                format!("00-{}-b7ad6b7169203331-01", trace.to_uppercase()),
                None,
            ),
            // A gateway in front takes none of these for a trace.
            (format!("00-{trace}-b7ad6b7169203331"), None),
            (format!("00-{trace}-b7ad6b7169203331-1"), None),
            (format!("00-{trace}-b7ad6b7169203331-01-more"), None),
            (format!(" 00-{trace}-b7ad6b7169203331-01"), None),
            (trace.to_owned(), None),
            (String::new(), None),
        ] {
            let context = ToolContext::new("agent", "1", Grants::Everything);
            let begun = context.trace_id.clone();
            let expected = expected.map_or(begun, str::to_owned);
            assert_eq!(context.traced(&given).trace_id, expected, "{given}");
        }
    }
}
