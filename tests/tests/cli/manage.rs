//! Managing servers: every command with a running gateway and without, with good input and bad.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use http::{Method, StatusCode};
use mcpproxy_tests::{Fixture, Home, HttpClient, Product, Ran, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 2] = [
    r#"{"name":"look","description":"Looks something up","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"run","description":"Runs something","inputSchema":{"type":"object"}}"#,
];

/// A file as a person wrote it. Nothing of it is a server that can be started.
const FILE: &str = r#"{
  // Tests go by words.
  "discovery": { "semantic": false },

  "mcpServers": {
    // Not now.
    "off": { "command": "nothing", "disabled": true } // later
  },
}
"#;

fn fixture() -> Fixture {
    Fixture::new(PROGRAMS).tools(&TOOLS)
}

fn home() -> Home {
    let home = Home::new(PROGRAMS, &json!({}));
    home.write_config_text(FILE);
    home
}

fn file(home: &Home) -> String {
    std::fs::read_to_string(home.config_file()).expect("the configuration can be read")
}

/// Words of `upstream add` for a fixture under this name.
fn add<'a>(name: &'a str, entry: &'a Value, flags: &[&'a str]) -> Vec<&'a str> {
    let words = |value: &'a Value| value.as_str().expect("a fixture has a program");
    let command = [words(&entry["command"]), words(&entry["args"][0])];
    [&["upstream", "add", name], flags, &["--"], &command].concat()
}

#[track_caller]
fn check(ran: &Ran, code: i32, told: &str) {
    assert_eq!(ran.code, code, "{ran:?}");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains(told), "{told}: {ran:?}");
    if code != 0 {
        assert!(ran.stdout.is_empty(), "{ran:?}");
    }
}

/// The whole life of a server, by commands. Nothing else of the file changes.
async fn life(home: &Home, has_gateway: bool) {
    let fixture = fixture();
    let entry = fixture.entry();
    let run = async |words: &[&str]| home.run(words).await;
    let added = run(&add("new", &entry, &[])).await;
    check(
        &added,
        0,
        "server 'new' is added: ready, 2 tools, 1 with annotations",
    );
    let args = &entry["args"];
    let expected = FILE.replace(
        "\"disabled\": true } // later",
        &format!(
            "\"disabled\": true }}, // later\n    \"new\": {{\n      \"command\": {},\n      \"args\": {args}\n    }}",
            entry["command"]
        ),
    );
    assert_eq!(file(home), expected);
    let state = if has_gateway { "ready" } else { "not started" };
    let listed = run(&["upstream", "list", "-o", "json"]).await.json();
    let servers = listed["servers"].as_array().expect("there are servers");
    let new = servers.iter().find(|one| one["name"] == "new");
    assert_eq!(new.expect("it is listed")["state"], state);
    check(
        &run(&["upstream", "list"]).await,
        0,
        "mcpproxy upstream enable off",
    );
    check(&run(&["upstream", "tools", "new"]).await, 0, "new:look");
    let inspected = run(&["upstream", "inspect", "new", "-o", "json"])
        .await
        .json();
    assert_eq!(
        (
            &inspected["state"],
            &inspected["tools"],
            &inspected["annotated"]
        ),
        (&json!("ready"), &json!(2), &json!(1))
    );
    assert_eq!(inspected["entry"]["args"], *args);
    assert_eq!(inspected["offered"][1]["effect"], "unknown");
    check(
        &run(&["upstream", "inspect", "new"]).await,
        0,
        "call_tool_read",
    );
    check(
        &run(&["upstream", "disable", "new"]).await,
        0,
        "server 'new' is disabled: disabled",
    );
    assert!(file(home).contains("\"enabled\": false"), "{}", file(home));
    check(
        &run(&["upstream", "enable", "new"]).await,
        0,
        &format!("server 'new' is enabled: {state}"),
    );
    let restarted = run(&["upstream", "restart", "new"]).await;
    if has_gateway {
        check(&restarted, 0, "server 'new' is restarted: ready");
    } else {
        check(&restarted, 3, "no gateway runs");
    }
    check(&run(&["upstream", "logs", "new"]).await, 0, "");
    check(
        &run(&["upstream", "remove", "new"]).await,
        0,
        "server 'new' is removed",
    );
    assert_eq!(file(home), FILE);
    // What changes nothing for a caller is written a moment later.
    eventually("every change is on record", async || {
        let words = [
            "activity",
            "list",
            "--server",
            "new",
            "--type",
            "server_change",
            "-o",
            "json",
        ];
        let recorded = run(&words).await.json();
        let events = recorded["activities"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let is_there = |word: &&str| events.iter().any(|one| one["metadata"]["event"] == **word);
        ["added", "disabled", "enabled", "removed"]
            .iter()
            .all(is_there)
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn servers_are_managed_without_a_gateway() {
    life(&home(), false).await;
}

#[tokio::test]
async fn servers_of_a_running_gateway_are_managed() {
    let product = Product::start_in(home(), &[]).await;
    life(&product.home, true).await;
}

/// What is wrong is refused with its exit code, and the file stays as it is.
#[expect(clippy::too_many_lines, reason = "one table of what is refused")]
async fn wrong(home: &Home) {
    let fixture = fixture().exit_at_start();
    let entry = fixture.entry();
    let broken = add("new", &entry, &[]);
    for (words, code, told) in [
        (
            &["upstream", "add", "new", "ftp://h"][..],
            2,
            "the URL is not valid",
        ),
        (
            &["upstream", "add", "new", "http://"],
            2,
            "the URL is not valid",
        ),
        (
            &["upstream", "add", "new", "--json", "{"],
            2,
            "syntax error",
        ),
        (
            &["upstream", "add", "new", "--json", "{ \"command\": 3 }"],
            2,
            "mcpServers.new.command: found a number",
        ),
        (
            &[
                "upstream",
                "add",
                "new",
                "--json",
                "{ \"command\": \"x\", \"enabeld\": true }",
            ],
            2,
            "did you mean 'enabled'",
        ),
        (
            &["upstream", "add", "a b", "--", "x"],
            2,
            "found the server name 'a b'",
        ),
        (
            &[
                "upstream",
                "add",
                "new",
                "http://127.0.0.1:1/mcp",
                "--env",
                "A=b",
            ],
            2,
            "'env' has no meaning",
        ),
        (&["upstream", "add", "new"], 2, "say what to add"),
        (&["upstream", "logs", "off", "-n", "10001"], 2, "10001"),
        (
            &["upstream", "add", "off", "--", "x"],
            1,
            "configured already",
        ),
        (
            &["upstream", "add", "mcpproxy-2", "--", "/no/such/program"],
            1,
            "was not found",
        ),
        (
            &["upstream", "add", "new", "http://127.0.0.1:1/mcp"],
            1,
            "cannot be started",
        ),
        (
            &[
                "upstream",
                "add",
                "new",
                "--env",
                "A=${env:NO_SUCH_VARIABLE}",
                "--",
                "x",
            ],
            1,
            "NO_SUCH_VARIABLE is not set",
        ),
        (
            &[
                "upstream",
                "add",
                "new",
                "--env",
                "A=${secret:none}",
                "--",
                "x",
            ],
            1,
            "`mcpproxy secrets set none`",
        ),
        (&broken, 1, "cannot be started"),
        (&["upstream", "remove", "of"], 1, "'off'"),
        (&["upstream", "enable", "of"], 1, "'off'"),
        (&["upstream", "disable", "of"], 1, "'off'"),
        (&["upstream", "tools", "of"], 1, "does not exist"),
        (&["upstream", "inspect", "of"], 1, "'off'"),
        (&["upstream", "logs", "of"], 1, "'off'"),
        (&["upstream", "logs", "../mcp_config"], 1, "does not exist"),
        (&["upstream", "logs"], 2, "NAME"),
        (&["secrets", "set", "../x"], 2, "as the name of a secret"),
        (
            &["secrets", "remove", "none"],
            1,
            "there is no secret 'none'",
        ),
    ] {
        let ran = home.run(words).await;
        check(&ran, code, told);
        assert_eq!(file(home), FILE, "{words:?}");
    }
}

#[tokio::test]
async fn bad_input_changes_nothing_without_a_gateway() {
    wrong(&home()).await;
}

#[tokio::test]
async fn bad_input_changes_nothing_with_a_gateway() {
    let product = Product::start_in(home(), &[]).await;
    wrong(&product.home).await;
    check(
        &product.run(&["upstream", "restart", "of"]).await,
        1,
        "'off'",
    );
    check(
        &product.run(&["upstream", "remove", "mcpproxy"]).await,
        2,
        "part of the gateway",
    );
}

#[tokio::test]
async fn a_broken_file_is_a_matter_of_configuration() {
    let product = Product::start_in(home(), &[]).await;
    let broken = FILE.replace("\"discovery\"", "\"discovry\"");
    product.home.write_config_text(&broken);
    let commands = [
        &["upstream", "add", "new", "--", "x"][..],
        &["upstream", "remove", "off"],
        &["upstream", "enable", "off"],
    ];
    for words in commands {
        check(&product.run(words).await, 4, "discovry");
    }
    let mut product = product;
    product.stop().await;
    let home = product.into_home();
    for words in commands {
        check(&home.run(words).await, 4, "discovry");
    }
    assert_eq!(file(&home), broken);
    std::fs::remove_file(home.config_file()).expect("the file is there");
    std::fs::create_dir(home.config_file()).expect("a folder can be made");
    check(&home.run(commands[0]).await, 4, "cannot be read");
}

#[tokio::test]
async fn a_missing_default_file_is_made_and_a_named_one_is_not() {
    let home = home();
    std::fs::remove_file(home.config_file()).expect("the file is there");
    let fixture = fixture();
    let entry = fixture.entry();
    let named = home.folder().join("named.json");
    let named = named.to_str().expect("a path of UTF-8");
    let refused = home.run(&add("new", &entry, &["--config", named])).await;
    check(&refused, 4, "does not exist");
    check(&home.run(&add("new", &entry, &[])).await, 0, "is added");
    let mode = std::fs::metadata(home.config_file())
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(home.run(&["upstream", "list"]).await.stdout.contains("new"));
}

#[tokio::test]
async fn snippets_of_clients_are_added() {
    let product = Product::start_in(home(), &[]).await;
    let (one, two) = (fixture(), fixture());
    let text = json!({ "mcpServers": { "My One": one.entry(), "two": two.entry() } }).to_string();
    let added = product
        .home
        .run_with_input(&["upstream", "add", "--json", "-"], &text)
        .await;
    check(&added, 0, "server 'My-One' is added: ready, 2 tools");
    check(&added, 0, "server 'two' is added: ready, 2 tools");
    let part = format!("\"three\": {},", two.entry());
    check(
        &product.run(&["upstream", "add", "--json", &part]).await,
        0,
        "server 'three' is added",
    );
    let whole = two.entry().to_string();
    check(
        &product
            .run(&["upstream", "add", "four", "--json", &whole])
            .await,
        0,
        "server 'four' is added",
    );
    let nameless = product.run(&["upstream", "add", "--json", &whole]).await;
    check(&nameless, 2, "does not name its server");
}

#[tokio::test]
async fn a_dry_run_writes_nothing_and_force_keeps_what_is_broken() {
    let home = home();
    let dry = home
        .run(&[
            "upstream",
            "add",
            "new",
            "--dry-run",
            "--env",
            "API_KEY=not-to-be-seen-1",
            "--",
            "x",
        ])
        .await;
    check(&dry, 0, "${secret:new.API_KEY}");
    assert!(!dry.stdout.contains("not-to-be-seen"), "{dry:?}");
    assert_eq!(file(&home), FILE);
    assert!(!home.data_dir().join("secrets").exists());
    let forced = home
        .run(&[
            "upstream",
            "add",
            "new",
            "--force",
            "--",
            "/no/such/program",
        ])
        .await;
    check(&forced, 0, "server 'new' is added: failed");
    assert!(file(&home).contains("/no/such/program"));
}

/// A person writes while the server starts: both changes are there, and what is taken back is our own.
#[tokio::test]
async fn a_change_that_a_person_made_meanwhile_survives() {
    let product = Product::start_in(home(), &[]).await;
    for (name, fixture, code) in [
        ("good", fixture(), 0),
        ("bad", fixture().exit_at_start(), 1),
    ] {
        let fixture = fixture.hang_on("tools/list");
        let entry = fixture.entry();
        let words = add(name, &entry, &[]);
        let adding = product.home.run(&words);
        let remark = format!("// A person was here: {name}.");
        let writing = async {
            eventually("the entry is written", async || {
                file(&product.home)
                    .contains(&format!("\"{name}\""))
                    .then_some(())
            })
            .await;
            let text = format!("{remark}\n{}", file(&product.home));
            product.home.write_config_text(&text);
            if code == 0 {
                // It would hang for ever: the entry of a person has another list.
                let text = file(&product.home);
                let good = self::fixture();
                let other = good.entry()["args"].to_string();
                product
                    .home
                    .write_config_text(&text.replace(&entry["args"].to_string(), &other));
                return Some(good);
            }
            None
        };
        let (ran, _good) = tokio::join!(adding, writing);
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(
            file(&product.home).contains(&remark),
            "{}",
            file(&product.home)
        );
        assert_eq!(
            file(&product.home).contains(&format!("\"{name}\"")),
            code == 0
        );
    }
}

#[tokio::test]
async fn two_that_add_at_the_same_moment_both_survive() {
    let (one, two) = (fixture(), fixture());
    let (one_entry, two_entry) = (one.entry(), two.entry());
    let (one_words, two_words) = (add("one", &one_entry, &[]), add("two", &two_entry, &[]));
    let both = async |home: &Home| {
        let (first, second) = tokio::join!(home.run(&one_words), home.run(&two_words));
        check(&first, 0, "server 'one' is added: ready");
        check(&second, 0, "server 'two' is added: ready");
        let text = file(home);
        assert!(
            text.contains("\"one\"") && text.contains("\"two\""),
            "{text}"
        );
        assert!(text.contains("// Not now."), "{text}");
    };
    both(&home()).await;
    let product = Product::start_in(home(), &[]).await;
    both(&product.home).await;
    let status = product.status().await;
    let servers = status["servers"].as_array().expect("there are servers");
    let ready = servers.iter().filter(|one| one["state"] == "ready").count();
    assert_eq!(ready, 3, "both and the gateway's own: {status}");
}

#[tokio::test]
async fn a_linked_configuration_stays_a_link() {
    let home = home();
    let real = home.folder().join("real.json");
    std::fs::rename(home.config_file(), &real).expect("it can be moved");
    std::fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).expect("it is ours");
    symlink(&real, home.config_file()).expect("a link can be made");
    check(
        &home.run(&["upstream", "enable", "off"]).await,
        0,
        "is enabled",
    );
    assert!(home.config_file().is_symlink());
    let text = std::fs::read_to_string(&real).expect("it is there");
    assert_eq!(
        text,
        FILE.replace("\"disabled\": true", "\"disabled\": false")
    );
    let mode = |path: &Path| {
        std::fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(&real), 0o640);
}

#[tokio::test]
async fn rest_manages_servers_for_administrators_alone() {
    let product = Product::start_in(home(), &[]).await;
    let fixture = fixture();
    let mut entry = fixture.entry();
    entry["name"] = json!("new");
    let made = product
        .run(&[
            "token",
            "create",
            "ci",
            "--operations",
            "read,write,destructive",
            "-o",
            "json",
        ])
        .await
        .json();
    let token = made["token"].as_str().expect("it is shown").to_owned();
    for (method, path) in [
        (Method::POST, "/servers"),
        (Method::GET, "/servers/off"),
        (Method::PATCH, "/servers/off"),
        (Method::DELETE, "/servers/off"),
        (Method::POST, "/servers/off/enable"),
        (Method::POST, "/servers/off/disable"),
        (Method::POST, "/servers/off/restart"),
    ] {
        let client = HttpClient::without_session(&product.rest(path));
        let nobody = client.send(method.clone(), &[], entry.to_string()).await;
        assert_eq!(nobody.status, StatusCode::UNAUTHORIZED, "{method} {path}");
        let agent = client
            .showing(&token)
            .send(method.clone(), &[], entry.to_string())
            .await;
        assert_eq!(agent.status, StatusCode::FORBIDDEN, "{method} {path}");
    }
    assert_eq!(file(&product.home), FILE);
    let added = product
        .ask(Method::POST, "/servers", entry.to_string())
        .await;
    assert_eq!(added.status, StatusCode::CREATED, "{}", added.body);
    assert_eq!(added.json()["state"], "ready");
    let again = product
        .ask(Method::POST, "/servers", entry.to_string())
        .await;
    assert_eq!(
        (again.status, &again.json()["error"]["code"]),
        (StatusCode::CONFLICT, &json!("NAME_TAKEN"))
    );
    let merged = json!({ "timeout": "45s", "tools": { "run": { "enabled": false } } });
    let merged = product
        .ask(Method::PATCH, "/servers/new", merged.to_string())
        .await;
    assert_eq!(merged.status, StatusCode::OK, "{}", merged.body);
    assert_eq!(merged.json()["entry"]["timeout"], "45s");
    assert_eq!(merged.json()["offered"][1]["callable"], false);
    let removed = json!({ "timeout": null, "tools": null }).to_string();
    let merged = product.ask(Method::PATCH, "/servers/new", removed).await;
    assert_eq!(merged.json()["entry"]["timeout"], "30s");
    for body in [
        "{ \"timeout\": \"never\" }",
        "{ \"name\": \"other\" }",
        "[]",
        "{",
    ] {
        let refused = product
            .ask(Method::PATCH, "/servers/new", body.to_owned())
            .await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{body}: {}",
            refused.body
        );
    }
    let large = json!({ "name": "large", "command": "x".repeat(300 * 1024) }).to_string();
    let refused = product.ask(Method::POST, "/servers", large).await;
    assert!(
        refused.json()["error"]["message"]
            .to_string()
            .contains("256 KiB"),
        "{}",
        refused.body
    );
    let refused = product.ask(Method::POST, "/servers", "{}".to_owned()).await;
    assert!(
        refused.json()["error"]["message"]
            .to_string()
            .contains("'name' is missing")
    );
    let gone = product
        .ask(Method::DELETE, "/servers/new", String::new())
        .await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    assert_eq!(file(&product.home), FILE);
    let missing = product
        .ask(Method::DELETE, "/servers/new", String::new())
        .await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_interface_lists_what_there_is() {
    let product = Product::start_in(home(), &[]).await;
    let index = product.get("").await;
    let routes = index["routes"].as_array().expect("there are routes");
    let has =
        |method: &str, path: &str| routes.contains(&json!({ "method": method, "path": path }));
    assert!(
        has("POST", "/api/v1/servers") && has("GET", "/api/v1"),
        "{index}"
    );
    let made = product
        .run(&["token", "create", "ci", "-o", "json"])
        .await
        .json();
    let token = made["token"].as_str().expect("it is shown").to_owned();
    let client = HttpClient::without_session(&product.rest("")).showing(&token);
    let shown = client.send(Method::GET, &[], String::new()).await.body;
    assert!(shown.contains("/api/v1/tools/call"), "{shown}");
    assert!(!shown.contains("/api/v1/config"), "{shown}");
}

#[tokio::test]
async fn what_a_server_wrote_is_shown_without_a_gateway_and_escaped() {
    let home = home();
    let logs = home.data_dir().join("logs");
    std::fs::create_dir(&logs).expect("the folder can be made");
    std::fs::write(logs.join("off.log.1"), "one\ntwo\n").expect("the log can be written");
    std::fs::write(logs.join("off.log"), "three\n\u{1b}[31mfour\nunfinished")
        .expect("the log can be written");
    let ran = home.run(&["upstream", "logs", "off", "-n", "3"]).await;
    assert_eq!(
        (ran.code, &*ran.stdout),
        (0, "two\nthree\n\\u001b[31mfour\n")
    );
    let shown = home
        .run(&["upstream", "logs", "off", "-n", "1", "-o", "json"])
        .await
        .json();
    assert_eq!(shown["lines"], json!(["\u{1b}[31mfour"]));
    // A server that is not configured any more left its log.
    home.write_config_text("{}");
    assert_eq!(
        home.run(&["upstream", "logs", "off", "-n", "1"]).await.code,
        0
    );
}
