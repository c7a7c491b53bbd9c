//! Results that ask for input, which the revision without sessions has in place of requests to the
//! client.

use serde::Serialize;

use crate::json::{Fields, Json, Members, may_name, to_text};

/// Result that asks a client for input.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired<'a> {
    result_type: &'static str,
    input_requests: Members<'a, InputRequest<'a>>,
    request_state: &'a str,
}

/// Request to the client.
#[derive(Serialize)]
struct InputRequest<'a> {
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a Json>,
}

/// Result that asks a client for input: every request under its key, as method and parameters,
/// and what the client has to repeat to carry on.
pub fn input_required<'a>(
    requests: impl Iterator<Item = (&'a str, &'a str, &'a Json)>,
    state: &str,
) -> String {
    let requests = requests.map(|(key, method, params)| {
        let params = params.is_object().then_some(params);
        (key, InputRequest { method, params })
    });
    to_text(&InputRequired {
        result_type: "input_required",
        input_requests: Members(requests.collect()),
        request_state: state,
    })
}

/// Whether a result asks for input.
pub fn asks_for_input(result: &str) -> bool {
    let said = || Fields::read(result)?.text("resultType");
    may_name(result, "input_required") && said().as_deref() == Some("input_required")
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
