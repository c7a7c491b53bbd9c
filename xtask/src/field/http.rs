//! One request over HTTP on a connection of its own: all that is needed to ask a gateway on this machine.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Time that an answer may take. The gateway waits for a server that is starting.
const DEADLINE: Duration = Duration::from_mins(6);

/// The largest answer, in bytes.
const ANSWER_LIMIT: u64 = 64 * 1024 * 1024;

/// Answer to a request.
pub(crate) struct Answer {
    head: String,
    /// Message of JSON-RPC in it: the body, or the last event of a stream.
    pub(crate) message: String,
}

/// Posts a message and waits for the answer.
pub(crate) fn post(
    address: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Answer> {
    let mut stream = TcpStream::connect(address).context("the gateway cannot be reached")?;
    stream.set_read_timeout(Some(DEADLINE))?;
    let mut head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_LIMIT).read_to_end(&mut answer)?;
    read(&answer)
}

fn read(answer: &[u8]) -> Result<Answer> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.context("the answer has no head")?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let mut answer = Answer {
        message: String::new(),
        head: head.to_ascii_lowercase(),
    }
    .with_body(&head, &answer[end + 4..])?;
    answer.head = head;
    Ok(answer)
}

impl Answer {
    fn with_body(mut self, head: &str, body: &[u8]) -> Result<Self> {
        let status = head.split(' ').nth(1).unwrap_or_default();
        let body = match self.header("transfer-encoding") {
            Some(coding) if coding.contains("chunked") => joined_chunks(body)?,
            _ => body.to_vec(),
        };
        let body = String::from_utf8(body).context("the answer is no text")?;
        let is_stream = self
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        self.message = if is_stream { last_event(&body) } else { body };
        if !status.starts_with('2') {
            bail!("the gateway answered {status}: {:.300}", self.message);
        }
        Ok(self)
    }

    /// Value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Data of the last event of a stream that has any.
fn last_event(stream: &str) -> String {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data:"));
    let mut data = data.filter(|data| !data.trim().is_empty());
    data.next_back().unwrap_or_default().trim_start().to_owned()
}

fn joined_chunks(mut body: &[u8]) -> Result<Vec<u8>> {
    let mut joined = Vec::new();
    loop {
        let end = body.windows(2).position(|two| two == b"\r\n");
        let end = end.context("the answer breaks off")?;
        let size = String::from_utf8_lossy(&body[..end]);
        let size = size.split(';').next().unwrap_or_default().trim().to_owned();
        let size =
            usize::from_str_radix(&size, 16).context("the answer has a chunk without a size")?;
        if size == 0 {
            return Ok(joined);
        }
        let (start, next) = (end + 2, (end + 2).saturating_add(size));
        joined.extend_from_slice(body.get(start..next).context("the answer breaks off")?);
        body = body.get(next + 2..).context("the answer breaks off")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_whole_in_pieces_and_as_events() {
        for (answer, message) in [
            (
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}",
                "{}",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4;x\r\n\":1}\r\n0\r\n\r\n",
                r#"{"a":1}"#,
            ),
            (
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nid: 1\ndata:\n\ndata: {\"a\":1}\n\ndata: {}\n\n",
                "{}",
            ),
        ] {
            assert_eq!(read(answer.as_bytes()).unwrap().message, message);
        }
        let answer = read(b"HTTP/1.1 202 Accepted\r\nMcp-Session-Id: AbC\r\n\r\n").unwrap();
        assert_eq!(answer.header("mcp-session-id"), Some("AbC"));
        for broken in [
            "",
            "HTTP/1.1 404 Not Found\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}\r\n",
        ] {
            assert!(read(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
