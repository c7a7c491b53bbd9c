//! Reading and writing server-sent events.

use std::time::Duration;

use memchr::memchr2;

use crate::json::on_one_line;

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The event's name; `message` is meant when it is absent.
    pub name: Option<String>,
    /// The payload, lines joined by a line feed.
    pub data: String,
    /// Id to resume the stream with after this event.
    pub id: Option<String>,
}

/// The stream has an event larger than the reader accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {limit} bytes")]
pub struct TooLarge {
    /// The most bytes an event may have.
    pub limit: usize,
}

/// Takes the bytes of a stream as they come and gives its events.
#[derive(Debug, Default)]
pub struct SseReader {
    limit: usize,
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    after_carriage_return: bool,
    is_past_start: bool,
    last_id: Option<String>,
    retry: Option<Duration>,
}

/// The text of an event that carries one message.
pub fn encode(message: &str) -> String {
    let message = on_one_line(message);
    format!("event: message\ndata: {message}\n\n")
}

impl SseReader {
    /// A reader that refuses events of more than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Id to resume the stream with. An event without a payload is not given, but moves this on.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Time that the other side wants to be left alone before the stream is resumed, if it said.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Takes the next bytes and gives the events they complete.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, TooLarge> {
        let mut events = Vec::new();
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_carriage_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = memchr2(b'\n', b'\r', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            self.line.extend_from_slice(piece);
            if self.line.len() + self.event.data.len() > self.limit {
                return Err(TooLarge { limit: self.limit });
            }
            let Some(end) = end else { break };
            self.after_carriage_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            events.extend(self.take_line(&line));
        }
        Ok(events)
    }

    fn take_line(&mut self, line: &[u8]) -> Option<SseEvent> {
        let mut line = String::from_utf8_lossy(line).into_owned();
        if !std::mem::replace(&mut self.is_past_start, true) {
            line = line.trim_start_matches('\u{feff}').to_owned();
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if let Some(id) = &event.id {
                // An empty one takes back what was said before.
                self.last_id = Some(id.clone()).filter(|id| !id.is_empty());
            }
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => self.event.name = Some(value.to_owned()),
            "id" => self.event.id = Some(value.to_owned()),
            "retry" => self.retry = read_milliseconds(value).or(self.retry),
            _ => {}
        }
        None
    }
}

/// Digits and nothing else; a sign, which the parser would take, is none.
fn read_milliseconds(value: &str) -> Option<Duration> {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let milliseconds = value.parse().ok().filter(|_| is_number)?;
    Some(Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &[u8], step: usize) -> Vec<SseEvent> {
        let mut reader = SseReader::new(1000);
        stream
            .chunks(step)
            .flat_map(|chunk| reader.feed(chunk).unwrap())
            .collect()
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let stream = "\u{feff}: hello\r\nid: 7\r\nevent: message\r\ndata: {\"a\":\r\ndata: \"é\"}\r\n\r\n\ndata\n\ndata:x\rdata: y\r\rdata: unfinished".as_bytes();
        let expected = vec![
            SseEvent {
                name: Some("message".into()),
                data: "{\"a\":\n\"é\"}".into(),
                id: Some("7".into()),
            },
            SseEvent::default(),
            SseEvent {
                data: "x\ny".into(),
                ..SseEvent::default()
            },
        ];
        for step in 1..stream.len() {
            assert_eq!(read(stream, step), expected, "cut every {step} bytes");
        }
    }

    #[test]
    fn where_and_when_to_resume_is_known_without_a_payload() {
        let mut reader = SseReader::new(1000);
        let mut after = |stream: &str| {
            reader.feed(stream.as_bytes()).unwrap();
            (reader.last_id().map(str::to_owned), reader.retry())
        };
        let at = |id: &str, milliseconds| {
            let retry = Some(Duration::from_millis(milliseconds));
            (Some(id.to_owned()), retry)
        };
        assert_eq!(after("data: first\n\n"), (None, None));
        assert_eq!(after("id: 1\nretry: 1500\n\n"), at("1", 1500));
        assert_eq!(after("data: no id\n\n"), at("1", 1500));
        // What is unfinished has not been seen whole, and is to be sent again.
        assert_eq!(after("id: 2\ndata: x\n"), at("1", 1500));
        assert_eq!(after("\n"), at("2", 1500));
        for wrong in ["", "soon", "-1", "+1", "1.5", "99999999999999999999999"] {
            assert_eq!(after(&format!("retry: {wrong}\n\n")), at("2", 1500));
        }
        assert_eq!(after("retry:0\n\n"), at("2", 0));
        let (id, _) = after("id\n\n");
        assert_eq!(id, None, "an empty id takes back the one before");
    }

    #[test]
    fn what_we_write_reads_back() {
        let message = r#"{"text":"a\nb"}"#;
        assert_eq!(read(encode(message).as_bytes(), 3)[0].data, message);
        assert_eq!(
            read(encode("{\r\n \"a\": 1\n}").as_bytes(), 3)[0].data,
            "{   \"a\": 1 }"
        );
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut reader = SseReader::new(10);
        assert!(reader.feed(b"data: 12").is_ok());
        assert_eq!(reader.feed(b"345678901"), Err(TooLarge { limit: 10 }));
        let mut reader = SseReader::new(10);
        let many = b"data: 1234\n".repeat(3);
        assert!(reader.feed(&many).is_err());
    }
}
