//! Arguments that a request repeats in its headers: they say what the message says, or the request
//! is refused.

use http::{HeaderMap, HeaderName};
use mcpproxy_gateway::Gateway;
use mcpproxy_gateway::direct::Scope;
use mcpproxy_wire::RpcError;
use mcpproxy_wire::header::decode_value;
use mcpproxy_wire::param_headers::ParamHeader;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::stateless::{Asked, mismatch, single};

/// Checks the headers of a call against its arguments.
pub(crate) async fn check(
    gateway: &Gateway,
    scope: &Scope,
    asked: &Asked<'_>,
) -> Result<(), RpcError> {
    let params = asked.params;
    let Some(name) = params.text("name") else {
        return Ok(());
    };
    let wanted = gateway.direct_param_headers(scope, &name).await;
    if wanted.is_empty() {
        return Ok(());
    }
    let arguments = params.fields.given("arguments").map_or("{}", RawValue::get);
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    wanted
        .iter()
        .try_for_each(|wanted| check_one(wanted, asked.headers, &arguments))
}

fn check_one(wanted: &ParamHeader, headers: &HeaderMap, arguments: &Value) -> Result<(), RpcError> {
    let Ok(name) = HeaderName::try_from(wanted.header()) else {
        return Ok(());
    };
    match (wanted.text_in(arguments), single(headers, &name)?) {
        (None, None) => Ok(()),
        (Some(_), None) => Err(mismatch(&name, "is missing")),
        (None, Some(_)) => Err(mismatch(&name, "repeats an argument that is not given")),
        (Some(text), Some(given)) => match decode_value(given) {
            Some(told) if told == text => Ok(()),
            Some(_) => Err(mismatch(&name, "is not what the arguments say")),
            None => Err(mismatch(&name, "is not valid Base64 of a text")),
        },
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use mcpproxy_wire::{Json, param_headers};
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_say_what_arguments_say() {
        let schema = json!({ "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" } } });
        let wanted = param_headers::of_schema(&Json::of(&schema)).unwrap();
        let check = |arguments: Value, given: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in given {
                headers.append("Mcp-Param-Region", HeaderValue::from_str(value).unwrap());
            }
            check_one(&wanted[0], &headers, &arguments).is_ok()
        };
        let zurich = || json!({ "region": "Zürich" });
        assert!(check(json!({}), &[]));
        assert!(check(json!({ "region": null }), &[]));
        assert!(check(json!({ "region": "west" }), &["west"]));
        assert!(check(zurich(), &["=?base64?WsO8cmljaA==?="]));
        assert!(!check(zurich(), &[]));
        assert!(!check(zurich(), &["=?base64?WsO8cmljaA?="]));
        assert!(!check(json!({ "region": "west" }), &["east"]));
        assert!(!check(json!({ "region": "west" }), &["west", "west"]));
        assert!(!check(json!({}), &["west"]));
    }
}
