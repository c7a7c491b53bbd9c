//! The protocol of the echo upstream over a real socket, spoken byte by byte.

mod stateless;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::protocol::Protocol;

/// Far beyond any answer on loopback; it only keeps a broken server from hanging the tests.
const DEADLINE: Duration = Duration::from_secs(10);

/// A client that knows nothing of hyper.
struct Client {
    stream: BufReader<TcpStream>,
    session: Option<String>,
}

struct EchoResponse {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        Self {
            stream: BufReader::new(stream),
            session: None,
        }
    }

    fn opened(address: SocketAddr) -> Self {
        let mut client = Self::connect(address);
        let answer = client.post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {"protocolVersion": Protocol::Session.revision(), "capabilities": {}}}));
        assert_eq!(answer.status, 200);
        client.session = Some(answer.header("mcp-session-id").to_owned());
        client
    }

    fn post(&mut self, message: &Value) -> EchoResponse {
        self.send("POST", &[], message.to_string().as_bytes())
    }

    fn send(&mut self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> EchoResponse {
        self.write(method, headers, body);
        self.read_answer()
    }

    fn write(&mut self, method: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut request = Vec::new();
        write!(request, "{method} /mcp HTTP/1.1\r\nHost: localhost\r\n").unwrap();
        if let Some(session) = &self.session {
            write!(request, "Mcp-Session-Id: {session}\r\n").unwrap();
        }
        for (name, value) in headers {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        write!(request, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
        request.extend_from_slice(body);
        self.stream.get_mut().write_all(&request).unwrap();
    }

    fn read_head(&mut self) -> EchoResponse {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.stream.read_line(&mut line).unwrap() > 0, "{lines:?}");
            let line = line.trim_end().to_owned();
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines[1..].iter().map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_ascii_lowercase(), value.to_owned())
        });
        EchoResponse {
            status,
            headers: headers.collect(),
            body: Vec::new(),
        }
    }

    fn read_answer(&mut self) -> EchoResponse {
        let mut answer = self.read_head();
        let length = answer.find("content-length").unwrap_or("0");
        answer.body = vec![0; length.parse().unwrap()];
        self.stream.read_exact(&mut answer.body).unwrap();
        answer
    }

    /// The next chunk of a body without an end.
    fn read_chunk(&mut self) -> String {
        let mut length = String::new();
        self.stream.read_line(&mut length).unwrap();
        let length = usize::from_str_radix(length.trim_end(), 16).unwrap();
        let mut chunk = vec![0; length];
        self.stream.read_exact(&mut chunk).unwrap();
        String::from_utf8(chunk).unwrap()
    }
}

impl EchoResponse {
    fn find(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(found, _)| found == name)?;
        Some(&header.1)
    }

    fn header(&self, name: &str) -> &str {
        self.find(name).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

fn server() -> SocketAddr {
    server_of(Protocol::Session)
}

fn server_of(protocol: Protocol) -> SocketAddr {
    super::start(protocol, TcpListener::bind("127.0.0.1:0").unwrap(), 2).unwrap()
}

fn call(id: &Value, name: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
           "params": {"name": name, "arguments": arguments}})
}

#[test]
fn a_session_goes_from_initialize_to_delete() {
    let address = server();
    let mut client = Client::connect(address);
    let answer = client.post(
        &json!({"jsonrpc": "2.0", "id": "first", "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}),
    );
    assert_eq!(answer.header("content-type"), "application/json");
    let result = &answer.json()["result"];
    assert_eq!(answer.json()["id"], "first");
    assert_eq!(result["protocolVersion"], "2025-11-25");
    assert_eq!(
        result["capabilities"],
        json!({"tools": {"listChanged": true}})
    );
    assert!(result["serverInfo"]["name"].is_string());

    client.session = Some(answer.header("mcp-session-id").to_owned());
    let answer = client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!((answer.status, answer.body.len()), (202, 0));
    let answer = client.post(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    assert_eq!(
        answer.json(),
        json!({"jsonrpc": "2.0", "id": 2, "result": {}})
    );
    assert_eq!(client.send("DELETE", &[], b"").status, 204);
    let answer = client.post(&json!({"jsonrpc": "2.0", "id": 3, "method": "ping"}));
    assert_eq!(answer.status, 404);
}

#[test]
fn tools_carry_schema_and_annotations() {
    let mut client = Client::opened(server());
    let answer = client.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let answer = answer.json();
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["echo", "store"]);
    for tool in tools {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        assert_eq!(tool["inputSchema"], schema);
        assert!(tool["description"].is_string());
    }
    assert_eq!(tools[0]["annotations"], json!({"readOnlyHint": true}));
    let annotations = json!({"readOnlyHint": false, "destructiveHint": false});
    assert_eq!(tools[1]["annotations"], annotations);
}

#[test]
fn calls_answer_with_the_text_whatever_it_is() {
    let mut client = Client::opened(server());
    for tool in ["echo", "store"] {
        for text in ["hello", "", "quote \" and \\ and \n", "ü 🦀 \u{0}"] {
            for id in [json!(7), json!("seven")] {
                let answer = client.post(&call(&id, tool, &json!({"text": text})));
                let expected = json!({"jsonrpc": "2.0", "id": id, "result": {
                    "content": [{"type": "text", "text": text}], "isError": false}});
                assert_eq!(answer.json(), expected);
            }
        }
    }
}

#[test]
fn calls_that_cannot_be_answered_say_so() {
    let mut client = Client::opened(server());
    let answer = client.post(&call(&json!(1), "missing", &json!({"text": "a"})));
    assert_eq!(answer.json()["error"]["code"], -32602);
    for arguments in [json!({}), json!({"text": 1}), json!(null), json!([])] {
        let answer = client.post(&call(&json!(1), "echo", &arguments));
        assert_eq!(answer.json()["result"]["isError"], true, "{arguments}");
    }
    let answer = client.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}));
    assert_eq!(answer.json()["error"]["code"], -32602);
    let answer = client.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}));
    assert_eq!(answer.json()["error"]["code"], -32601);
}

#[test]
fn bad_requests_are_refused_and_the_connection_goes_on() {
    let mut client = Client::opened(server());
    for body in [
        "",
        "{",
        "[]",
        "1",
        "{\"id\":1}",
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
    ] {
        let answer = client.send("POST", &[], body.as_bytes());
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.json()["error"]["code"].is_number(), "{body}");
    }
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let status = |client: &mut Client, headers: &[(&str, &str)]| {
        client.send("POST", headers, ping.as_bytes()).status
    };
    assert_eq!(
        status(&mut client, &[("MCP-Protocol-Version", "2024-11-05")]),
        400
    );
    assert_eq!(
        status(&mut client, &[("Origin", "http://evil.example")]),
        403
    );
    assert_eq!(
        status(&mut client, &[("MCP-Protocol-Version", "2025-11-25")]),
        200
    );
    assert_eq!(client.send("PUT", &[], b"").status, 405);
    let session = client.session.take();
    assert_eq!(status(&mut client, &[]), 400);
    client.session = Some("not-a-session".to_owned());
    assert_eq!(status(&mut client, &[]), 404);
    client.session = session;
    assert_eq!(status(&mut client, &[]), 200);
}

#[test]
fn a_body_above_the_limit_is_refused() {
    let mut client = Client::opened(server());
    let text = "x".repeat(super::MAX_BODY);
    // The server may answer and close before it has read everything, so the write itself is allowed to fail.
    let body = call(&json!(1), "echo", &json!({ "text": text })).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    client.stream.get_mut().write_all(head.as_bytes()).unwrap();
    let _ = client.stream.get_mut().write_all(body.as_bytes());
    assert_eq!(client.read_head().status, 413);
}

#[test]
fn the_event_stream_stays_open_and_the_session_goes_on_beside_it() {
    let address = server();
    let mut client = Client::opened(address);
    let mut listener = Client::connect(address);
    listener.session.clone_from(&client.session);
    assert_eq!(listener.send("GET", &[], b"").status, 406);
    listener.write("GET", &[("Accept", "text/event-stream")], b"");
    let head = listener.read_head();
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-type"), "text/event-stream");
    let mut chunk = [0; 13];
    listener.stream.read_exact(&mut chunk).unwrap();
    assert_eq!(&chunk, b"8\r\n: open\n\n\r\n");
    // Nothing more comes, in particular no end: a read has to run into its time limit.
    let limit = Duration::from_millis(50);
    listener
        .stream
        .get_ref()
        .set_read_timeout(Some(limit))
        .unwrap();
    let error = listener.stream.read(&mut chunk).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
        ),
        "{error}"
    );
    // Its session goes on meanwhile.
    assert_eq!(
        client
            .post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
            .status,
        200
    );
}
