//! Requests that need no permit: the protocol itself says that they read and nothing else.

use mcpproxy_wire::{Json, Method};
use serde::Serialize;

/// Request that reads and nothing else. No other method can be sent without a permit.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum ReadRequest<'a> {
    /// `prompts/get`
    Prompt {
        /// Name of the prompt at the server.
        name: &'a str,
        /// Arguments of the prompt, an object.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<&'a Json>,
    },
    /// `resources/read`
    Resource {
        /// Address of the resource at the server.
        uri: &'a str,
    },
    /// `completion/complete`
    Completion {
        /// Prompt or resource template that is completed, as the server knows it.
        #[serde(rename = "ref")]
        reference: &'a Json,
        /// Argument that is being typed.
        argument: &'a Json,
        /// Arguments that were typed before.
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<&'a Json>,
    },
}

impl<'a> ReadRequest<'a> {
    /// Method of the request.
    pub const fn method(&self) -> Method {
        match self {
            Self::Prompt { .. } => Method::PromptsGet,
            Self::Resource { .. } => Method::ResourcesRead,
            Self::Completion { .. } => Method::CompletionComplete,
        }
    }

    /// Name or address that a header repeats.
    pub(crate) const fn name(&self) -> Option<&'a str> {
        match self {
            Self::Prompt { name, .. } => Some(name),
            Self::Resource { uri } => Some(uri),
            Self::Completion { .. } => None,
        }
    }

    /// Parameters of the request, as JSON.
    pub fn params(&self) -> String {
        // Strings and checked JSON always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_one_object_whatever_is_in_them() {
        let json = |text: &'static str| Json::parse(text).expect("valid JSON");
        let (arguments, reference) = (json(r#"{"a":1.50}"#), json(r#"{"type":"ref/prompt"}"#));
        let name = "odd\"}, {\"";
        let prompt = ReadRequest::Prompt {
            name,
            arguments: Some(&arguments),
        };
        assert_eq!(
            prompt.params(),
            r#"{"name":"odd\"}, {\"","arguments":{"a":1.50}}"#
        );
        let resource = ReadRequest::Resource { uri: "test://x" };
        assert_eq!(resource.params(), r#"{"uri":"test://x"}"#);
        let completion = ReadRequest::Completion {
            reference: &reference,
            argument: &arguments,
            context: None,
        };
        assert_eq!(
            completion.params(),
            r#"{"ref":{"type":"ref/prompt"},"argument":{"a":1.50}}"#
        );
    }
}
