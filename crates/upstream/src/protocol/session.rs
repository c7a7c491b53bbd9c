//! Protocol with sessions: revisions 2024-11-05 to 2025-11-25.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use mcpproxy_wire::{Capabilities, ListChanges, Revision, initialize};
use tokio::time::Instant;

use super::greeting::Greeting;
use crate::CallError;
use crate::client::{ClientLink, LogLevel};
use crate::transport::request::{OutgoingParams, OutgoingRequest};
use crate::transport::{TransportLink, read_hello};

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
        let params = || initialize::params(Revision::LATEST_WITH_SESSION, version);
        let (hello, revision, announces) = match link {
            TransportLink::Stdio(stdio) => {
                let params = params();
                let params = OutgoingParams::Initialize(&params);
                let response = stdio
                    .request(OutgoingRequest::new(params, deadline))
                    .await?;
                let (hello, revision) = read_hello(response.json())?;
                stdio.notify_initialized(deadline).await?;
                let announces = hello.capabilities.tools == Some(ListChanges::Announced);
                (hello, revision, announces)
            }
            TransportLink::Http(http) => {
                let greeted = http.greet(&params(), deadline).await?;
                (greeted.hello, greeted.revision, greeted.announces)
            }
            TransportLink::BuiltIn(_) => {
                return Ok(Greeting {
                    server_info: None,
                    revision: None,
                    announces: false,
                    capabilities: Capabilities {
                        tools: Some(ListChanges::Silent),
                        ..Capabilities::default()
                    },
                });
            }
        };
        if hello.has_logging {
            // What servers send unasked is not known. It is taken for what most need.
            let _ = self.log_level.set(Mutex::new(LogLevel::Info));
        }
        Ok(Greeting {
            server_info: hello.server_info,
            revision: Some(revision),
            announces,
            capabilities: hello.capabilities,
        })
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
        if is_lower(&mut log_level.lock().unwrap_or_else(PoisonError::into_inner)) {
            let params = OutgoingParams::SetLogLevel { level: wanted };
            // A server that refuses sends what it sends.
            let _ = link.request(OutgoingRequest::new(params, deadline)).await;
        }
    }
}
