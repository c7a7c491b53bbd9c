//! Stream of a session that belongs to no request, as far as responses have to wait for it.
//!
//! A server should send what concerns a request on the stream of that request. Many send log messages here
//! instead, among them every server built with the Rust SDK. This stream is a connection of its own, so nothing
//! keeps what is sent on it before a response from arriving after it, and then nobody knows any more whom it was
//! meant for. So a response is held until nothing has come here for a moment.

use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// Silence after which nothing more is expected. On a busy machine each side may be late by tens of milliseconds.
const SILENCE: Duration = Duration::from_millis(60);
/// Longest that a response is held, however much comes.
const LONGEST_HOLD: Duration = Duration::from_millis(300);
/// Most calls that are waited for in vain. A server that declares log messages and sent none here by then is taken
/// for one that does not send them here, until it does.
const CALLS_IN_VAIN: u32 = 16;

/// Stream of a session, seen by those who wait for its messages.
#[derive(Debug, Default)]
pub(super) struct SharedStream(watch::Sender<StreamUse>);

/// Use that the server makes of the stream.
#[derive(Debug, Default)]
struct StreamUse {
    /// Runtime that reads the stream, while it is open.
    reader: Option<Handle>,
    /// Whether the server declared that it sends log messages.
    has_logging: bool,
    /// Messages about calls that came here.
    messages: u64,
    /// Calls that were waited for before the first message came.
    calls_in_vain: u32,
}

impl SharedStream {
    /// Notes that the stream is open and read by this runtime.
    pub(super) fn opened(&self, has_logging: bool) {
        self.0.send_modify(|stream| {
            stream.reader = Some(Handle::current());
            stream.has_logging = has_logging;
        });
    }

    /// Notes that the stream ended.
    pub(super) fn closed(&self) {
        self.0.send_modify(|stream| stream.reader = None);
    }

    /// Notes that a message about a call came.
    pub(super) fn received(&self) {
        self.0.send_modify(|stream| stream.messages += 1);
    }

    /// Runtime that reads the stream, if messages about calls may come on it.
    pub(super) fn reader(&self) -> Option<Handle> {
        let stream = self.0.borrow();
        let may_send = stream.has_logging && stream.calls_in_vain < CALLS_IN_VAIN;
        let reader = stream.reader.as_ref();
        reader.filter(|_| may_send || stream.messages > 0).cloned()
    }

    /// Waits until all has come that the server sent before the response that was read just now.
    pub(super) async fn settled(&self, reader: Handle) {
        let mut stream = self.0.subscribe();
        stream.mark_unchanged();
        // On the runtime that reads the stream: as long as that is held up, it does not take its own silence for
        // the server's.
        let silence = reader.spawn(async move {
            let end = Instant::now() + LONGEST_HOLD;
            let next = || end.min(Instant::now() + SILENCE);
            while let Ok(Ok(())) = timeout_at(next(), stream.changed()).await
                && stream.borrow_and_update().reader.is_some()
            {}
        });
        // An error means that the runtime ends, and with it all that could be waited for.
        let _ = silence.await;
        self.0.send_if_modified(|stream| {
            stream.calls_in_vain += u32::from(stream.messages == 0);
            false
        });
    }
}
