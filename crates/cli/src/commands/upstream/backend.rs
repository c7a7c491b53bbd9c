//! Changes of servers, by the running gateway or by one of our own.

use bytes::Bytes;
use mcpproxy_builtin::admin_tools;
use mcpproxy_gateway::settings::edit::ServerChange;
use mcpproxy_wire::json::to_text;
use serde_json::{Map, Value, json};

use crate::backend::{Backend, settle};
use crate::daemon::{encode, rest_path};
use crate::error::CliError;

/// Action of a server that has no further arguments.
#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    Enable,
    Disable,
    Restart,
}

impl Action {
    /// Word for a server after it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Enable => "enabled",
            Self::Disable => "disabled",
            Self::Restart => "restarted",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Enable => "/enable",
            Self::Disable => "/disable",
            Self::Restart => "/restart",
        }
    }
}

impl Backend {
    pub(super) async fn list_servers(&self) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get("/api/v1/servers").await,
            Self::Own(gateway) => {
                // Those of the file: tools of this very program are no server that anybody manages.
                let mut servers = gateway.servers().status();
                servers.retain(|server| server.name != admin_tools::NAME);
                Ok(json!({ "servers": servers }).to_string())
            }
        }
    }

    pub(super) async fn inspect_server(&self, name: &str) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&path(name, "")).await,
            Self::Own(gateway) => {
                settle(gateway).await;
                Ok(to_text(&gateway.server_report(name)?))
            }
        }
    }

    /// Adds a server; the gateway of our own is to start this one.
    pub(super) async fn add_server(
        &self,
        name: &str,
        entry: &Map<String, Value>,
        force: bool,
    ) -> Result<String, CliError> {
        let added = match self {
            Self::Daemon(daemon) => {
                let mut body = entry.clone();
                body.insert("name".to_owned(), json!(name));
                let path = rest_path("/servers", force.then_some(("force", "true")));
                daemon
                    .post(&path, Bytes::from(Value::Object(body).to_string()))
                    .await
            }
            Self::Own(gateway) => {
                let added = gateway.add_server(name, entry.clone(), force).await;
                added.map(|report| to_text(&report)).map_err(CliError::from)
            }
        };
        added.map_err(CliError::by_code)
    }

    pub(super) async fn change_server(
        &self,
        name: &str,
        change: Action,
    ) -> Result<String, CliError> {
        let changed = match self {
            Self::Daemon(daemon) => daemon.post(&path(name, change.path()), Bytes::new()).await,
            Self::Own(gateway) => {
                let changed = match change {
                    Action::Enable => {
                        gateway
                            .change_server(name, ServerChange::Enable(true))
                            .await
                    }
                    Action::Disable => {
                        gateway
                            .change_server(name, ServerChange::Enable(false))
                            .await
                    }
                    Action::Restart => gateway.restart_server(name).await,
                };
                changed
                    .map(|report| to_text(&report))
                    .map_err(CliError::from)
            }
        };
        changed.map_err(CliError::by_code)
    }

    pub(super) async fn remove_server(&self, name: &str) -> Result<(), CliError> {
        let removed = match self {
            Self::Daemon(daemon) => daemon.delete(&path(name, "")).await.map(drop),
            Self::Own(gateway) => gateway.remove_server(name).await.map_err(CliError::from),
        };
        removed.map_err(CliError::by_code)
    }
}

fn path(name: &str, behind: &str) -> String {
    format!("/api/v1/servers/{}{behind}", encode(name))
}
