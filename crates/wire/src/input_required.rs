//! Results that ask for input, which the revision without sessions has in place of requests to the
//! client.

use serde::Serialize;

use crate::json::{Fields, Json, Members, may_name, to_text, with_member, with_set_member};

/// Member of a result that has the requests, by their keys.
const INPUT_REQUESTS: &str = "inputRequests";

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

/// Result that asks for input, with other parameters for its requests: those that `change` gives for the key, the method
/// and the parameters of each. All else keeps its bytes, also a request that `change` gives nothing for.
pub fn with_changed_requests(
    result: &Json,
    mut change: impl FnMut(&str, &str, &Json) -> Option<Json>,
) -> Json {
    let fields = result.fields().unwrap_or_default();
    let Some(requests) = fields.given(INPUT_REQUESTS) else {
        return result.clone();
    };
    let requests = result.part(requests);
    let Some(by_key) = requests.fields() else {
        return result.clone();
    };
    let changed = by_key.iter().map(|(key, raw)| {
        let request = requests.part(raw);
        let params =
            read_request(&request).and_then(|(method, params)| change(key, &method, &params));
        let changed = params.map(|params| with_set_member(&request, "params", &params));
        (key, changed.unwrap_or(request))
    });
    let changed = to_text(&Members(changed.collect()));
    match Json::parse(changed) {
        Ok(changed) => with_member(result, INPUT_REQUESTS, &changed),
        Err(_) => result.clone(),
    }
}

/// Method and parameters of a request in a result that asks for input; no parameters are an empty object.
fn read_request(request: &Json) -> Option<(String, Json)> {
    let fields = request.fields()?;
    let params = fields.given("params");
    let params = params.map_or_else(Json::empty_object, |raw| request.part(raw));
    Some((fields.text("method")?.into_owned(), params))
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
    fn requests_get_other_parameters_and_the_rest_keeps_its_bytes() {
        let change = |text: &'static str| {
            let changed =
                with_changed_requests(&Json::parse(text).unwrap(), |key, method, params| {
                    let seen = format!(r#"{{"seen":"{key} {method}","own":{}}}"#, params.text());
                    (method != "unknown").then(|| Json::parse(seen).unwrap())
                });
            changed.text().to_owned()
        };
        assert_eq!(
            change(
                r#"{"a":1e400, "inputRequests":{"k":{"method":"m","params":{"p":1.50},"z":2},"u":{"method":"unknown"},"n":7}}"#
            ),
            r#"{"a":1e400, "inputRequests":{"k":{"method":"m","params":{"seen":"k m","own":{"p":1.50}},"z":2},"u":{"method":"unknown"},"n":7}}"#
        );
        // Given twice, none of the two stays as the server wrote it.
        assert_eq!(
            change(
                r#"{"inputRequests":{"k":{"method":"x"}},"inputRequests":{"k":{"method":"m"}}}"#
            ),
            r#"{"inputRequests":{"k":{"method":"m","params":{"seen":"k m","own":{}}}},"inputRequests":{"k":{"method":"m","params":{"seen":"k m","own":{}}}}}"#
        );
        for same in [
            r#"{"inputRequests":[1]}"#,
            r#"{"inputRequests":null}"#,
            "[]",
        ] {
            assert_eq!(change(same), same);
        }
    }

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
