//! Protocol with sessions: revisions 2024-11-05 to 2025-11-25.

use std::sync::{Arc, Mutex, OnceLock};

use mcpproxy_wire::{Capabilities, ListChanges, Revision, initialize};
use tokio::time::Instant;

use crate::client::{ClientLink, LogLevel};
use crate::transport::request::{OutgoingParams, OutgoingRequest};
use crate::transport::{Greeting, TransportLink, read_hello};
use crate::{CallError, lock};

/// Session with a server.
#[derive(Debug, Default)]
pub(super) struct SessionContext {
    /// Level from which on the server sends log messages; nothing if it sends none.
    log_level: OnceLock<Mutex<LogLevel>>,
}

impl SessionContext {
    /// Opens the session.
    pub(super) async fn greet(
        &self,
        link: &TransportLink,
        version: &str,
        deadline: Instant,
    ) -> Result<Greeting, CallError> {
        let params = initialize::params(Revision::LATEST_WITH_SESSION, version);
        let greeting = match link {
            TransportLink::Stdio(stdio) => {
                let params = OutgoingParams::Initialize(&params);
                let request = OutgoingRequest::new(params, deadline);
                let (greeting, _) = read_hello(stdio.request(request).await?.json())?;
                stdio.notify_initialized(deadline).await?;
                greeting
            }
            TransportLink::Http(http) => http.greet(&params, deadline).await?,
            TransportLink::BuiltIn(_) => Greeting {
                capabilities: Capabilities {
                    tools: Some(ListChanges::Silent),
                    ..Capabilities::default()
                },
                ..Greeting::default()
            },
        };
        if greeting.has_logging {
            // What servers send unasked is not known. It is taken for what most need.
            let _ = self.log_level.set(Mutex::new(LogLevel::Info));
        }
        Ok(greeting)
    }

    /// Has the server send the log messages that the client wants, if it would not do so unasked.
    /// All clients share the session, so the level is lowered only; messages that are not severe
    /// enough for one of them are held back on their way there.
    pub(super) async fn lower_log_level(
        &self,
        link: &TransportLink,
        client: Option<&Arc<ClientLink>>,
        deadline: Instant,
    ) {
        let wanted = client.and_then(|client| client.log_level);
        let (Some(wanted), Some(log_level)) = (wanted, self.log_level.get()) else {
            return;
        };
        let is_lower = |level: &mut LogLevel| {
            let is_lower = wanted < *level;
            *level = wanted.min(*level);
            is_lower
        };
        if is_lower(&mut lock(log_level)) {
            let params = OutgoingParams::SetLogLevel { level: wanted };
            // A server that refuses sends what it sends.
            let _ = link.request(OutgoingRequest::new(params, deadline)).await;
        }
    }
}
