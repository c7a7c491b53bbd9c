//! Backend that answers a command: the running gateway, or one of its own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_gateway::search::ToolListRequest;
use mcpproxy_gateway::settings::{self, DataDirError, Settings, Sources};
use mcpproxy_gateway::{
    ContractStatus, Gateway, GatewayOptions, LogRole, ServerStatus, ServersToStart,
};
use mcpproxy_policy::{Caller, Operation, Rights};
use mcpproxy_wire::Json;
use mcpproxy_wire::json::decode_for_display;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::daemon::{Daemon, encode, rest_path};
use crate::error::CliError;

/// Longest wait of a gateway of our own for its servers, before it answers with what is there.
const SETTLE_TIME: Duration = Duration::from_mins(1);

/// Longest wait of a gateway of our own for what tools mean; beyond it the search goes by words.
const MEANINGS_TIME: Duration = Duration::from_secs(3);

/// Pause before the wait for servers looks again.
const SETTLE_STEP: Duration = Duration::from_millis(20);

/// Backend that answers commands. All answers are the JSON text of the REST interface.
pub(crate) enum Backend {
    /// The running gateway.
    Daemon(Daemon),
    /// A gateway in this process, for as long as the command takes.
    Own(Arc<Gateway>),
}

impl Backend {
    /// The running gateway if there is one; else starts the servers that are wanted.
    pub(crate) async fn find(sources: &Sources, wanted: ServersToStart) -> Result<Self, CliError> {
        // A running gateway has its settings; the file may be in the middle of an edit.
        if let Some(daemon) = Daemon::find(sources).await? {
            return Ok(Self::Daemon(daemon));
        }
        let settings = settings::load(sources)?;
        Ok(Self::Own(own(settings, sources, wanted, LogRole::Command)?))
    }

    /// Makes a call, as the variants of the menu take it; the answer is a `CallToolResult`.
    pub(crate) async fn call(
        &self,
        variant: Operation,
        mut request: Value,
    ) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => {
                request["variant"] = json!(variant.variant());
                let body = Bytes::from(request.to_string());
                daemon.post("/api/v1/tools/call", body).await
            }
            Self::Own(gateway) => {
                let caller = Arc::new(Caller {
                    client_name: Some("mcpproxy-cli".to_owned()),
                    client_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
                    trace_id: Some(Uuid::new_v4().simple().to_string()),
                    // The person at the terminal owns this gateway.
                    rights: Rights::Administrator,
                    ..Caller::default()
                });
                let request = gateway.read_call(variant, &Json::of(&request));
                let outcome = match request {
                    Ok(request) => gateway.call(request, &caller, None).await,
                    Err(unreadable) => gateway.refuse_call(unreadable, &caller).await,
                };
                match &outcome.result {
                    Ok(_) => Ok(outcome.to_call_tool_result()),
                    Err(failure) => {
                        let answer = json!(outcome.error_answer(failure));
                        Err(CliError::of_gateway(answer))
                    }
                }
            }
        }
    }

    /// Lists tools, or searches them.
    pub(crate) async fn tools(&self, request: ToolListRequest<'_>) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => {
                let explain = request.explain.then_some("true");
                let pairs = [
                    ("q", request.query),
                    ("server", request.server),
                    ("explain", explain),
                ];
                let pairs = pairs.map(|(name, value)| Some((name, value?)));
                let path = rest_path("/tools", pairs.into_iter().flatten());
                daemon.get(&path).await
            }
            Self::Own(gateway) => {
                settle(gateway).await;
                let search = gateway.search();
                if request.query.is_some() {
                    search.settled(MEANINGS_TIME).await;
                }
                let listed = search.list_tools(request, &Rights::Administrator).await;
                Ok(listed?.to_string())
            }
        }
    }

    /// Shows one tool.
    pub(crate) async fn tool(&self, server: &str, tool: &str) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => {
                let path = format!("/api/v1/tools/{}/{}", encode(server), encode(tool));
                daemon.get(&path).await
            }
            Self::Own(gateway) => {
                settle(gateway).await;
                let name = format!("{server}:{tool}");
                let shown = gateway.search().show_tool(&name, &Rights::Administrator)?;
                Ok(shown.to_string())
            }
        }
    }

    /// Every configured server as `status` shows it, once this one has answered or failed.
    pub(crate) async fn servers(&self, wanted: &str) -> Result<Vec<ServerStatus>, CliError> {
        let deadline = tokio::time::Instant::now() + SETTLE_TIME;
        loop {
            let servers = match self {
                Self::Daemon(daemon) => {
                    let status = daemon.get("/api/v1/status").await?;
                    let servers = &decode_for_display(&status)["servers"];
                    Vec::deserialize(servers).unwrap_or_default()
                }
                Self::Own(gateway) => gateway.servers().status(),
            };
            let starts =
                |server: &ServerStatus| server.name == wanted && server.state == "starting";
            if !servers.iter().any(starts) || tokio::time::Instant::now() >= deadline {
                return Ok(servers);
            }
            tokio::time::sleep(SETTLE_STEP).await;
        }
    }

    /// Everything that a server was seen to break of the tool contract.
    pub(crate) async fn contract_report(&self, server: &str) -> Result<ContractStatus, CliError> {
        match self {
            Self::Daemon(daemon) => {
                let path = format!("/api/v1/servers/{}/contract", encode(server));
                let report = decode_for_display(&daemon.get(&path).await?);
                Ok(ContractStatus::deserialize(&report).unwrap_or_default())
            }
            Self::Own(gateway) => Ok(gateway.servers().contract_report(server)?),
        }
    }

    /// Address of a server that is reached over HTTP, as the settings show it.
    pub(crate) async fn url_of(&self, server: &str) -> Option<String> {
        let config = match self {
            Self::Daemon(daemon) => daemon.get("/api/v1/config").await.ok()?,
            Self::Own(gateway) => settings::effective(&gateway.settings()).to_string(),
        };
        let url = &decode_for_display(&config)["mcpServers"][server]["url"];
        url.as_str().map(str::to_owned)
    }

    /// Metrics of the running gateway, where it shows them.
    pub(crate) async fn metrics(&self, path: &str) -> Option<String> {
        match self {
            Self::Daemon(daemon) => daemon.get(path).await.ok(),
            Self::Own(_) => None,
        }
    }

    /// Ends what was started for the command.
    pub(crate) async fn finish(self) {
        if let Self::Own(gateway) = self {
            gateway.stop().await;
        }
    }
}

/// Starts a gateway in this process.
pub(crate) fn own(
    settings: Settings,
    sources: &Sources,
    to_start: ServersToStart,
    role: LogRole,
) -> Result<Arc<Gateway>, CliError> {
    create_data_dir(&settings)?;
    let shown = settings.data_dir.display().to_string();
    let built_ins = mcpproxy_builtin::services(settings.demo)
        .map_err(|error| CliError::refused(format!("the demo cannot be offered: {error}")))?;
    let options = GatewayOptions {
        // Our own program. The name holds even when the file was replaced by a newer one meanwhile.
        guard: cfg!(target_os = "linux").then(|| "/proc/self/exe".into()),
        to_start,
        built_ins,
        role,
        sources: sources.clone(),
    };
    Gateway::start(settings, options).map_err(|error| {
        CliError::refused(format!(
            "the activity log of the data directory {shown} cannot be opened: {error}"
        ))
    })
}

/// Creates the folder of all state, for its owner only.
pub(crate) fn create_data_dir(settings: &Settings) -> Result<(), CliError> {
    settings::create_data_dir(settings).map_err(|error| match error {
        DataDirError::NotMade(..) => CliError::refused(error.to_string()),
        _ => CliError::configuration(error.to_string()),
    })
}

/// Waits until every server has answered or failed, within bounds.
pub(crate) async fn settle(gateway: &Gateway) {
    let settled = async {
        while !gateway.servers().is_settled() {
            tokio::time::sleep(SETTLE_STEP).await;
        }
    };
    let _ = tokio::time::timeout(SETTLE_TIME, settled).await;
}
