//! MCP over standard input and output: one message a line.

use std::sync::Arc;

use mcpproxy_gateway::{Caller, Gateway};
use mcpproxy_wire::Message;
use mcpproxy_wire::json::on_one_line;
use mcpproxy_wire::rpc::{INVALID_REQUEST, PARSE_ERROR, RpcError, error_response};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::body::BODY_LIMIT;
use crate::endpoint::Endpoint;
use crate::message;

/// Answers that wait to be written; when the reader is slow, callers wait too.
const WAITING_ANSWERS: usize = 64;

/// The most messages of one client that are worked on at a time; then reading pauses.
pub const MOST_IN_FLIGHT: usize = 256;

/// Serves one client until its input ends; then answers what is still open.
pub async fn serve(
    gateway: Arc<Gateway>,
    input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (answers, waiting) = mpsc::channel(WAITING_ANSWERS);
    let writer = tokio::spawn(write_lines(output, waiting));
    let calls = TaskTracker::new();
    let places = Arc::new(Semaphore::new(MOST_IN_FLIGHT));
    let mut lines = Lines::new(input);
    let mut caller = Arc::new(Caller::default());
    while let Some(line) = lines.next().await? {
        let line = match line {
            Line::Message(line) => line,
            Line::TooLong => {
                let error = RpcError::new(INVALID_REQUEST, "The message is too large");
                let _ = answers.send(error_response(None, &error)).await;
                continue;
            }
        };
        if let Some(greeted) = greet(&line) {
            caller = Arc::new(greeted);
        }
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            break;
        };
        let (gateway, caller, answers) =
            (Arc::clone(&gateway), Arc::clone(&caller), answers.clone());
        // Each message has its own task, so a slow call does not hold up the next.
        calls.spawn(async move {
            if let Some(answer) = answer_line(&gateway, &caller, &line).await {
                // The writer only ends when nobody reads; then nobody waits either.
                let _ = answers.send(answer).await;
            }
            drop(place);
        });
    }
    calls.close();
    calls.wait().await;
    drop(answers);
    writer.await.map_err(std::io::Error::other)?
}

/// The client that an `initialize` introduces.
fn greet(line: &[u8]) -> Option<Caller> {
    let Ok(Message::Request { method, params, .. }) = Message::parse(line) else {
        return None;
    };
    if method != "initialize" {
        return None;
    }
    let (hello, _) = message::hello(&Endpoint::Menu, params).ok()?;
    Some(Caller {
        session_id: Some(Uuid::new_v4().to_string()),
        client_name: hello.name,
        client_version: hello.version,
        trace_id: None,
        is_administrator: false,
    })
}

async fn answer_line(gateway: &Gateway, caller: &Arc<Caller>, line: &[u8]) -> Option<String> {
    match Message::parse(line) {
        Ok(message) => message::answer(&Endpoint::Menu, gateway, caller, message).await,
        Err(error) => {
            let id = Message::salvage_id(line).filter(|_| error.code != PARSE_ERROR);
            Some(error_response(id, &error))
        }
    }
}

async fn write_lines(
    mut output: impl AsyncWrite + Unpin,
    mut waiting: mpsc::Receiver<String>,
) -> std::io::Result<()> {
    while let Some(answer) = waiting.recv().await {
        // What an upstream sent keeps its bytes, but here a line break would end the message.
        let mut line = on_one_line(&answer).into_owned();
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}

/// One line of input.
pub enum Line {
    /// A message, without its line break.
    Message(Vec<u8>),
    /// A line too long to be a message; it was skipped.
    TooLong,
}

/// Reads lines within bounds; empty ones are passed over.
pub struct Lines<R> {
    input: R,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Lines of the given input.
    pub fn new(input: R) -> Self {
        Self { input }
    }

    /// The next line; nothing at the end of the input.
    pub async fn next(&mut self) -> std::io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut too_long = false;
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(ended(line, too_long));
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            too_long |= line.len() + piece.len() > BODY_LIMIT;
            if too_long {
                line = Vec::new();
            } else {
                line.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                if let Some(done) = ended(std::mem::take(&mut line), too_long) {
                    return Ok(Some(done));
                }
                too_long = false;
            }
        }
    }
}

fn ended(line: Vec<u8>, too_long: bool) -> Option<Line> {
    if too_long {
        return Some(Line::TooLong);
    }
    let is_blank = line.iter().all(u8::is_ascii_whitespace);
    (!is_blank).then_some(Line::Message(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_is_one_line_whatever_an_upstream_sent() {
        let (answers, waiting) = mpsc::channel(1);
        let (output, mut read) = tokio::io::duplex(1_000);
        let writer = tokio::spawn(write_lines(output, waiting));
        answers
            .send("{\r\n \"a\": [\n1]\n}".to_owned())
            .await
            .unwrap();
        drop(answers);
        writer.await.unwrap().unwrap();
        let mut text = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut read, &mut text)
            .await
            .unwrap();
        assert_eq!(text, "{   \"a\": [ 1] }\n");
    }
}
