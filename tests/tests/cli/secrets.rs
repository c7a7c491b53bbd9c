//! Secrets of the data directory: they reach the server that they are for, and nothing else.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use mcpproxy_tests::{Fixture, Home, Product, Ran, eventually};
use serde_json::json;

use crate::PROGRAMS;

const TELL: &str = r#"{"name":"tell","description":"Tells its variable","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

const FIRST: &str = "quince-jam-42-first";
const SECOND: &str = "medlar-tea-77-second";

/// A server that tells the value of its variable `TOKEN`.
fn teller() -> Fixture {
    Fixture::new(PROGRAMS)
        .tools(&[TELL])
        .variable("tell", "TOKEN")
}

/// Nothing of these values is in any file of the data directory but those of the secrets themselves.
fn assert_nowhere(folder: &Path, values: &[&str]) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() && !path.ends_with("secrets") {
            assert_nowhere(&path, values);
        } else if path.is_file() {
            let bytes = std::fs::read(&path).expect("the file can be read");
            for value in values {
                let is_there = bytes
                    .windows(value.len())
                    .any(|one| one == value.as_bytes());
                assert!(!is_there, "{} has {value}", path.display());
            }
        }
    }
}

#[track_caller]
fn assert_quiet(ran: &Ran) {
    for value in [FIRST, SECOND] {
        assert!(
            !ran.stdout.contains(value) && !ran.stderr.contains(value),
            "{ran:?}"
        );
    }
}

#[tokio::test]
async fn a_secret_of_a_server_reaches_it_and_nothing_else() {
    let fixture = teller();
    let entry = fixture.entry();
    let product = Product::start(PROGRAMS, &json!({})).await;
    let run = async |words: &[&str], input: &str| product.home.run_with_input(words, input).await;
    let text = json!({ "teller": entry }).to_string();
    let words = ["upstream", "add", "--secret-env", "TOKEN", "--json", &text];
    let added = run(&words, &format!("{FIRST}\n")).await;
    assert_eq!(added.code, 0, "{added:?}");
    assert_quiet(&added);
    let file = std::fs::read_to_string(product.home.config_file()).expect("it is there");
    assert!(
        file.contains("\"TOKEN\": \"${secret:teller.TOKEN}\""),
        "{file}"
    );
    let secret = product.home.data_dir().join("secrets/teller.TOKEN");
    let mode = |path: &Path| {
        std::fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(
        (mode(&secret), mode(secret.parent().expect("a folder"))),
        (0o600, 0o700)
    );
    assert_eq!(
        std::fs::read_to_string(&secret).expect("it is there"),
        FIRST
    );

    // The server has it, and what it says of it is hidden on record. The caller gets what the server said.
    let told = run(&["call", "tool-read", "teller:tell"], "").await;
    assert!(told.stdout.contains(FIRST), "{told:?}");
    let arguments = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let arguments = arguments.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
    for line in arguments {
        assert!(!String::from_utf8_lossy(&line).contains(FIRST));
    }

    // Another value is picked up as soon as it is kept, and by a restart at the latest.
    let set = run(&["secrets", "set", "teller.TOKEN"], &format!("{SECOND}\n")).await;
    assert_eq!(set.code, 0, "{set:?}");
    assert_quiet(&set);
    let restarted = run(&["upstream", "restart", "teller"], "").await;
    assert_eq!(restarted.code, 0, "{restarted:?}");
    eventually("the server has the other value", async || {
        let told = run(&["call", "tool-read", "teller:tell"], "").await;
        told.stdout.contains(SECOND).then_some(())
    })
    .await;
    for words in [
        &["secrets", "list"][..],
        &["upstream", "inspect", "teller", "-o", "json"],
        &["upstream", "list", "-o", "yaml"],
        &["config", "show"],
        &["status", "-o", "json"],
        &["activity", "list", "-o", "json"],
        &["activity", "export", "--format", "jsonl"],
    ] {
        let shown = run(words, "").await;
        assert_eq!(shown.code, 0, "{shown:?}");
        assert_quiet(&shown);
    }
    assert_nowhere(&product.home.data_dir(), &[FIRST, SECOND]);
    assert!(!product.log().contains(FIRST) && !product.log().contains(SECOND));
    let removed = run(&["upstream", "remove", "teller"], "").await;
    assert!(
        removed
            .stderr
            .contains("`mcpproxy secrets remove teller.TOKEN`"),
        "{removed:?}"
    );
}

#[tokio::test]
async fn a_server_without_its_secret_says_how_to_keep_it_and_starts_when_it_is_kept() {
    let fixture = teller();
    let entry = fixture.entry_with(&json!({ "env": { "TOKEN": "${secret:teller.TOKEN}" } }));
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": { "teller": entry } })).await;
    let listed = product.run(&["upstream", "list"]).await;
    assert!(
        listed.stdout.contains("mcpproxy secrets set teller.TOKEN"),
        "{listed:?}"
    );
    let missing = product.run(&["secrets", "list", "-o", "json"]).await.json();
    assert_eq!(
        missing,
        json!({ "secrets": [{ "name": "teller.TOKEN", "kept": false, "used": true }] })
    );
    let set = product
        .home
        .run_with_input(&["secrets", "set", "teller.TOKEN"], FIRST)
        .await;
    assert_eq!(set.code, 0, "{set:?}");
    eventually("the server starts", async || {
        let told = product.run(&["call", "tool-read", "teller:tell"]).await;
        told.stdout.contains(FIRST).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_secret_of_a_server_that_is_not_added_goes_again() {
    let home = Home::new(PROGRAMS, &json!({}));
    let words = [
        "upstream",
        "add",
        "x",
        "--env",
        "API_KEY=quince-jam-42-first",
        "--",
        "/no/such/program",
    ];
    let refused = home.run(&words).await;
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_quiet(&refused);
    assert!(!home.data_dir().join("secrets/x.API_KEY").exists());
    // One that was there before is there again.
    let set = home
        .run_with_input(&["secrets", "set", "x.API_KEY"], SECOND)
        .await;
    assert_eq!(set.code, 0, "{set:?}");
    assert_eq!(home.run(&words).await.code, 1);
    let kept = std::fs::read_to_string(home.data_dir().join("secrets/x.API_KEY"));
    assert_eq!(kept.expect("it is there"), SECOND);
    for input in ["", "\n", &"x".repeat(70_000)] {
        let refused = home.run_with_input(&["secrets", "set", "y"], input).await;
        assert_eq!(refused.code, 2, "{refused:?}");
    }
    assert_eq!(home.run(&["secrets", "remove", "x.API_KEY"]).await.code, 0);
    let listed = home.run(&["secrets", "list", "-o", "json"]).await.json();
    assert_eq!(listed, json!({ "secrets": [] }));
}

#[tokio::test]
async fn a_name_that_is_taken_leaves_the_secret_of_who_has_it() {
    let config = json!({ "mcpServers": { "x": { "command": "nothing", "enabled": false } } });
    let refused = async |home: &Home| {
        let set = home
            .run_with_input(&["secrets", "set", "x.API_KEY"], SECOND)
            .await;
        assert_eq!(set.code, 0, "{set:?}");
        let words = [
            "upstream",
            "add",
            "x",
            "--secret-env",
            "API_KEY",
            "--",
            "sh",
        ];
        let refused = home.run_with_input(&words, FIRST).await;
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("configured already"), "{refused:?}");
        assert_quiet(&refused);
        let kept = std::fs::read_to_string(home.data_dir().join("secrets/x.API_KEY"));
        assert_eq!(kept.expect("it is there"), SECOND);
    };
    refused(&Home::new(PROGRAMS, &config)).await;
    refused(&Product::start(PROGRAMS, &config).await.home).await;
}

#[tokio::test]
async fn a_removal_named_secrets_of_others() {
    let server = |variables: &[(&str, &str)]| {
        let variables = variables
            .iter()
            .map(|(name, secret)| ((*name).to_owned(), json!(format!("${{secret:{secret}}}"))));
        let env: serde_json::Map<_, _> = variables.collect();
        json!({ "command": "nothing", "enabled": false, "env": env })
    };
    let config = json!({ "mcpServers": {
        "a": server(&[("OWN", "mine"), ("SHARED", "a.SHARED")]),
        "a.b": server(&[("T", "a.b.T"), ("SHARED", "a.SHARED")]),
    } });
    let home = Home::new(PROGRAMS, &config);
    for name in ["mine", "a.SHARED", "a.b.T", "a.UNUSED"] {
        let set = home.run_with_input(&["secrets", "set", name], FIRST).await;
        assert_eq!(set.code, 0, "{set:?}");
    }
    let removed = home.run(&["upstream", "remove", "a"]).await;
    assert_eq!(removed.code, 0, "{removed:?}");
    let named = removed.stderr.matches("mcpproxy secrets remove").count();
    assert_eq!(named, 1, "{removed:?}");
    assert!(
        removed.stderr.contains("`mcpproxy secrets remove mine`"),
        "{removed:?}"
    );
}
