//! Messages of a server, whichever way they come.

use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_wire::json::Fields;
use mcpproxy_wire::rpc::{Id, METHOD_NOT_FOUND, MessageText};
use mcpproxy_wire::{
    Json, ListedKind, Message, Method, RpcError, RpcResult, meta, method, response, rpc,
};
use serde_json::value::RawValue;

use super::call_routes::{CallRoutes, RelayedRequest};
use super::link::ClientLink;
use super::messages::ClientRequestKind;
use crate::CallError;
use crate::call_error::UpstreamResponse;

/// Action that a message of a server asks of its connection.
pub(crate) enum IncomingAction {
    /// Hand the response to whoever waits under the id.
    Response(u64, UpstreamResponse),
    /// Send this back.
    Reply(String),
    /// Have a client respond, see [`CallRoutes::relay`].
    Relay(RelayedRequest),
    /// Nothing more: it was a notification about a call, and its client has it if it is known.
    Notified,
    /// Nothing more.
    Nothing,
    /// Ignore what is no message; the reason is for the log.
    Garbage(String),
}

/// Place where the announcements of a server take effect.
pub(crate) trait Announcements: Send + Sync {
    /// Sets whether changes of the server's tools are announced from now on.
    fn set_tools_announced(&self, is_announced: bool);

    /// Takes note that the server announced a change of a list or of a resource.
    fn change_announced(&self);

    /// Takes changes of the lists of these kinds.
    fn lists_changed(&self, kinds: &[ListedKind]);

    /// Takes a change of a resource.
    fn resource_updated(&self, uri: &str);

    /// Takes the promise to announce changes of these resources.
    fn subscriptions_acknowledged(&self, uris: &[String]);
}

/// Reader of the messages of one connection, which lets them take effect.
#[derive(Clone)]
pub(crate) struct IncomingMessages {
    pub(crate) announcements: Arc<dyn Announcements>,
    pub(crate) routes: Arc<CallRoutes>,
}

impl IncomingMessages {
    pub(crate) fn new(announcements: Arc<dyn Announcements>) -> Self {
        Self {
            announcements,
            routes: Arc::default(),
        }
    }

    /// Reads one message, which came on the stream of the request with the id, if on any.
    ///
    /// An announced change of tools makes the listing stale here, at the moment it is read, so
    /// that no later decision rests on what was listed before.
    pub(crate) fn receive(&self, bytes: &Bytes, stream: Option<u64>) -> IncomingAction {
        tracing::trace!(target: "mcpproxy::call_path", "a message of the server is read");
        let text = match MessageText::new(bytes) {
            Ok(text) => text,
            Err(error) => return refuse_message(bytes, error),
        };
        // Most messages are responses with a result, and this finds the members of the result at once.
        if let Some((id, result)) = response::read(&text) {
            return respond(id, Ok(result));
        }
        match text.message() {
            Ok(Message::Response {
                id: Some(id),
                outcome,
            }) => respond(
                id,
                outcome
                    .map(|raw| RpcResult::unread(text.json(raw)))
                    .map_err(CallError::Rpc),
            ),
            Ok(Message::Response { id: None, outcome }) => IncomingAction::Garbage(match outcome {
                Err(error) => format!("it reports an error for no request: {error}"),
                Ok(_) => "it is an answer without an id".to_owned(),
            }),
            Ok(Message::Request { id, method, params }) => {
                let params = params.map(|raw| text.json(raw));
                self.receive_request(id, &method, params, stream)
            }
            Ok(Message::Notification { method, params }) => {
                let params = params.map(|raw| text.json(raw));
                self.receive_notification(&method, params, stream)
            }
            Err(error) => refuse_message(bytes, error),
        }
    }

    /// Takes a request of the server. Roots are refused, because the folders of one client would be
    /// given to a server that others use as well; only requests that concern one call are passed on.
    fn receive_request(
        &self,
        id: Id<'_>,
        method: &str,
        params: Option<Json>,
        stream: Option<u64>,
    ) -> IncomingAction {
        if method == Method::Ping.as_str() {
            return IncomingAction::Reply(rpc::response(id, "{}"));
        }
        let refuse = |message: String| {
            let error = RpcError::new(METHOD_NOT_FOUND, message);
            IncomingAction::Reply(rpc::error_response(Some(id), &error))
        };
        let kind = match ClientRequestKind::of_method(method) {
            Some(kind @ (ClientRequestKind::Elicitation | ClientRequestKind::Sampling)) => kind,
            Some(ClientRequestKind::Roots) | None => {
                return refuse(format!("Method not found: {method}"));
            }
        };
        match self.client(stream) {
            Some(client) => {
                let params = params.unwrap_or_else(Json::empty_object);
                let id = id.keep();
                IncomingAction::Relay(RelayedRequest {
                    id,
                    kind,
                    params,
                    client,
                })
            }
            None => refuse(format!(
                "Nothing tells which caller is meant by {method}: it belongs to no request, and not all requests are of one client"
            )),
        }
    }

    /// Takes a notification of the server.
    fn receive_notification(
        &self,
        name: &str,
        params: Option<Json>,
        stream: Option<u64>,
    ) -> IncomingAction {
        if is_change(name) {
            self.announcements.change_announced();
        }
        match name {
            method::TOOLS_CHANGED => self.announcements.lists_changed(&[ListedKind::Tool]),
            method::PROMPTS_CHANGED => self.announcements.lists_changed(&[ListedKind::Prompt]),
            method::RESOURCES_CHANGED => {
                let kinds = [ListedKind::Resource, ListedKind::Template];
                self.announcements.lists_changed(&kinds);
            }
            method::RESOURCE_UPDATED => {
                let uri = params.as_ref().and_then(|params| member(params, "uri"));
                let uri = uri.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
                if let Some(uri) = uri {
                    self.announcements.resource_updated(&uri);
                }
            }
            method::SUBSCRIPTION_ACKNOWLEDGED => {
                if let Some(params) = params {
                    self.acknowledged(&params);
                }
            }
            method::PROGRESS => {
                let params = params.unwrap_or_else(Json::empty_object);
                let token =
                    member(&params, meta::PROGRESS_TOKEN).and_then(|raw| raw.get().parse().ok());
                if let Some(client) = token.and_then(|id| self.routes.client_of(id)) {
                    client.report_progress(&params);
                }
                return IncomingAction::Notified;
            }
            method::LOG_MESSAGE => {
                if let (Some(params), Some(client)) = (params, self.client(stream)) {
                    client.log(&params);
                }
                return IncomingAction::Notified;
            }
            method::ELICITATION_COMPLETE => {
                if let (Some(params), Some(client)) = (params, self.client(stream)) {
                    client.notify(method::ELICITATION_COMPLETE, params);
                }
                return IncomingAction::Notified;
            }
            method::CANCELLED => {
                let id = params
                    .as_ref()
                    .and_then(|params| member(params, "requestId"));
                if let Some(id) = id {
                    self.routes.withdraw(id.get());
                }
            }
            _ => {}
        }
        IncomingAction::Nothing
    }

    /// Takes the acknowledgement of a subscription. Changes of before it may have been missed.
    fn acknowledged(&self, params: &Json) {
        let granted = member(params, "notifications");
        let granted: Fields<'_> = granted
            .as_ref()
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        let is_granted = |name: &str| granted.get(name).map(RawValue::get) == Some("true");
        if is_granted("toolsListChanged") {
            self.announcements.set_tools_announced(true);
        }
        if is_granted("promptsListChanged") {
            self.announcements.lists_changed(&[ListedKind::Prompt]);
        }
        if is_granted("resourcesListChanged") {
            self.announcements
                .lists_changed(&[ListedKind::Resource, ListedKind::Template]);
        }
        let uris = granted.given("resourceSubscriptions");
        if let Some(uris) = uris.and_then(|raw| serde_json::from_str::<Vec<String>>(raw.get()).ok())
        {
            self.announcements.subscriptions_acknowledged(&uris);
        }
    }

    /// Client that a message concerns.
    fn client(&self, stream: Option<u64>) -> Option<Arc<ClientLink>> {
        match stream {
            Some(id) => self.routes.client_of(id),
            None => self.routes.only_client(),
        }
    }
}

/// Whether a notification tells of a change of what the server has.
fn is_change(notification: &str) -> bool {
    [
        method::TOOLS_CHANGED,
        method::PROMPTS_CHANGED,
        method::RESOURCES_CHANGED,
        method::RESOURCE_UPDATED,
    ]
    .contains(&notification)
}

fn respond(id: Id<'_>, response: UpstreamResponse) -> IncomingAction {
    match id.number() {
        Some(number) => IncomingAction::Response(number, response),
        None => IncomingAction::Garbage("it answers a request that was never made".to_owned()),
    }
}

/// Action for a message that cannot be read: whoever waits under its id gets to know.
fn refuse_message(bytes: &Bytes, error: RpcError) -> IncomingAction {
    match Message::salvage_id(bytes).and_then(Id::number) {
        Some(number) => IncomingAction::Response(
            number,
            Err(CallError::malformed(format!(
                "the answer is no JSON-RPC response: {}",
                error.message
            ))),
        ),
        None => IncomingAction::Garbage(error.message),
    }
}

fn member(object: &Json, name: &str) -> Option<Box<RawValue>> {
    object.fields()?.get(name).map(ToOwned::to_owned)
}
