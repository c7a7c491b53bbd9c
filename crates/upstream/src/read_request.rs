//! What may be asked of a server without a decision: reads by the protocol's own word.

use mcpproxy_wire::Json;
use mcpproxy_wire::Method;
use serde_json::Value;

/// Request that reads and nothing else. No other method can be sent without a permit.
#[derive(Debug, Clone, Copy)]
pub enum ReadRequest<'a> {
    /// `prompts/get`
    Prompt {
        /// Its name at the server.
        name: &'a str,
        /// Its arguments, an object.
        arguments: Option<&'a Json>,
    },
    /// `resources/read`
    Resource {
        /// Its address at the server.
        uri: &'a str,
    },
    /// `completion/complete`
    Completion {
        /// What is completed, as the server knows it.
        reference: &'a Json,
        /// The argument that is being typed.
        argument: &'a Json,
        /// What else was typed.
        context: Option<&'a Json>,
    },
}

impl ReadRequest<'_> {
    /// The method that asks it.
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Prompt { .. } => Method::PromptsGet.as_str(),
            Self::Resource { .. } => Method::ResourcesRead.as_str(),
            Self::Completion { .. } => Method::CompletionComplete.as_str(),
        }
    }

    /// What a header repeats of it.
    pub(crate) const fn named(&self) -> Option<&str> {
        match self {
            Self::Prompt { name, .. } => Some(name),
            Self::Resource { uri } => Some(uri),
            Self::Completion { .. } => None,
        }
    }

    /// Its parameters, as JSON.
    pub fn params(&self) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let members: Vec<(&str, String)> = match self {
            Self::Prompt { name, arguments } => {
                let arguments = arguments.map(|json| ("arguments", json.text().to_owned()));
                std::iter::once(("name", quoted(name)))
                    .chain(arguments)
                    .collect()
            }
            Self::Resource { uri } => vec![("uri", quoted(uri))],
            Self::Completion {
                reference,
                argument,
                context,
            } => {
                let known = [
                    ("ref", reference.text().to_owned()),
                    ("argument", argument.text().to_owned()),
                ];
                let context = context.map(|json| ("context", json.text().to_owned()));
                known.into_iter().chain(context).collect()
            }
        };
        let members: Vec<String> = members
            .into_iter()
            .map(|(name, value)| format!(r#""{name}":{value}"#))
            .collect();
        format!("{{{}}}", members.join(","))
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
