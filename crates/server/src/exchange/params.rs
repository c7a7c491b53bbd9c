//! Parameters of a request, read with its envelope in one pass.

use std::borrow::Cow;
use std::fmt;

use mcpproxy_wire::initialize::NAME_LIMIT;
use mcpproxy_wire::json::{Fields, text_of};
use mcpproxy_wire::rpc::{INVALID_PARAMS, MessageText, RpcError};
use mcpproxy_wire::stateless::unsupported_version;
use mcpproxy_wire::{Json, Protocol, Revision};
use mcpproxy_wire::{header, meta};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Parameters of a message: their members, and those of `_meta`. Values share the bytes they came in.
#[derive(Debug, Default)]
pub struct RequestParams {
    members: Vec<(Box<str>, Json)>,
    meta: Vec<(Box<str>, Json)>,
}

/// Members of the parameters as views into the bytes of a message; none if they are no object.
#[derive(Debug, Default)]
pub(crate) struct ParamMembers<'a>(Fields<'a>);

/// Client of a stateless request, as the request names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StatelessClient {
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    /// W3C trace that the request belongs to, as it was given.
    pub(crate) traceparent: Option<String>,
}

// === impl RequestParams ===

impl RequestParams {
    /// Keeps the members of parameters that were found in a message.
    pub(crate) fn new(text: &MessageText, members: Option<ParamMembers<'_>>) -> Self {
        let keep = |fields: &Fields<'_>| {
            let members = fields.iter();
            let members = members.map(|(name, raw)| (name.into(), text.json(raw)));
            members.collect()
        };
        let Some(ParamMembers(fields)) = members else {
            return Self::default();
        };
        let meta = fields.given(meta::META);
        let meta = meta.and_then(|raw| serde_json::from_str::<Fields<'_>>(raw.get()).ok());
        Self {
            meta: meta.map(|meta| keep(&meta)).unwrap_or_default(),
            members: keep(&fields),
        }
    }

    /// Parameters with the members of these names only.
    pub(crate) fn only(&self, names: &[&str]) -> Self {
        let members = self.members.iter();
        let members = members.filter(|(name, _)| names.contains(&&**name));
        Self {
            members: members.cloned().collect(),
            meta: Vec::new(),
        }
    }

    /// Member that is there and not null.
    pub fn given(&self, name: &str) -> Option<&Json> {
        given(&self.members, name)
    }

    /// Member that is a string.
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        text_of(self.given(name)?.text())
    }

    /// Member that has to be a string; `method` is named in the error.
    pub(crate) fn required_text(&self, method: &str, name: &str) -> Result<Cow<'_, str>, RpcError> {
        self.text(name).ok_or_else(|| {
            let message = format!("{method} needs params.{name}, a string");
            RpcError::new(INVALID_PARAMS, message)
        })
    }

    /// Cursor of a list, if one is given.
    pub(crate) fn cursor(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        match self.given("cursor") {
            None => Ok(None),
            Some(cursor) => text_of(cursor.text())
                .map(Some)
                .ok_or_else(|| RpcError::new(INVALID_PARAMS, "cursor must be a string")),
        }
    }

    /// Names and values in the order they were sent, without `_meta`.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &Json)> {
        let members = self.members.iter();
        let members = members.filter(|(name, _)| **name != *meta::META);
        members.map(|(name, value)| (&**name, value))
    }

    /// Capabilities that the client declares with this request.
    pub(crate) fn capabilities(&self) -> Option<&Json> {
        given(&self.meta, meta::CLIENT_CAPABILITIES)
    }

    /// Token that progress is to be reported under: a string or a number.
    pub(crate) fn progress_token(&self) -> Option<&Json> {
        let token = given(&self.meta, meta::PROGRESS_TOKEN)?;
        let first = token.text().as_bytes().first();
        first
            .is_some_and(|first| matches!(first, b'"' | b'-' | b'0'..=b'9'))
            .then_some(token)
    }

    /// Least severe log messages that are wanted during this request.
    pub(crate) fn log_level(&self) -> Option<&Json> {
        given(&self.meta, meta::LOG_LEVEL)
    }

    /// Whether the request names its revision, as only those of the stateless protocol do.
    pub fn names_revision(&self) -> bool {
        let mut names = self.meta.iter();
        names.any(|(name, _)| **name == *meta::PROTOCOL_VERSION)
    }

    /// Revision that the request names.
    pub fn revision(&self) -> Option<Cow<'_, str>> {
        text_of(given(&self.meta, meta::PROTOCOL_VERSION)?.text())
    }

    /// Client of a request of the stateless protocol. Refuses one that does not say all it has to.
    pub(crate) fn stateless_client(&self) -> Result<StatelessClient, RpcError> {
        let revision = self
            .revision()
            .ok_or_else(|| missing(meta::PROTOCOL_VERSION))?;
        if Revision::parse(&revision).map(Revision::protocol) != Some(Protocol::Stateless) {
            return Err(unsupported_version(&revision));
        }
        self.capabilities()
            .filter(|capabilities| capabilities.is_object())
            .ok_or_else(|| missing(meta::CLIENT_CAPABILITIES))?;
        let info = given(&self.meta, meta::CLIENT_INFO).and_then(Json::fields);
        let part = |name: &str| name_of(info.as_ref()?.given(name)?.get());
        Ok(StatelessClient {
            name: part("name"),
            version: part("version"),
            traceparent: given(&self.meta, header::TRACEPARENT)
                .and_then(|json| name_of(json.text())),
        })
    }
}

/// Text of a JSON string, no longer than names are.
fn name_of(json: &str) -> Option<String> {
    Some(text_of(json)?.chars().take(NAME_LIMIT).collect())
}

fn given<'a>(members: &'a [(Box<str>, Json)], name: &str) -> Option<&'a Json> {
    let mut members = members.iter().rev();
    let (_, value) = members.find(|(known, _)| **known == *name)?;
    (value.text() != "null").then_some(value)
}

fn missing(key: &str) -> RpcError {
    RpcError::new(
        INVALID_PARAMS,
        format!("Invalid params: every request without a session needs '{key}' in params._meta"),
    )
}

// === impl ParamMembers ===

impl<'de> Deserialize<'de> for ParamMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyParams;
        impl<'de> Visitor<'de> for AnyParams {
            type Value = ParamMembers<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("parameters")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Fields::deserialize(MapAccessDeserializer::new(map)).map(ParamMembers)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(ParamMembers::default())
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(ParamMembers::default())
            }

            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(ParamMembers::default())
            }

            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(ParamMembers::default())
            }

            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(ParamMembers::default())
            }

            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(ParamMembers::default())
            }
        }
        deserializer.deserialize_any(AnyParams)
    }
}

#[cfg(test)]
use mcpproxy_wire::Message;

#[cfg(test)]
impl RequestParams {
    /// Parameters that are this JSON.
    pub(crate) fn parse(json: &str) -> Self {
        let message = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{json}}}"#);
        let text = MessageText::new(&message.into()).expect("the test gives text");
        match text.message_as().expect("the test gives JSON") {
            Message::Notification { params, .. } => Self::new(&text, params),
            _ => unreachable!("it has no id"),
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::stateless::UNSUPPORTED_VERSION;

    use super::*;

    fn stateless_client(meta: &str) -> Result<StatelessClient, i64> {
        let params = RequestParams::parse(&format!(r#"{{"_meta":{meta}}}"#));
        params.stateless_client().map_err(|error| error.code)
    }

    #[test]
    fn a_stateless_request_has_to_name_its_client() {
        let full = r#"{"io.modelcontextprotocol\/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},
            "io.modelcontextprotocol/clientInfo":{"name":"n","version":"\u0031"}}"#;
        let known = stateless_client(full).unwrap();
        assert_eq!(
            (known.name.as_deref(), known.version.as_deref()),
            (Some("n"), Some("1"))
        );
        for (meta, code) in [
            ("null", INVALID_PARAMS),
            ("{}", INVALID_PARAMS),
            ("7", INVALID_PARAMS),
            (
                r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
                INVALID_PARAMS,
            ),
            (
                r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":null}"#,
                INVALID_PARAMS,
            ),
            (
                r#"{"io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}}"#,
                INVALID_PARAMS,
            ),
            (
                r#"{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}"#,
                UNSUPPORTED_VERSION,
            ),
            (
                r#"{"io.modelcontextprotocol/protocolVersion":"x"}"#,
                UNSUPPORTED_VERSION,
            ),
        ] {
            assert_eq!(stateless_client(meta), Err(code), "{meta}");
        }
        let nothing = RequestParams::default().stateless_client();
        assert_eq!(nothing.unwrap_err().code, INVALID_PARAMS);
    }

    #[test]
    fn a_request_says_what_may_be_sent_meanwhile() {
        let wanted = |meta: &str| {
            let params = RequestParams::parse(&format!(r#"{{"_meta":{meta}}}"#));
            let owned = |json: Option<&Json>| json.map(|json| json.text().to_owned());
            (owned(params.progress_token()), owned(params.log_level()))
        };
        let token = |text: &str| (Some(text.to_owned()), None);
        assert_eq!(wanted(r#"{"progressToken":"t"}"#), token(r#""t""#));
        assert_eq!(wanted(r#"{"progressToken":-1.5}"#), token("-1.5"));
        for no_token in ["{}", "true", "null", "[1]"] {
            let meta = format!(r#"{{"progressToken":{no_token}}}"#);
            assert_eq!(wanted(&meta), (None, None));
        }
        let level = r#"{"io.modelcontextprotocol/logLevel":"debug"}"#;
        assert_eq!(wanted(level), (None, Some(r#""debug""#.to_owned())));
    }

    #[test]
    fn parameters_that_are_no_object_have_no_members() {
        for text in [
            "[]",
            "[1,{\"name\":2}]",
            "7",
            "-1.5",
            "true",
            "null",
            r#""name""#,
        ] {
            let params = RequestParams::parse(text);
            assert!(params.given("name").is_none(), "{text}");
            assert_eq!(params.members().count(), 0, "{text}");
        }
        let params = RequestParams::parse(r#"{"a":1,"b":null,"a":2,"_meta":{"a":3}}"#);
        assert_eq!(params.given("a").unwrap().text(), "2");
        assert!(params.given("b").is_none());
        assert_eq!(params.members().count(), 3);
    }
}
