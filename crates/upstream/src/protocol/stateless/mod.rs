//! Protocol without sessions: revision 2026-07-28.
//!
//! Every request carries its own context. Its `_meta` says which revision it speaks and who asks,
//! and over HTTP its headers repeat what it is about.

mod input_rounds;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use mcpproxy_wire::header::{self, encode_value};
use mcpproxy_wire::json::Fields;
use mcpproxy_wire::param_headers::{self, ParamHeader};
use mcpproxy_wire::{Capabilities, Introduction, Json, ListedPage, Revision, ToolDefinition, meta};

pub(super) use self::input_rounds::{
    MOST_ROUNDS, asks_for_input, collect_input, pass_on, refuse_asking,
};
use crate::CallError;
use crate::client::{ClientLink, ClientRequestKind};
use crate::transport::Greeting;
use crate::transport::request::{GatewayInfo, OutgoingParams, RelayedCapabilities, StatelessMeta};

const METHOD: HeaderName = HeaderName::from_static(header::METHOD);
const NAME: HeaderName = HeaderName::from_static(header::NAME);

/// Revision that is spoken.
const REVISION: Revision = Revision::V2026_07_28;

/// Context that every request of a connection carries.
#[derive(Debug, Default)]
pub(super) struct StatelessContext {
    /// Arguments that are repeated in headers, by tool; only tools that have any.
    param_headers: RwLock<ParamHeaders>,
}

type ParamHeaders = HashMap<Arc<str>, Arc<[ParamHeader]>>;

/// Members of the `_meta` of a request; `version` is ours. What a server may ask, and which log messages it may
/// send, is what the client behind the request declared.
pub(super) fn meta_of<'a>(
    version: &'a str,
    client: Option<&'a Arc<ClientLink>>,
) -> StatelessMeta<'a> {
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
            version,
        },
        client_capabilities: RelayedCapabilities {
            elicitation: given(ClientRequestKind::Elicitation),
            sampling: given(ClientRequestKind::Sampling),
            roots: given(ClientRequestKind::Roots),
        },
        log_level: client.and_then(|client| client.log_level),
    }
}

impl StatelessContext {
    /// Headers of a request over HTTP, which repeat what it is about so that others can route it unread: its method,
    /// what it names, and arguments.
    pub(super) fn headers(&self, params: &OutgoingParams<'_>) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(4);
        let method = HeaderValue::from_static(params.method().as_str());
        headers.insert(METHOD, method);
        if let Some(value) = params.name().and_then(header_value) {
            headers.insert(NAME, value);
        }
        if let OutgoingParams::CallTool {
            name, arguments, ..
        } = params
        {
            let repeated = {
                let all = self.param_headers.read();
                let all = all.unwrap_or_else(PoisonError::into_inner);
                all.get(*name).cloned()
            };
            for param in repeated.as_deref().unwrap_or(&[]) {
                let text = param.text_in(arguments.value());
                let name = HeaderName::try_from(param.header());
                if let (Ok(name), Some(value)) = (name, text.as_deref().and_then(header_value)) {
                    headers.insert(name, value);
                }
            }
        }
        headers
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
                Err(reason) => page.reject(index, Some(&tool.key), &reason),
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

/// Value of a header that carries a text.
fn header_value(text: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(encode_value(text).as_ref()).ok()
}

/// Time for which a page of a list may be believed, as the server says. Zero is what libraries send when
/// nobody thought about it, so it says nothing; taken at its word it would cost every call a listing.
pub(super) fn time_to_live(page: &Json) -> Option<Duration> {
    let fields = page.fields()?;
    let milliseconds = fields.given("ttlMs")?.get().parse().ok()?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

/// Reads the result of `server/discover`.
pub(super) fn read_discovery(result: &Json) -> Result<Greeting, CallError> {
    let fields = result
        .fields()
        .ok_or_else(|| CallError::malformed("the result of server/discover is not an object"))?;
    let supported = fields.given("supportedVersions");
    let supported: Vec<String> = supported
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
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
    let info = info.or_else(|| fields.given("serverInfo"));
    Ok(Greeting {
        introduction: Introduction::read(info, &fields),
        server_info: info.map(|raw| result.part(raw)),
        revision: Some(REVISION),
        capabilities: Capabilities::read(fields.given("capabilities")),
        ..Greeting::default()
    })
}

fn object<'a>(fields: &Fields<'a>, name: &str) -> Option<Fields<'a>> {
    serde_json::from_str(fields.given(name)?.get()).ok()
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::{JsonObject, ListChanges, Protocol};
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
        let read = |client: Option<&Arc<ClientLink>>| -> serde_json::Value {
            let meta = meta_of("1.2", client);
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
    fn arguments_are_repeated_where_the_schema_says_so() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "count": { "type": "integer", "x-mcp-header": "Count" },
            "nested": { "type": "object", "properties": {
                "flag": { "type": "boolean", "x-mcp-header": "Flag" } } },
            "absent": { "type": "string", "x-mcp-header": "Absent" },
            "null": { "type": "string", "x-mcp-header": "Null" },
            "other": { "type": "string", "default": { "x-mcp-header": "no annotation" } },
        }});
        let params = param_headers::of_schema(&Json::of(&schema)).expect("they are valid");
        let arguments = json!({ "region": "Zürich", "count": 42, "nested": { "flag": true },
            "null": null, "other": "x" });
        let context = StatelessContext::default();
        context.remember_param_headers(&"deploy".into(), params);
        let headers = context.headers(&OutgoingParams::CallTool {
            name: "deploy",
            arguments: &JsonObject::parse(&arguments.to_string()).expect("an object"),
            head: None,
        });
        let value = |name: &str| {
            headers
                .get(name)
                .map(|value| value.to_str().expect("ASCII"))
        };
        assert_eq!(value("Mcp-Method"), Some("tools/call"));
        assert_eq!(value("Mcp-Name"), Some("deploy"));
        assert_eq!(value("Mcp-Param-Region"), Some("=?base64?WsO8cmljaA==?="));
        assert_eq!(value("Mcp-Param-Count"), Some("42"));
        assert_eq!(value("Mcp-Param-Flag"), Some("true"));
        assert_eq!(headers.len(), 5);
    }

    #[test]
    fn a_discovery_is_read() {
        let greeting = read_discovery(&json(
            r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},
            "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#,
        ))
        .expect("it can be read");
        assert_eq!(greeting.capabilities.tools, Some(ListChanges::Announced));
        assert!(!greeting.announces);
        assert_eq!(greeting.server_info, Some(json(r#"{"name":"s"}"#)));
        assert_eq!(
            time_to_live(&json(r#"{"ttlMs":1500}"#)),
            Some(Duration::from_millis(1500))
        );
        assert_eq!(time_to_live(&json(r#"{"ttlMs":-1}"#)), None);
        assert_eq!(time_to_live(&json(r#"{"ttlMs":0}"#)), None);
    }
}
