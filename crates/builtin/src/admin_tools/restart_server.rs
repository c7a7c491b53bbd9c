//! `restart-server`: ends a server and starts it again.

use mcpproxy_contract::prelude::*;

use super::list_servers::{State, reason};
use super::tools::{
    CheckServers, CheckServersParams, ListServers, RestartServer, RestartServerParams, check_server,
};
use super::{RESTART_SERVERS, VERSION, failed};
use mcpproxy_gateway::Code;

/// How the server is after the restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Restarted {
    /// The server.
    server: String,
    /// Its state now.
    state: State,
    /// How many tools it has.
    tools: u64,
    /// Why it is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Data for Restarted {}

impl Tool for RestartServer {
    const NAME: &'static str = "restart-server";
    type Category = Mutation<Writes>;
    type Params = RestartServerParams;
    type Output = Restarted;

    fn definition() -> Definition<Self> {
        let mut definition = Definition::of(VERSION, ResponseTime::Slow, &[RESTART_SERVERS])
            .what(
                "Restarts one MCP server behind the gateway: ends its process or connection and \
                 starts it again",
            )
            .when(
                "check-servers says that a server failed or keeps failing calls; calls under way \
                 there are lost",
            )
            .returns("the state of the server after the start and how many tools it has")
            .example(
                "A server that is well afterwards",
                json!({ "server": "github" }),
                json!({ "server": "github", "state": "ready", "tools": 26 }),
            )
            .tagged(&["servers", "restart", "administration"]);
        definition.description.uses = &["restart the github server", "bring a failed server back"];
        // Not idempotent: each call ends what the one before has started.
        definition.rate_limit = Some(RateLimit::calls::<10, 60_000>());
        definition
    }

    async fn call(
        &self,
        params: &RestartServerParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Restarted>, ToolError> {
        let parts = self.0.running(context)?;
        let name = &params.server;
        parts
            .servers
            .restart(name, &parts.caller.rights)
            .await
            .map_err(|failure| {
                let next = match failure.code {
                    Code::UnknownServer => Suggestion::to::<ListServers>(),
                    _ => Suggestion::with::<CheckServers>(&CheckServersParams::of(name)),
                };
                failed(failure).suggest(next)
            })?;
        let all = parts.shown_servers();
        let server = all.iter().find(|server| server.name == *name);
        let gone = || format!("Server '{name}' was taken out of the configuration meanwhile");
        let server = server.ok_or_else(|| ToolError::conflict(gone()))?;
        let restarted = Restarted {
            server: name.clone(),
            state: State::of(server),
            tools: server.tools as u64,
            reason: reason(server),
        };
        let hints = hints(&restarted);
        Ok(ToolOutput::new(restarted, hints))
    }
}

fn hints(restarted: &Restarted) -> AgentHints {
    let is_ready = restarted.state == State::Ready;
    let known = completeness(1 + u64::from(is_ready), 2);
    let evidence = Evidence::new(SourceQuality::High, known);
    let server = &*restarted.server;
    let resource = RelatedResource::new("server", server, server, Share::ALL);
    let hints = changed(&evidence, resource)
        .because("It was ended and started again, and its state was read afterwards");
    if is_ready {
        return hints;
    }
    let message = format!("'{server}' is not ready after the restart");
    let warning = HintWarning::new(WarningType::Performance, Severity::High, message);
    hints
        .suggest(check_server(server, "See why it is not ready"))
        .warn(warning)
}
