//! Body of a request, which knows whether it was handed out.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::super::pending::SendState;

/// Body with one message. A server cannot act on a request whose body never left, so handing it to
/// the connection is the moment from which a call may take effect.
#[derive(Debug)]
pub(crate) struct MessageBody {
    message: Option<Bytes>,
    send_state: SendState,
}

impl MessageBody {
    /// Body with a message, or an empty one.
    pub(super) fn new(message: Option<Bytes>, send_state: SendState) -> Self {
        Self {
            message,
            send_state,
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
        let message = message.filter(|_| self.send_state.begin());
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
