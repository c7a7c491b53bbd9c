//! Headers that mirror a message: they say what the message says, or the request is refused.

use http::{HeaderMap, HeaderName};
use mcpproxy_gateway::direct::Scope;
use mcpproxy_wire::header::decode_value;
use mcpproxy_wire::method::Method;
use mcpproxy_wire::param_headers::ParamHeader;
use mcpproxy_wire::stateless::HEADER_MISMATCH;
use mcpproxy_wire::{Json, RpcError, header};
use serde_json::Value;

use super::head::HttpHead;
use crate::exchange::params::RequestParams;
use crate::exchange::request::RequestMessage;

/// Checks the header that mirrors the name or address of what is called, got or read.
pub(super) fn check_name(headers: &HeaderMap, message: &RequestMessage) -> Result<(), RpcError> {
    let member = match message.method {
        Method::ToolsCall | Method::PromptsGet => "name",
        Method::ResourcesRead => "uri",
        _ => return Ok(()),
    };
    let Some(given) = message.params.text(member) else {
        // The method itself says what it needs.
        return Ok(());
    };
    let named =
        single(headers, header::NAME)?.ok_or_else(|| mismatch(header::NAME, "is missing"))?;
    check_value(header::NAME, named, &given, "is not what the message names")
}

/// Checks the headers of a call that mirror its arguments.
pub(super) async fn check(
    head: &HttpHead<'_>,
    scope: &Scope,
    params: &RequestParams,
) -> Result<(), RpcError> {
    let Some(name) = params.text("name") else {
        return Ok(());
    };
    let (direct, rights) = (head.app.gateway().direct(), &head.admission.rights);
    let wanted = direct.param_headers(scope, &name, rights).await;
    if wanted.is_empty() {
        return Ok(());
    }
    let arguments = params.given("arguments").map_or("{}", Json::text);
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    wanted
        .iter()
        .try_for_each(|wanted| check_one(wanted, head.headers, &arguments))
}

fn check_one(wanted: &ParamHeader, headers: &HeaderMap, arguments: &Value) -> Result<(), RpcError> {
    let Ok(name) = HeaderName::try_from(wanted.header()) else {
        return Ok(());
    };
    let name = name.as_str();
    match (wanted.text_in(arguments), single(headers, name)?) {
        (None, None) => Ok(()),
        (Some(_), None) => Err(mismatch(name, "is missing")),
        (None, Some(_)) => Err(mismatch(name, "repeats an argument that is not given")),
        (Some(text), Some(given)) => {
            check_value(name, given, &text, "is not what the arguments say")
        }
    }
}

/// Checks that the value of a header says a text; `otherwise` is what is wrong if it does not.
fn check_value(name: &str, given: &str, text: &str, otherwise: &str) -> Result<(), RpcError> {
    match decode_value(given) {
        Some(given) if given == text => Ok(()),
        Some(_) => Err(mismatch(name, otherwise)),
        None => Err(mismatch(name, "is not valid Base64 of a text")),
    }
}

/// Value of a header that is given once; two readers could take two of them for it.
pub(super) fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(mismatch(name, "is given more than once"));
    }
    let text = value
        .to_str()
        .map_err(|_| mismatch(name, "is not plain text"))?;
    Ok(Some(text.trim_matches([' ', '\t'])))
}

pub(super) fn mismatch(header: &str, what: &str) -> RpcError {
    RpcError::new(
        HEADER_MISMATCH,
        format!("Header mismatch: the header {header} {what}"),
    )
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use mcpproxy_wire::param_headers;
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
