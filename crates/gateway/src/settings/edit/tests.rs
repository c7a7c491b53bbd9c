//! Golden texts: what a person wrote stays, to the byte.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Map, Value, json};

use super::apply::apply;
use super::{EditError, Edited, ServerChange};
use crate::settings::{Environment, Sources};

const FILE: &str = r#"// The gateway of the team.
{
    "listen": "127.0.0.1:0", /* any */

    "mcpServers": {
        // Issues and code.
        "github": {
            "url": "https://h.example/mcp", // the hosted one
            "disabled": true,
        },

        /* Files: two folders. */
        // Not the home folder!
        "files": { "command": "npx", "args": ["-y", "files"] }, // ends its line
        "last": { "command": "x" } // no comma
        // "old": { "command": "gone" }
    },
    "discovery": { "limit": 3 },
}
"#;

fn entry(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

#[track_caller]
fn changed(text: &str, name: &str, change: &ServerChange) -> String {
    apply(Some(text), name, change).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The text after a change is the one before with one part replaced.
#[track_caller]
fn check(name: &str, change: &ServerChange, old: &str, new: &str) {
    assert_eq!(FILE.matches(old).count(), 1, "{old}");
    assert_eq!(changed(FILE, name, change), FILE.replace(old, new));
}

fn added() -> ServerChange {
    ServerChange::Add(entry(
        &json!({ "command": "uvx", "args": ["a", "b"], "env": { "A": "1" } }),
    ))
}

#[test]
fn a_server_is_added_and_nothing_else_changes() {
    let new = "        \"last\": { \"command\": \"x\" }, // no comma
        \"new\": {
            \"command\": \"uvx\",
            \"args\": [\"a\", \"b\"],
            \"env\": {
                \"A\": \"1\"
            }
        }
";
    check(
        "new",
        &added(),
        "        \"last\": { \"command\": \"x\" } // no comma\n",
        new,
    );
}

#[test]
fn files_of_every_form_take_a_server() {
    let lines =
        "{\n  \"mcpServers\": {\n    \"new\": {\n      \"url\": \"https://h\"\n    }\n  }\n}\n";
    let add = ServerChange::Add(entry(&json!({ "url": "https://h" })));
    assert_eq!(apply(None, "new", &add).unwrap(), lines);
    for (before, after) in [
        ("{}\n", lines),
        ("{\n  \"mcpServers\": {}\n}\n", lines),
        (
            r#"{"mcpServers":{"a":{"command":"x"}}}"#,
            r#"{"mcpServers":{"a":{"command":"x"}, "new": { "url": "https://h" }}}"#,
        ),
        (
            r#"{"mcpServers":{"a":{"command":"x"},}}"#,
            r#"{"mcpServers":{"a":{"command":"x"}, "new": { "url": "https://h" },}}"#,
        ),
        (
            "{\n\t\"mcpServers\": {\n\t\t// none yet\n\t}\n}",
            "{\n\t\"mcpServers\": {\n\t\t// none yet\n\t\t\"new\": {\n\t\t\t\"url\": \"https://h\"\n\t\t}\n\t}\n}",
        ),
        (
            "{\r\n  \"mcpServers\": {\r\n    \"a\": {}, // x\r\n  }\r\n}",
            "{\r\n  \"mcpServers\": {\r\n    \"a\": {}, // x\r\n    \"new\": {\r\n      \"url\": \"https://h\"\r\n    },\r\n  }\r\n}",
        ),
        (
            "{ \"mcpServers\": [\n  { \"name\": \"a\", \"command\": \"x\" }\n] }",
            "{ \"mcpServers\": [\n  { \"name\": \"a\", \"command\": \"x\" },\n  {\n    \"name\": \"new\",\n    \"url\": \"https://h\"\n  }\n] }",
        ),
        (
            "{\n  \"servers\": {\n    \"a\": {}\n  }\n}",
            "{\n  \"servers\": {\n    \"a\": {},\n    \"new\": {\n      \"url\": \"https://h\"\n    }\n  }\n}",
        ),
    ] {
        assert_eq!(changed(before, "new", &add), after);
        // What was added can be taken back. Only a list that was made for it stays.
        let back = changed(
            after,
            "new",
            &ServerChange::TakeBack(entry(&json!({ "url": "https://h" }))),
        );
        assert!(!back.contains("https://h"), "{back}");
    }
}

#[test]
fn a_removed_server_takes_its_own_comments_along() {
    let remove = &ServerChange::Remove;
    let github = "        // Issues and code.
        \"github\": {
            \"url\": \"https://h.example/mcp\", // the hosted one
            \"disabled\": true,
        },
";
    check("github", remove, github, "");
    let files = "        /* Files: two folders. */
        // Not the home folder!
        \"files\": { \"command\": \"npx\", \"args\": [\"-y\", \"files\"] }, // ends its line
";
    check("files", remove, files, "");
    let last = "}, // ends its line\n        \"last\": { \"command\": \"x\" } // no comma\n";
    check("last", remove, last, "} // ends its line\n");
    for (before, after) in [
        (
            r#"{"mcpServers":{"a":{},"b":{},"c":{}}}"#,
            r#"{"mcpServers":{"a":{},"c":{}}}"#,
        ),
        (
            r#"{"mcpServers":{"a":{},"b":{}}}"#,
            r#"{"mcpServers":{"a":{}}}"#,
        ),
        (
            r#"{"mcpServers":{"b":{},"c":{}}}"#,
            r#"{"mcpServers":{"c":{}}}"#,
        ),
        (r#"{"mcpServers":{"b":{}}}"#, r#"{"mcpServers":{}}"#),
        (
            "{ \"mcpServers\": {\n  \"a\": {}\n, \"b\": {}\n, \"c\": {}\n} }",
            "{ \"mcpServers\": {\n  \"a\": {}\n, \"c\": {}\n} }",
        ),
        (
            "{ \"mcpServers\": {\n  \"a\": {},\n  \"b\": {} } }",
            "{ \"mcpServers\": {\n  \"a\": {}\n } }",
        ),
        (
            "{ \"mcpServers\": [ { \"name\": \"a\" }, { \"name\": \"b\" } ] }",
            "{ \"mcpServers\": [ { \"name\": \"a\" } ] }",
        ),
    ] {
        assert_eq!(changed(before, "b", remove), after);
    }
}

#[test]
fn a_server_is_switched_in_the_words_of_its_entry() {
    let enable = ServerChange::Enable;
    check(
        "github",
        &enable(true),
        "\"disabled\": true",
        "\"disabled\": false",
    );
    assert_eq!(changed(FILE, "github", &enable(false)), FILE);
    assert_eq!(changed(FILE, "files", &enable(true)), FILE);
    check(
        "files",
        &enable(false),
        "\"args\": [\"-y\", \"files\"] }",
        "\"args\": [\"-y\", \"files\"], \"enabled\": false }",
    );
    let both =
        r#"{ "mcpServers": { "a": { "command": "x", "enabled": false, "disabled": true } } }"#;
    let on = both.replace("\"enabled\": false", "\"enabled\": true");
    let on = on.replace("\"disabled\": true", "\"disabled\": false");
    assert_eq!(changed(both, "a", &enable(true)), on);
}

#[test]
fn keys_are_merged_into_an_entry() {
    let merge = |keys: Value| ServerChange::Merge(entry(&keys));
    check(
        "github",
        &merge(json!({ "url": "https://other/mcp", "disabled": null, "headers": { "A": "b" } })),
        "            \"url\": \"https://h.example/mcp\", // the hosted one\n            \"disabled\": true,\n",
        "            \"url\": \"https://other/mcp\", // the hosted one\n            \"headers\": {\n                \"A\": \"b\"\n            },\n",
    );
    let renamed = apply(Some(FILE), "github", &merge(json!({ "name": "x" })));
    assert!(matches!(renamed, Err(EditError::Entry(_))));
}

#[test]
fn names_are_those_of_the_gateway() {
    let file = r#"{ "mcpServers": { "My Server": { "command": "x" } } }"#;
    assert_eq!(
        changed(file, "My-Server", &ServerChange::Remove),
        r#"{ "mcpServers": { } }"#
    );
    let taken = apply(Some(file), "My-Server", &added());
    assert!(matches!(taken, Err(EditError::NameTaken(_))));
    let unknown = apply(Some(file), "My Server", &ServerChange::Remove);
    assert!(matches!(unknown, Err(EditError::UnknownServer(_))));
    let changed = apply(Some(FILE), "files", &ServerChange::TakeBack(Map::new()));
    assert!(matches!(changed, Err(EditError::Changed(_))));
}

#[test]
fn a_server_was_not_removed_because_another_one_gets_its_name() {
    let file = r#"{ "mcpServers": { "a-b": { "command": "x" }, "a b": { "command": "y" } } }"#;
    assert_eq!(
        changed(file, "a-b", &ServerChange::Remove),
        r#"{ "mcpServers": { "a b": { "command": "y" } } }"#
    );
    assert_eq!(
        changed(file, "a-b-2", &ServerChange::Remove),
        r#"{ "mcpServers": { "a-b": { "command": "x" } } }"#
    );
}

/// Entries of both keys are one list, so that a place in it is the name of those that have none.
#[test]
fn entries_without_a_name_have_the_one_that_the_reader_gives_them() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(&folder);
    let file = r#"{ "mcpServers": [{ "command": "a" }], "servers": [{ "command": "b" }, { "command": "c" }] }"#;
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/mcp_config.json"), file).unwrap();
    let settings = crate::settings::load(&sources).unwrap();
    assert_eq!(settings.servers.len(), 3);
    for (server, command) in settings.servers.iter().zip(["a", "b", "c"]) {
        let after = changed(file, &server.name, &ServerChange::Enable(false));
        let old = format!("\"command\": \"{command}\"");
        assert_eq!(
            after,
            file.replace(&old, &format!("{old}, \"enabled\": false"))
        );
        let after = changed(file, &server.name, &ServerChange::Remove);
        assert!(!after.contains(&old), "{after}");
    }
}

/// Whatever the file says is good enough.
fn write(sources: &Sources, name: &str, change: &ServerChange) -> Result<Edited, EditError> {
    super::write(sources, name, change, |_| Ok(()))
}

fn sources(folder: &tempfile::TempDir) -> Sources {
    Sources {
        data_dir: Some(folder.path().join("data")),
        environment: Environment::of_variables::<String, String>([]),
        ..Sources::default()
    }
}

#[test]
fn a_file_keeps_its_mode_and_its_link() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(&folder);
    write(&sources, "one", &added()).unwrap();
    let link = folder.path().join("data/mcp_config.json");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&link), 0o600);
    let real = folder.path().join("real.json");
    fs::rename(&link, &real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o644)).unwrap();
    symlink("../real.json", &link).unwrap();
    let edited = write(&sources, "two", &added()).unwrap();
    assert_eq!(edited.settings.servers.len(), 2);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(mode(&real), 0o644);
    assert_eq!(fs::read_to_string(&real).unwrap(), edited.after);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "no draft is left"
    );
}

#[test]
fn many_that_add_at_once_all_survive() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(&folder);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let sources = &sources;
            scope.spawn(move || write(sources, &format!("server-{number}"), &added()).unwrap());
        }
    });
    let text = fs::read_to_string(folder.path().join("data/mcp_config.json")).unwrap();
    for number in 0..8 {
        assert!(text.contains(&format!("\"server-{number}\"")), "{text}");
    }
}

#[test]
fn a_file_that_is_broken_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(&folder);
    let file = folder.path().join("data/mcp_config.json");
    fs::create_dir(folder.path().join("data")).unwrap();
    for text in ["", "{", "[]", "{ \"listn\": 1 }", "{ \"mcpServers\": 3 }"] {
        fs::write(&file, text).unwrap();
        let refused = write(&sources, "one", &added());
        assert!(
            matches!(refused, Err(EditError::Settings(_))),
            "{text}: {refused:?}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn a_plan_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(&folder);
    let plan = super::planned(&sources, "one", &added(), |_| Ok(())).unwrap();
    assert_eq!(plan.before, None);
    assert!(plan.after.contains("\"one\""));
    assert!(!folder.path().join("data").exists());
}
