//! `list-servers`: the servers behind the gateway and how they are.

use mcpproxy_contract::agent_hints;
use mcpproxy_contract::prelude::*;

use super::filters::of_word;
use super::tools::{ListServers, check_server};
use super::{READ_SERVERS, VERSION};
use mcpproxy_gateway::ServerStatus;
use mcpproxy_gateway::servers::without_host_files;

/// The most servers an answer has; who has more asks for one of them by name.
pub(super) const MOST_SERVERS: usize = 200;

/// Which servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListServersParams {
    /// Only servers in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(skip)]
    state: Option<State>,
}

/// The state of a server in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Ready,
    Idle,
    Starting,
    Failed,
    Disabled,
    Quarantined,
    NotStarted,
    Stopped,
}

/// The servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ServerList {
    /// By name.
    servers: Vec<ListedServer>,
    /// How many there are in all, also those that are not listed.
    total: u64,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ListedServer {
    /// Its name.
    name: String,
    /// Its state.
    state: State,
    /// How many tools it has.
    tools: u64,
    /// Why it is not ready, or why it failed or was lost last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Data for ServerList {}

impl Tool for ListServers {
    const NAME: &'static str = "list-servers";
    type Category = Query;
    type Params = ListServersParams;
    type Output = ServerList;

    fn definition() -> Definition<Self> {
        let mut definition = Definition::of(VERSION, ResponseTime::Fast, &[READ_SERVERS])
            .what(
                "Lists the MCP servers behind the gateway with their state and their number of \
                 tools",
            )
            .when(
                "you want to know which servers there are, or why the tools of a server cannot be \
                 found",
            )
            .returns("each server with its state, how many tools it has, and why it is not ready")
            .example(
                "The servers that failed",
                json!({ "state": "failed" }),
                json!({
                    "servers": [{
                        "name": "github",
                        "state": "failed",
                        "tools": 0,
                        "reason": "the server closed the connection",
                    }],
                    "total": 3,
                }),
            )
            .tagged(&["servers", "status", "connections"]);
        definition.description.uses = &[
            "which servers are connected",
            "why are there no github tools",
        ];
        definition
    }

    async fn call(
        &self,
        params: &ListServersParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<ServerList>, ToolError> {
        let parts = self.0.running(context)?;
        let all = parts.shown_servers();
        let total = all.len() as u64;
        // A server that is starting has not said yet what it has.
        let starting = all.iter().filter(|server| server.state == "starting");
        let known = completeness(total - starting.count() as u64, total);
        let mut servers: Vec<ListedServer> = all.iter().map(listed).collect();
        servers.retain(|server| params.state.is_none_or(|state| state == server.state));
        let found = servers.len() as u64;
        servers.truncate(MOST_SERVERS);
        let evidence =
            Evidence::new(SourceQuality::High, known).and(coverage(servers.len() as u64, found));
        let mut hints = agent_hints::listed(&evidence, servers.len() as u64, found)
            .because("The state of each server was read from the running gateway");
        if let Some(unwell) = servers.iter().find(|server| server.state == State::Failed) {
            let why = format!("See what is wrong with '{}'", unwell.name);
            hints = hints.suggest(check_server(&unwell.name, why));
        }
        Ok(ToolOutput::new(ServerList { servers, total }, hints))
    }
}

fn listed(server: &ServerStatus) -> ListedServer {
    ListedServer {
        name: server.name.clone(),
        state: State::of(server),
        tools: server.tools as u64,
        reason: reason(server),
    }
}

/// Reason why a server is not ready, as far as everybody may know.
pub(super) fn reason(server: &ServerStatus) -> Option<String> {
    let why = server.reason.as_deref().or(server.last_error.as_deref());
    let why = why.map(without_host_files);
    why.map(str::to_owned)
}

impl State {
    /// The state of a server as the gateway tells it.
    pub(super) fn of(server: &ServerStatus) -> Self {
        of_word(&server.state.replace(' ', "_")).unwrap_or(Self::Failed)
    }
}
