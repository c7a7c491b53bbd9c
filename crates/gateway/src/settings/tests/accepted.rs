//! Files that are allowed, and what they mean.

use std::time::Duration;

use mcpproxy_policy::{Mode, Rules, Unannotated};
use mcpproxy_upstream::{AllVariables, InheritEnv, ProtocolSetting};
use serde_json::{Value, json};

use super::Scene;
use crate::settings::rules::{KeyRule, Section};
use crate::settings::{
    ActivitySettings, ArgumentCheck, Detail, DiscoverySettings, Durability, ProxiedHints, Secret,
    SettingText, Settings, StoreAddress, ToolRateLimit, Trust, effective,
};

/// A file with every key in it, but for `tls`, which needs files of its own.
pub(super) const EVERYTHING: &str = r#"{
  "$schema": "./mcp_config.schema.json",
  "listen": "0.0.0.0:9000",
  "api_key": "configured-key-of-length",
  "allow_plain_http": true, // a comment
  "starts_at_once": 3,
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://example.com/mcp",
      "headers": { "Authorization": "Bearer abcdefgh" },
      "trust": "auto", "protocol": "modern",
    },
    "files": {
      "type": "stdio", "command": "npx", "args": ["-y", "server", "/data"],
      "env": { "LEVEL": "quiet-please", "API_KEY": "literal-key" }, "working_dir": "/srv",
      "enabled": false, "quarantined": true,
      "start_timeout": "90s", "timeout": "1m 30s", "max_concurrent": 4, "idle_stop": "10m",
      "coerce": true, "check_arguments": "lenient",
      "tools": {
        "write_file": {
          "enabled": false,
          "annotations": { "title": "Write", "readOnlyHint": false, "destructiveHint": true,
                           "idempotentHint": true, "openWorldHint": false },
          "rate_limit": { "max_calls": 10, "window_ms": 1000 },
        },
        "read_file": {},
      },
    },
  },
  "endpoints": { "all": false, "server": false },
  "intent_declaration": { "mode": "inferred", "strict_server_validation": false, "unannotated": "at_least_write" },
  "discovery": { "limit": 50, "detail": "compact", "semantic": false },
  "activity": { "retention_days": 1, "max_payload_bytes": 1024, "durability": "balanced" },
  "store": { "url": "postgres://user:password@db/mcpproxy" },
  "input_timeout": "90s", "coerce": false,
  "hints": { "proxied": "content" }, /* and another */
}"#;

#[test]
fn no_file_means_the_defaults() {
    let settings = Scene::empty().settings();
    assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.api_key, None);
    assert!(!settings.allow_plain_http);
    assert!(settings.servers.is_empty());
    assert_eq!(settings.rules(), Rules::default());
    let discovery = DiscoverySettings {
        limit: 5,
        detail: Detail::Auto,
        semantic: true,
    };
    assert_eq!(settings.discovery, discovery);
    let activity = ActivitySettings {
        retention_days: 90,
        max_records: None,
        max_payload_bytes: 65_536,
        durability: Durability::Strict,
    };
    assert_eq!(settings.activity, activity);
    assert_eq!(settings.store.url, StoreAddress::Sqlite);
    assert_eq!(settings.hints.proxied, ProxiedHints::Meta);
    assert_eq!(settings.input_timeout, Duration::from_mins(5));
    assert_eq!(settings.starts_at_once, None);
    assert!(settings.coerce);
}

#[test]
fn an_empty_object_means_the_defaults() {
    let (with, without) = (Scene::with("{}"), Scene::empty());
    assert_eq!(effective(&with.settings()), effective(&without.settings()));
}

#[test]
fn every_global_key_is_used() {
    let settings = Scene::with(EVERYTHING).settings();
    assert_eq!(settings.listen.to_string(), "0.0.0.0:9000");
    assert_eq!(
        settings.api_key,
        Some(Secret::new("configured-key-of-length"))
    );
    assert!(settings.allow_plain_http);
    assert!(!settings.endpoints.all && !settings.endpoints.server);
    let rules = Rules {
        mode: Mode::Inferred,
        strict_server_validation: false,
        unannotated: Unannotated::AtLeastWrite,
    };
    assert_eq!(settings.rules(), rules);
    assert_eq!(settings.discovery.limit, 50);
    assert_eq!(settings.discovery.detail, Detail::Compact);
    assert!(!settings.discovery.semantic);
    assert_eq!(settings.activity.retention_days, 1);
    assert_eq!(settings.activity.max_payload_bytes, 1024);
    assert_eq!(settings.activity.durability, Durability::Balanced);
    let address = Secret::new("postgres://user:password@db/mcpproxy");
    assert_eq!(settings.store.url, StoreAddress::Postgres(address));
    assert_eq!(settings.hints.proxied, ProxiedHints::Content);
    assert_eq!(settings.input_timeout, Duration::from_secs(90));
    assert_eq!(settings.starts_at_once, Some(3));
    assert!(!settings.coerce);
}

#[test]
fn every_key_of_a_server_is_used() {
    let settings = Scene::with(EVERYTHING).settings();
    let [github, files] = settings.servers.as_slice() else {
        panic!("two servers in the order of the file");
    };
    assert_eq!((&*github.name, &*files.name), ("github", "files"));
    let plain = |text: &str| SettingText::Plain(text.into());
    assert_eq!(github.url, Some(plain("https://example.com/mcp")));
    let secret = |text: &str| {
        SettingText::Secret(Secret {
            value: text.to_owned(),
            parts: vec![text.to_owned()],
        })
    };
    let header = ("Authorization".into(), secret("Bearer abcdefgh"));
    assert_eq!(github.headers, [header]);
    assert_eq!((github.enabled, github.quarantined), (true, false));
    assert_eq!(github.timeout, Duration::from_secs(30));
    assert_eq!(github.start_timeout, Duration::from_mins(5));
    assert_eq!(files.start_timeout, Duration::from_secs(90));
    assert_eq!((github.max_concurrent, github.idle_stop), (64, None));
    assert_eq!((github.trust, files.trust), (Trust::Auto, Trust::Changes));
    let protocols = (github.protocol, files.protocol);
    assert_eq!(protocols, (ProtocolSetting::Modern, ProtocolSetting::Auto));
    assert_eq!((github.coerce, files.coerce), (None, Some(true)));
    let checks = (github.check_arguments, files.check_arguments);
    assert_eq!(checks, (ArgumentCheck::Auto, ArgumentCheck::Lenient));

    assert_eq!(files.command, Some(plain("npx")));
    assert_eq!(files.args, ["-y", "server", "/data"].map(plain));
    let variables = [
        ("LEVEL", plain("quiet-please")),
        ("API_KEY", secret("literal-key")),
    ];
    assert_eq!(
        files.env,
        variables.map(|(name, value)| (name.to_owned(), value))
    );
    assert_eq!(files.working_dir, Some(plain("/srv")));
    assert_eq!((files.enabled, files.quarantined), (false, true));
    assert_eq!(files.timeout, Duration::from_secs(90));
    assert_eq!(files.max_concurrent, 4);
    assert_eq!(files.idle_stop, Some(Duration::from_mins(10)));
}

#[test]
fn every_key_of_a_tool_is_used() {
    let settings = Scene::with(EVERYTHING).settings();
    let [(read_name, read), (write_name, write)] = settings.servers[1].tools.as_slice() else {
        panic!("two tools in the order of their names");
    };
    assert_eq!((&**read_name, &**write_name), ("read_file", "write_file"));
    let annotations = json!({ "title": "Write", "readOnlyHint": false, "destructiveHint": true,
                              "idempotentHint": true, "openWorldHint": false });
    assert_eq!(Value::Object(write.annotations.to_map()), annotations);
    assert!(!write.enabled);
    let limit = ToolRateLimit {
        max_calls: 10,
        window: Duration::from_secs(1),
    };
    assert_eq!(write.rate_limit, Some(limit));
    assert!(read.annotations.to_map().is_empty() && read.enabled && read.rate_limit.is_none());
}

#[test]
fn both_forms_of_servers_mean_the_same() {
    let map = r#"{ "mcpServers": { "b": { "command": "x" }, "a": { "url": "http://h/mcp" } } }"#;
    let array = r#"{ "mcpServers": [{ "name": "b", "command": "x" }, { "name": "a", "url": "http://h/mcp" }] }"#;
    let (map, array) = (Scene::with(map).settings(), Scene::with(array).settings());
    assert_eq!(map.servers, array.servers);
    assert_eq!(map.servers.len(), 2);
}

#[test]
fn a_change_of_one_server_shows_in_that_server_only() {
    let scene = Scene::with(EVERYTHING);
    let before = scene.settings();
    scene.write(
        "mcp_config.json",
        &EVERYTHING.replace("quiet-please", "loud"),
    );
    let after = scene.settings();
    assert_eq!(before.servers[0], after.servers[0]);
    assert_ne!(before.servers[1], after.servers[1]);
}

#[test]
fn addresses_to_listen_on() {
    for (written, meant) in [
        ("127.0.0.1:0", "127.0.0.1:0"),
        ("[::1]:80", "[::1]:80"),
        ("localhost:8080", "127.0.0.1:8080"),
    ] {
        let settings = Scene::with(&format!(r#"{{ "listen": "{written}" }}"#)).settings();
        assert_eq!(settings.listen.to_string(), meant);
    }
}

#[test]
fn a_relative_working_dir_starts_at_the_folder_of_the_file() {
    let scene =
        Scene::with(r#"{ "mcpServers": { "a": { "command": "x", "working_dir": "sub/b" } } }"#);
    let settings = scene.settings();
    let working_dir = &settings.servers[0].working_dir;
    let expected = scene.path("sub/b");
    assert_eq!(
        working_dir.as_ref().map(SettingText::expose),
        expected.to_str()
    );
}

#[test]
fn what_is_shown_has_every_value_and_no_secret() {
    let settings = Scene::with(EVERYTHING).settings();
    let shown = effective(&settings);
    assert_eq!(shown["api_key"], "***");
    assert_eq!(
        shown["mcpServers"]["github"]["headers"]["Authorization"],
        "***"
    );
    assert_eq!(shown["mcpServers"]["files"]["timeout"], "1m 30s");
    assert_eq!(shown["store"]["url"], "***");
    let (shown, debug) = (shown.to_string(), format!("{settings:?}"));
    assert_eq!(
        settings.servers[1].env[0].1.expose(),
        "quiet-please",
        "no secret, so it is shown"
    );
    assert!(shown.contains("quiet-please"));
    for secret in ["configured-key", "abcdefgh", "literal-key", "password"] {
        assert!(!shown.contains(secret), "{shown}");
        assert!(!debug.contains(secret), "{debug}");
    }
}

#[test]
fn what_is_shown_is_a_valid_file_with_the_same_meaning() {
    // Without the values that are hidden, because `***` is not an address.
    let file = EVERYTHING.replace("postgres://user:password@db/mcpproxy", "sqlite");
    let shown = effective(&Scene::with(&file).settings());
    let again = effective(&Scene::with(&shown.to_string()).settings());
    assert_eq!(shown, again);
}

/// Values at the edges of a rule: every word of a choice, and both bounds of a number.
fn edges(rule: &KeyRule) -> Vec<Value> {
    match rule {
        KeyRule::Flag => vec![json!(false), json!(true)],
        KeyRule::Choice(words) => words.iter().map(|word| json!(word)).collect(),
        KeyRule::Whole(least, most) | KeyRule::Milliseconds(least, most) => {
            vec![json!(least), json!(most)]
        }
        KeyRule::Span(least, most) => [*least, *most]
            .map(|span| json!(humantime::format_duration(span).to_string()))
            .to_vec(),
        KeyRule::List(item) => edges(item).into_iter().map(|item| json!([item])).collect(),
        KeyRule::Entries(_, item) => {
            let entry = |item| json!({ "any": item });
            edges(item).into_iter().map(entry).collect()
        }
        KeyRule::Nested(section) => edges_of(section, &json!({})),
        KeyRule::Servers(section) => {
            let servers = edges_of(section, &json!({ "command": "any" }));
            let servers = servers.into_iter().filter(|one| one.get("type").is_none());
            servers.map(|one| json!({ "any": one })).collect()
        }
        KeyRule::Unkept(rule) => edges(rule),
        KeyRule::ListOrWord(_, word) => vec![json!([]), json!(word)],
        KeyRule::AnyString | KeyRule::Plain(_) | KeyRule::ServerName | KeyRule::Text(..) => {
            Vec::new()
        }
    }
}

/// Sections with one key at an edge, beside those that every such section needs.
fn edges_of(section: &Section, needed: &Value) -> Vec<Value> {
    let mut needed = needed.clone();
    for key in section.keys.iter().filter(|key| key.default.is_none()) {
        // A string has no edges; any will do.
        let edge = edges(&key.rule).into_iter().next();
        needed[key.name] = edge.unwrap_or_else(|| json!("any"));
    }
    let keys = section.keys.iter().flat_map(|key| {
        let with = |value| {
            let mut section = needed.clone();
            section[key.name] = value;
            section
        };
        edges(&key.rule).into_iter().map(with).collect::<Vec<_>>()
    });
    keys.collect()
}

#[test]
fn whatever_a_rule_admits_becomes_a_setting() {
    let files = edges_of(&Settings::SECTION, &json!({}));
    assert!(files.len() > 50, "{}", files.len());
    for file in files {
        let settings = Scene::with(&file.to_string()).settings();
        let problems = settings.servers.iter().flat_map(|one| &one.problems);
        assert_eq!(problems.collect::<Vec<_>>(), [""; 0], "{file}");
    }
}

#[test]
fn a_server_inherits_named_variables_or_all_but_our_own() {
    let inherited = |value: &str| {
        let server = format!(r#"{{ "command": "x", "inherit_env": {value} }}"#);
        let scene = Scene::with(&format!(r#"{{ "mcpServers": {{ "a": {server} }} }}"#));
        let settings = scene.settings();
        let shown = effective(&settings)["mcpServers"]["a"]["inherit_env"].clone();
        (settings.servers[0].clone(), shown)
    };
    for (value, expected) in [
        (
            r#"["KUBECONFIG", "${HOME}"]"#,
            InheritEnv::Named(vec!["KUBECONFIG".into(), "${HOME}".into()]),
        ),
        ("[]", InheritEnv::default()),
        (r#""all""#, InheritEnv::All(AllVariables::All)),
    ] {
        let (server, shown) = inherited(value);
        assert_eq!(server.problem(), None, "{value}");
        assert_eq!(server.inherit_env, expected, "{value}");
        assert_eq!(shown, serde_json::from_str::<Value>(value).unwrap());
    }
    for value in [
        r#""ALL""#,
        r#"["MCPPROXY_API_KEY"]"#,
        r#"["mcpproxy_token"]"#,
        r#"["a=b"]"#,
        r#"[""]"#,
        "[1]",
        "true",
    ] {
        let (server, _) = inherited(value);
        let problem = server.problem().expect("it cannot be used");
        assert!(problem.contains("inherit_env"), "{value}: {problem}");
        assert_eq!(server.inherit_env, InheritEnv::default(), "{value}");
    }
}
