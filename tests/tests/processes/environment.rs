//! What a server gets of the gateway: variables, and the folder that it runs in.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mcpproxy_tests::{Home, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

/// Tells what it got, in files that begin with its name.
const TELLING: &str =
    r#"pwd > "$0.folder"; env > "$0.draft"; mv "$0.draft" "$0.variables"; exec cat"#;

/// What the gateway is started with.
const VARIABLES: [(&str, &str); 9] = [
    ("DISPLAY", ":7"),
    ("XDG_RUNTIME_DIR", "/run/user/7"),
    ("UV_INDEX_URL", "https://pypi.example/simple"),
    ("UV_PUBLISH_TOKEN", "a-token-of-somebody"),
    ("npm_config_registry", "https://me:secret@npm.example/"),
    ("https_proxy", "http://me:secret@proxy.example:3128"),
    ("KUBECONFIG", "/home/me/.kube/config"),
    ("GITHUB_TOKEN", "another-token"),
    ("MCPPROXY_API_KEY", "the-key-of-the-gateway-itself"),
];

#[tokio::test]
async fn a_server_inherits_what_is_harmless_and_what_its_entry_names() {
    let (home, telling) = home_with(&[
        ("usual", json!({})),
        (
            "named",
            json!({ "inherit_env": ["KUBECONFIG", "https_proxy"] }),
        ),
        (
            "all",
            json!({ "inherit_env": "all", "env": { "GITHUB_TOKEN": "its own" } }),
        ),
    ]);
    let product = start(home).await;
    let usual = telling.variables("usual").await;
    for (name, value) in &VARIABLES[..3] {
        assert_eq!(usual.get(*name).map(String::as_str), Some(*value), "{name}");
    }
    for (name, _) in &VARIABLES[3..] {
        assert!(!usual.contains_key(*name), "{name}");
    }
    let named = telling.variables("named").await;
    assert_eq!(named["KUBECONFIG"], "/home/me/.kube/config");
    assert_eq!(named["https_proxy"], "http://me:secret@proxy.example:3128");
    assert!(!named.contains_key("GITHUB_TOKEN"));
    let all = telling.variables("all").await;
    assert_eq!(all["UV_PUBLISH_TOKEN"], "a-token-of-somebody");
    assert_eq!(all["GITHUB_TOKEN"], "its own");
    assert!(all.keys().all(|name| !name.starts_with("MCPPROXY_")));
    // The operator is told what was kept back, by name.
    let log = product.log();
    for told in ["https_proxy", "npm_config_registry", "inherit_env"] {
        assert!(log.contains(told), "{told}: {log}");
    }
    assert!(!log.contains("me:secret"), "{log}");
}

#[tokio::test]
async fn a_server_runs_in_the_folder_of_the_configuration() {
    let (home, telling) = home_with(&[
        ("usual", json!({})),
        ("own", json!({ "working_dir": "sub" })),
    ]);
    let data_dir = home.data_dir();
    fs::create_dir(data_dir.join("sub")).expect("the folder can be made");
    let _product = start(home).await;
    assert_eq!(telling.folder("usual").await, data_dir);
    assert_eq!(telling.folder("own").await, data_dir.join("sub"));
}

#[tokio::test]
async fn a_server_failed_for_a_variable_that_nobody_told_of() {
    let script = "echo 'error: set KUBECONFIG or MCPPROXY_API_KEY' >&2; exit 3";
    let server = json!({ "command": "sh", "args": ["-c", script] });
    let given = json!({ "command": "sh", "args": ["-c", script], "inherit_env": ["KUBECONFIG"] });
    let config = json!({ "mcpServers": { "asking": server, "given": given } });
    let product = start(Home::new(PROGRAMS, &config)).await;
    let reason = async |name: &str| {
        eventually("the server has failed", async || {
            let status = product.status().await;
            let servers = status["servers"].as_array()?;
            let server = servers.iter().find(|server| server["name"] == *name)?;
            let is_failed = server["state"] == "failed";
            is_failed.then(|| server["reason"].as_str().unwrap_or_default().to_owned())
        })
        .await
    };
    assert_eq!(
        reason("asking").await,
        "the server exited with code 3; it mentions KUBECONFIG, which is not passed on: add \"inherit_env\": [\"KUBECONFIG\"]"
    );
    assert_eq!(reason("given").await, "the server exited with code 3");
}

/// Files in which servers told what they got.
struct Telling {
    folder: std::path::PathBuf,
}

impl Telling {
    async fn variables(&self, server: &str) -> BTreeMap<String, String> {
        let text = self.read(server, "variables").await;
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    async fn folder(&self, server: &str) -> std::path::PathBuf {
        self.read(server, "variables").await;
        let folder = self.read(server, "folder").await;
        Path::new(folder.trim()).to_owned()
    }

    async fn read(&self, server: &str, what: &str) -> String {
        let file = self.folder.join(format!("{server}.{what}"));
        eventually("the server has told", async || {
            fs::read_to_string(&file).ok()
        })
        .await
    }
}

/// A data directory with servers of these names that tell what they got.
fn home_with(servers: &[(&str, Value)]) -> (Home, Telling) {
    let home = Home::new(PROGRAMS, &json!({}));
    let folder = home.folder().to_owned();
    let mut config = json!({ "mcpServers": {} });
    for (name, more) in servers {
        let file = folder.join(name);
        let mut entry = json!({ "command": "sh", "args": ["-c", TELLING, file] });
        for (key, value) in more.as_object().into_iter().flatten() {
            entry[key] = value.clone();
        }
        config["mcpServers"][name] = entry;
    }
    home.write_config(&config);
    (home, Telling { folder })
}

async fn start(home: Home) -> Product {
    Product::start_with(home, &[], |command| {
        command.envs(VARIABLES);
    })
    .await
}
