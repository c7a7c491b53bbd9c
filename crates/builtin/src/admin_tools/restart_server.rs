//! `restart-server`: ends a server and starts it again.

use mcpproxy_contract::prelude::*;

use super::list_servers::{State, reason};
use super::tools::{
    CheckServers, CheckServersParams, ListServers, RestartServer, RestartServerParams, check_server,
};
use super::{RESTART_SERVERS, failed};
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
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Restarts one MCP server behind the gateway: ends its process or connection and starts it again",
                when: "check-servers says that a server failed or keeps failing calls; calls under way there are lost",
                returns: "the state of the server after the start and how many tools it has",
                uses: &["restart the github server", "bring a failed server back"],
            },
            permissions: &[RESTART_SERVERS],
            response_time: ResponseTime::Slow,
            cache: Uncached,
            // Each call ends what the one before has started.
            idempotent: false,
            examples: vec![Example {
                description: "A server that is well afterwards",
                params: json!({ "server": "github" }),
                expected_result: json!({ "server": "github", "state": "ready", "tools": 26 }),
            }],
            tags: &["servers", "restart", "administration"],
            rate_limit: Some(RateLimit::calls::<10, 60_000>()),
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &RestartServerParams,
        _: &ToolContext,
    ) -> Result<ToolOutput<Restarted>, ToolError> {
        let parts = self.0.running()?;
        let name = &params.server;
        parts.servers.restart(name).await.map_err(|failure| {
            let next = match failure.code {
                Code::UnknownServer => Suggestion::to::<ListServers>(),
                _ => Suggestion::with::<CheckServers>(&CheckServersParams::of(name)),
            };
            failed(failure).suggest(next)
        })?;
        let all = parts.servers.status();
        let server = all.iter().find(|server| server.name == *name);
        let server = server.ok_or_else(|| {
            ToolError::conflict(format!(
                "Server '{name}' was taken out of the configuration meanwhile"
            ))
        })?;
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
    let evidence = Evidence::new(
        SourceQuality::High,
        completeness(1 + u64::from(is_ready), 2),
    );
    let resource =
        RelatedResource::new("server", &*restarted.server, &*restarted.server, Share::ALL);
    let hints = changed(&evidence, resource)
        .because("It was ended and started again, and its state was read afterwards");
    if is_ready {
        return hints;
    }
    hints
        .suggest(check_server(&restarted.server, "See why it is not ready"))
        .warn(HintWarning::new(
            WarningType::Performance,
            Severity::High,
            format!("'{}' is not ready after the restart", restarted.server),
        ))
}
