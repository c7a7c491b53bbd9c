//! The messages of an answer over HTTP, be it one or a stream of them.

use http::Response;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

use crate::{decode, within};

/// An answer, read message by message.
#[derive(Debug)]
pub(super) struct EventStream {
    response: Response<Incoming>,
    has_events: bool,
    unread: Vec<u8>,
}

impl EventStream {
    pub(super) fn new(response: Response<Incoming>) -> Self {
        let kind = response.headers().get("content-type");
        let has_events = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        Self {
            response,
            has_events,
            unread: Vec::new(),
        }
    }

    pub(super) fn session_id(&self) -> Option<String> {
        let id = self.response.headers().get("mcp-session-id")?;
        id.to_str().ok().map(str::to_owned)
    }

    /// The next message; nothing at the end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        // Not each frame by itself: signs of life would let a message that never comes be waited for forever.
        within("the answer goes on", self.read()).await
    }

    async fn read(&mut self) -> Option<Value> {
        loop {
            if self.has_events
                && let Some(message) = self.take_event()
            {
                return Some(message);
            }
            let Some(frame) = self.response.frame().await else {
                return self.take_rest();
            };
            let frame = frame.expect("the answer does not break off");
            let data = frame.data_ref().map_or(&[][..], |data| data);
            self.unread.extend_from_slice(data);
        }
    }

    /// Takes the first whole event with a message off the bytes that have arrived.
    fn take_event(&mut self) -> Option<Value> {
        loop {
            let end = self.unread.windows(2).position(|pair| pair == b"\n\n")?;
            let event: Vec<u8> = self.unread.drain(..end + 2).collect();
            let event = String::from_utf8(event).expect("events are UTF-8");
            let data: String = event
                .lines()
                .filter_map(|line| line.strip_prefix("data:"))
                .collect();
            if !data.trim().is_empty() {
                return Some(decode(&data));
            }
        }
    }

    /// The one message of an answer that is no stream.
    fn take_rest(&mut self) -> Option<Value> {
        let rest = String::from_utf8(std::mem::take(&mut self.unread)).expect("UTF-8");
        (!rest.is_empty()).then(|| decode(&rest))
    }
}
