//! Body of a request, which knows whether it was handed out.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

/// Body with one message. A server cannot act on a request whose body never left, so handing it to
/// the connection is the moment from which a call may take effect.
#[derive(Debug)]
pub(crate) struct MessageBody {
    message: Option<Bytes>,
    is_sent: Arc<AtomicBool>,
}

impl MessageBody {
    pub(super) fn new(message: Bytes, is_sent: Arc<AtomicBool>) -> Self {
        Self {
            message: Some(message),
            is_sent,
        }
    }

    pub(super) fn empty() -> Self {
        Self {
            message: None,
            is_sent: Arc::default(),
        }
    }
}

impl hyper::body::Body for MessageBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let message = self.message.take();
        if message.is_some() {
            self.is_sent.store(true, Ordering::Release);
        }
        Poll::Ready(message.map(|message| Ok(Frame::data(message))))
    }

    fn is_end_stream(&self) -> bool {
        self.message.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let length = self.message.as_ref().map_or(0, Bytes::len);
        SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
    }
}
