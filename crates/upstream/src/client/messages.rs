//! Messages of a server to the client behind a request.

use mcpproxy_wire::rpc::RpcError;
use mcpproxy_wire::{Json, method};
use tokio::sync::oneshot;

/// Message to a client during one of its requests.
#[derive(Debug)]
pub enum ClientMessage {
    /// Notification, which needs no answer.
    Notification(ClientNotification),
    /// Request, which the server waits for.
    Request(ClientRequest),
}

/// Notification to a client.
#[derive(Debug)]
pub struct ClientNotification {
    /// Method of the notification.
    pub method: &'static str,
    /// Parameters, as this client wants them.
    pub params: Json,
}

/// Request of a server to a client. Dropping it says that there will be no response.
#[derive(Debug)]
pub struct ClientRequest {
    /// Kind of request.
    pub kind: ClientRequestKind,
    /// Parameters as the server gave them, with its name in what is read.
    pub params: Json,
    response: oneshot::Sender<GivenResponse>,
}

/// Response that a server gets, and the kind of answer that stands in the record.
pub(super) type GivenResponse = (Result<Json, RpcError>, ClientAnswer);

mcpproxy_wire::words! {
    /// Kind of request that a server can make of a client; the word is the capability that a client declares to
    /// get such requests.
    ClientRequestKind {
        /// `elicitation/create`: something that the user knows or decides.
        Elicitation = "elicitation",
        /// `sampling/createMessage`: an answer of the client's model.
        Sampling = "sampling",
        /// `roots/list`: the folders that the client works in.
        Roots = "roots",
    }
}

mcpproxy_wire::words! {
    /// Kind of answer to a client request; the words are those of an elicitation.
    ClientAnswer {
        /// The client gave what was asked for.
        Accept = "accept",
        /// The client, or its user, said no.
        Decline = "decline",
        /// Nobody answered: the user closed what was asked, the time was up, or somebody went away.
        Cancel = "cancel",
    }
}

mcpproxy_wire::words! {
    /// Severity of a log message, the least severe first.
    #[derive(PartialOrd, Ord)]
    #[expect(missing_docs, reason = "the names are those of the protocol")]
    LogLevel {
        Debug = "debug",
        Info = "info",
        Notice = "notice",
        Warning = "warning",
        Error = "error",
        Critical = "critical",
        Alert = "alert",
        Emergency = "emergency",
    }
}

// === impl ClientRequest ===

impl ClientRequest {
    /// Request, and where its response will arrive.
    pub(super) fn new(
        kind: ClientRequestKind,
        params: Json,
    ) -> (Self, oneshot::Receiver<GivenResponse>) {
        let (response, responded) = oneshot::channel();
        let request = Self {
            kind,
            params,
            response,
        };
        (request, responded)
    }

    /// Gives the response of the client: its result, or its error.
    pub fn respond(self, response: Result<Json, RpcError>) {
        let answer = ClientAnswer::of(self.kind, response.as_ref().ok());
        self.send(response, answer);
    }

    /// Gives a response in the place of a client that gave none.
    pub fn respond_for_client(self, response: Result<Json, RpcError>) {
        self.send(response, ClientAnswer::Cancel);
    }

    fn send(self, response: Result<Json, RpcError>, answer: ClientAnswer) {
        // Nobody waits any more if the server was lost or gave the call up.
        let _ = self.response.send((response, answer));
    }

    /// Whether nobody waits for the response any more.
    pub fn is_withdrawn(&self) -> bool {
        self.response.is_closed()
    }

    /// Waits until nobody waits for the response any more.
    pub async fn withdrawn(&mut self) {
        self.response.closed().await;
    }
}

// === impl ClientRequestKind ===

impl ClientRequestKind {
    /// Kind of request that a method makes.
    pub fn of_method(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.method() == method)
    }

    /// Method of the request.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Elicitation => method::ELICITATION,
            Self::Sampling => method::SAMPLING,
            Self::Roots => method::ROOTS,
        }
    }
}

// === impl ClientAnswer ===

impl ClientAnswer {
    /// Kind of answer that the result of a client is; no result is an error of the client. A result of no known action
    /// counts as accepted: its content goes to the server.
    pub fn of(kind: ClientRequestKind, result: Option<&Json>) -> Self {
        let Some(result) = result else {
            return Self::Decline;
        };
        let action = result.fields().and_then(|fields| fields.text("action"));
        match (kind, action) {
            (ClientRequestKind::Elicitation, Some(action)) => {
                Self::parse(&action).unwrap_or(Self::Accept)
            }
            _ => Self::Accept,
        }
    }
}

// === impl LogLevel ===

impl LogLevel {
    /// Level that a JSON string names.
    pub fn read(json: &str) -> Option<Self> {
        let name: String = serde_json::from_str(json).ok()?;
        Self::parse(&name)
    }
}
