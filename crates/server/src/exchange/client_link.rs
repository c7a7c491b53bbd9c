//! Link to the client behind a request: what it declared, for a session once, in the stateless
//! protocol with every request.

use std::sync::atomic::{AtomicU64, Ordering};

use mcpproxy_gateway::client::{ClientInput, ClientLink, LogLevel};
use mcpproxy_wire::Protocol;

use super::params::RequestParams;
use super::reply::Delivery;
use super::request::Request;
use super::request_state::{self, REQUEST_STATE};
use super::session::Session;

static NEXT_CLIENT: AtomicU64 = AtomicU64::new(1);

/// Link to the client of a request.
pub(crate) fn client_link(request: &Request, delivery: Delivery) -> ClientLink {
    match &request.session {
        Some(session) => of_session(session, &request.params, delivery),
        None => of_params(&request.params, delivery),
    }
}

fn of_session(session: &Session, params: &RequestParams, delivery: Delivery) -> ClientLink {
    // Requests of one session may stand in for each other where a server does not say which one it means.
    let key = session.caller.session_id.clone().unwrap_or_default();
    let mut link = ClientLink::new(Protocol::Session, key);
    if delivery == Delivery::Stream {
        if let Some(capabilities) = &session.capabilities {
            link.capabilities = capabilities.clone();
        }
        link.progress_token = params.progress_token().cloned();
        link.log_level = session.log_level();
    }
    link
}

/// Link that the parameters of a stateless request declare. Client requests come as its result, so
/// they need no stream.
fn of_params(params: &RequestParams, delivery: Delivery) -> ClientLink {
    // Two windows of the same program say the same of themselves. As nothing tells them apart, each
    // request counts as one of a client of its own.
    let number = NEXT_CLIENT.fetch_add(1, Ordering::Relaxed);
    let mut link = ClientLink::new(Protocol::Stateless, format!("request {number}"));
    if let Some(capabilities) = params.capabilities() {
        link.capabilities = capabilities.clone();
    }
    if delivery == Delivery::Stream {
        link.progress_token = params.progress_token().cloned();
        let level = params.log_level();
        link.log_level = level.and_then(|level| LogLevel::read(level.text()));
    }
    link.input = ClientInput {
        input_responses: params.given("inputResponses").cloned(),
        request_state: request_state::without_mark(params)
            .or_else(|| params.given(REQUEST_STATE).cloned()),
    };
    link
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::Json;
    use mcpproxy_wire::initialize::ClientHello;
    use mcpproxy_wire::rpc::INVALID_PARAMS;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::exchange::change_feed::ChangeFeed;
    use crate::exchange::endpoint::Endpoint;

    #[test]
    fn a_session_remembers_its_level_and_each_request_has_its_token() {
        let hello = ClientHello {
            capabilities: Some(Json::parse(r#"{"roots":{}}"#).unwrap()),
            ..ClientHello::default()
        };
        let feed = ChangeFeed::silent();
        let rights = (mcpproxy_policy::Rights::default(), None);
        let ended = CancellationToken::new();
        let session = Session::new(hello, rights, Endpoint::Menu, feed, ended);
        let link =
            |params: &str, delivery| of_session(&session, &RequestParams::parse(params), delivery);
        let first = link(r#"{"_meta":{"progressToken":7}}"#, Delivery::Stream);
        assert_eq!(first.capabilities.text(), r#"{"roots":{}}"#);
        assert_eq!(first.progress_token.unwrap().text(), "7");
        assert_eq!(first.log_level, Some(LogLevel::Info));
        assert_eq!(
            (Some(&*first.key), first.protocol),
            (session.caller.session_id.as_deref(), Protocol::Session)
        );

        let set = |params: &str| session.set_log_level(&RequestParams::parse(params));
        assert_eq!(set(r#"{"level":"error"}"#).unwrap(), "{}");
        for wrong in ["{}", r#"{"level":"loud"}"#, r#"{"level":3}"#, "[]"] {
            assert_eq!(set(wrong).unwrap_err().code, INVALID_PARAMS, "{wrong}");
        }
        let second = link("{}", Delivery::Stream);
        assert_eq!(second.log_level, Some(LogLevel::Error));
        assert!(second.progress_token.is_none());
        let unreachable = link("{}", Delivery::AnswerOnly);
        assert!(unreachable.log_level.is_none());
        assert_eq!(unreachable.capabilities.text(), "{}");
    }

    #[test]
    fn a_stateless_request_declares_all_of_it() {
        let text = r#"{"requestState":"theirs","inputResponses":{"a":{}},"_meta":{
            "progressToken":"t",
            "io.modelcontextprotocol/logLevel":"debug",
            "io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}"#;
        let link = of_params(&RequestParams::parse(text), Delivery::Stream);
        assert_eq!(link.capabilities.text(), r#"{"sampling":{}}"#);
        assert_eq!(link.log_level, Some(LogLevel::Debug));
        assert_eq!(link.progress_token.unwrap().text(), r#""t""#);
        let text_of = |json: &Option<Json>| json.as_ref().map(|json| json.text().to_owned());
        let input = &link.input;
        assert_eq!(text_of(&input.input_responses).unwrap(), r#"{"a":{}}"#);
        assert_eq!(text_of(&input.request_state).unwrap(), r#""theirs""#);

        let other = of_params(&RequestParams::parse(text), Delivery::AnswerOnly);
        assert_ne!(
            other.key, link.key,
            "nothing says that they are of one client"
        );
        assert!(other.progress_token.is_none() && other.log_level.is_none());
        assert_eq!(other.capabilities.text(), r#"{"sampling":{}}"#);
        let nothing = of_params(&RequestParams::parse("{}"), Delivery::Stream).input;
        assert!(nothing.input_responses.is_none() && nothing.request_state.is_none());
    }
}
