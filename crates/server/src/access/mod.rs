//! Access: who may come in, and who a request counts for.
//!
//! On loopback an agent needs no credential, unless the operator wants one; administration always does, unless it comes
//! through the local socket, which only the owner can open. A credential that is sent and wrong is refused, never
//! ignored. What was opened with a credential ends with it.

pub(crate) mod caller;

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use http::uri::Authority;
use http::{HeaderMap, header};
use mcpproxy_gateway::tokens::Admission;
use mcpproxy_gateway::{Code, Failure};
use mcpproxy_policy::{AccessTo, Rights};

use crate::app::App;
use crate::respond::RestResult;

/// Reach of a listener: from where its requests can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Through the socket in the data directory: the owner of the gateway.
    Socket,
    /// This machine alone.
    Loopback,
    /// Anywhere.
    Network,
}

/// Address that a request came from, beside the request where the router takes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RemoteAddress(pub(crate) Option<IpAddr>);

/// Admits an agent, with the rights of its credential. The local socket alone is none, because agents come through it
/// too, by way of `mcpproxy stdio`.
pub(crate) async fn agent(
    app: &App,
    reach: Reach,
    peer: Option<IpAddr>,
    headers: &HeaderMap,
) -> Result<Admission, Failure> {
    check_origin(reach, headers)?;
    let shown = shown_credential(app, peer, headers).await?;
    match shown {
        Some(admission) => Ok(admission),
        None if reach == Reach::Network => Err(missing_credential()),
        None => app.credentials.anonymous().ok_or_else(missing_token),
    }
}

/// Lets everybody on this machine, and whoever has a credential elsewhere, see whether the gateway lives.
pub(crate) async fn health(
    State((app, reach)): State<(Arc<App>, Reach)>,
    request: Request,
    next: Next,
) -> RestResult {
    check_origin(reach, request.headers())?;
    let shown = shown_credential(&app, peer_of(&request), request.headers()).await?;
    if shown.is_none() && reach == Reach::Network {
        return Err(missing_credential().into());
    }
    Ok(next.run(request).await)
}

/// Lets everybody on this machine, and administrators elsewhere, read the metrics. They are about all tools, so a token
/// that is for some of them is not enough.
pub(crate) async fn metrics(
    State((app, reach)): State<(Arc<App>, Reach)>,
    request: Request,
    next: Next,
) -> RestResult {
    check_origin(reach, request.headers())?;
    match shown_credential(&app, peer_of(&request), request.headers()).await? {
        None if reach == Reach::Network => return Err(missing_credential().into()),
        Some(admission) => check_administrator(&admission)?,
        None => {}
    }
    Ok(next.run(request).await)
}

/// Lets administrators in.
pub(crate) async fn administration(
    State(side): State<(Arc<App>, Reach)>,
    request: Request,
    next: Next,
) -> RestResult {
    let (request, admission) = rest_admission(&side, request).await?;
    check_administrator(&admission)?;
    Ok(next.run(request).await)
}

/// Refuses who is no administrator.
fn check_administrator(admission: &Admission) -> Result<(), Failure> {
    if admission.rights.allow(AccessTo::Administration) {
        return Ok(());
    }
    let message = "This is for administrators: send the key of the gateway, or use the command line; a token may \
                   list and call tools, and look at activity, events and servers";
    Err(Failure::new(Code::Forbidden, message))
}

/// Lets administrators in, and agents with a token.
pub(crate) async fn tokens_too(
    State(side): State<(Arc<App>, Reach)>,
    request: Request,
    next: Next,
) -> RestResult {
    let (request, _) = rest_admission(&side, request).await?;
    Ok(next.run(request).await)
}

/// Request to the REST interface with its admission and its caller beside it.
async fn rest_admission(
    (app, reach): &(Arc<App>, Reach),
    mut request: Request,
) -> Result<(Request, Admission), Failure> {
    let (peer, headers) = (peer_of(&request), request.headers());
    check_origin(*reach, headers)?;
    let admission = match shown_credential(app, peer, headers).await? {
        Some(admission) => admission,
        None if *reach == Reach::Socket => Admission {
            rights: Rights::Administrator,
            ended: app.shutdown().clone(),
        },
        None => return Err(missing_credential()),
    };
    let caller = caller::of_rest(headers, admission.rights.clone(), peer);
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(admission.clone());
    Ok((request, admission))
}

fn peer_of(request: &Request) -> Option<IpAddr> {
    request
        .extensions()
        .get::<RemoteAddress>()
        .and_then(|peer| peer.0)
}

/// Admission by what the request shows; nothing if it shows nothing. Whoever shows something wrong waits the longer for
/// the answer the more often it does.
async fn shown_credential(
    app: &App,
    peer: Option<IpAddr>,
    headers: &HeaderMap,
) -> Result<Option<Admission>, Failure> {
    let credentials = &app.credentials;
    let shown = credentials.admit(app.gateway().tokens(), shown_texts(headers));
    match (shown, peer) {
        (Err(failure), Some(peer)) if failure.code == Code::Unauthorized => {
            credentials.guesses.failed(peer).await?;
            Err(failure)
        }
        (shown, _) => shown,
    }
}

/// Texts of all credentials that a request shows, in either header.
fn shown_texts(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let bearer = headers.get_all(header::AUTHORIZATION).iter().map(|value| {
        let value = value.as_bytes();
        value
            .split_at_checked(7)
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "))
            .map_or(&b""[..], |(_, token)| token.trim_ascii())
    });
    let keys = headers.get_all("x-api-key").iter();
    bearer.chain(keys.map(http::HeaderValue::as_bytes))
}

fn missing_credential() -> Failure {
    Failure::new(
        Code::Unauthorized,
        "A token or the API key is required: send it as X-API-Key, or as Authorization: Bearer",
    )
}

fn missing_token() -> Failure {
    Failure::new(
        Code::Unauthorized,
        "A token is required, also on this machine (\"anonymous\": \"none\"): send it as Authorization: Bearer, or give \
         `mcpproxy stdio` one with --token-file; a person makes one with `mcpproxy token create`",
    )
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
    fn credentials_are_read_from_both_headers() {
        let check = |pairs: &[(&'static str, &str)], expected: &[&str]| {
            let headers = headers(pairs);
            let shown =
                shown_texts(&headers).map(|text| String::from_utf8_lossy(text).into_owned());
            assert_eq!(shown.collect::<Vec<_>>(), expected, "{pairs:?}");
        };
        check(&[], &[]);
        check(&[("x-api-key", "key")], &["key"]);
        check(&[("authorization", "Bearer key")], &["key"]);
        check(&[("authorization", "bearer  key ")], &["key"]);
        check(&[("x-api-key", "")], &[""]);
        // What is no bearer is a credential all the same, and no good one.
        check(&[("authorization", "key")], &[""]);
        check(&[("authorization", "Basic key")], &[""]);
        check(
            &[("x-api-key", "key"), ("authorization", "Bearer no")],
            &["no", "key"],
        );
        check(&[("x-api-key", "key"), ("x-api-key", "no")], &["key", "no"]);
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
