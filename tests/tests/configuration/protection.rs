//! Protection from others: files that they can read or change, addresses that they can reach, secrets that they can see.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use mcpproxy_tests::{Home, Product, Ran};
use serde_json::json;

use crate::PROGRAMS;

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];
const CALL: [&str; 3] = ["call", "tool-read", "any:tool"];

#[track_caller]
fn assert_refused(ran: &Ran, said: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""), "{ran:?}");
    assert!(ran.stderr.contains(said), "{said}: {ran:?}");
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn a_key_file_that_others_can_read_was_served_without_a_word() {
    let home = Home::new(PROGRAMS, &json!({}));
    let file = home.data_dir().join("api_key");
    fs::write(&file, "a-key-of-somebody-of-some-length\n").unwrap();
    set_mode(&file, 0o644);
    let command = format!("`chmod 600 {}`", file.display());
    for arguments in [&SERVE[..], &["config", "check"]] {
        assert_refused(&home.run(arguments).await, &command);
    }
    set_mode(&file, 0o600);
    assert_eq!(home.run(&["config", "check"]).await.code, 0);
    let product = Product::start_in(home, &[]).await;
    assert_eq!(product.get("/status").await["pid"], product.pid());
}

#[tokio::test]
async fn a_data_directory_that_others_can_write_to_was_served_with_a_warning() {
    let home = Home::new(PROGRAMS, &json!({}));
    for mode in [0o777, 0o770] {
        set_mode(&home.data_dir(), mode);
        let command = format!("`chmod 700 {}`", home.data_dir().display());
        for arguments in [&SERVE[..], &["config", "check"], &CALL, &["stdio"]] {
            assert_refused(&home.run(arguments).await, &command);
        }
    }
    set_mode(&home.data_dir(), 0o755);
    let ran = home.run(&["config", "check"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout.contains("warning: other users can look into"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn links_in_the_place_of_state_files_were_followed() {
    for name in [
        "state.db",
        "api_key",
        "chains",
        "serve.lock",
        "protocols.json",
        "mcpproxy.sock",
    ] {
        let home = Home::new(PROGRAMS, &json!({}));
        let elsewhere = home.folder().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let target = elsewhere.join(name);
        if name == "chains" {
            fs::create_dir(&target).unwrap();
        }
        symlink(&target, home.data_dir().join(name)).unwrap();
        for arguments in [&SERVE[..], &CALL, &["stdio"]] {
            assert_refused(&home.run(arguments).await, "symbolic link");
        }
        let is_dir = name == "chains";
        assert_eq!(target.is_dir(), is_dir, "{name}");
        assert!(is_dir || !target.exists(), "{name} was made elsewhere");
    }
}

#[tokio::test]
async fn config_check_called_files_valid_that_serve_refuses() {
    for (config, said) in [
        (json!({ "listen": "0.0.0.0:0" }), "allow_plain_http"),
        (
            json!({ "listen": "0.0.0.0:0", "allow_plain_http": true, "api_key": "a" }),
            "fewer than 24 characters",
        ),
        (
            json!({ "listen": "0.0.0.0:0", "allow_plain_http": true, "api_key": "a-key-of-23-characters-" }),
            "fewer than 24 characters",
        ),
    ] {
        let home = Home::new(PROGRAMS, &config);
        for arguments in [&["serve"][..], &["config", "check"]] {
            assert_refused(&home.run(arguments).await, said);
        }
    }
    let config = json!({ "listen": "0.0.0.0:0", "allow_plain_http": true, "api_key": "a-key-of-24-characters--" });
    let ran = Home::new(PROGRAMS, &config).run(&["config", "check"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[tokio::test]
async fn what_others_can_read_is_warned_about_everywhere() {
    let home = Home::new(PROGRAMS, &json!({}));
    let file = home.folder().join("token");
    fs::write(&file, "a-token-of-somebody").unwrap();
    set_mode(&file, 0o644);
    let server = json!({
        "command": "sh", "args": ["-c", "cat", "--api-key=a-literal-of-somebody"],
        "env": { "TOKEN": format!("${{file:{}}}", file.display()), "OTHER_TOKEN": "another-literal" },
    });
    home.write_config(&json!({ "mcpServers": { "a": server } }));
    set_mode(&home.config_file(), 0o644);
    let expected = [
        format!("`chmod 600 {}`", file.display()),
        format!("`chmod 600 {}`", home.config_file().display()),
        "mcpServers.a.args[2]".to_owned(),
    ];
    let checked = home.run(&["config", "check"]).await;
    assert_eq!(checked.code, 0, "{checked:?}");
    let listed = home.run(&["config", "check", "-o", "json"]).await.json();
    assert_eq!(listed["warnings"].as_array().unwrap().len(), 3, "{listed}");
    let product = Product::start_in(home, &[]).await;
    let status = product.status().await["configuration_warnings"].to_string();
    let shown = product.run(&["status"]).await.stdout;
    for place in [&checked.stdout, &product.log(), &status, &shown] {
        for warning in &expected {
            assert!(place.contains(warning), "{warning} in {place}");
        }
        assert!(!place.contains("of-somebody"), "{place}");
        assert!(!place.contains("another-literal"), "{place}");
    }
}

#[tokio::test]
async fn the_configuration_was_shown_with_the_credentials_in_it() {
    let server = json!({
        "command": "sh", "args": ["-c", "cat", "--token", "a-literal-of-somebody", "--key=a-literal-of-somebody"],
        "env": { "AWS_REGION": "eu-west-1", "GITHUB_TOKEN": "a-literal-of-somebody" },
    });
    let config = json!({ "mcpServers": {
        "a": server,
        "b": { "url": "http://127.0.0.1:9/mcp?api_key=a-literal-of-somebody", "headers": { "X-Team": "platform" } },
    } });
    let product = Product::start(PROGRAMS, &config).await;
    let over_rest = product.get("/config").await;
    let printed = product.run(&["config", "show", "-o", "json"]).await.json();
    assert_eq!(over_rest, printed);
    assert!(
        !printed.to_string().contains("a-literal-of-somebody"),
        "{printed}"
    );
    let servers = &printed["mcpServers"];
    assert_eq!(
        servers["a"]["args"],
        json!(["-c", "cat", "--token", "***", "--key=***"])
    );
    assert_eq!(
        servers["a"]["env"],
        json!({ "AWS_REGION": "eu-west-1", "GITHUB_TOKEN": "***" })
    );
    assert_eq!(servers["b"]["url"], "http://127.0.0.1:9/mcp?api_key=***");
    assert_eq!(servers["b"]["headers"]["X-Team"], "platform");
}
