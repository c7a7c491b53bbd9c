//! Parameters of a request, read with its envelope in one pass.

use std::borrow::Cow;

use mcpproxy_policy::CallMetadata;
use mcpproxy_wire::initialize::NAME_LIMIT;
use mcpproxy_wire::json::{Fields, text_of};
use mcpproxy_wire::rpc::{MessageText, RpcError};
use mcpproxy_wire::stateless::unsupported_version;
use mcpproxy_wire::{Json, Protocol, Revision, meta};

/// Parameters of a message: their members, and those of `_meta`. Values share the bytes they came in.
#[derive(Debug, Default)]
pub struct RequestParams {
    members: Vec<(Box<str>, Json)>,
    meta: Vec<(Box<str>, Json)>,
}

impl RequestParams {
    /// Keeps the members of parameters that were found in a message.
    pub(crate) fn new(text: &MessageText, members: Option<Fields<'_>>) -> Self {
        let keep = |fields: Option<Fields<'_>>| {
            let fields = fields.unwrap_or_default();
            let members = fields.iter();
            let members = members.map(|(name, raw)| (name.into(), text.json(raw)));
            members.collect()
        };
        let meta = members.as_ref().and_then(|fields| fields.get(meta::META));
        Self {
            meta: keep(meta.and_then(|raw| Fields::read(raw.get()))),
            members: keep(members),
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
        let message = || format!("{method} needs params.{name}, a string");
        let text = self.text(name);
        text.ok_or_else(|| RpcError::invalid_params(message()))
    }

    /// Cursor of a list, if one is given.
    pub(crate) fn cursor(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        let cursor = self.given("cursor").map(|cursor| text_of(cursor.text()));
        let is_wrong = || RpcError::invalid_params("cursor must be a string");
        cursor.map(|cursor| cursor.ok_or_else(is_wrong)).transpose()
    }

    /// Names and values in the order they were sent, without `_meta`.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &Json)> {
        let members = self.members.iter();
        let members = members.filter(|(name, _)| **name != *meta::META);
        members.map(|(name, value)| (&**name, value))
    }

    /// Member of `_meta` that is a string.
    pub(crate) fn meta_text(&self, key: &str) -> Option<Cow<'_, str>> {
        text_of(given(&self.meta, key)?.text())
    }

    /// Members of `_meta` that are for the tool that is called.
    pub(crate) fn call_metadata(&self) -> CallMetadata {
        let members = self.meta.iter();
        CallMetadata::of(members.map(|(name, value)| (&**name, value)))
    }

    /// Capabilities that the client declares with this request.
    pub(crate) fn capabilities(&self) -> Option<&Json> {
        given(&self.meta, meta::CLIENT_CAPABILITIES)
    }

    /// Token that progress is to be reported under: a string or a number.
    pub(crate) fn progress_token(&self) -> Option<&Json> {
        let token = given(&self.meta, meta::PROGRESS_TOKEN)?;
        let is_first = |first: char| matches!(first, '"' | '-' | '0'..='9');
        token.text().starts_with(is_first).then_some(token)
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

    /// Refuses a request of the stateless protocol that does not say all it has to.
    pub(crate) fn check_stateless(&self) -> Result<(), RpcError> {
        let revision = self.revision();
        let revision = revision.ok_or_else(|| missing(meta::PROTOCOL_VERSION))?;
        if Revision::parse(&revision).map(Revision::protocol) != Some(Protocol::Stateless) {
            return Err(unsupported_version(&revision));
        }
        if !self.capabilities().is_some_and(Json::is_object) {
            return Err(missing(meta::CLIENT_CAPABILITIES));
        }
        Ok(())
    }

    /// Name and version that the client gives itself in the request.
    pub(crate) fn client_info(&self) -> (Option<String>, Option<String>) {
        let info = given(&self.meta, meta::CLIENT_INFO).and_then(Json::fields);
        let part = |name: &str| name_of(info.as_ref()?.given(name)?.get());
        (part("name"), part("version"))
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
    RpcError::invalid_params(format!(
        "Invalid params: every request without a session needs '{key}' in params._meta"
    ))
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::Message;
    use mcpproxy_wire::rpc::INVALID_PARAMS;
    use mcpproxy_wire::stateless::UNSUPPORTED_VERSION;

    use super::*;

    impl RequestParams {
        /// Parameters that are this JSON, for tests of the modules that read them.
        pub(crate) fn parse(json: &str) -> Self {
            let message = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{json}}}"#);
            let text = MessageText::new(&message.into()).unwrap();
            if let Ok(Message::Notification { params, .. }) = text.message_as() {
                return Self::new(&text, params);
            }
            // Those that are no object; what is no JSON is a mistake of the test.
            serde_json::from_str::<serde_json::Value>(json).expect("JSON");
            Self::default()
        }
    }

    fn checked(meta: &str) -> Result<RequestParams, i64> {
        let params = RequestParams::parse(&format!(r#"{{"_meta":{meta}}}"#));
        let checked = params.check_stateless().map_err(|error| error.code);
        checked.map(|()| params)
    }

    #[test]
    fn a_stateless_request_has_to_name_its_client() {
        let full = r#"{"io.modelcontextprotocol\/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},
            "io.modelcontextprotocol/clientInfo":{"name":"n","version":"\u0031"}}"#;
        let (name, version) = checked(full).unwrap().client_info();
        assert_eq!(
            (name.as_deref(), version.as_deref()),
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
            assert_eq!(checked(meta).err(), Some(code), "{meta}");
        }
        let nothing = RequestParams::default().check_stateless();
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
    fn the_last_of_members_with_one_name_counts() {
        let params = RequestParams::parse(r#"{"a":1,"b":null,"a":2,"_meta":{"a":3}}"#);
        assert_eq!(params.given("a").unwrap().text(), "2");
        assert!(params.given("b").is_none());
        assert_eq!(params.members().count(), 3);
    }
}
