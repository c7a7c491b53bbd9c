//! Status of servers that do not run, and whether they are tried again.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::settings::{self, Environment, Sources};
use crate::{Gateway, GatewayOptions};

/// Gateway with these servers, and its folder.
fn gateway(servers: &Value) -> (Arc<Gateway>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), servers);
    let sources = Sources {
        data_dir: Some(folder.path().to_owned()),
        environment: Environment::of_variables::<String, String>([]),
        ..Sources::default()
    };
    let settings = settings::load(&sources).unwrap();
    let options = GatewayOptions {
        sources,
        ..GatewayOptions::default()
    };
    (Gateway::start(settings, options).unwrap(), folder)
}

fn configure(folder: &Path, servers: &Value) {
    let config = json!({ "mcpServers": servers, "discovery": { "semantic": false } });
    std::fs::write(folder.join("mcp_config.json"), config.to_string()).unwrap();
}

fn status(gateway: &Gateway, name: &str) -> ServerStatus {
    let mut servers = gateway.servers().status().into_iter();
    servers.find(|one| one.name == name).unwrap()
}

#[tokio::test]
async fn the_servers_that_are_missing_in_a_list_are_those_that_status_shows() {
    let (gateway, _folder) = gateway(&json!({
        "hangs": { "command": "sleep", "args": ["600"] },
        "absent": { "command": "/no/such/program" },
        "unset": { "command": "sleep", "env": { "TOKEN": "${NOT_SET_BY_ANY_TEST}" } },
        "off": { "command": "sleep", "enabled": false },
    }));
    while status(&gateway, "absent").state != "failed" {
        tokio::task::yield_now().await;
    }
    let of = |rights: &Rights, only: Option<&str>| {
        let (starting, failed) = gateway.servers().missing(rights, only);
        let failed: Vec<_> = failed
            .into_iter()
            .map(|one| (one.server, Some(one.reason)))
            .collect();
        (starting, failed)
    };
    let failed = ["absent", "unset"].map(|name| {
        let reason = status(&gateway, name).reason;
        assert!(reason.is_some(), "{name}");
        (name.to_owned(), reason)
    });
    let all = of(&Rights::Administrator, None);
    assert_eq!(all, (vec!["hangs".to_owned()], failed.to_vec()));
    let one = of(&Rights::Administrator, Some("absent"));
    assert_eq!(one, (vec![], failed[..1].to_vec()));
    gateway.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_variable_is_missing_is_not_tried_again() {
    let entry = |token: &str| json!({ "a": { "command": "sleep", "args": ["600"], "env": { "TOKEN": token } } });
    let (gateway, folder) = gateway(&entry("${NOT_SET_BY_ANY_TEST}"));
    let before = status(&gateway, "a");
    let reason = before.reason.as_deref().unwrap_or_default();
    assert!(
        reason.ends_with("environment variable NOT_SET_BY_ANY_TEST is not set"),
        "{reason}"
    );
    assert_eq!(before.waiting_for.as_deref(), Some(OTHER_CONFIGURATION));
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(status(&gateway, "a"), before);
    let called = gateway.servers().reachable("a", &Rights::Administrator);
    assert!(called.is_err(), "a call does not start it either");
    assert_eq!(status(&gateway, "a"), before);

    tokio::time::resume();
    configure(folder.path(), &entry("${NOT_SET_BY_ANY_TEST:-there}"));
    gateway.reload_now().unwrap();
    assert_eq!(status(&gateway, "a").state, "starting");
    gateway.stop().await;
}
