//! Speaking to servers without sessions: revision 2026-07-28.
//!
//! Every request stands for itself. It says in `_meta` which revision it speaks and who asks,
//! and over HTTP its headers repeat what it is about.

mod headers;
mod listen;
mod rounds;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::HeaderMap;
use mcpproxy_wire::Method;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::capabilities::Capabilities;
use mcpproxy_wire::json::Fields;
use mcpproxy_wire::meta;
use mcpproxy_wire::param_headers::{self, ParamHeader};
use mcpproxy_wire::tool::{Rejected, ToolPage};
use mcpproxy_wire::{Json, Revision, RpcError};
use serde_json::json;
use serde_json::value::RawValue;

pub(crate) use self::listen::listen;
pub(crate) use self::rounds::{MOST_ROUNDS, Round, ask, round, with_answers};
use crate::CallError;
use crate::client::{ClientLink, ClientRequestKind};
use crate::connection::Greeting;
use crate::pending::Answer;

/// The revision that is spoken.
pub(crate) const REVISION: Revision = Revision::V2026_07_28;

/// The codes that only servers of the stateless protocol answer with: wrong headers, a missing capability,
/// an unknown revision.
const CODES: std::ops::RangeInclusive<i64> = -32022..=-32020;
const UNSUPPORTED_REVISION: i64 = -32022;

/// What travels with every request of a connection.
#[derive(Debug)]
pub(crate) struct Modern {
    /// The members of our `_meta` that are the same in every request, as JSON.
    meta: String,
    /// The arguments that are repeated in headers, by tool; only tools that have any.
    params: RwLock<HashMap<Arc<str>, Arc<[ParamHeader]>>>,
}

/// What an answer to `server/discover` says of a server's protocol.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It has no sessions; here is what it said of itself, if it did.
    Stateless(Option<Greeting>),
    /// It has sessions, as far as can be told.
    Session,
}

// === impl Modern ===

impl Modern {
    pub(crate) fn new(version: &str) -> Self {
        let meta = json!({
            meta::PROTOCOL_VERSION: REVISION.as_str(),
            meta::CLIENT_INFO: { "name": "mcpproxy", "version": version },
        });
        let meta = meta.to_string();
        Self {
            meta: meta[1..meta.len() - 1].to_owned(),
            params: RwLock::default(),
        }
    }

    /// The members of the `_meta` of a request. What a server may ask, and which log messages it
    /// may send, is what the client behind the request declared.
    pub(crate) fn meta(&self, client: Option<&ClientLink>) -> String {
        let mut meta = [&self.meta, ",\"", meta::CLIENT_CAPABILITIES, "\":{"].concat();
        let Some(client) = client else {
            meta.push('}');
            return meta;
        };
        let capabilities = match client.capabilities.text() {
            // Most declare nothing of this.
            "{}" => Fields::default(),
            _ => client.capabilities.fields().unwrap_or_default(),
        };
        let mut comma = "";
        for kind in ClientRequestKind::ALL {
            if let Some(raw) = capabilities.given(kind.capability()) {
                let name = kind.capability();
                meta.push_str(&[comma, "\"", name, "\":", raw.get()].concat());
                comma = ",";
            }
        }
        meta.push('}');
        if let Some(level) = client.log_level {
            meta.push_str(&[",\"", meta::LOG_LEVEL, "\":\"", level.as_str(), "\""].concat());
        }
        meta
    }

    /// The headers of a request that names a tool, something else, or nothing.
    pub(crate) fn headers(
        &self,
        method: &'static str,
        tool: Option<&str>,
        arguments: &str,
    ) -> HeaderMap {
        let called = tool.filter(|_| method == Method::ToolsCall.as_str());
        let params = called.and_then(|tool| {
            let all = self.params.read().unwrap_or_else(PoisonError::into_inner);
            all.get(tool).cloned()
        });
        headers::of_request(method, tool, params.as_deref().unwrap_or(&[]), arguments)
    }

    /// Learns which arguments the tools of a page want in headers. A tool whose wish cannot be
    /// followed is taken out: its server would refuse every call.
    pub(crate) fn learn_params(&self, page: &mut ToolPage) {
        let tools = std::mem::take(&mut page.tools);
        for (index, tool) in tools.into_iter().enumerate() {
            match param_headers::of_schema(&tool.input_schema) {
                Ok(found) => {
                    self.remember_params(&tool.name, found);
                    page.tools.push(tool);
                }
                Err(reason) => page.rejected.push(Rejected {
                    index,
                    name: Some(tool.name.to_string()),
                    reason,
                }),
            }
        }
    }

    fn remember_params(&self, tool: &Arc<str>, found: Vec<ParamHeader>) {
        let is_known = |params: &HashMap<Arc<str>, Arc<[ParamHeader]>>| {
            params.get(tool).map_or(&[][..], |known| known) == found
        };
        if is_known(&self.params.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut params = self.params.write().unwrap_or_else(PoisonError::into_inner);
        if found.is_empty() {
            params.remove(tool);
        } else {
            params.insert(Arc::clone(tool), found.into());
        }
    }
}

// === reading answers ===

/// How long a page of tools may be believed, as the server says. Zero is what libraries send when
/// nobody thought about it, so it says nothing; taken at its word it would cost every call a listing.
pub(crate) fn time_to_live(page: &Json) -> Option<Duration> {
    let fields = page.fields()?;
    let milliseconds = fields.given("ttlMs")?.get().parse().ok()?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

/// What the answer to `server/discover` says of the server's protocol.
pub(crate) fn judge(answer: &Answer) -> Verdict {
    match answer {
        Ok(result) => match read_discovery(result) {
            Ok(greeting) => Verdict::Stateless(Some(greeting)),
            Err(_) => Verdict::Session,
        },
        Err(CallError::Rpc(error)) if CODES.contains(&error.code) => {
            if error.code == UNSUPPORTED_REVISION && names_sessions_only(error) {
                return Verdict::Session;
            }
            Verdict::Stateless(None)
        }
        Err(_) => Verdict::Session,
    }
}

/// Reads the result of `server/discover`.
pub(crate) fn read_discovery(result: &Json) -> Result<Greeting, CallError> {
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
    let tools = object(&fields, "capabilities").and_then(|capabilities| {
        let tools = capabilities.given("tools")?;
        Some(serde_json::from_str::<Fields<'_>>(tools.get()).unwrap_or_default())
    });
    let info = object(&fields, meta::META).and_then(|meta| meta.given(meta::SERVER_INFO));
    Ok(Greeting {
        server_info: info
            .or_else(|| fields.given("serverInfo"))
            .map(|raw| result.part(raw)),
        revision: Some(REVISION),
        has_tools: tools.is_some(),
        announces: false,
        announces_to_listeners: tools
            .and_then(|tools| tools.get("listChanged"))
            .is_some_and(|raw| raw.get() == "true"),
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

fn string(fields: &Fields<'_>, name: &str) -> Option<String> {
    let raw: &RawValue = fields.get(name)?;
    // What is there and no string is as unknown as a string that is.
    Some(serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::LogLevel;

    fn json(text: &'static str) -> Json {
        Json::parse(text).expect("valid JSON")
    }

    #[test]
    fn meta_has_what_the_client_declared_and_nothing_we_cannot_relay() {
        let modern = Modern::new("1.2");
        let read = |client: Option<&ClientLink>| -> serde_json::Value {
            serde_json::from_str(&format!("{{{}}}", modern.meta(client))).expect("valid JSON")
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
    fn eras_are_told_apart() {
        let is_stateless = |answer: Answer| matches!(judge(&answer), Verdict::Stateless(_));
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
        assert!(greeting.has_tools && greeting.announces_to_listeners && !greeting.announces);
        assert_eq!(greeting.server_info, Some(json(r#"{"name":"s"}"#)));
        assert_eq!(
            time_to_live(&json(r#"{"ttlMs":1500}"#)),
            Some(Duration::from_millis(1500))
        );
        assert_eq!(time_to_live(&json(r#"{"ttlMs":-1}"#)), None);
        assert_eq!(time_to_live(&json(r#"{"ttlMs":0}"#)), None);
    }
}
