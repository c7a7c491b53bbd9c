//! Address of requests, and the headers that all of them have.

use http::Uri;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use mcpproxy_redact::MASKED;

const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Shortest part of a path that is taken for a key. Words of addresses are shorter.
const SHORTEST_KEY: usize = 20;

/// Address of a server; the error is for people.
pub(super) fn read_url(url: &str) -> Result<Uri, String> {
    let uri: Uri = url
        .parse()
        .map_err(|_| "its url is not an address".to_owned())?;
    let authority = uri.authority().map(http::uri::Authority::as_str);
    match (uri.scheme_str(), authority) {
        (Some("http" | "https"), Some(authority)) if !authority.contains('@') => Ok(uri),
        (Some("http" | "https"), Some(_)) => {
            Err("its url contains credentials, give them in headers instead".to_owned())
        }
        _ => Err("its url is not an http or https address".to_owned()),
    }
}

/// Target of a request line: the path with its query.
pub(super) fn path_of(url: &Uri) -> Uri {
    url.path_and_query()
        .map_or_else(|| Uri::from_static("/"), |path| Uri::from(path.clone()))
}

/// Address for people and agents: without its query, which may hold credentials, and with what looks like one in its
/// path hidden, as some services have it there. User and password are in no address of ours.
pub(super) fn shown(url: &Uri) -> String {
    let scheme = url.scheme_str().unwrap_or_default();
    let authority = url.authority().map_or("", http::uri::Authority::as_str);
    let segments = url.path().split('/');
    let segments = segments.map(|one| if is_key(one) { MASKED } else { one });
    let path: Vec<&str> = segments.collect();
    format!("{scheme}://{authority}{}", path.join("/"))
}

/// Whether a part of a path looks like a key: long, of letters and digits.
fn is_key(segment: &str) -> bool {
    segment.len() >= SHORTEST_KEY
        && segment.bytes().any(|byte| byte.is_ascii_digit())
        && segment.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Headers of every request; the error is for people and holds no secret.
pub(super) fn read_headers(url: &Uri, pairs: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let host = url.authority().map_or("", http::uri::Authority::as_str);
    let host = HeaderValue::try_from(host).map_err(|_| "its url has no valid host".to_owned())?;
    headers.insert(HOST, host);
    for (name, value) in pairs {
        let header = HeaderName::try_from(name.as_str()).ok();
        let value = HeaderValue::try_from(value.as_str()).ok();
        let (Some(header), Some(mut value)) = (header, value) else {
            return Err(format!("its header '{name}' is not valid"));
        };
        if matches!(
            header.as_str(),
            "content-length" | "transfer-encoding" | "connection"
        ) {
            return Err(format!("its header '{name}' cannot be configured"));
        }
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    headers.insert(ACCEPT, ACCEPTED);
    headers.insert(CONTENT_TYPE, JSON);
    Ok(headers)
}

/// Path that a server names for messages to it, seen from the address it was asked at.
/// Nothing if it is not at the same server.
pub(super) fn resolve(named: &str, from: &Uri) -> Option<Uri> {
    let named = named.trim();
    let path = if named.contains("://") {
        let url: Uri = named.parse().ok()?;
        let is_same = url.scheme() == from.scheme() && url.authority() == from.authority();
        is_same.then(|| path_of(&url).to_string())?
    } else if named.starts_with("//") {
        return None;
    } else if named.starts_with('/') {
        named.to_owned()
    } else if named.starts_with('?') {
        format!("{}{named}", from.path())
    } else {
        let folder = from
            .path()
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder);
        format!("{folder}/{named}")
    };
    let uri: Uri = path.parse().ok()?;
    (uri.authority().is_none() && uri.path().starts_with('/')).then_some(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_what_may_be_a_credential() {
        for (url, expected) in [
            ("http://host:81/mcp?key=abc", "http://host:81/mcp"),
            ("https://host", "https://host/"),
            (
                "https://host/v2/model-context-protocol/mcp",
                "https://host/v2/model-context-protocol/mcp",
            ),
            (
                "https://host/s/MjE4Y2I0ZDgtYjI5OC00/mcp",
                "https://host/s/***/mcp",
            ),
        ] {
            let url = read_url(url).expect("an address");
            assert_eq!(shown(&url), expected);
        }
    }

    #[test]
    fn an_endpoint_is_found_at_the_same_server_only() {
        let from = Uri::from_static("http://host:81/mcp/sse?x=1");
        for (named, expected) in [
            ("/messages?session=a", Some("/messages?session=a")),
            ("http://host:81/m?s=1", Some("/m?s=1")),
            ("messages/?s=1", Some("/mcp/messages/?s=1")),
            ("?s=1", Some("/mcp/sse?s=1")),
            ("http://other:81/m", None),
            ("http://host/m", None),
            ("https://host:81/m", None),
            ("//other/m", None),
            ("/a b", None),
        ] {
            let found = resolve(named, &from).map(|uri| uri.to_string());
            assert_eq!(found.as_deref(), expected, "{named}");
        }
    }
}
