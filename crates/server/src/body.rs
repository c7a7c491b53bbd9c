//! Reading a request's body within bounds.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;

/// The largest request that is read; the refusal of a larger message names it, in `mcp::http`.
pub(crate) const BODY_LIMIT: usize = 8 * 1024 * 1024;
const _: () = assert!(BODY_LIMIT == 8 << 20, "the refusal says 8 MiB");

/// Time that a client may take to send its request.
const SEND_TIME: Duration = Duration::from_secs(30);

/// Time for which the rest of a request that is too large is thrown away, so that the client
/// comes to read the refusal instead of finding the connection reset.
const DISCARD_TIME: Duration = Duration::from_secs(10);

/// Why a body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyError {
    TooLarge,
    TooSlow,
    Broken,
}

/// Reads the whole body.
pub(crate) async fn read<B: Body<Data = Bytes> + Unpin>(body: B) -> Result<Bytes, BodyError> {
    tokio::time::timeout(SEND_TIME, gather(body))
        .await
        .unwrap_or(Err(BodyError::TooSlow))
}

/// The pieces are copied: they are slices of the connection's buffer, and as long as one of them
/// lives, the connection has to take a new buffer for each request.
async fn gather<B: Body<Data = Bytes> + Unpin>(mut body: B) -> Result<Bytes, BodyError> {
    let mut gathered = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else {
            continue;
        };
        if gathered.len() + data.len() > BODY_LIMIT {
            discard(body).await;
            return Err(BodyError::TooLarge);
        }
        gathered.extend_from_slice(&data);
    }
    Ok(gathered.freeze())
}

async fn discard<B: Body + Unpin>(mut body: B) {
    let rest = async { while let Some(Ok(_)) = body.frame().await {} };
    // Whoever sends for longer than this does not read the answer anyway.
    let _ = tokio::time::timeout(DISCARD_TIME, rest).await;
}
