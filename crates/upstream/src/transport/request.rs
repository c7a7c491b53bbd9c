//! Requests to a server, before they are sent.

use std::sync::Arc;

use http::HeaderMap;
use mcpproxy_wire::rpc::{self, OutgoingMessage};
use mcpproxy_wire::{Capabilities, JsonObject, ListChanges, ListedKind, Method, meta, method};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::call_routes::{CallRoute, CallRoutes};
use crate::client::{ClientInput, ClientLink, LogLevel};
use crate::{CallError, CallHead, ReadRequest};

/// Room for what a message has besides the arguments of a call.
const MESSAGE_OVERHEAD: usize = 768;

/// Request to a server.
#[derive(Debug)]
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) params: OutgoingParams<'a>,
    /// Members of `_meta` in the stateless protocol; nothing with sessions.
    pub(crate) meta: Option<&'a StatelessMeta<'a>>,
    /// Input that the server asked for before, as members beside the parameters.
    pub(crate) input: Option<&'a ClientInput>,
    /// Headers over HTTP besides those of every request.
    pub(crate) headers: HeaderMap,
    /// Whether a caller waits for the response, so that messages of the server can concern it.
    pub(crate) is_for_caller: bool,
    /// Client of that caller, where there is a way back to it.
    pub(crate) client: Option<&'a Arc<ClientLink>>,
    pub(crate) deadline: Instant,
}

/// Parameters of a request, as they are written; each kind belongs to one method.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub(crate) enum OutgoingParams<'a> {
    Discover {},
    Initialize(&'a Value),
    CallTool {
        name: &'a str,
        arguments: &'a JsonObject,
        #[serde(skip)]
        head: Option<&'a CallHead<'a>>,
    },
    Read(&'a ReadRequest<'a>),
    List {
        #[serde(skip)]
        method: Method,
        #[serde(skip_serializing_if = "Option::is_none")]
        cursor: Option<&'a str>,
    },
    Subscribe {
        uri: &'a str,
    },
    Unsubscribe {
        uri: &'a str,
    },
    SetLogLevel {
        level: LogLevel,
    },
    Listen {
        notifications: &'a WantedNotifications,
    },
}

/// Notifications that a stream of the stateless protocol is opened for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WantedNotifications {
    #[serde(skip_serializing_if = "is_unwanted")]
    pub(crate) tools_list_changed: bool,
    #[serde(skip_serializing_if = "is_unwanted")]
    pub(crate) prompts_list_changed: bool,
    #[serde(skip_serializing_if = "is_unwanted")]
    pub(crate) resources_list_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_subscriptions: Vec<Arc<str>>,
}

/// Members of `_meta` with which a request of the stateless protocol speaks for itself.
#[derive(Debug)]
pub(crate) struct StatelessMeta<'a> {
    pub(crate) protocol_version: &'static str,
    pub(crate) client_info: GatewayInfo<'a>,
    pub(crate) client_capabilities: RelayedCapabilities<'a>,
    pub(crate) log_level: Option<LogLevel>,
}

/// Name and version under which servers know us.
#[derive(Debug, Serialize)]
pub(crate) struct GatewayInfo<'a> {
    pub(crate) name: &'static str,
    pub(crate) version: &'a str,
}

/// Capabilities of a client that we can relay, as it declared them.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RelayedCapabilities<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) elicitation: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sampling: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) roots: Option<&'a RawValue>,
}

/// Parameters with what every request can have beside them.
#[derive(Serialize)]
struct FullParams<'a> {
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<RequestMeta<'a>>,
    #[serde(flatten)]
    input: Option<&'a ClientInput>,
    #[serde(flatten)]
    params: OutgoingParams<'a>,
}

/// Value of `_meta`.
struct RequestMeta<'a> {
    stateless: Option<&'a StatelessMeta<'a>>,
    progress_token: Option<u64>,
    /// Head of a call of which the server is told something.
    head: Option<&'a CallHead<'a>>,
}

// === impl OutgoingRequest ===

impl<'a> OutgoingRequest<'a> {
    /// Request that no caller waits for.
    pub(crate) fn new(params: OutgoingParams<'a>, deadline: Instant) -> Self {
        Self {
            params,
            meta: None,
            input: None,
            headers: HeaderMap::new(),
            is_for_caller: false,
            client: None,
            deadline,
        }
    }

    /// Enters the way back to the client that the request is made for, if it is made for any.
    pub(crate) fn route(&self, routes: &Arc<CallRoutes>, id: u64) -> Option<CallRoute> {
        self.is_for_caller.then(|| routes.enter(id, self.client))
    }

    /// Message under an id. The server reports progress under the same number.
    pub(crate) fn message(&self, id: u64) -> Result<Vec<u8>, CallError> {
        let wants_progress = self
            .client
            .is_some_and(|client| client.progress_token.is_some());
        let meta = RequestMeta {
            stateless: self.meta,
            progress_token: wants_progress.then_some(id),
            head: self.params.head().filter(|head| head.has_meta()),
        };
        let has_meta = self.meta.is_some() || wants_progress || meta.head.is_some();
        let params = FullParams {
            meta: has_meta.then_some(meta),
            input: self.input,
            params: self.params,
        };
        let message = OutgoingMessage::request(id, self.params.method().as_str(), params);
        let arguments = self
            .params
            .arguments()
            .map_or(0, |object| object.text().len());
        let mut bytes = Vec::with_capacity(arguments + MESSAGE_OVERHEAD);
        serde_json::to_writer(&mut bytes, &message)
            .map_err(|error| CallError::unavailable(format!("it cannot be written: {error}")))?;
        Ok(bytes)
    }
}

/// Message that takes a request back.
pub(crate) fn cancellation(id: u64) -> Vec<u8> {
    let params = json!({ "requestId": id, "reason": "no longer awaited" });
    rpc::notification(method::CANCELLED, &params.to_string()).into_bytes()
}

impl Serialize for RequestMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(stateless) = self.stateless {
            map.serialize_entry(meta::PROTOCOL_VERSION, stateless.protocol_version)?;
            map.serialize_entry(meta::CLIENT_INFO, &stateless.client_info)?;
            map.serialize_entry(meta::CLIENT_CAPABILITIES, &stateless.client_capabilities)?;
            if let Some(level) = stateless.log_level {
                map.serialize_entry(meta::LOG_LEVEL, &level)?;
            }
        }
        if let Some(token) = self.progress_token {
            map.serialize_entry(meta::PROGRESS_TOKEN, &token)?;
        }
        if let Some(head) = self.head {
            head.write_meta(&mut map)?;
        }
        map.end()
    }
}

// === impl OutgoingParams ===

impl<'a> OutgoingParams<'a> {
    /// Method that the parameters belong to.
    pub(crate) fn method(&self) -> Method {
        match self {
            Self::Discover {} => Method::ServerDiscover,
            Self::Initialize(_) => Method::Initialize,
            Self::CallTool { .. } => Method::ToolsCall,
            Self::Read(read) => read.method(),
            Self::List { method, .. } => *method,
            Self::Subscribe { .. } => Method::ResourcesSubscribe,
            Self::Unsubscribe { .. } => Method::ResourcesUnsubscribe,
            Self::SetLogLevel { .. } => Method::LoggingSetLevel,
            Self::Listen { .. } => Method::SubscriptionsListen,
        }
    }

    /// Name or address that the request is about, as headers repeat it.
    pub(crate) fn name(&self) -> Option<&'a str> {
        match self {
            Self::CallTool { name, .. } => Some(name),
            Self::Read(read) => read.name(),
            _ => None,
        }
    }

    /// Head of a call.
    fn head(&self) -> Option<&'a CallHead<'a>> {
        match self {
            Self::CallTool { head, .. } => *head,
            _ => None,
        }
    }

    /// Arguments of a call.
    pub(crate) fn arguments(&self) -> Option<&'a JsonObject> {
        match self {
            Self::CallTool { arguments, .. } => Some(arguments),
            _ => None,
        }
    }
}

impl WantedNotifications {
    /// Changes of the lists that a server announces to those who listen.
    pub(crate) fn of_lists(declared: Capabilities) -> Self {
        let announces = |kind: ListedKind| kind.declared(&declared) == Some(ListChanges::Announced);
        Self {
            tools_list_changed: announces(ListedKind::Tool),
            prompts_list_changed: announces(ListedKind::Prompt),
            resources_list_changed: announces(ListedKind::Resource),
            resource_subscriptions: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_unwanted(is_wanted: &bool) -> bool {
    !is_wanted
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::{Json, Protocol};

    use super::*;

    #[test]
    fn a_message_has_what_its_request_needs_and_keeps_the_bytes_of_arguments() {
        let mut client = ClientLink::new(Protocol::Session, "one");
        client.progress_token = Some(Json::of(&json!("theirs")));
        let (client, _messages) = client.open();
        let arguments = &JsonObject::parse("{ \"a\":1.50,\n\"b\":[]}").unwrap();
        let meta = StatelessMeta {
            protocol_version: "2026-07-28",
            client_info: GatewayInfo {
                name: "mcpproxy",
                version: "1",
            },
            client_capabilities: RelayedCapabilities::default(),
            log_level: None,
        };
        let meta_text = concat!(
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
            r#""io.modelcontextprotocol/clientInfo":{"name":"mcpproxy","version":"1"},"#,
            r#""io.modelcontextprotocol/clientCapabilities":{}"#,
        );
        let call = OutgoingParams::CallTool {
            name: "odd\"",
            arguments,
            head: None,
        };
        let call_text = "\"name\":\"odd\\\"\",\"arguments\":{ \"a\":1.50,\n\"b\":[]}";
        let input = ClientInput {
            input_responses: Some(Json::of(&json!({ "k": {} }))),
            request_state: Some(Json::of(&json!("s"))),
        };
        let input_text = r#""inputResponses":{"k":{}},"requestState":"s""#;
        let wanting = Some(&client);
        for (meta, client, input, expected) in [
            (None, None, None, format!("{{{call_text}}}")),
            (
                None,
                wanting,
                None,
                format!(r#"{{"_meta":{{"progressToken":7}},{call_text}}}"#),
            ),
            (
                Some(&meta),
                None,
                None,
                format!(r#"{{"_meta":{{{meta_text}}},{call_text}}}"#),
            ),
            (
                Some(&meta),
                wanting,
                Some(&input),
                format!(
                    r#"{{"_meta":{{{meta_text},"progressToken":7}},{input_text},{call_text}}}"#
                ),
            ),
        ] {
            let mut request = OutgoingRequest::new(call, Instant::now());
            (request.meta, request.client, request.input) = (meta, client, input);
            let message = String::from_utf8(request.message(7).unwrap()).unwrap();
            let before = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"#;
            assert_eq!(message, format!("{before}{expected}}}"));
        }
    }

    #[test]
    fn parameters_are_written_as_their_method_wants_them() {
        let (uri, level) = ("test:a", LogLevel::Info);
        let (method, nothing) = (Method::ToolsList, None);
        let lists = WantedNotifications {
            tools_list_changed: true,
            resources_list_changed: true,
            ..WantedNotifications::default()
        };
        let resources = WantedNotifications {
            resource_subscriptions: vec![uri.into()],
            ..WantedNotifications::default()
        };
        let listen = |notifications| OutgoingParams::Listen { notifications };
        for (params, expected) in [
            (OutgoingParams::Discover {}, "{}"),
            (
                OutgoingParams::List {
                    method,
                    cursor: nothing,
                },
                "{}",
            ),
            (
                OutgoingParams::List {
                    method,
                    cursor: Some("\"x"),
                },
                r#"{"cursor":"\"x"}"#,
            ),
            (OutgoingParams::Subscribe { uri }, r#"{"uri":"test:a"}"#),
            (OutgoingParams::SetLogLevel { level }, r#"{"level":"info"}"#),
            (
                listen(&lists),
                r#"{"notifications":{"toolsListChanged":true,"resourcesListChanged":true}}"#,
            ),
            (
                listen(&resources),
                r#"{"notifications":{"resourceSubscriptions":["test:a"]}}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&params).unwrap(), expected);
        }
        let cancelled = String::from_utf8(cancellation(3)).unwrap();
        assert_eq!(
            cancelled,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"no longer awaited"}}"#
        );
    }
}
