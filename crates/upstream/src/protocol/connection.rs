//! Connection to one server, whatever it speaks and runs over.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcpproxy_wire::{Json, ListedKind, ListedPage, Protocol, RpcResult};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::greeting::Greeting;
use super::session::SessionContext;
use super::stateless::{
    InputRound, MOST_ROUNDS, StatelessContext, collect_input, listen, read_discovery, read_round,
    time_to_live,
};
use crate::call_error::UpstreamResponse;
use crate::client::ClientLink;
use crate::client::incoming::Announcements;
use crate::transport::request::{OutgoingParams, OutgoingRequest, WantedNotifications};
use crate::transport::{LostConnection, TransportLink};
use crate::{BuiltIn, CallError};

/// Connection that requests can be made on, by any number of callers at once.
#[derive(Debug)]
pub(crate) struct UpstreamConnection {
    link: Arc<TransportLink>,
    protocol: SpokenProtocol,
    /// Task that hears of changes where there are no sessions, ended when this is dropped.
    listener: Mutex<JoinSet<()>>,
}

/// Protocol of a connection, with what its requests need.
#[derive(Debug)]
enum SpokenProtocol {
    Session(SessionContext),
    Stateless(Arc<StatelessContext>),
}

impl UpstreamConnection {
    /// Connection over a transport that runs; `version` is ours, as servers are told.
    pub(crate) fn new(link: TransportLink, protocol: Protocol, version: &str) -> Self {
        let protocol = match protocol {
            Protocol::Session => SpokenProtocol::Session(SessionContext::default()),
            Protocol::Stateless => SpokenProtocol::Stateless(StatelessContext::new(version).into()),
        };
        Self::over(Arc::new(link), protocol)
    }

    /// Connection with a session over the same transport, for a server that turned out to want one.
    pub(crate) fn in_session(&self) -> Self {
        let session = SpokenProtocol::Session(SessionContext::default());
        Self::over(Arc::clone(&self.link), session)
    }

    fn over(link: Arc<TransportLink>, protocol: SpokenProtocol) -> Self {
        Self {
            link,
            protocol,
            listener: Mutex::default(),
        }
    }

    /// Protocol spoken on it.
    pub(crate) fn protocol(&self) -> Protocol {
        match self.protocol {
            SpokenProtocol::Session(_) => Protocol::Session,
            SpokenProtocol::Stateless(_) => Protocol::Stateless,
        }
    }

    /// Asks who the server is, and opens a session where there are any.
    pub(crate) async fn greet(
        &self,
        version: &str,
        deadline: Instant,
    ) -> Result<Greeting, CallError> {
        match &self.protocol {
            SpokenProtocol::Session(session) => session.greet(&self.link, version, deadline).await,
            SpokenProtocol::Stateless(_) => read_discovery(&self.discover(deadline).await?),
        }
    }

    /// Asks in the protocol without sessions who the server is.
    pub(crate) async fn discover(&self, deadline: Instant) -> Result<Json, CallError> {
        self.request(OutgoingParams::Discover {}, deadline).await
    }

    /// Hears of these changes until the connection is stopped, where there are no sessions.
    pub(crate) fn listen(
        &self,
        announcements: Arc<dyn Announcements>,
        notifications: WantedNotifications,
    ) {
        let SpokenProtocol::Stateless(context) = &self.protocol else {
            return;
        };
        let (link, context) = (Arc::clone(&self.link), Arc::clone(context));
        let listening = listen(link, context, announcements, notifications);
        self.replace_listener(JoinSet::from_iter([listening]));
    }

    /// Page of one of the server's lists, after the one that named the cursor, and how long the server
    /// says it holds.
    pub(crate) async fn list(
        &self,
        kind: ListedKind,
        cursor: Option<&str>,
        deadline: Instant,
    ) -> Result<(ListedPage, Option<Duration>), CallError> {
        if let TransportLink::BuiltIn(built_in) = &*self.link {
            return Ok((ListedPage::of(kind, built_in.tools()), None));
        }
        let method = kind.method();
        let params = OutgoingParams::List { method, cursor };
        let response = self.request(params, deadline).await?;
        let mut page = ListedPage::parse(kind, &response).map_err(CallError::malformed)?;
        let SpokenProtocol::Stateless(context) = &self.protocol else {
            return Ok((page, None));
        };
        if let (ListedKind::Tool, TransportLink::Http(_)) = (kind, &*self.link) {
            context.learn_param_headers(&mut page);
        }
        Ok((page, time_to_live(&response)))
    }

    /// Makes a request that a caller waits for, whose client may be asked for input meanwhile.
    pub(crate) async fn call(
        &self,
        params: OutgoingParams<'_>,
        client: Option<&Arc<ClientLink>>,
        deadline: Instant,
    ) -> UpstreamResponse {
        let (context, meta) = match &self.protocol {
            SpokenProtocol::Session(session) => {
                session.lower_log_level(&self.link, client, deadline).await;
                (None, None)
            }
            SpokenProtocol::Stateless(context) => (Some(context), Some(context.meta(client))),
        };
        let mut collected = None;
        for _ in 0..MOST_ROUNDS {
            let mut request = OutgoingRequest::new(params, deadline);
            request.is_for_caller = true;
            request.client = client;
            if let Some(context) = context {
                request.meta = meta.as_ref();
                request.input = collected.as_ref().or(client.map(|client| &client.input));
                if let TransportLink::Http(_) = *self.link {
                    request.headers = context.headers(&params);
                }
            }
            let response = match &*self.link {
                TransportLink::Stdio(stdio) => stdio.request(request).await?,
                TransportLink::Http(http) => http.request(request).await?,
                TransportLink::BuiltIn(_) => {
                    return Err(CallError::unavailable("the tool is built in"));
                }
            };
            if context.is_none() {
                return Ok(response);
            }
            let takes_input_requests =
                client.is_some_and(|client| client.protocol == Protocol::Stateless);
            match read_round(response)? {
                InputRound::InputRequired(result) if !takes_input_requests => {
                    collected = Some(collect_input(client, result.json()).await?);
                }
                InputRound::Complete(result) | InputRound::InputRequired(result) => {
                    return Ok(result);
                }
            }
        }
        Err(CallError::malformed("it asks for input over and over"))
    }

    /// Makes a request that no caller waits for.
    pub(crate) async fn request(
        &self,
        params: OutgoingParams<'_>,
        deadline: Instant,
    ) -> Result<Json, CallError> {
        let mut request = OutgoingRequest::new(params, deadline);
        let SpokenProtocol::Stateless(context) = &self.protocol else {
            return self.link.request(request).await.map(RpcResult::into_json);
        };
        let meta = context.meta(None);
        request.meta = Some(&meta);
        if let TransportLink::Http(_) = *self.link {
            request.headers = context.headers(&params);
        }
        match read_round(self.link.request(request).await?)? {
            InputRound::Complete(result) => Ok(result.into_json()),
            InputRound::InputRequired(_) => Err(CallError::malformed(
                "it asks for input where nothing can be asked for",
            )),
        }
    }

    /// Tools of this very program that it leads to, if it does.
    pub(crate) fn built_in(&self) -> Option<&dyn BuiltIn> {
        match &*self.link {
            TransportLink::BuiltIn(built_in) => Some(&**built_in),
            TransportLink::Stdio(_) | TransportLink::Http(_) => None,
        }
    }

    /// Whether one call can break off without the connection being over.
    pub(crate) fn outlives_a_call(&self) -> bool {
        matches!(*self.link, TransportLink::Http(_))
    }

    /// Whether it runs over a program of ours, to which one connection can be made.
    pub(crate) fn is_program(&self) -> bool {
        matches!(*self.link, TransportLink::Stdio(_))
    }

    /// Waits for an end that nobody here asked for.
    pub(crate) async fn lost(&self) -> LostConnection {
        self.link.lost().await
    }

    /// Ends the connection and what runs behind it.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.replace_listener(JoinSet::new());
        self.link.stop(grace).await;
    }

    /// Process behind it.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.link.pid()
    }

    fn replace_listener(&self, next: JoinSet<()>) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = next;
    }
}
