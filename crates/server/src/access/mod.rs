//! Access: who may come in, and who a request counts for.
//!
//! On loopback an agent needs no key; administration always does, unless it comes through
//! the local socket, which only the owner can open. A credential that is sent and wrong is
//! refused, never ignored.

pub(crate) mod caller;

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use http::uri::Authority;
use http::{HeaderMap, header};
use mcpproxy_gateway::{Code, Failure};
use mcpproxy_policy::Rights;
use subtle::ConstantTimeEq;

use crate::app::App;
use crate::respond::RestResult;

/// From where requests of a listener can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Through the socket in the data directory: the owner of the gateway.
    Socket,
    /// From this machine.
    Loopback,
    /// From anywhere.
    Network,
}

/// Admits an agent, and gives what it may do: to use the tools, or with the key to administer the
/// gateway as well. The local socket alone does not count for that, because agents come through it too,
/// by way of `mcpproxy stdio`.
pub(crate) fn agent(app: &App, reach: Reach, headers: &HeaderMap) -> Result<Rights, Failure> {
    check_origin(reach, headers)?;
    admit_agent(reach, shows_key(headers, app.api_key.load().expose())?)
}

/// Lets whoever may call in see whether the gateway lives.
pub(crate) async fn health(
    State((app, reach)): State<(Arc<App>, Reach)>,
    request: Request,
    next: Next,
) -> RestResult {
    agent(&app, reach, request.headers())?;
    Ok(next.run(request).await)
}

/// Lets administrators in.
pub(crate) async fn administration(
    State((app, reach)): State<(Arc<App>, Reach)>,
    request: Request,
    next: Next,
) -> RestResult {
    let headers = request.headers();
    check_origin(reach, headers)?;
    admit_administrator(reach, shows_key(headers, app.api_key.load().expose())?)?;
    Ok(next.run(request).await)
}

fn admit_agent(reach: Reach, shows_key: bool) -> Result<Rights, Failure> {
    match (reach, shows_key) {
        (_, true) => Ok(Rights::Administer),
        (Reach::Network, false) => Err(missing_key()),
        (Reach::Socket | Reach::Loopback, false) => Ok(Rights::UseTools),
    }
}

fn admit_administrator(reach: Reach, shows_key: bool) -> Result<(), Failure> {
    if shows_key || reach == Reach::Socket {
        return Ok(());
    }
    Err(missing_key())
}

fn missing_key() -> Failure {
    Failure::new(
        Code::Unauthorized,
        "An API key is required: send it as X-API-Key, or as Authorization: Bearer",
    )
}

/// Whether the request shows the key; the error is for one that shows another.
fn shows_key(headers: &HeaderMap, key: &str) -> Result<bool, Failure> {
    let bearer = headers.get_all(header::AUTHORIZATION).iter().map(|value| {
        let value = value.as_bytes();
        value
            .split_at_checked(7)
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "))
            .map_or(&b""[..], |(_, token)| token.trim_ascii())
    });
    let given = headers.get_all("x-api-key").iter();
    let given = given.map(http::HeaderValue::as_bytes);
    let mut shown = bearer.chain(given).peekable();
    if shown.peek().is_none() {
        return Ok(false);
    }
    // All that is shown has to be right; a comparison takes the same time either way.
    if shown.all(|one| bool::from(one.ct_eq(key.as_bytes()))) {
        return Ok(true);
    }
    Err(Failure::new(
        Code::Unauthorized,
        "The API key is not valid; the right one is in the file api_key of the data directory, or in the configuration",
    ))
}

/// Refuses what a web page of somebody else makes a browser send.
///
/// A page can point its own name at this machine (DNS rebinding), but it cannot make the browser
/// say another name in `Host`, nor leave `Origin` out.
fn check_origin(reach: Reach, headers: &HeaderMap) -> Result<(), Failure> {
    if reach == Reach::Socket {
        return Ok(());
    }
    if [header::HOST, header::ORIGIN]
        .iter()
        .any(|name| headers.get_all(name).iter().nth(1).is_some())
    {
        return Err(Failure::new(
            Code::Forbidden,
            "The headers Host and Origin are sent once at most",
        ));
    }
    let host = headers.get(header::HOST).map(http::HeaderValue::as_bytes);
    if reach == Reach::Loopback && !host.is_some_and(is_loopback_authority) {
        return Err(Failure::new(
            Code::Forbidden,
            "The Host header must name this machine: localhost, 127.0.0.1 or [::1]",
        ));
    }
    let Some(origin) = headers.get(header::ORIGIN).map(http::HeaderValue::as_bytes) else {
        return Ok(());
    };
    let authority = origin
        .strip_prefix(b"http://")
        .or_else(|| origin.strip_prefix(b"https://"));
    let is_ours = authority.is_some_and(|authority| {
        is_loopback_authority(authority) || (reach == Reach::Network && Some(authority) == host)
    });
    if is_ours {
        return Ok(());
    }
    Err(Failure::new(
        Code::Forbidden,
        "Requests from other web pages are refused (Origin header)",
    ))
}

/// Whether `host[:port]`, and nothing else, names this machine.
fn is_loopback_authority(authority: &[u8]) -> bool {
    let Ok(authority) = Authority::try_from(authority) else {
        return false;
    };
    let host = authority.host();
    let port = authority.port_u16().and(authority.port());
    let port_length = port.map_or(0, |port| ":".len() + port.as_str().len());
    let is_all = authority.as_str().len() == host.len() + port_length;
    let inside = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let address = inside.unwrap_or(host).parse::<IpAddr>();
    is_all
        && (host.eq_ignore_ascii_case("localhost")
            || address.is_ok_and(|address| address.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap()))
            .collect::<Vec<(http::HeaderName, http::HeaderValue)>>()
            .into_iter()
            .collect()
    }

    #[test]
    fn the_key_is_read_from_both_headers() {
        let check = |pairs: &[(&'static str, &str)], expected: Option<bool>| {
            let shown = shows_key(&headers(pairs), "key").ok();
            assert_eq!(shown, expected, "{pairs:?}");
        };
        check(&[], Some(false));
        check(&[("x-api-key", "key")], Some(true));
        check(&[("authorization", "Bearer key")], Some(true));
        check(&[("authorization", "bearer  key ")], Some(true));
        check(&[("x-api-key", "")], None);
        check(&[("x-api-key", "kex")], None);
        check(&[("authorization", "key")], None);
        check(&[("authorization", "Basic key")], None);
        check(
            &[("x-api-key", "key"), ("authorization", "Bearer no")],
            None,
        );
        // Right and then wrong was let in: only the first was looked at.
        check(&[("x-api-key", "key"), ("x-api-key", "no")], None);
        let bearers = [
            ("authorization", "Bearer key"),
            ("authorization", "Bearer no"),
        ];
        check(&bearers, None);
        check(&[("x-api-key", "key"), ("x-api-key", "key")], Some(true));
    }

    #[test]
    fn who_is_admitted_where() {
        use Reach::{Loopback, Network, Socket};
        use Rights::{Administer, UseTools};
        for (reach, key, rights, is_administrator) in [
            (Socket, None, Some(UseTools), true),
            (Socket, Some("key"), Some(Administer), true),
            (Socket, Some("no"), None, false),
            (Loopback, None, Some(UseTools), false),
            (Loopback, Some("key"), Some(Administer), true),
            (Loopback, Some("no"), None, false),
            (Network, None, None, false),
            (Network, Some("key"), Some(Administer), true),
            (Network, Some("no"), None, false),
        ] {
            let mut given = headers(&[("host", "localhost")]);
            if let Some(key) = key {
                given.insert("x-api-key", key.parse().unwrap());
            }
            let case = format!("{reach:?} {key:?}");
            let shown = shows_key(&given, "key");
            let agent = shown.clone().and_then(|shown| admit_agent(reach, shown));
            assert_eq!(agent.ok(), rights, "{case}");
            let administrator = shown.and_then(|shown| admit_administrator(reach, shown));
            assert_eq!(administrator.is_ok(), is_administrator, "{case}");
        }
    }

    #[test]
    fn hosts_and_origins() {
        let check = |reach: Reach, pairs: &[(&'static str, &str)], expected: bool| {
            assert_eq!(
                check_origin(reach, &headers(pairs)).is_ok(),
                expected,
                "{pairs:?}"
            );
        };
        for host in [
            "localhost",
            "localhost:8080",
            "127.0.0.1:1",
            "[::1]:8080",
            "[::1]",
            "LOCALHOST:9",
        ] {
            check(Reach::Loopback, &[("host", host)], true);
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "localhost:port",
            "[::1",
            "",
            "127.0.0.1:80:80",
        ] {
            check(Reach::Loopback, &[("host", host)], false);
        }
        check(Reach::Loopback, &[], false);
        // The first of two counted.
        let twice = [("host", "localhost"), ("host", "evil.example")];
        check(Reach::Loopback, &twice, false);
        check(Reach::Network, &twice, false);
        check(
            Reach::Loopback,
            &[("host", "localhost"), ("origin", "http://localhost:3000")],
            true,
        );
        check(
            Reach::Loopback,
            &[("host", "localhost"), ("origin", "https://evil.example")],
            false,
        );
        check(
            Reach::Loopback,
            &[("host", "localhost"), ("origin", "null")],
            false,
        );
        check(
            Reach::Network,
            &[("host", "gate.example"), ("origin", "https://gate.example")],
            true,
        );
        check(
            Reach::Network,
            &[("host", "gate.example"), ("origin", "https://evil.example")],
            false,
        );
        check(Reach::Network, &[("host", "gate.example")], true);
        check(Reach::Socket, &[("origin", "https://evil.example")], true);
    }
}
