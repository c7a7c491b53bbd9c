//! Metrics of a service, where they can be read.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use mcpproxy_contract_check::checklist::ShownMetrics;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::backend::Backend;

/// Path that metrics are shown at.
const PATH: &str = "/metrics";

/// Time that a service may take to show them: whoever checks waits for it.
const ANSWER_TIME: Duration = Duration::from_secs(2);

/// The largest answer that is read.
const ANSWER_LIMIT: usize = 4 * 1024 * 1024;

/// Metrics of a server: its own, where it is reached over plain HTTP, else those of the gateway for a service inside it.
/// No credential is sent, so a service that asks for one shows nothing.
pub(super) async fn shown(backend: &Backend, server: &str) -> Option<ShownMetrics> {
    if let Some(url) = backend.url_of(server).await {
        let place = beside(&url)?;
        let text = tokio::time::timeout(ANSWER_TIME, get(&place))
            .await
            .ok()??;
        return Some(ShownMetrics {
            place: place.to_string(),
            label: None,
            text,
        });
    }
    let label = format!("server=\"{server}\"");
    let text = backend.metrics(PATH).await?;
    // A server that is a process of its own counts its calls by itself; the gateway counts only what it breaks.
    let mut lines = text.lines();
    let counts = lines.any(|line| line.starts_with("mcp_tool_") && line.contains(&label));
    counts.then(|| ShownMetrics {
        place: format!("{PATH} of the gateway"),
        label: Some(label),
        text,
    })
}

/// Address of the metrics of a service; nothing where it is not reached over plain HTTP.
fn beside(url: &str) -> Option<Uri> {
    let url: Uri = url.parse().ok()?;
    let authority = url
        .authority()
        .filter(|_| url.scheme_str() == Some("http"))?;
    let place = Uri::builder().scheme("http").authority(authority.clone());
    place.path_and_query(PATH).build().ok()
}

async fn get(place: &Uri) -> Option<String> {
    let (host, port) = (place.host()?, place.port_u16().unwrap_or(80));
    let stream = TcpStream::connect((host.trim_matches(['[', ']']), port))
        .await
        .ok()?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    // Ends with the request.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let request = Request::get(PATH).header(header::HOST, place.authority()?.as_str());
    let response = sender
        .send_request(request.body(Empty::<Bytes>::new()).ok()?)
        .await
        .ok()?;
    if response.status() != StatusCode::OK {
        return None;
    }
    let body = Limited::new(response.into_body(), ANSWER_LIMIT)
        .collect()
        .await
        .ok()?;
    String::from_utf8(body.to_bytes().into()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_looked_for_beside_services_over_plain_http() {
        for (url, expected) in [
            ("http://127.0.0.1:9/mcp", Some("http://127.0.0.1:9/metrics")),
            ("http://[::1]:9/mcp?a=b", Some("http://[::1]:9/metrics")),
            ("https://h.example/mcp", None),
            ("no address", None),
        ] {
            let found = beside(url).map(|place| place.to_string());
            assert_eq!(found.as_deref(), expected, "{url}");
        }
    }
}
