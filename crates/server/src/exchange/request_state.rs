//! Request states: those of suspended calls are told apart from those of servers.
//!
//! A server may be a gateway like this one, whose states look like ours. On their way to the client
//! they are marked, and on their way back the mark is taken off, so that each gateway knows its own.

use std::borrow::Cow;

use mcpproxy_wire::Json;
use mcpproxy_wire::input_required::asks_for_input;
use mcpproxy_wire::json::with_member;
use serde_json::Value;
use uuid::Uuid;

use super::params::RequestParams;

/// Member of the parameters and of results that has a state.
pub(crate) const REQUEST_STATE: &str = "requestState";

/// Beginning of our own states.
const OWN: &str = "mcpproxy-parked-";

/// Mark in front of the states of others that could be taken for ours.
const MARK: &str = "mcpproxy-passed-";

/// New state, which nobody can guess.
pub(crate) fn new() -> String {
    format!("{OWN}{}", Uuid::new_v4().simple())
}

/// State of ours that a request repeats.
pub(crate) fn own(params: &RequestParams) -> Option<Cow<'_, str>> {
    let state = params.text(REQUEST_STATE);
    state.filter(|state| state.starts_with(OWN))
}

/// State of a server that a request repeats, as the server gave it; nothing if it needs no
/// change for that.
pub(crate) fn without_mark(params: &RequestParams) -> Option<Json> {
    let state = params.text(REQUEST_STATE)?;
    let given = state.strip_prefix(MARK)?;
    Some(Json::of(&Value::from(given)))
}

/// Result of a server whose state, if it has one, is not taken for one of ours.
pub(crate) fn with_mark(result: String) -> String {
    // Hardly any result asks for input, and hardly any of those comes from a gateway.
    if !asks_for_input(&result) {
        return result;
    }
    let Ok(json) = Json::parse(result.clone()) else {
        return result;
    };
    let state = json.fields().and_then(|fields| fields.text(REQUEST_STATE));
    match state {
        Some(state) if state.starts_with(OWN) || state.starts_with(MARK) => {
            let state = Json::of(&Value::from(format!("{MARK}{state}")));
            with_member(&json, REQUEST_STATE, &state).text().to_owned()
        }
        _ => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_come_back_as_the_server_gave_them_and_are_never_taken_for_ours() {
        let (ours, twice) = (new(), format!("{MARK}{}", new()));
        for given in ["", "abc", "mcpproxy", &ours, &twice] {
            let result =
                format!(r#"{{"resultType":"input_required","requestState":"{given}","a":1e400}}"#);
            let fields: Value =
                serde_json::from_str(&with_mark(result).replace("1e400", "1")).unwrap();
            let params = format!(r#"{{"requestState":{}}}"#, fields[REQUEST_STATE]);
            let params = RequestParams::parse(&params);
            assert!(own(&params).is_none(), "{given}");
            let back = without_mark(&params).map_or_else(
                || params.text(REQUEST_STATE).unwrap().into_owned(),
                |state| state.to_value().as_str().unwrap().to_owned(),
            );
            assert_eq!(back, given);
        }
        let complete = format!(r#"{{"resultType":"complete","requestState":"{ours}"}}"#);
        assert_eq!(with_mark(complete.clone()), complete);
    }
}
