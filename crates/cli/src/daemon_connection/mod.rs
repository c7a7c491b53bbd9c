//! `mcpproxy stdio` beside a running gateway: the client's messages go there, and the answers back.
//!
//! Nothing is decided here about a call. A stateless request gets the headers that mirror it, and one of a session the
//! session's id. A request that is cancelled loses its HTTP connection, which cancels it at the gateway, whatever the
//! protocol.
//!
//! The gateway may be restarted meanwhile. Then its session is opened anew (`reopening`, with what `session` remembers), what
//! is safe to send again is sent again (`repeat`), and of everything else the client is told.

mod messages;
mod relay;
mod reopening;
mod repeat;
mod session;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use mcpproxy_server::stdio::{
    ClientConnection, Incoming, LineSender, MessageStream, Outbound, Reply, RequestMessage,
};
use mcpproxy_wire::{Protocol, method};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::daemon::Daemon;
use messages::mirror;
use relay::{DaemonRelay, SentIn};

/// Messages that wait to be written.
const WAITING_MESSAGES: usize = 64;

/// Connection of one stdio client to the running gateway.
pub(crate) struct DaemonConnection {
    relay: Arc<DaemonRelay>,
}

// === impl DaemonConnection ===

impl DaemonConnection {
    /// Connection to a gateway, for a client with this credential that reads `lines` until `closing` is cancelled.
    pub(crate) fn new(
        daemon: Daemon,
        credential: HeaderMap,
        lines: LineSender,
        closing: CancellationToken,
    ) -> Self {
        let relay = DaemonRelay::new(daemon, credential, lines, closing);
        Self {
            relay: Arc::new(relay),
        }
    }
}

impl ClientConnection for DaemonConnection {
    fn request(&self, request: RequestMessage, line: Bytes) -> BoxFuture<'static, Reply> {
        let relay = Arc::clone(&self.relay);
        let sent_in = match request.protocol() {
            Some(Protocol::Stateless) => SentIn::Nothing(mirror(&request)),
            Some(Protocol::Session) => SentIn::Nothing(HeaderMap::new()),
            None => SentIn::Session(relay.session().mark()),
        };
        let (out, messages) = mpsc::channel(WAITING_MESSAGES);
        let driver = async move {
            if let Some(last) = relay.answer(&request, sent_in, line, &out).await {
                // Whoever has gone needs nothing written.
                let _ = out.send(Outbound::Message(last)).await;
            }
        };
        let driver = Some(Box::pin(driver) as BoxFuture<'static, ()>);
        let reply = Reply::Messages(MessageStream { messages, driver });
        Box::pin(std::future::ready(reply))
    }

    fn batch(&self, line: Bytes) -> BoxFuture<'static, Option<String>> {
        let relay = Arc::clone(&self.relay);
        let mark = relay.session().mark();
        Box::pin(async move { relay.answer_batch(mark, line).await })
    }

    fn receive(&self, message: Incoming, line: Bytes) -> BoxFuture<'static, ()> {
        let relay = Arc::clone(&self.relay);
        if let Incoming::Notification { method, .. } = &message
            && method == method::INITIALIZED
        {
            relay.session().initialized = Some(line.clone());
        }
        let mark = relay.session().mark();
        Box::pin(async move {
            match message {
                // Who asked is gone with its session; and the next lines wait for this one.
                Incoming::Response { .. } => relay.post_once(mark, line).await,
                Incoming::Notification { .. } | Incoming::Request(_) => {
                    relay.notify(mark, line).await;
                }
            }
        })
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let relay = Arc::clone(&self.relay);
        Box::pin(async move { relay.end_session().await })
    }
}
