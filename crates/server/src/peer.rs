//! The client behind a call, as it said of itself: for a session once, without one with every
//! request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use mcpproxy_gateway::client::{ClientInput, ClientLink, LogLevel};
use mcpproxy_wire::Json;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::rpc::{INVALID_PARAMS, RpcError};
use mcpproxy_wire::stateless::Params;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::asked::Asked;
use crate::news::Listener;
use crate::state;

static NEXT_CLIENT: AtomicU64 = AtomicU64::new(1);

/// The client of a session.
#[derive(Debug)]
pub(crate) struct Peer {
    who: Arc<str>,
    capabilities: Option<Json>,
    /// The position in [`LogLevel::ALL`].
    log_level: AtomicUsize,
    /// What it is asked at the moment.
    pub(crate) asked: Asked,
    /// What it is told that it did not ask for.
    pub(crate) listener: Listener,
}

impl Peer {
    /// The client that opened a session, until `ended` is cancelled.
    pub(crate) fn new(who: &str, capabilities: Option<Json>, ended: CancellationToken) -> Self {
        Self {
            who: who.into(),
            capabilities,
            log_level: AtomicUsize::new(LogLevel::Info as usize),
            asked: Asked::new(ended),
            listener: Listener::of_nothing(),
        }
    }

    /// The same, who is told of changes.
    pub(crate) fn who_hears(mut self, listener: Listener) -> Self {
        self.listener = listener;
        self
    }

    /// Link to the client during a request.
    pub(crate) fn link(&self, params: &Params<'_>) -> ClientLink {
        let mut link = self.unreachable();
        if let Some(capabilities) = &self.capabilities {
            link.capabilities = capabilities.clone();
        }
        link.progress_token = params.progress_token().and_then(kept);
        link.log_level = LogLevel::ALL
            .get(self.log_level.load(Ordering::Relaxed))
            .copied();
        link
    }

    /// Link to the client where there is no way to reach it during the request.
    pub(crate) fn unreachable(&self) -> ClientLink {
        ClientLink::new(Protocol::Session, Arc::clone(&self.who))
    }

    /// Does what `logging/setLevel` asks for.
    pub(crate) fn set_level(&self, params: &Params<'_>) -> Result<String, RpcError> {
        let level = params.fields.given("level").and_then(LogLevel::read);
        let level = level.ok_or_else(|| {
            let names = LogLevel::ALL.map(LogLevel::as_str).join(", ");
            let message = format!("logging/setLevel needs params.level, one of {names}");
            RpcError::new(INVALID_PARAMS, message)
        })?;
        self.log_level.store(level as usize, Ordering::Relaxed);
        Ok("{}".to_owned())
    }
}

/// What a request that stands for itself says of its client. What it is asked comes to it as the
/// result, so it needs no stream for that.
pub(crate) fn link_of(params: &Params<'_>, has_stream: bool) -> ClientLink {
    // Two windows of the same program say the same of themselves. As nothing tells them apart, each
    // request counts as one of a client of its own.
    let number = NEXT_CLIENT.fetch_add(1, Ordering::Relaxed);
    let mut link = ClientLink::new(Protocol::Stateless, format!("request {number}"));
    if let Some(capabilities) = params.capabilities().and_then(kept) {
        link.capabilities = capabilities;
    }
    if has_stream {
        link.progress_token = params.progress_token().and_then(kept);
        link.log_level = params.log_level().and_then(LogLevel::read);
    }
    let given = |member| params.fields.given(member).and_then(kept);
    link.input = ClientInput {
        input_responses: given("inputResponses"),
        request_state: given("requestState").map(|given| state::theirs(params).unwrap_or(given)),
    };
    link
}

/// A part of a message that outlives it.
fn kept(raw: &RawValue) -> Option<Json> {
    Json::parse(raw.get().to_owned()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Params<'_> {
        Params::read(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn a_session_remembers_its_level_and_each_request_has_its_token() {
        let capabilities = Json::parse(r#"{"roots":{}}"#).unwrap();
        let peer = Peer::new("s", Some(capabilities), CancellationToken::new());
        let declared = peer.link(&read(r#"{"_meta":{"progressToken":7}}"#));
        assert_eq!(declared.capabilities.text(), r#"{"roots":{}}"#);
        assert_eq!(declared.progress_token.unwrap().text(), "7");
        assert_eq!(declared.log_level, Some(LogLevel::Info));
        assert_eq!(
            (&*declared.key, declared.protocol),
            ("s", Protocol::Session)
        );

        assert_eq!(peer.set_level(&read(r#"{"level":"error"}"#)).unwrap(), "{}");
        for wrong in ["{}", r#"{"level":"loud"}"#, r#"{"level":3}"#, "[]"] {
            let error = peer.set_level(&read(wrong)).unwrap_err();
            assert_eq!(error.code, INVALID_PARAMS, "{wrong}");
        }
        let declared = peer.link(&read("{}"));
        assert_eq!(declared.log_level, Some(LogLevel::Error));
        assert!(declared.progress_token.is_none());
        let declared = peer.unreachable();
        assert!(declared.log_level.is_none());
        assert_eq!(declared.capabilities.text(), "{}");
    }

    #[test]
    fn a_request_by_itself_says_all_of_it() {
        let text = r#"{"requestState":"theirs","inputResponses":{"a":{}},"_meta":{
            "progressToken":"t",
            "io.modelcontextprotocol/logLevel":"debug",
            "io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}"#;
        let declared = link_of(&read(text), true);
        assert_eq!(declared.capabilities.text(), r#"{"sampling":{}}"#);
        assert_eq!(declared.log_level, Some(LogLevel::Debug));
        assert_eq!(declared.progress_token.unwrap().text(), r#""t""#);
        let expected = ClientInput {
            input_responses: Some(Json::parse(r#"{"a":{}}"#).unwrap()),
            request_state: Some(Json::parse(r#""theirs""#).unwrap()),
        };
        assert_eq!(declared.input, expected);

        let other = link_of(&read(text), false);
        assert_ne!(
            other.key, declared.key,
            "nothing says that they are of one client"
        );
        let declared = other;
        assert!(declared.progress_token.is_none() && declared.log_level.is_none());
        assert_eq!(declared.capabilities.text(), r#"{"sampling":{}}"#);
        assert_eq!(link_of(&read("{}"), true).input, ClientInput::default());
    }
}
