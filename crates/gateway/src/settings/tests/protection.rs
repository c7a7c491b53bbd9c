//! Secrets in the file, and files that others can read.

use std::fs;

use mcpproxy_redact::{Mask, OwnSecrets, Redactor};
use serde_json::json;

use super::Scene;
use crate::settings::{Settings, Sources, check_start, effective, load};

fn mask(settings: &Settings) -> Mask {
    Mask::new(settings.secrets())
}

#[test]
fn regions_and_file_names_in_variables_read_as_masked() {
    let config = r#"{ "mcpServers": {
        "a": { "command": "x", "env": { "AWS_REGION": "eu-west-1", "DATA_FILE": "/data/notes.db", "LOG_LEVEL": "debugging",
            "GITHUB_TOKEN": "plainliteral", "DATABASE_URL": "postgres://joe:hunter22@db/x" } },
        "b": { "url": "http://h/", "headers": { "Accept": "application/json", "X-Team": "platform-team", "X-Api-Key": "headerliteral" } },
    } }"#;
    let settings = Scene::with(config).settings();
    let text = "in eu-west-1 /data/notes.db debugging application/json platform-team: ";
    let said = format!("{text}plainliteral hunter22 headerliteral");
    assert_eq!(mask(&settings).apply(&said), format!("{text}*** *** ***"));
    let shown = effective(&settings);
    assert_eq!(
        shown["mcpServers"]["a"]["env"],
        json!({
            "AWS_REGION": "eu-west-1", "DATA_FILE": "/data/notes.db", "LOG_LEVEL": "debugging",
            "GITHUB_TOKEN": "***", "DATABASE_URL": "postgres://joe:***@db/x",
        })
    );
    assert_eq!(
        shown["mcpServers"]["b"]["headers"],
        json!({ "Accept": "application/json", "X-Team": "platform-team", "X-Api-Key": "***" })
    );
}

#[test]
fn references_are_secrets_under_any_name_but_numbers_and_short_values_do_not_shred_text() {
    let config = r#"{ "mcpServers": { "a": { "command": "x", "env": {
        "AWS_REGION": "${env:REGION}", "TIMEOUT_MS": "${env:TIMEOUT}", "FLAG": "${env:FLAG}", "MODE": "${env:MODE}",
        "PIN_SECRET": "${env:PIN}" } } } }"#;
    let scene = Scene::with(config)
        .variable("REGION", "eu-west-1")
        .variable("TIMEOUT", "300000")
        .variable("FLAG", "true")
        .variable("MODE", "production")
        .variable("PIN", "48151623");
    let settings = scene.settings();
    assert_eq!(
        mask(&settings).apply("eu-west-1 took 300000 ms, true in production, 48151623"),
        "*** took 300000 ms, true in production, ***"
    );
    let shown = effective(&settings)["mcpServers"]["a"]["env"].clone();
    for (name, value) in shown.as_object().unwrap() {
        assert_eq!(value, "***", "{name}");
    }
}

#[test]
fn credentials_written_into_arguments_and_addresses_were_shown() {
    let token = ["mcp", "p_", &"aB3-_".repeat(9)].concat();
    let config = json!({ "mcpServers": {
        "a": { "command": "x", "args": ["--api-key=first-literal", "--token", "second-literal", "--region", "eu-west-1", token] },
        "b": { "url": "https://third-literal@h/mcp?key=fourth-literal&region=eu-west-1" },
    } });
    let settings = Scene::with(&config.to_string()).settings();
    let shown = effective(&settings);
    assert_eq!(
        shown["mcpServers"]["a"]["args"],
        json!([
            "--api-key=***",
            "--token",
            "***",
            "--region",
            "eu-west-1",
            "***"
        ])
    );
    assert_eq!(
        shown["mcpServers"]["b"]["url"],
        "https://***@h/mcp?key=***&region=eu-west-1"
    );
    let redactor = Redactor::new(settings.secrets());
    for secret in ["first", "second", "third", "fourth"] {
        let text = format!("a {secret}-literal b");
        assert_eq!(redactor.text(&text, &OwnSecrets::none()), "a *** b");
    }
    let debug = format!("{settings:?}");
    assert!(
        !debug.contains("-literal") && !debug.contains(&token),
        "{debug}"
    );
}

#[test]
fn secrets_in_arguments_were_in_the_list_of_processes_without_a_warning() {
    let config = r#"{ "mcpServers": { "a": { "command": "x", "args": ["--token", "literal-value", "--key=${env:KEY}", "/data"] } } }"#;
    let settings = Scene::with(config).variable("KEY", "some-key").settings();
    let warned: Vec<&str> = settings
        .warnings
        .iter()
        .filter_map(|one| one.split_once(": ").map(|(place, _)| place))
        .collect();
    assert_eq!(warned, ["mcpServers.a.args[1]", "mcpServers.a.args[2]"]);
    assert!(settings.warnings[0].contains("'env'"));
    assert!(!settings.warnings.concat().contains("literal-value"));
}

#[test]
fn files_with_secrets_that_others_can_read_were_not_warned_about() {
    let config =
        r#"{ "mcpServers": { "a": { "command": "x", "env": { "TOKEN": "${file:token}" } } } }"#;
    let scene = Scene::with(config);
    scene.write("token", "the-token");
    assert_eq!(scene.settings().warnings, [""; 0]);
    for mode in [0o644, 0o640, 0o602] {
        scene.set_mode("token", mode);
        let warnings = scene.settings().warnings;
        let command = format!("`chmod 600 {}`", scene.path("token").display());
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with("mcpServers.a.env.TOKEN: file 'token' "));
        assert!(warnings[0].ends_with(&command), "{warnings:?}");
    }
}

#[test]
fn a_configuration_with_secrets_that_others_can_read_was_not_warned_about() {
    let check = |config: &str, expected: usize| {
        let scene = Scene::with(config).variable("KEY", "some-key-value");
        assert_eq!(scene.settings().warnings.len(), 0, "{config}");
        scene.set_mode("mcp_config.json", 0o644);
        let warnings = scene.settings().warnings;
        assert_eq!(warnings.len(), expected, "{config}: {warnings:?}");
        let command = format!("`chmod 600 {}`", scene.path("mcp_config.json").display());
        assert!(
            warnings.iter().all(|one| one.contains(&command)),
            "{warnings:?}"
        );
    };
    check(r#"{ "api_key": "some-literal-key" }"#, 1);
    check(
        r#"{ "store": { "url": "postgres://u:some-password@h/d" } }"#,
        1,
    );
    check(
        r#"{ "mcpServers": { "a": { "command": "x", "env": { "TOKEN": "some-literal" } } } }"#,
        1,
    );
    check(r#"{ "api_key": "${env:KEY}" }"#, 0);
    check(
        r#"{ "store": { "url": "postgres://db.example.org/d" } }"#,
        0,
    );
    check(
        r#"{ "mcpServers": { "a": { "command": "x", "env": { "TOKEN": "${env:KEY}", "AWS_REGION": "eu-west-1" } } } }"#,
        0,
    );
    check("{}", 0);
}

#[test]
fn a_file_that_anybody_could_change_was_taken_up_without_a_word() {
    let scene = Scene::with(r#"{ "mcpServers": {} }"#);
    let folder = scene.path("open");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("c.json");
    let command = r#"{ "mcpServers": { "a": { "command": "x", "envFile": "v.env" } } }"#;
    fs::write(&file, command).unwrap();
    fs::write(folder.join("v.env"), "A=1").unwrap();
    let sources = Sources {
        config: Some(file),
        ..scene.sources.clone()
    };
    let check = |of_folder: u32, of_config: u32, of_variables: u32| {
        scene.set_mode("open", of_folder);
        scene.set_mode("open/c.json", of_config);
        scene.set_mode("open/v.env", of_variables);
        let settings = load(&sources).unwrap();
        let problems = settings.servers[0].problems.len();
        (check_start(&settings, None).is_ok(), problems)
    };
    assert_eq!(check(0o755, 0o644, 0o600), (true, 0));
    assert_eq!(check(0o755, 0o664, 0o600), (true, 0), "a group of its own");
    assert_eq!(check(0o755, 0o666, 0o600), (false, 0));
    assert_eq!(
        check(0o700, 0o666, 0o666),
        (true, 0),
        "nobody else gets there"
    );
    assert_eq!(check(0o777, 0o644, 0o600), (false, 1), "it can be replaced");
    assert_eq!(check(0o1777, 0o644, 0o600), (true, 0));
    assert_eq!(check(0o755, 0o644, 0o666), (true, 1));
}

#[test]
fn a_pasted_entry_sent_the_key_of_the_gateway_away() {
    let config = r#"{ "mcpServers": { "a": { "url": "https://h/", "headers": { "A": "${file:api_key}", "B": "${file:./secrets/x}", "C": "${env:MCPPROXY_API_KEY}", "D": "${file:mcp_config.json}" } } } }"#;
    let scene = Scene::with(config).variable("MCPPROXY_API_KEY", "the-key-of-the-gateway");
    scene.write("api_key", "the-key-of-the-gateway");
    fs::create_dir(scene.path("secrets")).unwrap();
    scene.write("secrets/x", "another secret");
    let server = scene.settings().servers.remove(0);
    assert_eq!(server.problems.len(), 4, "{:?}", server.problems);
    for problem in &server.problems {
        assert!(
            problem.contains("belongs to the gateway itself"),
            "{problem}"
        );
    }
    assert!(!format!("{server:?}").contains("the-key-of"));
}

#[test]
fn a_default_beside_a_reference_that_leads_nowhere_was_shown() {
    let literal = "sk-proj-0123456789abcdefghij";
    let config = format!(
        r#"{{ "mcpServers": {{ "a": {{ "command": "x", "env": {{ "API_KEY": "${{NOT_SET}}${{OTHER:-{literal}}}" }} }} }} }}"#
    );
    let settings = Scene::with(&config).settings();
    assert_eq!(settings.servers[0].problems.len(), 1);
    let shown = format!("{}{settings:?}", effective(&settings));
    assert!(!shown.contains(literal), "{shown}");
    let known: Vec<String> = settings.secrets().collect();
    assert!(known.iter().any(|one| one == literal), "{known:?}");
}

#[test]
fn the_number_of_warnings_is_bounded() {
    let arguments: Vec<String> = (0..1000)
        .map(|one| format!("--token=literal-{one}"))
        .collect();
    let config = json!({ "mcpServers": { "a": { "command": "x", "args": arguments } } });
    let warnings = Scene::with(&config.to_string()).settings().warnings;
    assert_eq!(warnings.len(), 51);
    assert_eq!(warnings[50], "… and more warnings");
}

#[test]
fn a_file_was_called_valid_that_the_start_refuses() {
    let refused = |config: &str| {
        let settings = Scene::with(config).settings();
        check_start(&settings, None).unwrap_err().to_string()
    };
    let said = refused(r#"{ "listen": "0.0.0.0:8080" }"#);
    assert!(said.contains("allow_plain_http"), "{said}");
    let said = refused(r#"{ "listen": "0.0.0.0:8080", "allow_plain_http": true, "api_key": "a" }"#);
    assert!(said.contains("24 characters"), "{said}");
    let scene = Scene::with(r#"{ "api_key": "a" }"#);
    assert!(check_start(&scene.settings(), None).is_ok());
    let mut running = scene.settings();
    running.listen = "0.0.0.0:8080".parse().unwrap();
    assert!(
        check_start(&scene.settings(), Some(&running)).is_err(),
        "it listens there already"
    );
}

#[test]
fn a_key_file_that_is_short_or_open_stops_the_start_and_none_is_made() {
    let config = r#"{ "listen": "0.0.0.0:8080", "allow_plain_http": true }"#;
    let scene = Scene::with(config);
    assert!(check_start(&scene.settings(), None).is_ok());
    assert!(!scene.path("api_key").exists());
    scene.write("api_key", &"k".repeat(23));
    assert!(check_start(&scene.settings(), None).is_err());
    scene.write("api_key", &"k".repeat(24));
    assert!(check_start(&scene.settings(), None).is_ok());
    scene.set_mode("api_key", 0o644);
    let said = check_start(&scene.settings(), None)
        .unwrap_err()
        .to_string();
    assert!(said.contains("chmod 600"), "{said}");
    fs::remove_file(scene.path("api_key")).unwrap();
    std::os::unix::fs::symlink("elsewhere", scene.path("state.db")).unwrap();
    let said = check_start(&scene.settings(), None)
        .unwrap_err()
        .to_string();
    assert!(said.contains("symbolic link"), "{said}");
}

#[test]
fn a_server_could_be_called_like_the_gateway_in_capitals() {
    for name in ["mcpproxy", "MCPPROXY", "McpProxy"] {
        for config in [
            json!({ "mcpServers": { name: { "command": "x" } } }),
            json!({ "mcpServers": [{ "name": name, "command": "x" }] }),
        ] {
            let settings = Scene::with(&config.to_string()).settings();
            assert_eq!(*settings.servers[0].name, format!("{name}-2"));
            let called = format!("the server is called '{name}-2' here");
            assert!(settings.warnings[0].contains(&called));
        }
    }
}
