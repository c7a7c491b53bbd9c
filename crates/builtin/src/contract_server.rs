//! Service of the tool contract as a server inside this program.
//!
//! It makes no decisions: the gateway refuses who lacks a permission or calls too often, as for every server, and the
//! pipeline of the contract answers. It never changes data or hints that a tool gave.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use mcpproxy_contract::{Grants, Service, ToolContext, wire};
use mcpproxy_gateway::BuiltInServer;
use mcpproxy_policy::{AccessTo, Caller};
use mcpproxy_upstream::{BuiltIn, CallHead};
use mcpproxy_wire::{Json, JsonObject, RpcError};

/// Name and version of a client that did not say them.
const UNNAMED: &str = "unknown";

/// Tools of a service, offered like those of any upstream.
pub struct ContractServer {
    service: Arc<Service>,
    /// As `tools/list` gives them; made once, because they never change.
    tools: Vec<Json>,
    /// Permissions that its tools ask for.
    permissions: BTreeSet<String>,
}

impl ContractServer {
    /// Offers the tools of a service.
    pub fn new(service: Service) -> Self {
        let tools = || service.registry().get_all();
        let permissions = tools().flat_map(|tool| tool.definition().permissions.iter().cloned());
        Self {
            permissions: permissions.collect(),
            tools: tools().map(|tool| Json::of(&wire::tool(tool))).collect(),
            // The gateway counts the calls, as it does those of every service: what it refuses never comes here.
            service: Arc::new(service.without_limits()),
        }
    }

    /// Server under a name.
    pub fn named(self, name: &str) -> BuiltInServer {
        BuiltInServer {
            name: name.into(),
            service: Some(Arc::clone(&self.service)),
            server: Arc::new(self),
        }
    }

    /// Permissions that a caller has of those that the tools ask for.
    fn grants(&self, caller: &Caller) -> Grants {
        let has = |permission: &&String| caller.rights.allow(AccessTo::Permission(permission));
        Grants::only(self.permissions.iter().filter(has))
    }
}

impl BuiltIn for ContractServer {
    fn tools(&self) -> Vec<Json> {
        self.tools.clone()
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a JsonObject,
        head: &'a CallHead<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<Json, RpcError>> + Send + 'a>> {
        Box::pin(async move {
            let arguments = arguments.value().clone();
            let context = context(head, self.grants(head.caller));
            let result = self.service.call(tool, arguments, &context).await;
            Ok(Json::of(&wire::call_result(&result)))
        })
    }
}

/// Context that a tool gets of the call it serves.
fn context(head: &CallHead<'_>, grants: Grants) -> ToolContext {
    let caller = head.caller;
    let mut context = ToolContext::new(
        caller.client_name.as_deref().unwrap_or(UNNAMED),
        caller.client_version.as_deref().unwrap_or(UNNAMED),
        grants,
    );
    if let Some(session_id) = &caller.session_id {
        context = context.in_session(session_id);
    }
    if let Some(trace_id) = &caller.trace_id {
        trace_id.clone_into(&mut context.trace_id);
    }
    context.user_id = head.user_id().map(str::to_owned);
    let metadata = caller.metadata.iter();
    context.metadata = metadata
        .map(|(name, value)| (name.to_owned(), value.to_value()))
        .collect();
    // What the caller calls itself decides neither whose calls count together nor who sees what is kept.
    context = context.known_as(caller.limit_key().to_string(), caller.cache_key());
    context.correlation_id = head.correlation_id();
    context.extension = Some(Arc::clone(caller) as _);
    context
}

#[cfg(test)]
mod tests {
    use mcpproxy_policy::{AgentToken, CallMetadata, Rights, TokenGrant};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn context_of(caller: Caller, request_id: Uuid) -> ToolContext {
        let head = CallHead {
            caller: &Arc::new(caller),
            request_id,
            announces_contract: true,
        };
        context(&head, Grants::Everything)
    }

    #[test]
    fn a_tool_knows_who_calls_it_and_as_part_of_what() {
        let request_id = Uuid::now_v7();
        let token = AgentToken {
            id: "id".into(),
            name: "ci".into(),
            grant: TokenGrant::default(),
        };
        let tenant = Json::of(&json!({ "name": "north" }));
        let caller = Caller {
            client_name: Some("agent".to_owned()),
            client_version: Some("2.1".to_owned()),
            session_id: Some("session".to_owned()),
            trace_id: Some("0af7651916cd43dd8448eb211c80319c".to_owned()),
            metadata: CallMetadata::of([("tenant", &tenant)].into_iter()),
            rights: Rights::Token(Arc::new(token)),
            ..Caller::default()
        };
        let known = context_of(caller.clone(), request_id);
        assert_eq!((&*known.agent_id, &*known.agent_version), ("agent", "2.1"));
        assert_eq!(known.user_id.as_deref(), Some("ci"));
        assert_eq!(known.session_id.as_deref(), Some("session"));
        assert_eq!(known.trace_id, "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(known.metadata["tenant"], json!({ "name": "north" }));
        assert_eq!(known.correlation_id, request_id);
        let correlation_id = Some(Uuid::now_v7());
        let linked = Caller {
            correlation_id,
            ..caller
        };
        let linked = context_of(linked, request_id);
        assert_eq!(Some(linked.correlation_id), correlation_id);

        let unknown = context_of(Caller::default(), request_id);
        assert_eq!((&*unknown.agent_id, unknown.session_id), ("unknown", None));
        assert_eq!((unknown.user_id, unknown.trace_id.len()), (None, 32));
    }
}
