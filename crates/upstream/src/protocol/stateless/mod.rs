//! Protocol without sessions: revision 2026-07-28.
//!
//! Every request carries its own context. Its `_meta` says which revision it speaks and who asks,
//! and over HTTP its headers repeat what it is about.

mod headers;
mod input_rounds;
mod listen;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::HeaderMap;
use mcpproxy_wire::capabilities::Capabilities;
use mcpproxy_wire::json::Fields;
use mcpproxy_wire::offerings::RejectedItem;
use mcpproxy_wire::param_headers::{self, ParamHeader};
use mcpproxy_wire::{Json, ListedPage, Protocol, Revision, RpcError, ToolDefinition, meta};

pub(super) use self::input_rounds::{InputRound, MOST_ROUNDS, collect_input, read_round};
pub(super) use self::listen::listen;
use super::greeting::Greeting;
use crate::CallError;
use crate::client::{ClientLink, ClientRequestKind};
use crate::transport::request::{GatewayInfo, OutgoingParams, RelayedCapabilities, StatelessMeta};

/// Revision that is spoken.
const REVISION: Revision = Revision::V2026_07_28;

/// Codes that only servers of this protocol answer with: wrong headers, a missing capability,
/// an unknown revision.
const CODES: std::ops::RangeInclusive<i64> = -32022..=-32020;
const UNSUPPORTED_REVISION: i64 = -32022;

/// Context that every request of a connection carries.
#[derive(Debug)]
pub(super) struct StatelessContext {
    /// Our version, as servers are told.
    version: Box<str>,
    /// Arguments that are repeated in headers, by tool; only tools that have any.
    param_headers: RwLock<ParamHeaders>,
}

type ParamHeaders = HashMap<Arc<str>, Arc<[ParamHeader]>>;

/// Protocol of a server, as far as its response to `server/discover` tells.
#[derive(Debug)]
pub(super) enum DiscoveredProtocol {
    /// No sessions; with what the server said of itself, if it did.
    Stateless(Option<Greeting>),
    /// Sessions, as far as can be told.
    Session,
}

// === impl StatelessContext ===

impl StatelessContext {
    pub(super) fn new(version: &str) -> Self {
        Self {
            version: version.into(),
            param_headers: RwLock::default(),
        }
    }

    /// Members of the `_meta` of a request. What a server may ask, and which log messages it may
    /// send, is what the client behind the request declared.
    pub(super) fn meta<'a>(&'a self, client: Option<&'a Arc<ClientLink>>) -> StatelessMeta<'a> {
        let capabilities = client.and_then(|client| match client.capabilities.text() {
            // Most declare nothing of this.
            "{}" => None,
            _ => client.capabilities.fields(),
        });
        let capabilities = capabilities.unwrap_or_default();
        let given = |kind: ClientRequestKind| capabilities.given(kind.as_str());
        StatelessMeta {
            protocol_version: REVISION.as_str(),
            client_info: GatewayInfo {
                name: "mcpproxy",
                version: &self.version,
            },
            client_capabilities: RelayedCapabilities {
                elicitation: given(ClientRequestKind::Elicitation),
                sampling: given(ClientRequestKind::Sampling),
                roots: given(ClientRequestKind::Roots),
            },
            log_level: client.and_then(|client| client.log_level),
        }
    }

    /// Headers of a request over HTTP: its method, what it names, and arguments.
    pub(super) fn headers(&self, params: &OutgoingParams<'_>) -> HeaderMap {
        let Some((name, arguments)) = params.name().zip(params.arguments()) else {
            return headers::of_request(
                params.method(),
                params.name(),
                &[],
                &serde_json::Value::Null,
            );
        };
        let repeated = {
            let all = self.param_headers.read();
            let all = all.unwrap_or_else(PoisonError::into_inner);
            all.get(name).cloned()
        };
        let repeated = repeated.as_deref().unwrap_or(&[]);
        headers::of_request(params.method(), Some(name), repeated, arguments.value())
    }

    /// Learns which arguments the tools of a page want in headers. A tool whose wish cannot be
    /// followed is taken out: its server would refuse every call.
    pub(super) fn learn_param_headers(&self, page: &mut ListedPage) {
        let tools = std::mem::take(&mut page.items);
        for (index, tool) in tools.into_iter().enumerate() {
            let read = ToolDefinition::parse(&tool.raw);
            match read.and_then(|read| param_headers::of_schema(&read.input_schema)) {
                Ok(found) => {
                    self.remember_param_headers(&tool.key, found);
                    page.items.push(tool);
                }
                Err(reason) => page.rejected.push(RejectedItem {
                    index,
                    key: Some(tool.key.to_string()),
                    reason,
                }),
            }
        }
    }

    fn remember_param_headers(&self, tool: &Arc<str>, found: Vec<ParamHeader>) {
        let is_known =
            |known: &ParamHeaders| known.get(tool).map_or(&[][..], |known| known) == found;
        let known = self.param_headers.read();
        if is_known(&known.unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let known = self.param_headers.write();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if found.is_empty() {
            known.remove(tool);
        } else {
            known.insert(Arc::clone(tool), found.into());
        }
    }
}

// === reading responses ===

/// Time for which a page of a list may be believed, as the server says. Zero is what libraries send when
/// nobody thought about it, so it says nothing; taken at its word it would cost every call a listing.
pub(super) fn time_to_live(page: &Json) -> Option<Duration> {
    let fields = page.fields()?;
    let milliseconds = fields.given("ttlMs")?.get().parse().ok()?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

/// Protocol of a server, told from its response to `server/discover`.
pub(super) fn judge_discovery(response: &Result<Json, CallError>) -> DiscoveredProtocol {
    match response {
        Ok(result) => match read_discovery(result) {
            Ok(greeting) => DiscoveredProtocol::Stateless(Some(greeting)),
            Err(_) => DiscoveredProtocol::Session,
        },
        Err(CallError::Rpc(error)) if CODES.contains(&error.code) => {
            if error.code == UNSUPPORTED_REVISION && names_sessions_only(error) {
                return DiscoveredProtocol::Session;
            }
            DiscoveredProtocol::Stateless(None)
        }
        Err(_) => DiscoveredProtocol::Session,
    }
}

/// Reads the result of `server/discover`.
pub(super) fn read_discovery(result: &Json) -> Result<Greeting, CallError> {
    let fields = result
        .fields()
        .ok_or_else(|| CallError::malformed("the result of server/discover is not an object"))?;
    let supported = fields
        .given("supportedVersions")
        .and_then(|raw| serde_json::from_str::<Vec<String>>(raw.get()).ok())
        .ok_or_else(|| {
            CallError::malformed("the result of server/discover has no supportedVersions")
        })?;
    if !supported.iter().any(|one| one == REVISION.as_str()) {
        return Err(CallError::unavailable(format!(
            "it does not speak revision {}",
            REVISION.as_str()
        )));
    }
    let info = object(&fields, meta::META).and_then(|meta| meta.given(meta::SERVER_INFO));
    Ok(Greeting {
        server_info: info
            .or_else(|| fields.given("serverInfo"))
            .map(|raw| result.part(raw)),
        revision: Some(REVISION),
        announces: false,
        capabilities: Capabilities::read(fields.given("capabilities")),
    })
}

/// Whether the server says that it has sessions, and nothing newer that we know.
fn names_sessions_only(error: &RpcError) -> bool {
    let supported = error.data.as_ref().and_then(|data| data.get("supported"));
    let named = supported.and_then(serde_json::Value::as_array);
    let revisions: Vec<Revision> = named
        .into_iter()
        .flatten()
        .filter_map(|one| Revision::parse(one.as_str()?))
        .collect();
    !revisions.is_empty()
        && revisions
            .iter()
            .all(|one| one.protocol() == Protocol::Session)
}

fn object<'a>(fields: &Fields<'a>, name: &str) -> Option<Fields<'a>> {
    serde_json::from_str(fields.given(name)?.get()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::client::LogLevel;
    use crate::transport::request::OutgoingRequest;

    fn json(text: &'static str) -> Json {
        Json::parse(text).expect("valid JSON")
    }

    #[test]
    fn meta_has_what_the_client_declared_and_nothing_we_cannot_relay() {
        let context = StatelessContext::new("1.2");
        let read = |client: Option<&Arc<ClientLink>>| -> serde_json::Value {
            let meta = context.meta(client);
            let mut request = OutgoingRequest::new(OutgoingParams::Discover {}, Instant::now());
            request.meta = Some(&meta);
            let message = request.message(1).expect("it can be written");
            let message: serde_json::Value = serde_json::from_slice(&message).expect("valid JSON");
            message["params"]["_meta"].clone()
        };
        let prefix = "io.modelcontextprotocol/";
        let own = read(None);
        assert_eq!(own[format!("{prefix}protocolVersion")], "2026-07-28");
        assert_eq!(own[format!("{prefix}clientInfo")]["version"], "1.2");
        assert_eq!(own[format!("{prefix}clientCapabilities")], json!({}));
        let capabilities = json!({ "tasks": {}, "sampling": {}, "elicitation": { "form": {} } });
        let mut client = ClientLink::new(Protocol::Session, "one");
        client.capabilities = Json::of(&capabilities);
        client.log_level = Some(LogLevel::Warning);
        let (client, _messages) = client.open();
        let meta = read(Some(&client));
        let expected = json!({ "elicitation": { "form": {} }, "sampling": {} });
        assert_eq!(meta[format!("{prefix}clientCapabilities")], expected);
        assert_eq!(meta[format!("{prefix}logLevel")], "warning");
    }

    #[test]
    fn protocols_are_told_apart() {
        let is_stateless = |response: Result<Json, CallError>| {
            matches!(judge_discovery(&response), DiscoveredProtocol::Stateless(_))
        };
        assert!(is_stateless(Ok(json(
            r#"{"supportedVersions":["2025-11-25","2026-07-28"],"capabilities":{}}"#
        ))));
        for text in [
            "{}",
            "[]",
            r#"{"supportedVersions":["2099-01-01"]}"#,
            "null",
        ] {
            assert!(!is_stateless(Ok(json(text))), "{text}");
        }
        let error = |code, data: serde_json::Value| {
            let mut error = RpcError::new(code, "no");
            error.data = Some(data);
            Err(CallError::Rpc(error))
        };
        for (code, data, expected) in [
            (-32020, json!(null), true),
            (-32021, json!(null), true),
            (-32022, json!(null), true),
            (-32022, json!({ "supported": ["2026-07-28"] }), true),
            (-32022, json!({ "supported": ["2099-01-01"] }), true),
            (-32022, json!({ "supported": ["2025-11-25"] }), false),
            (-32601, json!(null), false),
            (-32602, json!(null), false),
            (-32000, json!(null), false),
        ] {
            assert_eq!(
                is_stateless(error(code, data.clone())),
                expected,
                "{code} {data}"
            );
        }
        assert!(!is_stateless(Err(CallError::unavailable("no"))));
    }

    #[test]
    fn a_discovery_is_read() {
        let greeting = read_discovery(&json(
            r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},
            "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#,
        ))
        .expect("it can be read");
        assert!(greeting.announced_lists().tools_list_changed && !greeting.announces);
        assert_eq!(greeting.server_info, Some(json(r#"{"name":"s"}"#)));
        assert_eq!(
            time_to_live(&json(r#"{"ttlMs":1500}"#)),
            Some(Duration::from_millis(1500))
        );
        assert_eq!(time_to_live(&json(r#"{"ttlMs":-1}"#)), None);
        assert_eq!(time_to_live(&json(r#"{"ttlMs":0}"#)), None);
    }
}
