//! Why there is no prompt, resource or completion, as an error of the protocol.

use std::borrow::Cow;
use std::sync::Arc;

use mcpproxy_activity::RecordOutcome;
use mcpproxy_catalog::directory::qualify;
use mcpproxy_policy::Operation;
use mcpproxy_redact::Mask;
use mcpproxy_upstream::CallError;
use mcpproxy_wire::Json;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::rpc::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::{Code, Failure};
use crate::request::cut;

/// There is no such resource, where there are sessions.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// Why there is no result.
#[derive(Debug, Clone)]
pub struct FetchError {
    failure: Failure,
    /// The address of the resource that it is about.
    uri: Option<String>,
    request_id: Uuid,
}

impl From<Failure> for FetchError {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            uri: None,
            request_id: Uuid::now_v7(),
        }
    }
}

impl FetchError {
    /// No server has such a resource, or several could have it.
    pub(crate) fn no_resource(uri: &str, servers: &[&Arc<str>]) -> Self {
        let shown = cut(uri, 300);
        let hint = match servers {
            [] => "; no server that is there offers resources".to_owned(),
            [server, ..] => format!(
                "; resources/list names those there are. One that is not listed is read as '{}', with the name of its server",
                qualify(server, &shown)
            ),
        };
        let message = format!("Resource '{shown}' not found{hint}");
        Self::from(Failure::new(Code::NotFound, message)).about(uri)
    }

    /// What a server that did not do its part means for the caller.
    pub(crate) fn of_upstream(server: &str, error: CallError, mask: &Mask) -> Self {
        Self::from(Failure::of_upstream(server, Operation::Read, error, mask))
    }

    /// Names the resource that the error is about.
    pub(crate) fn about(mut self, uri: &str) -> Self {
        self.uri = Some(uri.to_owned());
        self
    }

    /// Drops the resource, where what is not found is only part of the request.
    pub(crate) fn of_parameters(mut self) -> Self {
        self.uri = None;
        self
    }

    pub(crate) fn with_request_id(mut self, request_id: Uuid) -> Self {
        self.request_id = request_id;
        self
    }

    /// How it is put on record.
    pub(crate) fn record_outcome(&self) -> RecordOutcome<'_> {
        self.failure.record_outcome()
    }

    /// The error of the protocol. What a server said is passed on; that there is no such resource is
    /// said as the caller's protocol says it.
    pub fn to_rpc(&self, protocol: Protocol) -> RpcError {
        match self.failure.rpc_error() {
            Some(own) => self.passed_on(own, protocol),
            None => self.made(protocol),
        }
    }

    fn passed_on(&self, own: &RpcError, protocol: Protocol) -> RpcError {
        let mut error = own.clone();
        let Some(uri) = &self.uri else {
            return error;
        };
        let names_it = own
            .data
            .as_ref()
            .is_some_and(|data| data.get("uri").is_some());
        let is_absence = own.code == RESOURCE_NOT_FOUND || own.code == INVALID_PARAMS && names_it;
        if is_absence {
            error.code = absent(protocol);
            let data = error.data.get_or_insert_with(|| json!({}));
            if let Some(members) = data.as_object_mut() {
                // The address as the caller knows it, which can differ from the server's own.
                members.insert("uri".to_owned(), json!(uri));
            }
        }
        error
    }

    fn made(&self, protocol: Protocol) -> RpcError {
        let code = match self.failure.code {
            Code::NotFound if self.uri.is_some() => absent(protocol),
            Code::NotFound
            | Code::InvalidArguments
            | Code::UnknownServer
            | Code::ToolDisabled
            | Code::ServerQuarantined => INVALID_PARAMS,
            _ => INTERNAL_ERROR,
        };
        let mut data = json!({ "error": self.failure.to_json(self.request_id) });
        if let (Some(uri), Some(members)) = (&self.uri, data.as_object_mut()) {
            members.insert("uri".to_owned(), json!(uri));
        }
        RpcError {
            code,
            message: self.failure.message.clone(),
            data: Some(data),
        }
    }
}

/// What a completion refers to: the member that names it, and the name.
pub(crate) fn referred(reference: &Json) -> Result<(&'static str, String), Failure> {
    let wrong = || {
        let message = "completion/complete needs params.ref: a ref/prompt with a name, or a ref/resource with a uri";
        Failure::new(Code::InvalidArguments, message)
    };
    let fields = reference.fields().ok_or_else(wrong)?;
    let text = |name: &str| -> Option<Cow<'_, str>> {
        serde_json::from_str::<Value>(fields.given(name)?.get())
            .ok()?
            .as_str()
            .map(|text| text.to_owned().into())
    };
    let member = match text("type").as_deref() {
        Some("ref/prompt") => "name",
        Some("ref/resource") => "uri",
        _ => return Err(wrong()),
    };
    let named = text(member).ok_or_else(wrong)?;
    Ok((member, named.into_owned()))
}

const fn absent(protocol: Protocol) -> i64 {
    match protocol {
        Protocol::Session => RESOURCE_NOT_FOUND,
        Protocol::Stateless => INVALID_PARAMS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_a_resource_is_not_there_is_said_as_the_protocol_of_the_caller_says_it() {
        let mask = Mask::new([]);
        let of_server = |code, data| {
            let mut error = RpcError::new(code, "gone");
            error.data = data;
            FetchError::of_upstream("s", CallError::Rpc(error), &mask).about("test:x")
        };
        let named = Some(json!({ "uri": "test:own" }));
        for (fetch_error, in_session, by_itself) in [
            (FetchError::no_resource("test:x", &[]), -32002, -32602),
            (of_server(-32002, None), -32002, -32602),
            (of_server(-32602, named), -32002, -32602),
            (of_server(-32602, None), -32602, -32602),
            (of_server(-32603, None), -32603, -32603),
        ] {
            for (protocol, code) in [
                (Protocol::Session, in_session),
                (Protocol::Stateless, by_itself),
            ] {
                let error = fetch_error.to_rpc(protocol);
                assert_eq!(error.code, code, "{fetch_error:?}");
                if code == absent(protocol) && in_session != by_itself {
                    assert_eq!(error.data.expect("it has data")["uri"], "test:x");
                }
            }
        }
    }

    #[test]
    fn what_a_server_says_is_passed_on_without_secrets() {
        let mask = Mask::new(["topsecret".to_owned()]);
        let mut error = RpcError::new(7, "no topsecret");
        error.data = Some(json!({ "key": "topsecret" }));
        let error =
            FetchError::of_upstream("s", CallError::Rpc(error), &mask).to_rpc(Protocol::Session);
        assert_eq!((error.code, error.message.as_str()), (7, "no ***"));
        assert_eq!(error.data, Some(json!({ "key": "***" })));
    }

    #[test]
    fn references_are_read_and_others_refused() {
        let read = |text: &'static str| referred(&Json::parse(text).expect("valid JSON"));
        let prompt = read(r#"{"type":"ref/prompt","name":"a"}"#);
        assert_eq!(prompt.expect("it is one"), ("name", "a".to_owned()));
        let resource = read(r#"{"type":"ref/resource","uri":"a:{b}"}"#);
        assert_eq!(resource.expect("it is one"), ("uri", "a:{b}".to_owned()));
        for text in [
            "7",
            "{}",
            r#"{"type":"ref/prompt"}"#,
            r#"{"type":"ref/tool","name":"a"}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
