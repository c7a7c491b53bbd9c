//! A request → who calls, on whose behalf, and as part of what.

use http::request::Parts;
use mcpproxy_contract::{Grants, ToolContext};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Map, Value};

use super::ServiceCaller;
use super::session::{self, Agent, ServedSession};

/// Key and header of the id by which a client links its calls.
const CORRELATION_KEY: &str = "dev.mcpproxy/correlationId";
const CORRELATION_HEADER: &str = "x-correlation-id";

/// Key of the user on whose behalf a gateway calls.
const USER_KEY: &str = "dev.mcpproxy/userId";

/// Key and header of the trace that a call is part of.
const TRACEPARENT: &str = "traceparent";

/// Keys and prefixes of MCP itself and of gateways in `_meta`; the rest is for the tool.
const PROTOCOL_KEYS: [&str; 2] = ["progressToken", TRACEPARENT];
const PROTOCOL_PREFIXES: [&str; 2] = ["io.modelcontextprotocol/", "dev.mcpproxy/"];

/// The most of `_meta` that a tool gets to see. It is held for each call, and no more than remarks
/// belong there.
const MOST_ENTRIES: usize = 32;
const MOST_BYTES: usize = 8 * 1024;

/// Sender of an HTTP request, and its session; our own HTTP gives it to rmcp along with the request.
#[derive(Debug, Clone)]
pub(super) struct HttpCaller {
    pub(super) caller: ServiceCaller,
    pub(super) session: Option<ServedSession>,
}

/// The context of a call. `client` is who calls where no HTTP request tells.
pub(super) fn of(request: &RequestContext<RoleServer>, client: &ServiceCaller) -> ToolContext {
    let http = request.extensions.get::<Parts>();
    let known = http.and_then(|http| http.extensions.get::<HttpCaller>());
    let caller = match (http, known) {
        (None, _) => client.clone(),
        (Some(_), Some(known)) => known.caller.clone(),
        // The HTTP of somebody else, who has not said who calls: nobody vouches for it.
        (Some(_), None) => ServiceCaller {
            user_id: None,
            grants: Grants::only::<[&str; 0]>([]),
        },
    };
    let session = known.and_then(|known| known.session.as_ref());
    let said = match (request.meta.client_info(), known) {
        (Some(said), _) => Some(said),
        // Our HTTP keeps no connection that would remember; rmcp would name itself.
        (None, Some(_)) => None,
        (None, None) => request.client_info(),
    };
    let agent = match (said, session) {
        (Some(said), _) => Agent::new(&said.name, &said.version),
        (None, Some(session)) => session.agent.clone(),
        (None, None) => Agent::new("", ""),
    };
    let header = |name: &str| http?.headers.get(name)?.to_str().ok();
    let meta = |key: &str| request.meta.get(key).and_then(Value::as_str);

    let user_id = user(&caller, meta(USER_KEY));
    let mut context = ToolContext::new(agent.id, agent.version, caller.grants);
    context.user_id = user_id;
    context.session_id = match known {
        Some(_) => session.map(|session| session.id.clone()),
        None => header(session::HEADER).map(|id| session::brief(id, "")),
    };
    // What the message says is nearer to the caller than what its envelope says.
    for traceparent in [header(TRACEPARENT), meta(TRACEPARENT)] {
        context = context.traced(traceparent.unwrap_or_default());
    }
    for correlation in [header(CORRELATION_HEADER), meta(CORRELATION_KEY)] {
        context = context.correlated(correlation.unwrap_or_default());
    }
    context.metadata = remarks(&request.meta);
    context
}

/// User on whose behalf the call is made. A caller that may do everything and is no user itself, such as a gateway in
/// front, can name one; any other caller would only pass itself off as somebody else.
fn user(caller: &ServiceCaller, named: Option<&str>) -> Option<String> {
    if caller.user_id.is_some() || caller.grants != Grants::Everything {
        return caller.user_id.clone();
    }
    let named = named.map(|name| session::brief(name, ""));
    named.filter(|name| !name.is_empty())
}

/// Everything else that was sent along, within bounds; what does not fit is left out whole. A gateway in front hands on the
/// same.
fn remarks(meta: &Map<String, Value>) -> Map<String, Value> {
    let mut bytes = 0;
    meta.iter()
        .filter(|(key, _)| !PROTOCOL_KEYS.contains(&key.as_str()))
        .filter(|(key, _)| !PROTOCOL_PREFIXES.iter().any(|own| key.starts_with(own)))
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
    fn only_who_may_do_everything_and_is_nobody_can_name_a_user() {
        let of = |own: Option<&str>, grants, named| {
            let user_id = own.map(str::to_owned);
            user(&ServiceCaller { user_id, grants }, named)
        };
        let everything = || Grants::Everything;
        assert_eq!(of(None, everything(), Some("ann")).as_deref(), Some("ann"));
        assert_eq!(of(None, everything(), None), None);
        assert_eq!(of(None, everything(), Some(" \n")), None);
        assert_eq!(
            of(Some("bob"), everything(), Some("ann")).as_deref(),
            Some("bob")
        );
        assert_eq!(of(None, Grants::only(["cards:read"]), Some("ann")), None);
    }

    #[test]
    fn remarks_are_what_the_protocol_does_not_use_and_fit_into_the_bounds() {
        let mut meta = json!({
            "progressToken": 1,
            "traceparent": "00",
            "io.modelcontextprotocol/clientInfo": {},
            "dev.mcpproxy/correlationId": "c",
            "dev.mcpproxy/userId": "ann",
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
        let last = format!("n{}", MOST_ENTRIES - 2);
        assert_eq!(
            remarks.keys().next_back(),
            Some(&last),
            "the first are kept"
        );
    }
}
