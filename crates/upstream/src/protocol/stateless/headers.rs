//! Headers that repeat what a request over HTTP is about, so that others can route it unread.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use mcpproxy_wire::Method;
use mcpproxy_wire::header::{self, encode_value};
use mcpproxy_wire::param_headers::ParamHeader;
use serde_json::Value;

const METHOD: HeaderName = HeaderName::from_static(header::METHOD);
const NAME: HeaderName = HeaderName::from_static(header::NAME);

/// Headers of a request: its method, what it names, and arguments.
pub(super) fn of_request(
    method: Method,
    name: Option<&str>,
    params: &[ParamHeader],
    arguments: &Value,
) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(4);
    headers.insert(METHOD, HeaderValue::from_static(method.as_str()));
    if let Some(value) = name.and_then(header_value) {
        headers.insert(NAME, value);
    }
    for param in params {
        let text = param.text_in(arguments);
        let name = HeaderName::try_from(param.header());
        if let (Ok(name), Some(value)) = (name, text.as_deref().and_then(header_value)) {
            headers.insert(name, value);
        }
    }
    headers
}

/// Value of a header that carries a text.
fn header_value(text: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(encode_value(text).as_ref()).ok()
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::{Json, param_headers};
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_repeated_where_the_schema_says_so() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "count": { "type": "integer", "x-mcp-header": "Count" },
            "nested": { "type": "object", "properties": {
                "flag": { "type": "boolean", "x-mcp-header": "Flag" } } },
            "absent": { "type": "string", "x-mcp-header": "Absent" },
            "null": { "type": "string", "x-mcp-header": "Null" },
            "other": { "type": "string", "default": { "x-mcp-header": "no annotation" } },
        }});
        let params = param_headers::of_schema(&Json::of(&schema)).expect("they are valid");
        let arguments = json!({ "region": "Zürich", "count": 42, "nested": { "flag": true },
            "null": null, "other": "x" });
        let headers = of_request(Method::ToolsCall, Some("deploy"), &params, &arguments);
        let value = |name: &str| {
            headers
                .get(name)
                .map(|value| value.to_str().expect("ASCII"))
        };
        assert_eq!(value("Mcp-Method"), Some("tools/call"));
        assert_eq!(value("Mcp-Name"), Some("deploy"));
        assert_eq!(value("Mcp-Param-Region"), Some("=?base64?WsO8cmljaA==?="));
        assert_eq!(value("Mcp-Param-Count"), Some("42"));
        assert_eq!(value("Mcp-Param-Flag"), Some("true"));
        assert_eq!(headers.len(), 5);
    }
}
