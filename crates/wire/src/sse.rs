//! Reading and writing server-sent events.

use memchr::memchr2;

use crate::json::on_one_line;

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// The event's name; `message` is meant when it is absent.
    pub name: Option<String>,
    /// The payload, lines joined by a line feed.
    pub data: String,
    /// Where to resume after this event.
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
#[derive(Debug)]
pub struct Reader {
    limit: usize,
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    after_carriage_return: bool,
    at_start: bool,
}

/// The text of an event that carries one message.
pub fn encode(message: &str) -> String {
    let message = on_one_line(message);
    format!("event: message\ndata: {message}\n\n")
}

impl Reader {
    /// A reader that refuses events of more than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            event: Event::default(),
            has_data: false,
            after_carriage_return: false,
            at_start: true,
        }
    }

    /// Takes the next bytes and gives the events they complete.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, TooLarge> {
        let mut events = Vec::new();
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_carriage_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.line.extend_from_slice(bytes);
                self.check_size()?;
                break;
            };
            self.line.extend_from_slice(&bytes[..end]);
            self.check_size()?;
            self.after_carriage_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            events.extend(self.take_line(&line));
        }
        Ok(events)
    }

    fn check_size(&self) -> Result<(), TooLarge> {
        if self.line.len() + self.event.data.len() > self.limit {
            return Err(TooLarge { limit: self.limit });
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8]) -> Option<Event> {
        let mut line = String::from_utf8_lossy(line).into_owned();
        if std::mem::take(&mut self.at_start) {
            line = line.trim_start_matches('\u{feff}').to_owned();
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
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
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &[u8], step: usize) -> Vec<Event> {
        let mut reader = Reader::new(1000);
        stream
            .chunks(step)
            .flat_map(|chunk| reader.feed(chunk).unwrap())
            .collect()
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let stream = "\u{feff}: hello\r\nid: 7\r\nevent: message\r\ndata: {\"a\":\r\ndata: \"é\"}\r\n\r\n\ndata\n\ndata:x\rdata: y\r\rdata: unfinished".as_bytes();
        let expected = vec![
            Event {
                name: Some("message".into()),
                data: "{\"a\":\n\"é\"}".into(),
                id: Some("7".into()),
            },
            Event::default(),
            Event {
                data: "x\ny".into(),
                ..Event::default()
            },
        ];
        for step in 1..stream.len() {
            assert_eq!(read(stream, step), expected, "cut every {step} bytes");
        }
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
        let mut reader = Reader::new(10);
        assert!(reader.feed(b"data: 12").is_ok());
        assert_eq!(reader.feed(b"345678901"), Err(TooLarge { limit: 10 }));
        let mut reader = Reader::new(10);
        let many = b"data: 1234\n".repeat(3);
        assert!(reader.feed(&many).is_err());
    }
}
