//! `mcpproxy contract accept SERVER`

use bytes::Bytes;
use mcpproxy_gateway::ServersToStart;
use mcpproxy_wire::json::to_text;
use serde_json::{Value, json};

use crate::CommandResult;
use crate::arguments::Common;
use crate::backend::{Backend, settle};
use crate::daemon::encode;
use crate::error::CliError;
use crate::output::{elements, printable, table, text};

pub(super) async fn run(common: &Common, server: &str, tool: Option<&str>) -> CommandResult {
    let wanted = ServersToStart::Only(server.to_owned());
    let backend = Backend::find(&common.sources(), wanted).await?;
    let accepted = accepted(&backend, server, tool).await;
    backend.finish().await;
    Ok(common
        .output
        .result(&accepted?, |accepted| page(server, accepted)))
}

async fn accepted(backend: &Backend, server: &str, tool: Option<&str>) -> Result<String, CliError> {
    // One that is only starting has not said what it announces now.
    let servers = backend.servers(server).await?;
    if !servers.iter().any(|one| one.name == server) {
        let names: Vec<String> = servers.into_iter().map(|one| one.name).collect();
        return Err(CliError::unknown_server(server, &names));
    }
    backend.accept_contract(server, tool).await
}

impl Backend {
    async fn accept_contract(&self, server: &str, tool: Option<&str>) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => {
                let path = format!("/api/v1/servers/{}/contract/accept", encode(server));
                let body = Bytes::from(json!({ "tool": tool }).to_string());
                daemon.post(&path, body).await
            }
            Self::Own(gateway) => {
                settle(gateway).await;
                let servers = gateway.servers();
                Ok(to_text(&servers.accept_contract(server, tool).await?))
            }
        }
    }
}

/// Every tool that changed, and how; a sentence if there is none.
fn page(server: &str, accepted: &Value) -> String {
    let changes = [
        ("replaced", "what is announced now counts as published"),
        ("forgotten", "is not announced any more, and is forgotten"),
    ];
    let rows = changes.iter().flat_map(|(word, change)| {
        let tools = elements(&accepted[*word]).iter();
        tools.map(move |tool| vec![text(tool), (*change).to_owned()])
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return printable(&format!(
            "Server '{server}' announces what it published; there is nothing to accept.\n"
        ));
    }
    table(&["TOOL", "CHANGE"], rows)
}
