//! A client of the HTTP faces that writes any bytes, and reads the answer to one request.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_server::{Entrance, serve_connection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// How long a client waits for more of a stream, or for an answer to what may be no whole request.
const DEADLINE: Duration = Duration::from_millis(2);

/// The most bytes on their way in one direction.
const ROOM: usize = 64 * 1024;

/// What a client expects of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// An answer to a whole request; only a stream may stay open after that.
    Response,
    /// Anything.
    Anything,
}

/// Response to what was fuzzed, as far as it came.
#[derive(Debug)]
pub struct FuzzedResponse {
    /// Its status.
    pub status: u16,
    /// The lines of its head, in lower case.
    head: String,
    /// What follows its head, without the marks of chunks.
    pub body: Vec<u8>,
}

/// Sends bytes on a connection of their own; gives all that came back.
///
/// Returns when the server is done with the connection: one that it never ends keeps the target waiting, and that is a
/// finding.
pub async fn exchange(entrance: Arc<Entrance>, bytes: &[u8], expect: Expect) -> Vec<u8> {
    let (client, server) = tokio::io::duplex(ROOM);
    let serving = tokio::spawn(serve_connection(server, None, entrance));
    let (mut reading, mut writing) = tokio::io::split(client);
    let mut answer = Vec::new();
    let read = async {
        loop {
            let more = reading.read_buf(&mut answer);
            match timeout(DEADLINE, more).await {
                Ok(Ok(0) | Err(_)) => return,
                Ok(Ok(_)) => {}
                Err(_) if expect == Expect::Anything || is_stream(&answer) => return,
                Err(_) => {}
            }
        }
    };
    let write = async {
        // Who refuses a request need not read all of it.
        let _ = writing.write_all(bytes).await;
    };
    tokio::select! {
        () = read => {}
        () = async { write.await; std::future::pending().await } => {}
    }
    let answered = answer;
    // Nothing comes any more, but what was written may be half a request: that it ends here is another case to handle.
    let _ = writing.shutdown().await;
    drop((reading, writing));
    serving.await.expect("a connection ends by itself");
    answered
}

fn is_stream(answer: &[u8]) -> bool {
    FuzzedResponse::parse(answer).is_some_and(|answer| answer.says("content-type: text/event-stream"))
}

impl FuzzedResponse {
    /// Reads an answer; nothing if its head is not whole.
    pub fn parse(mut bytes: &[u8]) -> Option<Self> {
        loop {
            let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            bytes = &bytes[end + 4..];
            let status = head.strip_prefix("http/1.1 ")?.get(..3)?.parse().ok()?;
            // A client may be told to go on before it gets its answer.
            if status != 100 {
                let mut answer = Self {
                    status,
                    head,
                    body: Vec::new(),
                };
                answer.body = if answer.says("transfer-encoding: chunked") {
                    without_chunks(bytes)?
                } else {
                    bytes.to_vec()
                };
                return Some(answer);
            }
        }
    }

    /// Whether its head has this line, which is in lower case.
    pub fn says(&self, line: &str) -> bool {
        self.head.lines().any(|said| said == line)
    }
}

/// The content of chunks, as far as they are whole; nothing if that is not what they are.
fn without_chunks(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..end]).ok()?;
        let size = usize::from_str_radix(size, 16).ok()?;
        let Some(chunk) = bytes.get(end + 2..end + 2 + size) else {
            break;
        };
        content.extend_from_slice(chunk);
        bytes = bytes.get(end + 2 + size + 2..).unwrap_or_default();
    }
    Some(content)
}
