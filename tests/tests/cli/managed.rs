//! A data directory whose servers are managed, and what is expected of a command.

use mcpproxy_tests::{Fixture, Home, Ran};
use serde_json::{Value, json};

use crate::PROGRAMS;

pub(crate) const TOOLS: [&str; 2] = [
    r#"{"name":"look","description":"Looks something up","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"run","description":"Runs something","inputSchema":{"type":"object"}}"#,
];

/// A file as a person wrote it. Nothing of it is a server that can be started.
pub(crate) const FILE: &str = r#"{
  // Tests go by words.
  "discovery": { "semantic": false },

  "mcpServers": {
    // Not now.
    "off": { "command": "nothing", "disabled": true } // later
  },
}
"#;

pub(crate) fn fixture() -> Fixture {
    Fixture::new(PROGRAMS).tools(&TOOLS)
}

pub(crate) fn home() -> Home {
    let home = Home::new(PROGRAMS, &json!({}));
    home.write_config_text(FILE);
    home
}

pub(crate) fn file(home: &Home) -> String {
    std::fs::read_to_string(home.config_file()).expect("the configuration can be read")
}

/// Words of `upstream add` for a fixture under this name.
pub(crate) fn add<'a>(name: &'a str, entry: &'a Value, flags: &[&'a str]) -> Vec<&'a str> {
    let words = |value: &'a Value| value.as_str().expect("a fixture has a program");
    let command = [words(&entry["command"]), words(&entry["args"][0])];
    [&["upstream", "add", name], flags, &["--"], &command].concat()
}

#[track_caller]
pub(crate) fn check(ran: &Ran, code: i32, told: &str) {
    assert_eq!(ran.code, code, "{ran:?}");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains(told), "{told}: {ran:?}");
    if code != 0 {
        assert!(ran.stdout.is_empty(), "{ran:?}");
    }
}
