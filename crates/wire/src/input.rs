//! Results that ask for input, which the revision without sessions has in place of requests to the
//! client.

use memchr::memmem::Finder;
use serde_json::Value;

use crate::glance::Name;
use crate::json::text_of;
use crate::json::{Fields, Json};

static INPUT_REQUIRED: Name = Name::new(|| Finder::new(b"input_required"));

/// The result that asks a client for input: every request under its key, as method and parameters,
/// and what the client has to repeat to carry on.
pub fn input_required<'a>(
    requests: impl Iterator<Item = (&'a str, &'a str, &'a Json)>,
    state: &str,
) -> String {
    let requests: Vec<String> = requests
        .map(|(key, method, params)| {
            let (key, method) = (Value::from(key), Value::from(method));
            let params = if params.is_object() {
                format!(r#","params":{}"#, params.text())
            } else {
                String::new()
            };
            format!(r#"{key}:{{"method":{method}{params}}}"#)
        })
        .collect();
    format!(
        r#"{{"resultType":"input_required","inputRequests":{{{}}},"requestState":{}}}"#,
        requests.join(","),
        Value::from(state)
    )
}

/// Whether a result asks for input.
pub fn asks_for_input(result: &str) -> bool {
    if !INPUT_REQUIRED.may_be_in(result) {
        return false;
    }
    let kind = serde_json::from_str::<Fields<'_>>(result)
        .ok()
        .and_then(|fields| fields.get("resultType"));
    kind.and_then(|raw| text_of(raw.get())).as_deref() == Some("input_required")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_is_asked_is_passed_on_as_it_was_asked() {
        let params = Json::parse(r#"{"message":"\u00e9","n":1e400}"#).unwrap();
        let nothing = Json::parse("null").unwrap();
        let requests = [
            ("a", "elicitation/create", &params),
            ("b\"", "roots/list", &nothing),
        ];
        assert_eq!(
            input_required(requests.into_iter(), "s"),
            r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"\u00e9","n":1e400}},"b\"":{"method":"roots/list"}},"requestState":"s"}"#
        );
    }
}
