//! The configuration file that commands change: what of it stays, and what is taken back.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use mcpproxy_tests::{Home, Product, eventually};
use serde_json::Value;

use crate::managed::{FILE, add, check, file, fixture, home};

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
async fn an_entry_stayed_in_a_file_that_the_gateway_could_not_take() {
    let key = "a-key-of-more-than-24-characters";
    let open = format!(
        "{{ \"api_key\": \"{key}\", \"listen\": \"0.0.0.0:0\", \"allow_plain_http\": true,"
    );
    let text = FILE.replacen('{', &open, 1);
    let home = home();
    home.write_config_text(&text);
    let product = Product::start_in(home, &["--listen", "0.0.0.0:0"]).await;
    let short = text.replace(key, "short");
    product.home.write_config_text(&short);
    let fixture = fixture();
    let entry = fixture.entry();
    for words in [
        &*add("new", &entry, &[]),
        &["upstream", "enable", "off"],
        &["upstream", "remove", "off"],
    ] {
        check(&product.run(words).await, 4, "24 characters");
        assert_eq!(file(&product.home), short);
    }
    assert!(fixture.ledger().is_empty(), "it was never started");
}

#[tokio::test]
async fn an_entry_stayed_of_a_server_that_was_being_added_when_the_gateway_stopped() {
    let mut product = Product::start_in(home(), &[]).await;
    let fixture = fixture().hang_on("tools/list");
    let entry = fixture.entry();
    let words = add("new", &entry, &["--env", "API_KEY=not-to-be-seen-1"]);
    let pid = product.pid().to_string();
    let stopping = async {
        eventually("the entry is written", async || {
            file(&product.home).contains("\"new\"").then_some(())
        })
        .await;
        let asked = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(asked.is_ok_and(|status| status.success()));
    };
    let (added, ()) = tokio::join!(product.home.run(&words), stopping);
    assert_ne!(added.code, 0, "{added:?}");
    assert_eq!(product.stop().await, 0, "{}", product.log());
    assert_eq!(file(&product.home), FILE);
    assert!(!product.home.data_dir().join("secrets/new.API_KEY").exists());
    let words = ["activity", "list", "--type", "server_change", "-o", "json"];
    let recorded = product.home.run(&words).await.json();
    let events = recorded["activities"]
        .as_array()
        .expect("there are records");
    for word in ["added", "removed"] {
        let is_there =
            |one: &Value| one["server_name"] == "new" && one["metadata"]["event"] == word;
        assert!(events.iter().any(is_there), "{word}: {recorded}");
    }
}
