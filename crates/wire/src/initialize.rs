//! Opening a session.

use serde_json::{Value, json};

use crate::capabilities::{Capabilities, Introduction};
use crate::json::{Fields, Json};
use crate::revision::Revision;

/// The most that is kept of a client's name and version, in characters.
pub const NAME_LIMIT: usize = 100;

/// The most that is kept of what a client declares, in bytes. It is kept as long as the session
/// lasts, and a list of capabilities is not longer.
const CAPABILITIES_LIMIT: usize = 64 * 1024;

/// Answer of a server to `initialize`, which says what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerHello {
    /// The revision both sides speak from now on, as the server named it.
    pub protocol_version: String,
    /// Capabilities that it declares.
    pub capabilities: Capabilities,
    /// Whether the server sends log messages.
    pub has_logging: bool,
    /// Name and version, for people.
    pub server_info: Option<Json>,
    /// Title and instructions.
    pub introduction: Introduction,
}

/// Parameters of a client's `initialize`, which say what it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientHello {
    /// The revision the client asks for.
    pub protocol_version: String,
    /// The client's name.
    pub name: Option<String>,
    /// The client's version.
    pub version: Option<String>,
    /// Capabilities as it declared them; nothing if that is no object, or one of no
    /// reasonable size.
    pub capabilities: Option<Json>,
}

/// Changes that we promise to tell our clients of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announces {
    /// None: what is offered never changes.
    Nothing,
    /// Other tools, prompts and resources are announced.
    Lists,
}

/// The parameters of our own `initialize`.
pub fn params(revision: Revision, version: &str) -> Value {
    json!({
        "protocolVersion": revision.as_str(),
        // What is asked during a call is passed on to the client behind it. Folders are not
        // declared: those of one client would be given to all who use the server.
        "capabilities": { "elicitation": { "form": {}, "url": {} }, "sampling": {} },
        "clientInfo": { "name": "mcpproxy", "version": version },
    })
}

/// The result of an `initialize` we answer.
pub fn result(
    revision: Revision,
    version: &str,
    instructions: &str,
    announces: Announces,
) -> Value {
    let mut capabilities = capabilities(announces);
    // Log messages of servers are passed on, from the level that the session sets.
    capabilities["logging"] = json!({});
    json!({
        "protocolVersion": revision.as_str(),
        "capabilities": capabilities,
        "serverInfo": server_info(version),
        "instructions": instructions,
    })
}

/// Capabilities that we declare, in every revision.
pub(crate) fn capabilities(announces: Announces) -> Value {
    let mut capabilities = json!({
        "tools": {},
        "prompts": {},
        "resources": { "subscribe": true },
        "completions": {},
    });
    if announces == Announces::Lists {
        for list in ["tools", "prompts", "resources"] {
            capabilities[list]["listChanged"] = json!(true);
        }
    }
    capabilities
}

/// Name and version of the gateway, in every revision.
pub(crate) fn server_info(version: &str) -> Value {
    json!({ "name": "mcpproxy", "version": version })
}

// === impl ServerHello ===

impl ServerHello {
    /// Reads the result of `initialize`; the error says what is wrong with it.
    pub fn parse(json: &Json) -> Result<Self, String> {
        let fields = json
            .fields()
            .ok_or("the result of initialize is not an object")?;
        let protocol_version = fields
            .text("protocolVersion")
            .ok_or("the result of initialize has no protocolVersion")?;
        let capabilities = fields.given("capabilities");
        let declared = capabilities.and_then(|raw| Fields::read(raw.get()));
        Ok(Self {
            protocol_version: protocol_version.into_owned(),
            has_logging: declared.is_some_and(|declared| declared.given("logging").is_some()),
            capabilities: Capabilities::read(capabilities),
            introduction: Introduction::read(fields.given("serverInfo"), &fields),
            server_info: fields.given("serverInfo").map(|raw| json.part(raw)),
        })
    }
}

// === impl ClientHello ===

impl ClientHello {
    /// Reads the parameters of `initialize`, which `given` finds by their names; nothing if they name
    /// no revision.
    pub fn read<'a>(given: impl Fn(&str) -> Option<&'a Json>) -> Option<Self> {
        let protocol_version = serde_json::from_str(given("protocolVersion")?.text()).ok()?;
        let info = given("clientInfo").and_then(Json::fields);
        // It is kept for as long as the session lasts, and a name is not longer.
        let string = |name: &str| {
            Some(
                info.as_ref()?
                    .text(name)?
                    .chars()
                    .take(NAME_LIMIT)
                    .collect(),
            )
        };
        Some(Self {
            protocol_version,
            name: string("name"),
            version: string("version"),
            capabilities: given("capabilities")
                .filter(|json| json.is_object() && json.text().len() <= CAPABILITIES_LIMIT)
                // Copied, so that the session does not hold the whole message.
                .and_then(|json| Json::parse(json.text().to_owned()).ok()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::ListChanges;

    #[test]
    fn reads_what_a_server_says_of_itself() {
        let read = |text: &'static str| ServerHello::parse(&Json::parse(text).unwrap());
        let hello = read(
            r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"x":1},"serverInfo":{"name":"s"}}"#,
        )
        .unwrap();
        assert_eq!(hello.capabilities.tools, Some(ListChanges::Announced));
        assert_eq!(hello.server_info.unwrap().text(), r#"{"name":"s"}"#);
        let hello =
            read(r#"{"protocolVersion":"2099-01-01","capabilities":{"tools":{}}}"#).unwrap();
        assert_eq!(hello.capabilities.tools, Some(ListChanges::Silent));
        assert!(read("[]").is_err());
        assert!(read(r#"{"protocolVersion":5}"#).is_err());
    }

    fn client_hello(params: &str) -> Option<ClientHello> {
        let params = Json::parse(params.to_owned()).unwrap();
        let fields = params.fields().unwrap();
        let members: Vec<(&str, Json)> = fields
            .iter()
            .filter(|(_, raw)| raw.get() != "null")
            .map(|(name, raw)| (name, params.part(raw)))
            .collect();
        ClientHello::read(|name| {
            let (_, json) = members.iter().find(|(known, _)| *known == name)?;
            Some(json)
        })
    }

    #[test]
    fn reads_what_a_client_says_of_itself() {
        let hello = client_hello(
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#,
        )
        .unwrap();
        assert_eq!(
            (hello.name.as_deref(), hello.version.as_deref()),
            (Some("c"), Some("1"))
        );
        assert_eq!(hello.capabilities.unwrap().text(), "{}");
        let declaring = |capabilities: &str| {
            let params =
                format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{capabilities}}}"#);
            client_hello(&params).unwrap().capabilities
        };
        let kept = declaring(r#"{"elicitation":{ "url":{} },"x":1e400}"#).unwrap();
        assert_eq!(kept.text(), r#"{"elicitation":{ "url":{} },"x":1e400}"#);
        let endless = format!(r#"{{"x":"{}"}}"#, "y".repeat(CAPABILITIES_LIMIT));
        for unusable in ["null", "[]", "7", &endless] {
            assert_eq!(declaring(unusable), None);
        }
        assert!(client_hello("{}").is_none());
        assert_eq!(
            client_hello(r#"{"protocolVersion":"x","clientInfo":7}"#)
                .unwrap()
                .name,
            None
        );
    }
}
