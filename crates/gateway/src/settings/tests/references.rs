//! References: what they become, and what happens when they lead nowhere.

use std::fs;

use super::Scene;
use crate::settings::{Secret, SettingText, effective, secret_files};

/// The one argument of the one server, or the server's problem.
#[track_caller]
fn check(argument: &str, expected: Result<&str, &str>) {
    let argument = serde_json::json!(argument);
    let config =
        format!(r#"{{ "mcpServers": {{ "a": {{ "command": "x", "args": [{argument}] }} }} }}"#);
    let scene = Scene::with(&config)
        .variable("TOKEN", "t0ken-value")
        .variable("EMPTY", "");
    scene.write("token.txt", "from-file\r\n\n");
    scene.write("large.txt", &"x".repeat(64 * 1024 + 1));
    fs::write(scene.path("binary.txt"), b"\xff\xfe").unwrap();
    let server = scene.settings().servers.remove(0);
    match expected {
        Ok(value) => {
            assert_eq!(server.problems, Vec::<String>::new());
            assert_eq!(server.args[0].expose(), value);
        }
        Err(problem) => {
            let problem = format!("mcp_config.json:1:51: mcpServers.a.args[0]: {problem}");
            assert_eq!(server.problems, [problem]);
        }
    }
}

#[test]
fn references_are_replaced() {
    check("plain", Ok("plain"));
    check("", Ok(""));
    check("${env:TOKEN}", Ok("t0ken-value"));
    check("${env:EMPTY}", Ok(""));
    check("Bearer ${env:TOKEN}!", Ok("Bearer t0ken-value!"));
    check("${env:TOKEN}${env:TOKEN}", Ok("t0ken-valuet0ken-value"));
    check("${file:token.txt}", Ok("from-file"));
    check(
        "${file:./token.txt}-${env:TOKEN}",
        Ok("from-file-t0ken-value"),
    );
    check("$${env:TOKEN}", Ok("${env:TOKEN}"));
    check("$${env:TOKEN} ${env:TOKEN}", Ok("${env:TOKEN} t0ken-value"));
    check("costs $5 {a}", Ok("costs $5 {a}"));
    check("${TOKEN}", Ok("t0ken-value"));
    check("${TOKEN:-other}", Ok("t0ken-value"));
    check("${NONE:-other}/x", Ok("other/x"));
    check("${EMPTY:-other}", Ok("other"));
    check("${NONE:-}", Ok(""));
    check("${NONE:-https://h:1/}", Ok("https://h:1/"));
    check("$TOKEN", Ok("$TOKEN"));
}

#[test]
fn references_that_lead_nowhere_are_the_problem_of_their_server() {
    check("${env:NONE}", Err("environment variable NONE is not set"));
    check("${NONE}", Err("environment variable NONE is not set"));
    check("${file:none.txt}", Err("file 'none.txt' does not exist"));
    check("${file:.}", Err("file '.' is not a regular file"));
    check(
        "${file:large.txt}",
        Err("file 'large.txt' is larger than the 64 KiB allowed"),
    );
    check(
        "${file:binary.txt}",
        Err("file 'binary.txt' is not valid UTF-8"),
    );
    check(
        "${input:key}",
        Err(
            "only a client knows what ${input:key} is, write ${env:NAME}, ${file:PATH} or ${secret:NAME}",
        ),
    );
    for reference in ["${secret:a.TOKEN}", "${keyring:a.TOKEN}"] {
        let told = "the secret a.TOKEN is not set: `mcpproxy secrets set a.TOKEN`";
        check(reference, Err(told));
    }
}

#[test]
fn secrets_of_the_data_folder_are_replaced_and_hidden() {
    let config = r#"{ "mcpServers": {
        "a": { "url": "https://h", "headers": { "X": "Bearer ${secret:a.X}" } },
        "b": { "command": "x", "env": { "Y": "${keyring:b.Y}" } },
    } }"#;
    let scene = Scene::with(config);
    let data_dir = scene.folder.path();
    secret_files::set(data_dir, "a.X", "first-secret-value").unwrap();
    secret_files::set(data_dir, "b.Y", "${env:NONE}").unwrap();
    let settings = scene.settings();
    let [a, b] = &settings.servers[..] else {
        panic!("{settings:?}")
    };
    assert_eq!(a.headers[0].1.expose(), "Bearer first-secret-value");
    assert_eq!(
        b.env[0].1.expose(),
        "${env:NONE}",
        "a value holds no references"
    );
    assert!(!format!("{settings:?}").contains("first-secret"));
    assert!(!effective(&settings).to_string().contains("first-secret"));
    let warning =
        "mcpServers.b.env.Y: there is no keyring here: ${keyring:b.Y} is read as ${secret:b.Y}";
    assert_eq!(settings.warnings, [warning]);
}

#[test]
fn a_secret_that_is_kept_or_replaced_is_a_change() {
    let config =
        r#"{ "mcpServers": { "a": { "command": "x", "env": { "Y": "${secret:a.Y}" } } } }"#;
    let scene = Scene::with(config);
    let missing = scene.settings();
    assert!(missing.servers[0].problem().is_some());
    secret_files::set(scene.folder.path(), "a.Y", "one-secret-value").unwrap();
    let kept = scene.settings();
    assert_eq!(kept.servers[0].problem(), None);
    secret_files::set(scene.folder.path(), "a.Y", "another-secret-value").unwrap();
    assert!(kept.servers[0].needs_restart(&scene.settings().servers[0]));
}

#[test]
fn a_broken_server_leaves_the_others_alone_and_names_every_reason() {
    let config = r#"{ "mcpServers": {
        "broken": { "url": "${env:NO_URL}", "headers": { "X": "${env:NO_X}" } },
        "fine": { "command": "${env:COMMAND}", "env": { "A": "${env:VALUE}" }, "working_dir": "${env:FOLDER}" },
    } }"#;
    let scene = Scene::with(config)
        .variable("COMMAND", "run")
        .variable("VALUE", "some value")
        .variable("FOLDER", "/srv");
    let settings = scene.settings();
    assert_eq!(
        settings.servers[0].problem().as_deref(),
        Some(
            "mcp_config.json:2:28: mcpServers.broken.url: environment variable NO_URL is not set; \
             mcp_config.json:2:63: mcpServers.broken.headers.X: environment variable NO_X is not set"
        )
    );
    let fine = &settings.servers[1];
    assert_eq!(fine.problem(), None);
    let exposed = |text: &Option<SettingText>| text.as_ref().map(|text| text.expose().to_owned());
    assert_eq!(exposed(&fine.command).as_deref(), Some("run"));
    assert_eq!(fine.env[0].1.expose(), "some value");
    assert_eq!(exposed(&fine.working_dir).as_deref(), Some("/srv"));
}

#[test]
fn what_a_reference_gives_is_checked_like_what_is_written() {
    let config = r#"{ "mcpServers": {
        "a": { "url": "${env:BAD}" },
        "b": { "url": "http://h/", "headers": { "X": "${env:LINES}" } },
        "c": { "command": "${env:EMPTY}" },
    } }"#;
    let scene = Scene::with(config)
        .variable("BAD", "secret-but-no-address")
        .variable("LINES", "one\ntwo")
        .variable("EMPTY", "");
    let problems: Vec<String> = scene
        .settings()
        .servers
        .into_iter()
        .flat_map(|server| server.problems)
        .collect();
    let but = "its references give a value that is not allowed, allowed";
    assert_eq!(
        problems,
        [
            format!(
                "mcp_config.json:2:23: mcpServers.a.url: {but}: an address that begins with http:// or https://"
            ),
            format!(
                "mcp_config.json:3:54: mcpServers.b.headers.X: {but}: a string of visible ASCII characters and spaces"
            ),
            format!(
                "mcp_config.json:4:27: mcpServers.c.command: {but}: a string that is not empty, without a NUL character"
            ),
        ]
    );
}

#[test]
fn an_unset_reference_in_a_global_key_stops_the_start() {
    let config = "{\n  \"api_key\": \"${env:KEY}\",\n  \"listen\": \"${env:WHERE}\",\n  \"store\": { \"url\": \"${file:db}\" } }";
    let error = Scene::with(config).load().unwrap_err().to_string();
    assert_eq!(
        error,
        "mcp_config.json:2:14: api_key: environment variable KEY is not set\n\
         mcp_config.json:3:13: listen: environment variable WHERE is not set\n\
         mcp_config.json:4:21: store.url: file 'db' does not exist"
    );
    let scene = Scene::with(config)
        .variable("KEY", "the-key")
        .variable("WHERE", "127.0.0.1:7");
    scene.write("db", "postgres://u:p@h/d\n");
    let settings = scene.settings();
    assert_eq!(settings.listen.port(), 7);
    assert_eq!(
        settings.api_key.as_ref().map(Secret::expose),
        Some("the-key")
    );
}

#[test]
fn every_secret_is_known_for_masking_and_none_is_printed() {
    let config = r#"{ "api_key": "${env:KEY}", "mcpServers": {
        "a": { "command": "x", "args": ["--token=${env:ARG}", "ordinary"], "env": { "E_KEY": "env-literal" } },
        "b": { "url": "http://h/${env:PATH_PART}", "headers": { "Authorization": "Bearer ${env:HEADER}", "X-Auth": "header-literal", "Accept": "application/json" } },
    } }"#;
    let scene = Scene::with(config)
        .variable("KEY", "key-value")
        .variable("ARG", "arg-value")
        .variable("PATH_PART", "path-value")
        .variable("HEADER", "header-value");
    let settings = scene.settings();
    let secrets: Vec<String> = settings.secrets().collect();
    let debug = format!("{settings:?}");
    for secret in [
        "key-value",
        "arg-value",
        "env-literal",
        "path-value",
        "header-value",
        "header-literal",
    ] {
        assert!(
            secrets.iter().any(|known| known == secret),
            "{secret} is not masked"
        );
        assert!(!debug.contains(secret), "{secret} is printed: {debug}");
    }
    assert!(
        !secrets
            .iter()
            .any(|known| known == "ordinary" || known == "application/json")
    );
    assert!(debug.contains("ordinary"));
}
