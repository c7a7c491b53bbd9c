//! Connection to one server, whatever it speaks and runs over.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_wire::{Json, ListedKind, ListedPage, Protocol, RpcResult};
use tokio::time::Instant;

use super::session::SessionContext;
use super::stateless::{
    MOST_ROUNDS, StatelessContext, asks_for_input, collect_input, meta_of, pass_on, read_discovery,
    refuse_asking, time_to_live,
};
use crate::CallError;
use crate::call_error::UpstreamResponse;
use crate::client::ClientLink;
use crate::transport::request::{OutgoingParams, OutgoingRequest};
use crate::transport::{Greeting, TransportLink};

/// Connection that requests can be made on, by any number of callers at once.
pub(crate) struct UpstreamConnection {
    pub(crate) link: Arc<TransportLink>,
    /// Our version, as servers are told.
    version: Arc<str>,
    protocol: SpokenProtocol,
}

/// Protocol of a connection, with what its requests need.
enum SpokenProtocol {
    Session(SessionContext),
    Stateless(StatelessContext),
}

impl UpstreamConnection {
    /// Connection over a transport that runs.
    pub(crate) fn new(link: Arc<TransportLink>, protocol: Protocol, version: Arc<str>) -> Self {
        let protocol = match protocol {
            Protocol::Session => SpokenProtocol::Session(SessionContext::default()),
            Protocol::Stateless => SpokenProtocol::Stateless(StatelessContext::default()),
        };
        Self {
            link,
            version,
            protocol,
        }
    }

    /// Connection with a session over the same transport, for a server that turned out to want one.
    pub(crate) fn in_session(&self) -> Self {
        let (link, version) = (Arc::clone(&self.link), Arc::clone(&self.version));
        Self::new(link, Protocol::Session, version)
    }

    /// Protocol spoken on it.
    pub(crate) fn protocol(&self) -> Protocol {
        match self.protocol {
            SpokenProtocol::Session(_) => Protocol::Session,
            SpokenProtocol::Stateless(_) => Protocol::Stateless,
        }
    }

    /// Asks who the server is, and opens a session where there are any.
    pub(crate) async fn greet(&self, deadline: Instant) -> Result<Greeting, CallError> {
        match &self.protocol {
            SpokenProtocol::Session(session) => {
                session.greet(&self.link, &self.version, deadline).await
            }
            SpokenProtocol::Stateless(_) => read_discovery(&self.discover(deadline).await?),
        }
    }

    /// Asks in the protocol without sessions who the server is.
    pub(crate) async fn discover(&self, deadline: Instant) -> Result<Json, CallError> {
        self.request(OutgoingParams::Discover {}, deadline).await
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
            SpokenProtocol::Stateless(context) => {
                (Some(context), Some(meta_of(&self.version, client)))
            }
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
                refuse_asking(&response)?;
                return Ok(response);
            }
            if !asks_for_input(&response)? {
                return Ok(response);
            }
            if let Some(client) = client.filter(|client| client.protocol == Protocol::Stateless) {
                return pass_on(client, response).await;
            }
            collected = Some(collect_input(client, response.json()).await?);
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
        let meta = meta_of(&self.version, None);
        request.meta = Some(&meta);
        if let TransportLink::Http(_) = *self.link {
            request.headers = context.headers(&params);
        }
        let result = self.link.request(request).await?;
        if asks_for_input(&result)? {
            let reason = "it asks for input where nothing can be asked for";
            return Err(CallError::malformed(reason));
        }
        Ok(result.into_json())
    }

    /// Whether one call can break off without the connection being over.
    pub(crate) fn outlives_a_call(&self) -> bool {
        matches!(*self.link, TransportLink::Http(_))
    }

    /// Whether it runs over a program of ours, to which one connection can be made.
    pub(crate) fn is_program(&self) -> bool {
        matches!(*self.link, TransportLink::Stdio(_))
    }
}
