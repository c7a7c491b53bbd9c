//! A request → who calls, on whose behalf, and as part of what.

use http::request::Parts;
use mcpproxy_contract::ToolContext;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Map, Value};

use super::ServiceCaller;
use super::session::{Agent, ServedSession, brief};

/// Where a client puts the id that links its calls.
const CORRELATION_KEY: &str = "dev.mcpproxy/correlationId";
const CORRELATION_HEADER: &str = "x-correlation-id";

/// What MCP itself says in `_meta`; the rest is for the tool.
const PROTOCOL_KEYS: [&str; 3] = ["progressToken", "traceparent", CORRELATION_KEY];
const PROTOCOL_PREFIX: &str = "io.modelcontextprotocol/";

/// The most of `_meta` that a tool gets to see. It is held for each call, and no more than remarks
/// belong there.
const MOST_ENTRIES: usize = 32;
const MOST_BYTES: usize = 8 * 1024;

/// The context of a call. `client` is who calls where no HTTP request tells.
pub(super) fn of(request: &RequestContext<RoleServer>, client: &ServiceCaller) -> ToolContext {
    let http = request.extensions.get::<Parts>();
    let caller = match http {
        None => client.clone(),
        Some(http) => {
            let caller = http.extensions.get::<ServiceCaller>().cloned();
            caller.unwrap_or_else(ServiceCaller::nobody)
        }
    };
    let agent = agent(request, http);
    let header = |name: &str| http?.headers.get(name)?.to_str().ok();
    let meta = |key: &str| request.meta.get(key).and_then(Value::as_str);

    let mut context = ToolContext::new(agent.id, agent.version, caller.grants);
    context.user_id = caller.user_id;
    context.session_id = session_id(http);
    // What the message says is nearer to the caller than what its envelope says.
    for traceparent in [header("traceparent"), meta("traceparent")] {
        context = context.traced(traceparent.unwrap_or_default());
    }
    for correlation in [header(CORRELATION_HEADER), meta(CORRELATION_KEY)] {
        context = context.correlated(correlation.unwrap_or_default());
    }
    context.metadata = remarks(&request.meta);
    context
}

fn agent(request: &RequestContext<RoleServer>, http: Option<&Parts>) -> Agent {
    let session = http.and_then(|http| http.extensions.get::<ServedSession>());
    let said = match (request.meta.client_info(), session) {
        (Some(said), _) => Some(said),
        // Our HTTP keeps no connection that would remember; rmcp would name itself.
        (None, Some(session)) => return session.agent().unwrap_or_else(Agent::unknown),
        (None, None) => request.client_info(),
    };
    said.map_or_else(Agent::unknown, |said| Agent::new(&said.name, &said.version))
}

/// The session as its header names it; our own HTTP has checked it, and leaves it out where the
/// revision of the protocol knows no sessions.
fn session_id(http: Option<&Parts>) -> Option<String> {
    let http = http?;
    if let Some(session) = http.extensions.get::<ServedSession>() {
        return session.id();
    }
    let header = http.headers.get("mcp-session-id")?;
    header.to_str().ok().map(|id| brief(id, ""))
}

/// What else was sent along, within bounds; what does not fit is left out whole.
fn remarks(meta: &Map<String, Value>) -> Map<String, Value> {
    let mut bytes = 0;
    meta.iter()
        .filter(|(key, _)| !PROTOCOL_KEYS.contains(&key.as_str()))
        .filter(|(key, _)| !key.starts_with(PROTOCOL_PREFIX))
        .filter(|(key, value)| {
            let size = key.len() + value.to_string().len();
            let fits = bytes + size <= MOST_BYTES;
            bytes += if fits { size } else { 0 };
            fits
        })
        .take(MOST_ENTRIES)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn remarks_are_what_the_protocol_does_not_use_and_fit_into_the_bounds() {
        let mut meta = json!({
            "progressToken": 1,
            "traceparent": "00",
            "io.modelcontextprotocol/clientInfo": {},
            "dev.mcpproxy/correlationId": "c",
            "tenant": "north",
            "large": "x".repeat(MOST_BYTES),
        });
        for number in 0..2 * MOST_ENTRIES {
            meta[format!("n{number}")] = json!(number);
        }
        let remarks = remarks(meta.as_object().expect("an object"));
        assert_eq!(remarks["tenant"], "north");
        assert_eq!(remarks.len(), MOST_ENTRIES);
        assert!(
            remarks
                .keys()
                .all(|key| key == "tenant" || key.starts_with('n'))
        );
    }
}
