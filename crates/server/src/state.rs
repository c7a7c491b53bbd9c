//! Tells states that stand for parked calls from those of servers.
//!
//! A server may be a gateway like this one, whose states look like ours. On their way to the client
//! they are marked, and on their way back the mark is taken off, so that each gateway knows its own.

use std::borrow::Cow;

use mcpproxy_wire::Json;
use mcpproxy_wire::input::asks_for_input;
use mcpproxy_wire::result::with_member;
use mcpproxy_wire::stateless::Params;
use serde_json::Value;
use uuid::Uuid;

/// What states of ours begin with.
const OWN: &str = "mcpproxy-parked-";

/// What is put in front of the states of others that could be taken for ours.
const MARK: &str = "mcpproxy-passed-";

/// A state that nobody can guess.
pub(crate) fn new() -> String {
    format!("{OWN}{}", Uuid::new_v4().simple())
}

/// The state of ours that a request repeats.
pub(crate) fn own<'a>(params: &Params<'a>) -> Option<Cow<'a, str>> {
    params
        .text("requestState")
        .filter(|state| state.starts_with(OWN))
}

/// The state of a server that a request repeats, as the server gave it; nothing if it needs no
/// change for that.
pub(crate) fn theirs(params: &Params<'_>) -> Option<Json> {
    let state = params.text("requestState")?;
    let given = state.strip_prefix(MARK)?;
    Some(Json::of(&Value::from(given)))
}

/// A result of a server whose state, if it has one, is not taken for one of ours.
pub(crate) fn marked(result: String) -> String {
    // Hardly any result asks for input, and hardly any of those comes from a gateway.
    if !asks_for_input(&result) {
        return result;
    }
    let Ok(json) = Json::parse(result.clone()) else {
        return result;
    };
    let state = json.fields().and_then(|fields| {
        serde_json::from_str::<String>(fields.given("requestState")?.get()).ok()
    });
    match state {
        Some(state) if state.starts_with(OWN) || state.starts_with(MARK) => {
            let state = Json::of(&Value::from(format!("{MARK}{state}")));
            with_member(&json, "requestState", &state).text().to_owned()
        }
        _ => result,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn states_come_back_as_the_server_gave_them_and_are_never_taken_for_ours() {
        let (ours, twice) = (new(), format!("{MARK}{}", new()));
        for given in ["", "abc", "mcpproxy", &ours, &twice] {
            let result =
                format!(r#"{{"resultType":"input_required","requestState":"{given}","a":1e400}}"#);
            let fields: Value =
                serde_json::from_str(&marked(result).replace("1e400", "1")).unwrap();
            let params = format!(r#"{{"requestState":{}}}"#, fields["requestState"]);
            let raw: &RawValue = serde_json::from_str(&params).unwrap();
            let params = Params::read(Some(raw));
            assert!(own(&params).is_none(), "{given}");
            let back = theirs(&params).map_or_else(
                || params.text("requestState").unwrap().into_owned(),
                |state| state.to_value().as_str().unwrap().to_owned(),
            );
            assert_eq!(back, given);
        }
        let complete = format!(r#"{{"resultType":"complete","requestState":"{ours}"}}"#);
        assert_eq!(marked(complete.clone()), complete);
    }
}
