//! Managing servers: every command with a running gateway and without, with good input and bad.

use mcpproxy_tests::{Home, Product, eventually, within};
use serde_json::json;

use crate::PROGRAMS;
use crate::managed::{FILE, add, check, file, fixture, home};

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
    let shows_own = servers.iter().any(|one| one["name"] == "mcpproxy");
    assert_eq!(shows_own, has_gateway, "it looked as if it were starting");
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
        "server 'new' is disabled",
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
            &["upstream", "add", "..", "--", "x"],
            2,
            "does not begin with a letter or a digit",
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
            "--env has no meaning",
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
        (
            &[
                "upstream",
                "add",
                "new",
                "--cwd",
                "/no/such/folder",
                "--",
                "sh",
            ],
            1,
            "its working_dir does not exist",
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

#[tokio::test]
async fn a_snippet_that_cannot_be_read_is_a_mistake_of_who_typed_it() {
    let home = home();
    let words = ["upstream", "add", "--json", "-"];
    let long = "x".repeat(300 * 1024);
    check(&home.run_with_input(&words, &long).await, 2, "256 KiB");
    let letters = "\u{e4}".repeat(150 * 1024);
    let odd = format!("x{letters}");
    check(&home.run_with_input(&words, &odd).await, 2, "256 KiB");
    let bytes = home.folder().join("bytes");
    std::fs::write(&bytes, b"{ \"a\": { \"command\": \"\xff\" } }").expect("it can be written");
    for (input, told) in [
        (&*bytes, "not valid UTF-8"),
        (home.folder(), "cannot be read"),
    ] {
        let mut command = tokio::process::Command::from(home.command());
        let input = std::fs::File::open(input).expect("it is there");
        command.args(words).stdin(input).kill_on_drop(true);
        let output = within("the command ends", command.output()).await;
        let output = output.expect("the command can be run");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(told), "{stderr}");
    }
    assert_eq!(file(&home), FILE);
}

#[tokio::test]
async fn a_server_was_not_restarted_because_of_a_mistake_elsewhere_in_the_file() {
    let fixture = fixture();
    let config = json!({ "mcpServers": { "good": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let before = fixture.pid();
    let mut broken = config;
    broken["discovry"] = json!({});
    product.home.write_config(&broken);
    let restarted = product.run(&["upstream", "restart", "good"]).await;
    check(&restarted, 0, "server 'good' is restarted: ready");
    check(&restarted, 0, "with the settings in force");
    check(&restarted, 0, "discovry");
    assert_ne!(fixture.pid(), before);
}

#[tokio::test]
async fn a_mistake_in_an_entry_is_mended_with_the_check_of_the_configuration() {
    let home = home();
    home.write_config(&json!({ "mcpServers": { "wrong": { "comand": "x" } } }));
    let product = Product::start_in(home, &[]).await;
    let listed = product.run(&["upstream", "list"]).await;
    check(&listed, 0, "mcpproxy config check");
}

#[tokio::test]
async fn warnings_about_a_pasted_entry_were_told_nowhere() {
    let home = Home::new(PROGRAMS, &json!({}));
    let secret = "sk-proj-0123456789abcdefghij0123456789";
    let snippet = json!({ "My Srv!": {
        "command": "x", "autoApprove": ["a"], "timeout": 60, "gallery": 1, "env": { "API_KEY": secret },
    } });
    let planned = ["upstream", "add", "--dry-run", "--json"];
    let planned = home
        .run(&[&planned[..], &[&snippet.to_string()]].concat())
        .await;
    assert_eq!(planned.code, 0, "{planned:?}");
    for said in [
        "'autoApprove' is not used here: approvals are the client's",
        "60 is read as 60 seconds",
        "'gallery' is not used here",
        "a secret in plain text: `mcpproxy secrets set My-Srv.NAME`",
    ] {
        assert!(planned.stderr.contains(said), "{said}: {planned:?}");
    }
    assert!(!format!("{planned:?}").contains(secret), "{planned:?}");
    let removed = home
        .run_with_input(&["secrets", "set", "one", "-o", "json"], "value\n")
        .await;
    assert_eq!(removed.json(), json!({ "name": "one", "kept": true }));
}
