//! The gateway's own tools, offered as the built-in server `mcpproxy`: what happened, how the
//! servers are, and the few things an administrator may change about either.
//!
//! They are tools of the contract like anybody else's. They read the log through
//! [`Records`] and change things through the gateway's parts, never past
//! them, and hold no more than a weak link to its servers: a tool never keeps a stopped gateway alive.

mod check_servers;
mod filters;
mod health;
mod list_activity;
mod list_servers;
mod period;
mod proposal;
mod propose_permissions;
mod prune_activity;
mod restart_server;
mod summarize_activity;
mod tools;

use std::sync::Arc;

use mcpproxy_contract::agent_hints::{
    AgentHints, HintWarning, Severity, SourceQuality, WarningType,
};
use mcpproxy_contract::{Registry, ToolContext, ToolError, Version};
use mcpproxy_gateway::failure::{Code, Failure};
use mcpproxy_gateway::records::Records;
use mcpproxy_gateway::servers::Servers;
use mcpproxy_gateway::settings::ADMIN_SERVER;
use mcpproxy_gateway::{BuiltInParts, ServerStatus};
use mcpproxy_policy::Caller;
use serde_json::Value;

use crate::ContractServer;

/// Name of the server.
pub const NAME: &str = ADMIN_SERVER;

/// Version of each tool.
const VERSION: Version = Version::new(1, 0, 0);

/// Permissions that the tools ask for, as `resource:action`.
const READ_ACTIVITY: &str = "activity:read";
const READ_SERVERS: &str = "servers:read";
const RESTART_SERVERS: &str = "servers:restart";
const PRUNE_ACTIVITY: &str = "activity:prune";

/// The server, over the parts of a gateway that is about to be.
pub(crate) fn server(parts: BuiltInParts) -> ContractServer {
    let service = registry(&GatewayParts(parts))
        .into_service()
        .expect("every tool here keeps the contract, and a test registers them all");
    ContractServer::new(service)
}

fn registry(parts: &GatewayParts) -> Registry {
    Registry::new(NAME, VERSION)
        .with(tools::ListActivity(parts.clone()))
        .with(tools::ListServers(parts.clone()))
        .with(tools::SummarizeActivity(parts.clone()))
        .with(tools::CheckServers(parts.clone()))
        .with(tools::ProposePermissions(parts.clone()))
        .with(tools::RestartServer(parts.clone()))
        .with(tools::PruneActivity(parts.clone()))
}

/// Parts of the gateway that a tool works on.
#[derive(Debug, Clone)]
struct GatewayParts(BuiltInParts);

/// Parts of the gateway during one call of a tool.
struct RunningParts {
    servers: Arc<Servers>,
    records: Arc<Records>,
    /// Caller, whose rights tell which records and servers exist for it.
    caller: Arc<Caller>,
}

impl GatewayParts {
    fn running(&self, context: &ToolContext) -> Result<RunningParts, ToolError> {
        let stopping = || ToolError::unavailable("The gateway", "it is stopping");
        let caller = context.extension.clone();
        let caller = caller.and_then(|extension| extension.downcast::<Caller>().ok());
        Ok(RunningParts {
            caller: caller.ok_or_else(|| ToolError::internal("a call without a caller"))?,
            servers: self.0.servers.upgrade().ok_or_else(stopping)?,
            records: self.0.records.upgrade().ok_or_else(stopping)?,
        })
    }
}

impl RunningParts {
    /// Status of the servers that exist for the caller, with the reasons why they are not ready.
    fn shown_servers(&self) -> Vec<ServerStatus> {
        self.servers.status_with_reasons(&self.caller.rights)
    }

    /// Quality of what the log says: records wait while it cannot be written.
    fn log_quality(&self) -> SourceQuality {
        match self.records.health().problem {
            None => SourceQuality::High,
            Some(_) => SourceQuality::Medium,
        }
    }

    /// Hints from the log, with a warning while it cannot be written.
    fn warned_of_log(&self, hints: AgentHints) -> AgentHints {
        if self.records.health().problem.is_none() {
            return hints;
        }
        let message = "The activity log cannot be written now, the newest records are missing";
        let fix = "a person finds the reason with `mcpproxy status`";
        hints.warn(HintWarning {
            suggested_fix: Some(fix.to_owned()),
            ..HintWarning::new(WarningType::Validation, Severity::High, message)
        })
    }
}

/// Failure of the gateway or its log, as an error of a tool.
fn failed(failure: impl Into<Failure>) -> ToolError {
    let failure: Failure = failure.into();
    let (code, message, details) = (failure.code, failure.message, failure.details);
    match code {
        Code::InvalidArguments => {
            let parameter = details.get("parameter").and_then(Value::as_str);
            let path = parameter.map(|name| format!("/{name}")).unwrap_or_default();
            ToolError::invalid_parameter(&path, message)
        }
        Code::StoreUnavailable => ToolError::unavailable("The activity log", message),
        Code::Internal => ToolError::internal(message),
        _ => {
            let error = ToolError::rule(code.as_str(), message);
            let details = details.into_iter();
            details.fold(error, |error, (name, value)| error.with(&name, value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpproxy_contract::{CategoryEffect, CategoryName};
    use mcpproxy_policy::{AccessTo, Rights};

    #[test]
    fn every_tool_keeps_the_contract_and_all_categories_are_there() {
        let registry = registry(&GatewayParts(BuiltInParts::default()));
        for category in [
            CategoryName::Query,
            CategoryName::Analysis,
            CategoryName::Generation,
            CategoryName::Mutation,
        ] {
            assert!(registry.get_by_category(category).next().is_some());
        }
        assert!(registry.into_service().is_ok());
    }

    #[test]
    fn who_is_no_administrator_may_call_what_reads_and_nothing_else() {
        for tool in registry(&GatewayParts(BuiltInParts::default())).get_all() {
            let definition = tool.definition();
            let reads = definition.effect == CategoryEffect::Reads;
            let allowed = |rights: &Rights| {
                let mut permissions = definition.permissions.iter();
                permissions.all(|permission| rights.allow(AccessTo::Permission(permission)))
            };
            assert_eq!(allowed(&Rights::default()), reads, "{}", definition.name);
            assert!(!definition.permissions.is_empty(), "{}", definition.name);
            assert!(allowed(&Rights::Administrator));
        }
    }
}
