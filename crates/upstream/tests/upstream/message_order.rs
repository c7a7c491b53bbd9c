//! Order of what a server sends: whatever it sent before its response is with the client before the response.
//!
//! The client reads nothing until its call has ended. What is not there by then came too late.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_policy::Operation;
use mcpproxy_upstream::client::{ClientLink, ClientMessage, LogLevel};
use mcpproxy_upstream::{
    HttpSpec, InheritEnv, ProtocolSetting, Spec, StdioSpec, TransportSpec, Upstream,
};
use mcpproxy_wire::{JsonObject, Protocol};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Notify};

use crate::common::{head, permit, runtime, soon, spec};

/// Way that messages of a call come to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Lines of a program, all in one write.
    Program,
    /// Stream that answers the request, all in one packet.
    OwnStream,
    /// The same, without sessions.
    Stateless,
    /// Stream of the session that belongs to no request. So many of the messages arrive after the response, which
    /// travels on another connection: as late as the client has it, if it gets it at once.
    SharedStream { late: usize },
    /// Stream of HTTP as it was before Streamable HTTP, all in one packet.
    OldStream,
}

/// More than arrive in one read, and more than a client is likely to have read meanwhile.
const BURST: usize = 300;

/// Longest that the server waits for the client to have its response, before it goes on. Much shorter than what a
/// response is held for.
const LATENESS: Duration = Duration::from_millis(10);

#[tokio::test]
async fn three_messages_come_before_the_response_whichever_way() {
    for way in [
        Way::Program,
        Way::OwnStream,
        Way::Stateless,
        Way::OldStream,
        Way::SharedStream { late: 0 },
        Way::SharedStream { late: 1 },
        Way::SharedStream { late: 3 },
    ] {
        let scene = Scene::start(way, 3).await;
        for round in 0..3 {
            assert_eq!(scene.call().await, numbers(3), "{way:?}, round {round}");
        }
    }
}

#[tokio::test]
async fn a_burst_of_messages_comes_whole_before_the_response() {
    for way in [Way::Program, Way::OwnStream, Way::OldStream] {
        let scene = Scene::start(way, BURST).await;
        assert_eq!(scene.call().await, numbers(BURST), "{way:?}");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_beside_its_responses_is_not_waited_for_in_the_long_run() {
    let scene = Scene::start(Way::SharedStream { late: 0 }, 0).await;
    for _ in 0..20 {
        scene.call().await;
    }
    let calls = async {
        for _ in 0..20 {
            scene.call().await;
        }
    };
    let quick = tokio::time::timeout(Duration::from_secs(1), calls).await;
    assert!(quick.is_ok(), "its calls are still held back");
}

fn numbers(count: usize) -> Vec<Value> {
    (0..count).map(Value::from).collect()
}

/// Upstream whose tool logs some numbers, in order.
struct Scene {
    upstream: Upstream,
    server: Arc<Server>,
}

impl Scene {
    async fn start(way: Way, messages: usize) -> Self {
        let server = Arc::new(Server {
            way,
            messages,
            shared: Mutex::default(),
            answered: Notify::new(),
        });
        let transport = match way {
            Way::Program => server.program(),
            _ => TransportSpec::Http(HttpSpec {
                url: Arc::clone(&server).listen().await,
                headers: Vec::new(),
            }),
        };
        let spec = Spec {
            transport,
            protocol: match way {
                Way::Stateless => ProtocolSetting::Modern,
                _ => ProtocolSetting::Legacy,
            },
            ..spec("")
        };
        let upstream = Upstream::start(spec, &runtime().0);
        Self { upstream, server }
    }

    /// Calls the tool; gives the numbers that are with the client when it has the response.
    async fn call(&self) -> Vec<Value> {
        let mut link = ClientLink::new(Protocol::Session, "one");
        link.log_level = Some(LogLevel::Debug);
        let (client, mut messages) = link.open();
        let (arguments, caller) = (JsonObject::empty(), Arc::default());
        let slot = self.upstream.call_slot(&caller, soon()).await;
        let slot = slot.expect("a free slot");
        let permit = permit("fake", "logs", Operation::Read);
        slot.call(&permit, &arguments, &head(&caller), Some(&client), soon())
            .await
            .expect("a result");
        let queued = std::iter::from_fn(|| messages.queued());
        let numbers = queued.map(|message| match message {
            ClientMessage::Notification(notification) => {
                notification.params.to_value()["data"].clone()
            }
            ClientMessage::Request(request) => panic!("{request:?}"),
        });
        let numbers = numbers.collect();
        self.server.answered.notify_one();
        numbers
    }
}

/// Server with one tool, scripted byte by byte.
struct Server {
    way: Way,
    messages: usize,
    /// Connection of the stream that belongs to no request.
    shared: Mutex<Option<TcpStream>>,
    /// Told when the client has the response to its call.
    answered: Notify,
}

impl Server {
    /// Program that answers line by line.
    fn program(&self) -> TransportSpec {
        let script = r#"while IFS= read -r line; do
            id=${line#*'"id":'}; id=${id%%,*}; before=
            case $line in
                *'"initialize"'*) result=$1 ;;
                *'"tools/list"'*) result=$2 ;;
                *'"tools/call"'*) result=$3; before=$4 ;;
                *'"id"'*) result={} ;;
                *) continue ;;
            esac
            printf '%s{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$before" "$id" "$result"
        done"#;
        let logs: String = logs(0..self.messages).map(|log| log + "\n").collect();
        let results = ["initialize", "tools/list", "tools/call"].map(|method| {
            let result = result(method).expect("it is answered");
            result.to_string()
        });
        let arguments = ["-c", script, "sh"].map(str::to_owned).into_iter();
        TransportSpec::Stdio(StdioSpec {
            command: "sh".to_owned(),
            args: arguments.chain(results).chain([logs]).collect(),
            env: Vec::new(),
            working_dir: None,
            config_dir: None,
            inherit_env: InheritEnv::default(),
        })
    }

    /// Listens on a free port.
    async fn listen(self: Arc<Self>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&self).serve(connection));
            }
        });
        format!("http://{address}/mcp")
    }

    async fn serve(self: Arc<Self>, connection: TcpStream) {
        connection.set_nodelay(true).expect("a socket");
        let mut connection = BufReader::new(connection);
        while let Some((verb, message)) = read_request(&mut connection).await {
            if verb == "GET" {
                let mut stream = connection.into_inner();
                let first = match self.way {
                    Way::OldStream => "event: endpoint\ndata: /mcp\n\n",
                    _ => ": open\n\n",
                };
                send(&mut stream, &[EVENTS, first]).await;
                *self.shared.lock().await = Some(stream);
                return;
            }
            let Some(result) = message["method"].as_str().and_then(result) else {
                send(connection.get_mut(), &[ACCEPTED]).await;
                continue;
            };
            let is_call = message["method"] == "tools/call";
            let response =
                json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
            let logs = |range| logs(range).map(|log| event(&log)).collect::<String>();
            match self.way {
                Way::OwnStream | Way::Stateless if is_call => {
                    let all = logs(0..self.messages) + &event(&response);
                    send(connection.get_mut(), &[EVENTS, &all]).await;
                    return;
                }
                Way::OldStream if self.shared.lock().await.is_none() => {
                    send(connection.get_mut(), &[NOT_FOUND]).await;
                }
                Way::OldStream => {
                    let before = if is_call {
                        logs(0..self.messages)
                    } else {
                        String::new()
                    };
                    self.share(&(before + &event(&response))).await;
                    send(connection.get_mut(), &[ACCEPTED]).await;
                }
                Way::SharedStream { late } if is_call => {
                    let early = self.messages.saturating_sub(late);
                    self.share(&logs(0..early)).await;
                    send(connection.get_mut(), &[&plain(&response)]).await;
                    let _ = tokio::time::timeout(LATENESS, self.answered.notified()).await;
                    self.share(&logs(early..self.messages)).await;
                }
                _ => send(connection.get_mut(), &[&plain(&response)]).await,
            }
        }
    }

    /// Sends on the stream that belongs to no request.
    async fn share(&self, events: &str) {
        if let Some(stream) = &mut *self.shared.lock().await {
            send(stream, &[events]).await;
        }
    }
}

fn logs(range: std::ops::Range<usize>) -> impl Iterator<Item = String> {
    range.map(|number| {
        let params = json!({ "level": "info", "data": number });
        json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }).to_string()
    })
}

fn result(method: &str) -> Option<Value> {
    let capabilities = json!({ "tools": { "listChanged": true }, "logging": {} });
    Some(match method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": { "name": "logs" },
        }),
        "server/discover" => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
        }),
        "tools/list" => json!({ "tools": [{ "name": "logs", "inputSchema": {} }] }),
        "tools/call" => json!({ "content": [] }),
        "logging/setLevel" => json!({}),
        _ => return None,
    })
}

const ACCEPTED: &str = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
const EVENTS: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn event(message: &str) -> String {
    format!("data: {message}\n\n")
}

fn plain(message: &str) -> String {
    let length = message.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: one\r\ncontent-length: {length}\r\n\r\n{message}"
    )
}

/// Sends all parts in one write.
async fn send(stream: &mut TcpStream, parts: &[&str]) {
    // A gateway that has gone does not need it.
    let _ = stream.write_all(parts.concat().as_bytes()).await;
}

/// Verb and message of the next request.
async fn read_request(connection: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let mut verb = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        connection
            .read_line(&mut line)
            .await
            .ok()
            .filter(|read| *read > 0)?;
        if verb.is_empty() {
            line.split(' ').next()?.clone_into(&mut verb);
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).await.ok()?;
    Some((verb, serde_json::from_slice(&body).unwrap_or_default()))
}
