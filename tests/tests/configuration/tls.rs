//! TLS towards clients: the certificate, its renewal, and clients that do not keep to it.

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use http::Method;
use http_body_util::BodyExt;
use mcpproxy_tests::{
    Afterwards, Client, Fixture, Home, HttpClient, Product, TestCertificate, eventually,
    raw_exchange, within,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;

use crate::PROGRAMS;

const TOOLS: [&str; 1] = [
    r#"{"name":"look","description":"Look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
];

/// Bytes with which a greeting of TLS begins, and no more of it.
const BEGUN_GREETING: &[u8] = &[22, 3, 1, 2, 0, 1, 0];

#[tokio::test]
async fn clients_on_the_network_could_be_listened_to() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let config = with_tls(&json!({ "mcpServers": { "srv": fixture.entry() } }));
    let (product, certificate) = start(&config).await;
    assert!(
        product.endpoint().starts_with("https://127.0.0.1:"),
        "{}",
        product.announcement
    );
    let client = HttpClient::with_tls(&product.url("/all"), certificate.believed());
    let client = client.opened(&[]).await;
    let changes = client.open(Method::GET, &[("content-type", "")], String::new());
    let mut changes = changes.await.into_body();
    eventually("the tool is listed", async || {
        let names = client.tool_names().await;
        names.contains(&"srv__look".to_owned()).then_some(())
    })
    .await;
    let result = client.call("srv__look", &json!({})).await;
    assert_eq!(result["content"][0]["text"], "look {}", "{result}");

    let second = Fixture::new(PROGRAMS).tools(&TOOLS);
    let servers = json!({ "srv": fixture.entry(), "other": second.entry() });
    let config = with_tls(&json!({ "mcpServers": servers }));
    product.home.write_config(&config);
    let mut told = String::new();
    while !told.contains("notifications/tools/list_changed") {
        let frame = within("the stream tells of the change", changes.frame()).await;
        let frame = frame.expect("the stream goes on").unwrap();
        let data = frame.into_data().unwrap_or_default();
        told.push_str(&String::from_utf8_lossy(&data));
    }

    let status = product.run(&["status"]).await;
    assert!(
        status.stdout.contains("on https://127.0.0.1:"),
        "{status:?}"
    );
    let call = product.run(&["call", "tool-read", "srv:look"]).await;
    assert_eq!(
        call.stdout, "look {}\n",
        "the local socket is plain: {call:?}"
    );
}

#[tokio::test]
async fn other_web_pages_are_refused_over_tls_too() {
    let (product, certificate) = start(&with_tls(&json!({}))).await;
    let client = HttpClient::with_tls(&product.url(""), certificate.believed());
    let port = product.address().port();
    for (origin, expected) in [
        (format!("https://localhost:{port}"), 400),
        (format!("https://127.0.0.1:{port}"), 400),
        ("https://evil.example".to_owned(), 403),
        (format!("https://localhost.evil.example:{port}"), 403),
    ] {
        let headers = [("origin", origin.as_str())];
        let answer = client.post(&headers, "{}".to_owned()).await;
        assert_eq!(answer.status.as_u16(), expected, "{origin}: {answer:?}");
    }
}

#[tokio::test]
async fn plain_http_sent_to_the_tls_port_is_closed_and_harms_nobody() {
    let (product, certificate) = start(&with_tls(&json!({}))).await;
    let requests: [&[u8]; 4] = [
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}",
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"\x16\x03\x01\xff\xff garbage that is no greeting",
        b"",
    ];
    for request in requests {
        let answer = raw_exchange(product.address(), &[request], Afterwards::BreakOff).await;
        assert_eq!(answer.status(), 0, "{answer:?}");
        assert!(!answer.text.contains("HTTP/"), "{answer:?}");
    }
    is_served(&product, &certificate).await;
}

#[tokio::test]
async fn a_client_that_never_finished_its_greeting_would_have_kept_its_place() {
    let (product, certificate) = start(&with_tls(&json!({}))).await;
    let mut stuck = Vec::new();
    for sent in [&b""[..], BEGUN_GREETING, b"", BEGUN_GREETING] {
        let mut stream = TcpStream::connect(product.address()).await.unwrap();
        stream.write_all(sent).await.unwrap();
        stuck.push(stream);
    }
    // Others are served meanwhile, and the stuck ones are given up.
    is_served(&product, &certificate).await;
    for mut stream in stuck {
        let mut rest = Vec::new();
        let closed = within("the connection is given up", stream.read_to_end(&mut rest)).await;
        assert!(closed.is_err() || rest.is_empty(), "{rest:?}");
    }
    is_served(&product, &certificate).await;
}

#[tokio::test]
async fn only_http_1_is_agreed_on() {
    let (product, certificate) = start(&with_tls(&json!({}))).await;
    let connect = async |protocols: &[&str]| {
        let mut tls = certificate.believed();
        tls.alpn_protocols = protocols.iter().map(|&one| one.into()).collect();
        handshake(product.address(), tls).await
    };
    let agreed = |stream: &TlsStream<TcpStream>| {
        let protocol = stream.get_ref().1.alpn_protocol();
        protocol.map(<[u8]>::to_vec)
    };
    let stream = connect(&["h2", "http/1.1"]).await.unwrap();
    assert_eq!(agreed(&stream).as_deref(), Some(&b"http/1.1"[..]));
    assert_eq!(agreed(&connect(&[]).await.unwrap()), None);
    connect(&["h2"]).await.unwrap_err();
}

#[tokio::test]
async fn a_renewed_certificate_is_taken_up_without_a_restart_and_a_broken_one_is_not() {
    let (mut product, first) = start(&with_tls(&json!({}))).await;
    let address = product.address();
    let shown = async |certificate: &TestCertificate| {
        handshake(address, certificate.believed()).await.is_ok()
    };
    let problem = async || {
        let status = product.run(&["status", "-o", "json"]).await.json();
        let problem = &status["configuration_problem"];
        problem.as_str().unwrap_or_default().to_owned()
    };
    let open = HttpClient::with_tls(&product.url(""), first.believed());
    let open = open.opened(&[]).await;

    // Renewed in place.
    let second = certificate();
    second.write_to(&product.home.data_dir());
    eventually("the renewed certificate is shown", async || {
        shown(&second).await.then_some(())
    })
    .await;
    assert!(!shown(&first).await, "the old one is gone");
    assert_eq!(open.tool_names().await.len(), 5, "open connections go on");

    // Broken: the key of somebody else, then nothing that is a key.
    for (key, said) in [
        (certificate().key_pem(), "does not belong to"),
        ("nonsense".to_owned(), "holds no private key"),
    ] {
        std::fs::write(product.home.data_dir().join("key.pem"), key).unwrap();
        eventually("the broken key is reported", async || {
            problem().await.contains(said).then_some(())
        })
        .await;
        assert!(shown(&second).await, "the running one stays");
    }
    assert!(
        product.log().contains("mcp_config.json:1:"),
        "{}",
        product.log()
    );
    second.write_to(&product.home.data_dir());
    eventually("the problem is over", async || {
        problem().await.is_empty().then_some(())
    })
    .await;

    // Another file, which comes after the setting that names it.
    let elsewhere = product.home.folder().join("elsewhere");
    let file = |name: &str| elsewhere.join(name);
    let tls = json!({ "cert": file("cert.pem"), "key": file("key.pem") });
    product.home.write_config(&json!({ "tls": tls }));
    eventually("the missing file is reported", async || {
        problem().await.contains("does not exist").then_some(())
    })
    .await;
    assert!(shown(&second).await, "the running one stays");
    let third = certificate();
    std::fs::create_dir(&elsewhere).unwrap();
    third.write_to(&elsewhere);
    eventually("the certificate of the other file is shown", async || {
        shown(&third).await.then_some(())
    })
    .await;
    assert!(product.is_running());
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_stops_the_start() {
    let config = with_tls(&json!({}));
    let (home, own) = home(&config);
    let folder = home.data_dir();
    let encrypted = own.key_pem().replace("PRIVATE", "ENCRYPTED PRIVATE");
    for (file, content, said) in [
        ("cert.pem", None, "cert.pem' does not exist"),
        ("key.pem", None, "key.pem' does not exist"),
        (
            "cert.pem",
            Some(own.key_pem()),
            "cert.pem' holds no certificate",
        ),
        (
            "cert.pem",
            Some("nonsense".to_owned()),
            "holds no certificate",
        ),
        ("key.pem", Some(own.pem()), "key.pem' holds no private key"),
        (
            "key.pem",
            Some(encrypted),
            "an encrypted one cannot be used",
        ),
        (
            "key.pem",
            Some(certificate().key_pem()),
            "key.pem' does not belong to the first certificate in the file",
        ),
    ] {
        own.write_to(&folder);
        match content {
            Some(content) => std::fs::write(folder.join(file), content).unwrap(),
            None => std::fs::remove_file(folder.join(file)).unwrap(),
        }
        for command in [
            &["serve", "--listen", "127.0.0.1:0"][..],
            &["config", "check"],
        ] {
            let ran = home.run(command).await;
            assert_eq!((ran.code, ran.stdout.as_str()), (4, ""), "{said}: {ran:?}");
            assert!(ran.stderr.contains("mcp_config.json:1:"), "{ran:?}");
            assert!(ran.stderr.contains(said), "{said}: {ran:?}");
            assert!(!ran.stderr.contains("BEGIN PRIVATE KEY-----\n"), "{ran:?}");
        }
    }
    std::fs::remove_file(folder.join("key.pem")).unwrap();
    std::fs::create_dir(folder.join("key.pem")).unwrap();
    let ran = home.run(&["config", "check"]).await;
    assert!(ran.stderr.contains("is not a regular file"), "{ran:?}");

    home.write_config(&json!({ "tls": { "cert": "cert.pem" } }));
    let ran = home.run(&["config", "check"]).await;
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains("missing key 'key' in tls"), "{ran:?}");
}

#[tokio::test]
async fn a_key_that_others_could_read_was_not_warned_about() {
    let (home, _) = home(&with_tls(&json!({})));
    let key = home.data_dir().join("key.pem");
    let mend = format!("`chmod 600 {}`", key.display());
    let check = home.run(&["config", "check"]).await;
    assert!(!check.stdout.contains("chmod"), "{check:?}");
    std::fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    let check = home.run(&["config", "check"]).await;
    assert_eq!(check.code, 0, "{check:?}");
    assert!(check.stdout.contains(&mend), "{check:?}");
    let product = Product::start_in(home, &[]).await;
    assert!(product.log().contains(&mend), "{}", product.log());
}

#[tokio::test]
async fn tls_is_enough_to_listen_beyond_this_machine_and_stays_there() {
    let key = "a-key-that-is-long-enough-for-the-network";
    let config = with_tls(&json!({ "api_key": key, "listen": "0.0.0.0:0" }));
    let (home, certificate) = home(&config);
    let product = Product::start_in(home, &["--listen", "0.0.0.0:0"]).await;
    let port = product.address().port();
    let here = SocketAddr::from(([127, 0, 0, 1], port));
    let endpoint = format!("https://{here}/mcp");
    let answer = async |headers: &[(&str, &str)]| {
        let client = HttpClient::with_tls(&endpoint, certificate.believed());
        client.post(headers, "{}".to_owned()).await.status.as_u16()
    };
    assert_eq!(answer(&[]).await, 401);
    assert_eq!(answer(&[("x-api-key", key)]).await, 400);

    // Without `tls` plain HTTP would take its place, which nobody allowed.
    let plain = json!({ "api_key": key, "discovery": { "limit": 7 } });
    product.home.write_config(&plain);
    eventually("the new configuration is in force", async || {
        let shown = product.run(&["config", "show", "-o", "json"]).await.json();
        (shown["discovery"]["limit"] == 7).then_some(())
    })
    .await;
    assert_eq!(answer(&[("x-api-key", key)]).await, 400, "still TLS");
    let request = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\r\n");
    let raw = raw_exchange(here, &[request.as_bytes()], Afterwards::BreakOff).await;
    assert_eq!(raw.status(), 0, "{raw:?}");
    assert!(
        product.log().contains("`tls` stays in force"),
        "{}",
        product.log()
    );
}

/// A certificate for this machine.
fn certificate() -> TestCertificate {
    TestCertificate::new(&["localhost", "127.0.0.1"])
}

/// The configuration with a certificate beside it.
fn with_tls(config: &Value) -> Value {
    let mut config = config.clone();
    config["tls"] = json!({ "cert": "cert.pem", "key": "key.pem" });
    config
}

fn home(config: &Value) -> (Home, TestCertificate) {
    let home = Home::new(PROGRAMS, config);
    let certificate = certificate();
    certificate.write_to(&home.data_dir());
    (home, certificate)
}

async fn start(config: &Value) -> (Product, TestCertificate) {
    let (home, certificate) = home(config);
    (Product::start_in(home, &[]).await, certificate)
}

/// Checks that a client which keeps to the rules is served.
async fn is_served(product: &Product, certificate: &TestCertificate) {
    let client = HttpClient::with_tls(&product.url(""), certificate.believed());
    let client = client.opened(&[]).await;
    assert_eq!(client.tool_names().await.len(), 5);
}

async fn handshake(
    address: SocketAddr,
    tls: ClientConfig,
) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    let name = "localhost".try_into().expect("it is a name");
    let greeting = TlsConnector::from(Arc::new(tls)).connect(name, stream);
    within("TLS is agreed on", greeting).await
}
