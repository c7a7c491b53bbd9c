//! The tools as callers see them: through the service, with nothing replaced.

mod caching;
mod definitions;
mod errors;
mod learning;
mod lists;
mod making;
mod writing;

use jiff::Timestamp;
use mcpproxy_cards::Store;
use mcpproxy_contract::agent_hints::Suggestion;
use mcpproxy_contract::{Grants, Service, ToolContext, ToolResult};
use serde_json::Value;

/// When the store of a test was made.
fn noon() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().expect("it is a moment")
}

/// A new service with the cards every store begins with.
fn service() -> Service {
    let store = Store::in_memory_at(noon()).expect("memory can be opened");
    mcpproxy_cards::service(store).expect("every tool keeps the contract")
}

/// A call by somebody who may do everything.
fn context() -> ToolContext {
    at(noon())
}

fn at(moment: Timestamp) -> ToolContext {
    let mut context = ToolContext::new("tests", "1.0.0", Grants::Everything).for_user("user_1");
    context.timestamp = moment;
    context
}

async fn call(service: &Service, tool: &str, arguments: Value) -> ToolResult {
    service.call(tool, arguments, &context()).await
}

/// The data of a call that works.
async fn data(service: &Service, tool: &str, arguments: Value) -> Value {
    let result = call(service, tool, arguments).await;
    match result.data() {
        Some(data) => data.clone(),
        None => panic!("{tool} failed: {:?}", result.error()),
    }
}

fn hints(result: &ToolResult) -> Value {
    result.to_json()["agentHints"].clone()
}

fn confidence(result: &ToolResult) -> f64 {
    result.hints().confidence().value()
}

fn suggested(result: &ToolResult) -> Vec<&str> {
    let suggestions = result.hints().suggestions();
    suggestions.iter().map(Suggestion::action).collect()
}
