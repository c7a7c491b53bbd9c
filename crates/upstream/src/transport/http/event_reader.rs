//! Events of a response, as they come.

use std::time::Duration;
use std::vec::IntoIter;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use mcpproxy_wire::sse::{SseEvent, SseReader, TooLarge};

use super::pool::Lease;
use crate::process::lines::MESSAGE_LIMIT;

/// Time that a stream may stay open after its answer before its connection is given up.
const END_OF_STREAM: Duration = Duration::from_secs(1);
/// Longest pause that a server may wish for before its stream is opened again.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Reader of the events of one response, with the connection that they come on.
pub(super) struct EventReader {
    body: Incoming,
    lease: Lease,
    reader: SseReader,
    /// Events that came together and were not given yet.
    ahead: IntoIter<SseEvent>,
}

impl EventReader {
    pub(super) fn new(body: Incoming, lease: Lease) -> Self {
        Self {
            body,
            lease,
            reader: SseReader::new(MESSAGE_LIMIT),
            ahead: Vec::new().into_iter(),
        }
    }

    /// Next event; nothing at the end.
    pub(super) async fn next(&mut self) -> Result<Option<SseEvent>, TooLarge> {
        loop {
            if let Some(event) = self.ahead.next() {
                return Ok(Some(event));
            }
            let Some(Ok(frame)) = self.body.frame().await else {
                return Ok(None);
            };
            if let Ok(data) = frame.into_data() {
                self.ahead = self.reader.feed(&data)?.into_iter();
            }
        }
    }

    /// Next message; nothing at the end.
    pub(super) async fn next_message(&mut self) -> Result<Option<Bytes>, TooLarge> {
        while let Some(event) = self.next().await? {
            let is_message = event.name.as_deref().is_none_or(|name| name == "message");
            if is_message && !event.data.is_empty() {
                return Ok(Some(event.data.into()));
            }
        }
        Ok(None)
    }

    /// Id of the event that the stream is to be resumed after.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.reader.last_id()
    }

    /// Time that the server wants to be left alone before the stream is opened again, if it said.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.reader.retry().map(|pause| pause.min(LONGEST_PAUSE))
    }

    /// Keeps the connection if the stream ends in time, and without an error.
    pub(super) async fn give_back_at_end(mut self) {
        let end = async {
            loop {
                match self.body.frame().await {
                    Some(Ok(_)) => {}
                    Some(Err(_)) => return false,
                    None => return true,
                }
            }
        };
        if tokio::time::timeout(END_OF_STREAM, end).await == Ok(true) {
            self.lease.give_back();
        }
    }
}
