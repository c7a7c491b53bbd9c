//! Clients that send what nobody should send. Each gets an error, and after each one the
//! next ordinary request is served by the very same process.

use http::Method;
use mcpproxy_tests::{
    Afterwards, Client, Home, HttpClient, Product, StdioClient, decode, raw_exchange, within,
};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::PROGRAMS;

const MEBIBYTE: usize = 1024 * 1024;

/// The head of a message to `/mcp`, up to the headers that a test adds.
const HEAD: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// What is sent, and the statuses that are right for it.
#[rustfmt::skip]
const MALFORMED_HTTP: &[(&[u8], &[u16])] = &[
    (b"hello\r\n\r\n", &[400]),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", &[400]),
    (&[0; 4096], &[400]),
    (b"POST /mcp\r\n\r\n", &[400]),
    (b"POST /mcp HTTP/9.9\r\n\r\n", &[400]),
    (b"POST /m cp HTTP/1.1\r\nHost: localhost\r\n\r\n", &[400]),
    (b"P\x00ST /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", &[400]),
    (b"BREW /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", &[405]),
    (b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", &[404]),
    (b"POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", &[400, 403]),
    (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nx: a\0b\r\n\r\n", &[400]),
    (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n", &[400]),
    (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\na b: c\r\n\r\n", &[400]),
];

/// Headers of a message whose body is a ping, and the statuses that are right for them.
const MALFORMED_LENGTHS: &[(&str, &[u16])] = &[
    ("Content-Length: many\r\n", &[400]),
    ("Content-Length: -1\r\n", &[400]),
    ("Content-Length: 99999999999999999999999\r\n", &[400]),
    ("Content-Length: 1\r\nContent-Length: 2\r\n", &[400]),
    ("Content-Length: 5\r\n", &[400]),
    ("Transfer-Encoding: brew\r\n", &[400]),
    // The ping is read as the length of a chunk.
    ("Transfer-Encoding: chunked\r\n", &[400]),
];

/// Messages whose sender goes away in the middle: answered or closed, as may be.
const BROKEN_OFF: &[(&str, &str)] = &[
    ("Content-Length: 500\r\n", PING),
    ("Transfer-Encoding: chunked\r\n", "ff\r\nhello"),
    ("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n"),
];

/// What is sent as a message, and the code of the JSON-RPC error that answers it.
#[rustfmt::skip]
const MALFORMED_MESSAGES: &[(&[u8], i64)] = &[
    (b"{", -32700),
    (b"nonsense", -32700),
    (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", -32700),
    (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\xfeing\"}", -32700),
    (b"\xff\xfe\x00\x01", -32700),
    (b"\0\0\0\0", -32700),
    (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\0", -32700),
    (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\0ing\"}", -32700),
    (b"1", -32600),
    (b"null", -32600),
    (b"[]", -32600),
    (b"{}", -32600),
    (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
    (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600),
    (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600),
    (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
];

#[tokio::test]
async fn malformed_http_gets_an_error_and_the_next_request_is_served() {
    let mut product = gateway().await;
    for (bytes, statuses) in MALFORMED_HTTP {
        check_raw(&mut product, bytes, statuses).await;
    }
    for (headers, statuses) in MALFORMED_LENGTHS {
        check_raw(
            &mut product,
            &[&*head(headers), PING.as_bytes()].concat(),
            statuses,
        )
        .await;
    }
    for (headers, body) in BROKEN_OFF {
        let bytes = [&*head(headers), body.as_bytes()].concat();
        let answer = raw_exchange(product.address(), &[&bytes], Afterwards::BreakOff).await;
        assert!([0, 400].contains(&answer.status()), "{headers}: {answer:?}");
        check_alive(&mut product, headers).await;
    }
}

#[tokio::test]
async fn too_many_or_too_large_headers_get_an_error_and_the_next_request_is_served() {
    let mut product = gateway().await;
    let many: Vec<String> = (0..10_000)
        .map(|number| format!("x-{number}: 1\r\n"))
        .collect();
    let huge = format!("x: {}\r\n", "a".repeat(2 * MEBIBYTE));
    let path = format!(
        "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a".repeat(100_000)
    );
    check_raw(&mut product, &head(&many.concat()), &[400, 431]).await;
    check_raw(&mut product, &head(&huge), &[400, 431]).await;
    check_raw(&mut product, path.as_bytes(), &[404, 414]).await;
}

#[tokio::test]
async fn malformed_messages_get_an_error_and_the_next_request_is_served() {
    let mut product = gateway().await;
    let session = product.connect().await;
    let session_id = session.session_id().expect("a session has an id");
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}"#,
        "[".repeat(100_000)
    );
    let more: [(&[u8], i64); 2] = [(b"", -32700), (deep.as_bytes(), -32700)];
    for (body, code) in MALFORMED_MESSAGES.iter().chain(&more) {
        let headers = format!(
            "Mcp-Session-Id: {session_id}\r\nContent-Length: {}\r\n",
            body.len()
        );
        let bytes = [&*head(&headers), body].concat();
        let answer = check_raw(&mut product, &bytes, &[400]).await;
        assert_eq!(answer["error"]["code"], *code, "{}: {answer}", shown(body));
    }
}

#[tokio::test]
async fn malformed_lines_over_stdio_get_an_error_and_the_next_request_is_served() {
    let home = Home::new(PROGRAMS, &json!({}));
    check_lines(home.stdio().await).await;
}

#[tokio::test]
async fn malformed_lines_relayed_to_the_gateway_get_an_error_and_the_next_request_is_served() {
    let mut product = gateway().await;
    check_lines(product.stdio().await).await;
    check_alive(&mut product, "relayed lines").await;
}

#[tokio::test]
async fn a_body_of_100_megabytes_is_refused_as_too_large_and_the_next_request_is_served() {
    let mut product = gateway().await;
    let piece = vec![b'a'; MEBIBYTE];
    let announced = head(&format!("Content-Length: {}\r\n", 100 * MEBIBYTE));
    let mut pieces: Vec<&[u8]> = vec![&announced];
    pieces.extend(std::iter::repeat_n(&*piece, 100));
    check_too_large(&mut product, &pieces).await;

    let chunked = head("Transfer-Encoding: chunked\r\n");
    let chunk = [b"100000\r\n", &*piece, b"\r\n"].concat();
    let mut pieces: Vec<&[u8]> = vec![&chunked];
    pieces.extend(std::iter::repeat_n(&*chunk, 100));
    pieces.push(b"0\r\n\r\n");
    check_too_large(&mut product, &pieces).await;
}

#[tokio::test]
async fn slow_clients_hold_up_nobody() {
    let mut product = gateway().await;
    let half_body = [&*head("Content-Length: 500\r\n"), b"{"].concat();
    let half_chunk = [&*head("Transfer-Encoding: chunked\r\n"), b"5\r\nab"].concat();
    let mut left_open = Vec::new();
    for begun in [
        &b""[..],
        b"POST /mc",
        HEAD.as_bytes(),
        &half_body,
        &half_chunk,
    ] {
        for _ in 0..20 {
            let connecting = TcpStream::connect(product.address());
            let mut stream = within("a connection", connecting).await.unwrap();
            stream.write_all(begun).await.unwrap();
            left_open.push(stream);
        }
        check_alive(&mut product, &shown(begun)).await;
    }
    drop(left_open);
    check_alive(&mut product, "all slow clients went away").await;
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let mut product = gateway().await;
    let (mcp, rest) = (product.endpoint(), product.rest("/status"));
    for (url, method) in [
        (&mcp, Method::POST),
        (&mcp, Method::GET),
        (&rest, Method::GET),
    ] {
        for (name, value) in [
            ("host", "evil.example"),
            ("host", "localhost.evil.example:80"),
            ("origin", "https://evil.example"),
            ("origin", "http://localhost.evil.example"),
            ("origin", "null"),
        ] {
            let (status, body) = ask(&mut product, url, &method, (name, value)).await;
            assert_eq!(
                (status, &body["error"]["code"]),
                (403, &json!("FORBIDDEN")),
                "{name}: {value}"
            );
        }
    }
}

#[tokio::test]
async fn wrong_keys_are_refused_everywhere_and_rest_needs_the_right_one() {
    let mut product = gateway().await;
    let file = product.home.data_dir().join("api_key");
    let key = std::fs::read_to_string(file).unwrap().trim().to_owned();
    let (mcp, rest) = (product.endpoint(), product.rest("/status"));
    for (url, method) in [
        (&mcp, Method::POST),
        (&mcp, Method::GET),
        (&mcp, Method::DELETE),
        (&rest, Method::GET),
    ] {
        let almost = format!("{key}x");
        for header in [
            ("x-api-key", "wrong"),
            ("x-api-key", &almost),
            ("authorization", "Bearer wrong"),
            ("authorization", "Basic d3Jvbmc6"),
        ] {
            let (status, body) = ask(&mut product, url, &method, header).await;
            assert_eq!(
                (status, &body["error"]["code"]),
                (401, &json!("UNAUTHORIZED")),
                "{header:?}"
            );
            assert!(!body.to_string().contains(&key), "{body}");
        }
    }
    let (status, body) = ask(&mut product, &rest, &Method::GET, ("accept", "*/*")).await;
    assert_eq!(
        (status, &body["error"]["code"]),
        (401, &json!("UNAUTHORIZED"))
    );
    let bearer = format!("Bearer {key}");
    for header in [("x-api-key", &key), ("authorization", &bearer)] {
        let (status, body) = ask(&mut product, &rest, &Method::GET, (header.0, header.1)).await;
        assert_eq!((status, &body["pid"]), (200, &json!(product.pid())));
    }
}

async fn gateway() -> Product {
    Product::start(PROGRAMS, &json!({})).await
}

/// A complete head of a message with more headers.
fn head(headers: &str) -> Vec<u8> {
    format!("{HEAD}{headers}\r\n").into()
}

/// The status and the JSON that answer a request with one more header.
async fn ask(
    product: &mut Product,
    url: &str,
    method: &Method,
    header: (&str, &str),
) -> (u16, Value) {
    let client = HttpClient::without_session(url);
    let answer = client
        .send(method.clone(), &[header], PING.to_owned())
        .await;
    check_alive(product, &format!("{header:?}")).await;
    (answer.status.as_u16(), answer.json())
}

/// Sends bytes and checks the status; the JSON of the answer, if it has any.
async fn check_raw(product: &mut Product, bytes: &[u8], statuses: &[u16]) -> Value {
    let answer = raw_exchange(product.address(), &[bytes], Afterwards::Wait).await;
    assert!(
        statuses.contains(&answer.status()),
        "{}: {answer:?}",
        shown(bytes)
    );
    check_alive(product, &shown(bytes)).await;
    serde_json::from_str(answer.body()).unwrap_or_default()
}

async fn check_too_large(product: &mut Product, pieces: &[&[u8]]) {
    let answer = raw_exchange(product.address(), pieces, Afterwards::Wait).await;
    assert!(
        answer.sent_all,
        "the whole body was to be taken: {answer:?}"
    );
    assert_eq!(answer.status(), 413, "{answer:?}");
    let error = decode(answer.body())["error"].clone();
    assert_eq!(error["code"], -32600, "{error}");
    assert!(error["message"].is_string(), "{error}");
    check_alive(product, "100 MB").await;
}

async fn check_lines(client: StdioClient) {
    let too_long = vec![b'a'; 9 * MEBIBYTE];
    let more: [(&[u8], i64); 1] = [(&too_long, -32600)];
    for (line, code) in MALFORMED_MESSAGES.iter().chain(&more) {
        client.send_bytes(line).await;
        let answer = decode(&client.read_line().await);
        assert_eq!(answer["error"]["code"], *code, "{}: {answer}", shown(line));
        let answer = client.request("ping", &json!({})).await;
        assert_eq!(
            answer["result"],
            json!({}),
            "after {}: {answer}",
            shown(line)
        );
    }
    assert_eq!(client.finish().await, 0);
}

/// The same process serves an ordinary client.
async fn check_alive(product: &mut Product, after: &str) {
    let answer = product.connect().await.request("ping", &json!({})).await;
    assert_eq!(answer["result"], json!({}), "after {after}: {answer}");
    assert!(product.is_running(), "after {after}: {}", product.log());
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned()
}
