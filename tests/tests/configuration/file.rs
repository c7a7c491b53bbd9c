//! Configuration and state: what stops a start, what wins, and whom the files are for.

use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::process::Stdio;

use mcpproxy_tests::{Home, Product, Ran};
use serde_json::json;

use crate::PROGRAMS;

#[tokio::test]
async fn a_bad_configuration_stops_the_start_with_line_column_and_the_nearest_key() {
    let home = Home::new(PROGRAMS, &json!({}));
    for (text, place, said) in [
        (
            "{\n  // servers\n  \"mcpServer\": {},\n}",
            ":3:3",
            "mcpServers",
        ),
        ("{\n  \"listen\": 8080\n}", ":2:13", "listen"),
        (
            "{\n  \"intent_declaration\": { \"mode\": \"two_keys\" }\n}",
            ":2:",
            "two_key",
        ),
        ("{\n  \"listen\": \n", ":", ""),
    ] {
        home.write_config_text(text);
        for arguments in [
            &["serve", "--listen", "127.0.0.1:0"][..],
            &["config", "check"],
            &["tools", "list"],
            &["stdio"],
        ] {
            let ran = home.run(arguments).await;
            assert_eq!((ran.code, ran.stdout.as_str()), (4, ""), "{text}: {ran:?}");
            assert!(
                ran.stderr.contains(&format!("mcp_config.json{place}")),
                "{text}: {ran:?}"
            );
            assert!(ran.stderr.contains(said), "{text}: {ran:?}");
        }
    }
    home.write_config_text(
        "{\n  // comments and trailing commas are fine\n  \"mcpServers\": {},\n}",
    );
    assert_eq!(home.run(&["config", "check"]).await.code, 0);
}

#[tokio::test]
async fn the_configuration_can_be_shown_without_secrets_and_has_a_schema() {
    let secret = "a-very-secret-key-of-some-length";
    let home = Home::new(PROGRAMS, &json!({ "api_key": secret }));
    let schema = home.run(&["config", "schema"]).await.json();
    assert!(schema["$schema"].is_string() && schema["properties"]["mcpServers"].is_object());
    for format in ["json", "yaml", "table"] {
        let shown = home.run(&["config", "show", "-o", format]).await;
        assert_eq!(shown.code, 0, "{shown:?}");
        assert!(shown.stdout.contains("intent_declaration"), "{shown:?}");
        assert!(!format!("{shown:?}").contains(secret), "{shown:?}");
    }
}

#[tokio::test]
async fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let home = Home::new(PROGRAMS, &json!({ "listen": "127.0.0.1:7001" }));
    let listen = |ran: &Ran| ran.json()["listen"].clone();
    assert_eq!(
        listen(&home.run(&["config", "show", "-o", "json"]).await),
        "127.0.0.1:7001"
    );
    let mut command = home.bare_command();
    command
        .env("MCPPROXY_DATA_DIR", home.data_dir())
        .env("MCPPROXY_LISTEN", "127.0.0.1:7002");
    command.args(["config", "show", "-o", "json"]);
    assert_eq!(listen(&Ran::of(command).await), "127.0.0.1:7002");
    let mut command = home.command();
    command.env("MCPPROXY_DATA_DIR", home.folder().join("nowhere"));
    command.args(["config", "show", "-o", "json"]);
    assert_eq!(listen(&Ran::of(command).await), "127.0.0.1:7001");
    let product = Product::start_in(home, &[]).await;
    assert_ne!(
        product.address().port(),
        7001,
        "--listen wins over the file"
    );
}

#[tokio::test]
async fn state_is_for_its_owner_only() {
    let home = Home::new(PROGRAMS, &json!({}));
    let product = Product::start_in(home, &[]).await;
    let data_dir = product.home.data_dir();
    assert_eq!(mode(&data_dir.join("api_key")), 0o600);
    let socket = data_dir.join("mcpproxy.sock");
    assert!(std::fs::metadata(&socket).unwrap().file_type().is_socket());
    assert_eq!(mode(&socket), 0o600);
}

#[tokio::test]
async fn the_usual_data_directory_is_made_for_its_owner_only() {
    for config in [
        json!({}),
        json!({ "api_key": "a-configured-key-of-some-length" }),
    ] {
        let home = Home::new(PROGRAMS, &config);
        let file = home.config_file();
        let usual = home.folder().join(".mcpproxy");
        let mut bare = home.bare_command();
        bare.args(["serve", "-o", "json", "--listen", "127.0.0.1:0", "--config"]);
        bare.arg(&file).stdout(Stdio::piped());
        let _product = Product::start_with(home, &[], |command| *command = bare).await;
        assert_eq!(mode(&usual), 0o700, "{config}");
        assert_eq!(mode(&usual.join("mcpproxy.sock")), 0o600, "{config}");
    }
}

#[tokio::test]
async fn a_second_gateway_on_the_same_data_directory_is_refused() {
    let mut product = Product::start(PROGRAMS, &json!({})).await;
    let ran = product.run(&["serve", "--listen", "127.0.0.1:0"]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stderr.contains("already runs"), "{ran:?}");
    assert_eq!(
        product.status().await["pid"],
        product.pid(),
        "the first one is still there"
    );
    // After a crash the socket is left behind; that does not keep the next one from starting.
    product.kill().await;
    assert_eq!(product.run(&["status"]).await.code, 3);
    assert!(product.home.data_dir().join("mcpproxy.sock").exists());
    let again = Product::start_in(product.into_home(), &[]).await;
    assert_eq!(again.status().await["pid"], again.pid());
}

#[tokio::test]
async fn listening_beyond_this_machine_over_plain_http_is_refused_unless_allowed() {
    let home = Home::new(PROGRAMS, &json!({}));
    let ran = home.run(&["serve", "--listen", "0.0.0.0:0"]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""), "{ran:?}");
    assert!(ran.stderr.contains("allow_plain_http"), "{ran:?}");
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path)
        .map(|metadata| metadata.permissions().mode() & 0o777)
        .unwrap_or_default()
}
