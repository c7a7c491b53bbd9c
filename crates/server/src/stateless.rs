//! MCP over HTTP for requests that stand for themselves.
//!
//! Whoever stands between a client and us may decide by the headers alone. So they have to say
//! what the message says, or the request is refused.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, StatusCode};
use mcpproxy_wire::Protocol;
use mcpproxy_wire::rpc::{Id, KeptId, METHOD_NOT_FOUND, RpcError};
use mcpproxy_wire::stateless::{
    HEADER_MISMATCH, Introduction, Params, told_on_stream, unsupported_version,
};
use mcpproxy_wire::{Revision, header, sse};

use crate::App;
use crate::access::Standing;
use crate::caller::introduced;
use crate::changes::Changes;
use crate::endpoint::Endpoint;
use crate::form::{Form, event_stream};
use crate::message::{self, Context, LISTEN};
use crate::news::{self, Listener};
use crate::repeated;
use crate::reply;

/// Names the revision of a request.
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// The codes of errors about headers, capabilities and revisions.
const OF_REQUESTS: std::ops::RangeInclusive<i64> = -32022..=-32020;

/// How often an open stream shows that it is alive.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A comment, which readers of a stream pass over.
pub(crate) const BEAT: Bytes = Bytes::from_static(b": alive\n\n");

/// A request, and the headers it came with.
pub(crate) struct Asked<'a> {
    pub(crate) headers: &'a HeaderMap,
    pub(crate) standing: Standing,
    pub(crate) form: Form,
    pub(crate) id: Id<'a>,
    pub(crate) method: &'a str,
    pub(crate) params: &'a Params<'a>,
}

/// Whether the headers alone say that a request stands for itself.
pub(crate) fn is_meant(headers: &HeaderMap) -> bool {
    let named = headers.get(PROTOCOL_VERSION);
    named
        .and_then(|value| value.to_str().ok())
        .and_then(Revision::protocol_of)
        == Some(Protocol::Stateless)
}

/// Answers a request.
pub(crate) async fn answer(app: &Arc<App>, endpoint: &Endpoint, asked: Asked<'_>) -> Response {
    let Asked {
        form, id, method, ..
    } = asked;
    let introduction = match check(&asked) {
        Ok(introduction) => introduction,
        Err(error) => {
            let text = message::encode(id, Err(error));
            return form.answer(StatusCode::BAD_REQUEST, text);
        }
    };
    if method == "tools/call"
        && let Some(scope) = endpoint.scope()
        // In a place of its own: all that leads here would have to carry its size along.
        && let check = Box::pin(repeated::check(&app.gateway, scope, &asked))
        && let Err(error) = check.await
    {
        let text = message::encode(id, Err(error));
        return form.answer(StatusCode::BAD_REQUEST, text);
    }
    if method == LISTEN {
        return Box::pin(listen(app, endpoint, &asked)).await;
    }
    let caller = introduced(introduction, asked.headers, asked.standing);
    let context = Context {
        endpoint,
        gateway: &app.gateway,
        caller: &caller,
    };
    if message::is_work(method) {
        let has_stream = form.has_stream();
        let told = context.work_by_itself(&app.parked, method, asked.params, has_stream);
        return reply::written(form, id, told.await, by_itself).await;
    }
    by_itself(
        form,
        id,
        Box::pin(context.result_by_itself(method, asked.params)).await,
    )
}

/// The answer to a request.
fn by_itself(form: Form, id: Id<'_>, result: Result<String, RpcError>) -> Response {
    let status = match &result {
        Err(error) if error.code == METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        // What only this revision has is wrong with the request itself.
        Err(error) if OF_REQUESTS.contains(&error.code) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    };
    form.answer(status, message::encode(id, result))
}

/// A stream of changes: first what can be expected of it, at last that it ended. In between it
/// tells of other lists and of resources that changed, and shows that it lives.
async fn listen(app: &Arc<App>, endpoint: &Endpoint, asked: &Asked<'_>) -> Response {
    let id = asked.id;
    if !asked.form.has_stream() {
        let message = "This opens a stream: the Accept header must include text/event-stream";
        let error = RpcError::new(mcpproxy_wire::rpc::INVALID_REQUEST, message);
        let text = message::encode(id, Err(error));
        return asked.form.answer(StatusCode::NOT_ACCEPTABLE, text);
    }
    let opened = news::open(endpoint, &app.gateway, (id, asked.params)).await;
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let text = message::encode(id, Err(error));
            return asked.form.answer(StatusCode::BAD_REQUEST, text);
        }
    };
    let mut changes = Changes::at(endpoint, &app.gateway);
    if !opened.tells_of_tools {
        changes = changes.none();
    }
    // Before the client reads that it is listened for: from then on it counts on being told.
    let told = changes.now().await;
    let first = stream::iter([Ok(event(&opened.message))]);
    let listening = Listening {
        app: Arc::clone(app),
        changes,
        told,
        listener: opened.listener,
        id: id.keep(),
        last: Some(event(&message::ended(id))),
    };
    let rest = stream::unfold(listening, async |mut listening| {
        let event = listening.next().await?;
        Some((Ok::<_, Infallible>(event), listening))
    });
    event_stream(Body::from_stream(first.chain(rest)))
}

/// A client that listens for changes.
struct Listening {
    app: Arc<App>,
    changes: Changes,
    /// Stands for what the client knows.
    told: u64,
    listener: Listener,
    /// The request that opened the stream.
    id: KeptId,
    /// Tells it that the stream ends; gone when it was sent.
    last: Option<Bytes>,
}

impl Listening {
    async fn next(&mut self) -> Option<Bytes> {
        self.last.as_ref()?;
        tokio::select! {
            () = self.app.shutdown.cancelled() => self.last.take(),
            now = self.changes.other_than(self.told) => {
                self.told = now;
                Some(event(&told_on_stream(self.id.id(), TOOLS_CHANGED, None)))
            }
            news = self.listener.next() => Some(event(&news.on_stream(self.id.id()))),
            () = tokio::time::sleep(KEEP_ALIVE) => Some(BEAT),
        }
    }
}

fn event(text: &str) -> Bytes {
    Bytes::from(sse::encode(text))
}

/// Everything that a request and its headers must fulfil before its method is looked at.
fn check(asked: &Asked<'_>) -> Result<Introduction, RpcError> {
    let named = single(asked.headers, &PROTOCOL_VERSION)?;
    let told = asked.params.revision();
    match (&told, named) {
        (None, Some(named)) if !is_meant(asked.headers) || Revision::parse(named).is_none() => {
            return Err(unsupported_version(named));
        }
        (Some(told), Some(named)) if told != named => {
            return Err(mismatch(&PROTOCOL_VERSION, "is not the revision in _meta"));
        }
        (Some(_), None) => return Err(mismatch(&PROTOCOL_VERSION, "is missing")),
        _ => {}
    }
    let introduction = asked.params.introduce()?;
    match single(asked.headers, &METHOD)? {
        None => return Err(mismatch(&METHOD, "is missing")),
        Some(method) if method != asked.method => {
            return Err(mismatch(&METHOD, "is not the method of the message"));
        }
        Some(_) => {}
    }
    check_name(asked)?;
    Ok(introduction)
}

/// The header that repeats what is called, read or got.
fn check_name(asked: &Asked<'_>) -> Result<(), RpcError> {
    let member = match asked.method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return Ok(()),
    };
    let Some(told) = asked.params.text(member) else {
        // The method itself says what it needs.
        return Ok(());
    };
    let named = single(asked.headers, &NAME)?.ok_or_else(|| mismatch(&NAME, "is missing"))?;
    match header::decode_value(named) {
        Some(named) if named == told => Ok(()),
        Some(_) => Err(mismatch(&NAME, "is not what the message names")),
        None => Err(mismatch(&NAME, "is not valid Base64 of a text")),
    }
}

/// The value of a header that is given once; two readers could take two of them for it.
pub(crate) fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, RpcError> {
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

pub(crate) fn mismatch(header: &HeaderName, what: &str) -> RpcError {
    RpcError::new(
        HEADER_MISMATCH,
        format!("Header mismatch: the header {header} {what}"),
    )
}
