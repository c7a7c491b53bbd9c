//! Errors of prompts, resources and completion, as errors of the protocol.

use std::sync::Arc;

use mcpproxy_catalog::directory::qualify;
use mcpproxy_wire::rpc::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use mcpproxy_wire::{Json, ListedKind, Protocol};
use serde_json::json;
use uuid::Uuid;

use crate::failure::{Code, Failure};
use crate::request::cut;

/// Code for a resource that is not there, where there are sessions.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// Most servers that are named as those whose resource could be meant.
const MOST_NAMED: usize = 5;

/// Error of a prompt, resource or completion that there is no result of.
#[derive(Debug, Clone)]
pub struct FetchError {
    pub(super) failure: Failure,
    /// Address of the resource that it is about.
    pub(super) uri: Option<String>,
    pub(super) request_id: Uuid,
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
    /// No server has such a resource, or several could have it: those with a template that it fits, or else all that
    /// have resources.
    pub(super) fn no_resource(uri: &str, fitting: &[Arc<str>], servers: &[&Arc<str>]) -> Self {
        let shown = cut(uri, 300);
        let named = fitting.iter().take(MOST_NAMED);
        let named: Vec<String> = named.map(|server| qualify(server, &shown)).collect();
        let hint = match (servers, &*named) {
            ([], _) => "; no server that is there offers resources".to_owned(),
            ([server, ..], []) => format!(
                "; resources/list names those there are. One that is not listed is read as '{}', with the name of its server",
                qualify(server, &shown)
            ),
            (_, named) => format!(
                ": it is not listed, and a template that fits it does not say whose it is. Name the server: '{}'",
                named.join("' or '")
            ),
        };
        let message = format!("Resource '{shown}' not found{hint}");
        Self::from(Failure::new(Code::NotFound, message)).about(uri)
    }

    /// Names the resource that the error is about.
    pub(super) fn about(self, uri: &str) -> Self {
        let uri = Some(uri.to_owned());
        Self { uri, ..self }
    }

    /// Error of the protocol. What a server said is passed on; that there is no such resource is
    /// said as the caller's protocol says it.
    pub fn to_rpc(&self, protocol: Protocol) -> RpcError {
        let own = self.failure.rpc_error();
        let mut error = own.cloned().unwrap_or_else(|| self.made());
        let Some(uri) = &self.uri else {
            return error;
        };
        let names_it = |own: &RpcError| {
            own.data
                .as_ref()
                .is_some_and(|data| data.get("uri").is_some())
        };
        let is_absence = own.map_or(self.failure.code == Code::NotFound, |own| {
            own.code == RESOURCE_NOT_FOUND || own.code == INVALID_PARAMS && names_it(own)
        });
        if is_absence {
            error.code = absent(protocol);
        }
        if is_absence || own.is_none() {
            let data = error.data.get_or_insert_with(|| json!({}));
            if let Some(members) = data.as_object_mut() {
                // The address as the caller knows it, which can differ from the server's own.
                members.insert("uri".to_owned(), json!(uri));
            }
        }
        error
    }

    fn made(&self) -> RpcError {
        let code = match self.failure.code {
            Code::NotFound
            | Code::InvalidArguments
            | Code::UnknownServer
            | Code::ToolDisabled
            | Code::ServerQuarantined => INVALID_PARAMS,
            _ => INTERNAL_ERROR,
        };
        RpcError {
            code,
            message: self.failure.message.clone(),
            data: Some(json!({ "error": self.failure.to_json(self.request_id) })),
        }
    }
}

/// Kind that a completion refers to, the member that names the item, and its name.
pub(super) fn referred(reference: &Json) -> Result<(ListedKind, &'static str, String), Failure> {
    let reference = reference.to_value();
    let found = match reference["type"].as_str() {
        Some("ref/prompt") => Some((ListedKind::Prompt, "name")),
        Some("ref/resource") => Some((ListedKind::Template, "uri")),
        _ => None,
    };
    let found = found.and_then(|(kind, member)| {
        let named = reference[member].as_str()?;
        Some((kind, member, named.to_owned()))
    });
    found.ok_or_else(|| {
        let message = "completion/complete needs params.ref: a ref/prompt with a name, or a ref/resource with a uri";
        Failure::new(Code::InvalidArguments, message)
    })
}

const fn absent(protocol: Protocol) -> i64 {
    match protocol {
        Protocol::Session => RESOURCE_NOT_FOUND,
        Protocol::Stateless => INVALID_PARAMS,
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_policy::Operation;
    use mcpproxy_redact::Mask;
    use mcpproxy_upstream::CallError;

    use super::*;

    fn of_upstream(error: RpcError, mask: &Mask) -> FetchError {
        Failure::of_upstream("s", Operation::Read, CallError::Rpc(error), mask).into()
    }

    #[test]
    fn that_a_resource_is_not_there_is_said_as_the_protocol_of_the_caller_says_it() {
        let mask = Mask::new([]);
        let of_server = |code, data| {
            let mut error = RpcError::new(code, "gone");
            error.data = data;
            of_upstream(error, &mask).about("test:x")
        };
        let named = Some(json!({ "uri": "test:own" }));
        for (fetch_error, in_session, by_itself) in [
            (FetchError::no_resource("test:x", &[], &[]), -32002, -32602),
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
    fn servers_that_could_be_meant_are_named_with_their_addresses() {
        let fitting: [Arc<str>; 2] = ["a", "b"].map(Arc::from);
        let servers: Vec<&Arc<str>> = fitting.iter().collect();
        let message = |fitting: &[Arc<str>]| {
            let error = FetchError::no_resource("test:x", fitting, &servers);
            error.to_rpc(Protocol::Session).message
        };
        assert_eq!(
            message(&fitting),
            "Resource 'test:x' not found: it is not listed, and a template that fits it does not say whose it is. Name the server: 'mcpproxy:a/test:x' or 'mcpproxy:b/test:x'"
        );
        assert!(
            message(&[]).ends_with("is read as 'mcpproxy:a/test:x', with the name of its server")
        );
    }

    #[test]
    fn what_a_server_says_is_passed_on_without_secrets() {
        let mask = Mask::new(["topsecret".to_owned()]);
        let mut error = RpcError::new(7, "no topsecret");
        error.data = Some(json!({ "key": "topsecret" }));
        let error = of_upstream(error, &mask).to_rpc(Protocol::Session);
        assert_eq!((error.code, error.message.as_str()), (7, "no ***"));
        assert_eq!(error.data, Some(json!({ "key": "***" })));
    }

    #[test]
    fn references_are_read_and_others_refused() {
        let read = |text: &'static str| referred(&Json::parse(text).expect("valid JSON"));
        let prompt = read(r#"{"type":"ref/prompt","name":"a"}"#);
        let expected = (ListedKind::Prompt, "name", "a".to_owned());
        assert_eq!(prompt.expect("it is one"), expected);
        let resource = read(r#"{"type":"ref/resource","uri":"a:{b}"}"#);
        let expected = (ListedKind::Template, "uri", "a:{b}".to_owned());
        assert_eq!(resource.expect("it is one"), expected);
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
