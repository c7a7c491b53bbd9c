//! Service of the tool contract as a server inside this program.
//!
//! It makes no decisions: the pipeline of the contract answers, and what a caller may do its rights tell. It never
//! changes data or hints that a tool gave.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use mcpproxy_contract::{Grants, Service, ToolContext, wire};
use mcpproxy_policy::{AccessTo, Caller, LimitKey};
use mcpproxy_upstream::BuiltIn;
use mcpproxy_wire::{Json, JsonObject, RpcError};
use serde_json::Value;
use uuid::Uuid;

/// Name and version of a client that did not say them.
const UNNAMED: &str = "unknown";

/// Remedy for a permission that is missing.
const REMEDY: &str = "a token has the permissions that it was made with (`mcpproxy token create --permissions`), and \
                      the administrator has all: send the key of the gateway as X-API-Key or Authorization: Bearer, \
                      or have a person run it with `mcpproxy call`";

/// Tools of a service, offered like those of any upstream.
pub struct ContractServer {
    service: Service,
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
            service,
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
        caller: &'a Arc<Caller>,
        request_id: Uuid,
    ) -> Pin<Box<dyn Future<Output = Result<Json, RpcError>> + Send + 'a>> {
        Box::pin(async move {
            let arguments = arguments.value().clone();
            let context = context(caller, request_id, self.grants(caller));
            let result = self.service.call(tool, arguments, &context).await;
            let mut answer = wire::call_result(&result);
            let is_forbidden = result
                .error()
                .is_some_and(|error| error.code == "FORBIDDEN");
            if is_forbidden {
                tell_remedy(&mut answer, REMEDY);
            }
            Ok(Json::of(&answer))
        })
    }
}

/// Context that a tool gets of the call it serves.
fn context(caller: &Arc<Caller>, request_id: Uuid, grants: Grants) -> ToolContext {
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
    if let Some(token) = caller.rights.token() {
        context = context.for_user(&*token.name);
    }
    // What the caller calls itself decides neither whose calls count together nor who sees what is kept.
    let key = caller.limit_key();
    let kept_for = match &key {
        LimitKey::Administrator | LimitKey::Token(_) => Some(key.to_string()),
        LimitKey::Peer(_) | LimitKey::Local => {
            let session = caller.session_id.as_ref();
            session.map(|session| format!("session {session}"))
        }
    };
    context = context.known_as(key.to_string(), kept_for);
    context.correlation_id = request_id;
    context.extension = Some(Arc::clone(caller) as _);
    context
}

/// Adds to the message of an error what to do about it, for programs and in the text.
fn tell_remedy(answer: &mut Value, remedy: &str) {
    let message = &mut answer["structuredContent"]["error"]["message"];
    let Some(before) = message.as_str().map(str::to_owned) else {
        return;
    };
    let with_remedy = format!("{before}; {remedy}");
    *message = Value::from(with_remedy.as_str());
    let text = &mut answer["content"][0]["text"];
    if let Some(shown) = text.as_str() {
        *text = Value::from(shown.replacen(&before, &with_remedy, 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_knows_who_calls_it_and_as_part_of_what() {
        let request_id = Uuid::now_v7();
        let caller = Caller {
            client_name: Some("agent".to_owned()),
            client_version: Some("2.1".to_owned()),
            session_id: Some("session".to_owned()),
            trace_id: Some("0af7651916cd43dd8448eb211c80319c".to_owned()),
            ..Caller::default()
        };
        let known = context(&Arc::new(caller), request_id, Grants::Everything);
        assert_eq!((&*known.agent_id, &*known.agent_version), ("agent", "2.1"));
        assert_eq!(known.session_id.as_deref(), Some("session"));
        assert_eq!(known.trace_id, "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(known.correlation_id, request_id);
        let unknown = context(&Arc::default(), request_id, Grants::Everything);
        assert_eq!((&*unknown.agent_id, unknown.session_id), ("unknown", None));
        assert_eq!(unknown.trace_id.len(), 32);
    }
}
