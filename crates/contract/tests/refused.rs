//! What a type refuses must not compile, and for the reason we give.
//!
//! Each file in `refused/` spoils one thing and says after `//~` what the compiler must say about
//! it. The programs are built for real, constants included; comparing whole texts of the compiler
//! would tie the tests to one version of it.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The case that spoils nothing: it shows that the others fail for what they change.
const GOOD: &str = "a_tool_that_keeps_the_contract";

#[test]
fn what_a_type_refuses_does_not_compile() {
    let cases = cases();
    assert!(cases.len() > 15, "the cases are found");
    let said = build(&cases);
    for (name, expected) in &cases {
        let errors = said.get(name).map(Vec::as_slice).unwrap_or_default();
        match expected {
            None => assert!(errors.is_empty(), "{name} must compile: {errors:#?}"),
            Some(expected) => assert!(
                errors.iter().any(|error| error.contains(expected)),
                "{name} must be refused with '{expected}', the compiler said: {errors:#?}"
            ),
        }
    }
}

/// Every case with what the compiler must say.
fn cases() -> BTreeMap<String, Option<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refused");
    let mut cases = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name == "shared" {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = text.lines().find_map(|line| line.strip_prefix("//~ "));
        assert_eq!(
            expected.is_none(),
            name == GOOD,
            "{name} says what it expects"
        );
        cases.insert(name, expected.map(str::to_owned));
    }
    cases
}

/// Builds all cases; what the compiler says of each, texts beside the code included.
fn build(cases: &BTreeMap<String, Option<String>>) -> BTreeMap<String, Vec<String>> {
    let project = project(cases);
    let output = Command::new(env!("CARGO"))
        .args([
            "build",
            "--bins",
            "--keep-going",
            "--message-format=json",
            "--quiet",
        ])
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", project.join("target"))
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut built = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        let target = message["target"]["name"].as_str().unwrap_or_default();
        match message["reason"].as_str() {
            Some("compiler-artifact") => built.push(target.to_owned()),
            Some("compiler-message") if message["message"]["level"] == "error" => {
                let text = message["message"]["rendered"].as_str().unwrap_or_default();
                said.entry(target.to_owned())
                    .or_default()
                    .push(text.to_owned());
            }
            _ => {}
        }
    }
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(
        built.iter().any(|name| name == GOOD),
        "the build works at all: {log}"
    );
    said
}

/// A project of its own, with the versions of this workspace.
fn project(cases: &BTreeMap<String, Option<String>>) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).join("refused");
    std::fs::create_dir_all(&project).unwrap();
    let workspace: PathBuf = here.join("../..");
    let mut manifest = format!(
        "[package]\nname = \"refused\"\nedition = \"2024\"\npublish = false\n[workspace]\n\
         [dependencies]\nmcpproxy-contract = {{ path = '{}' }}\n",
        here.display()
    );
    for dependency in ["garde", "schemars", "serde", "serde_json"] {
        manifest.push_str(&format!("{dependency} = {{ version = \"*\" }}\n"));
    }
    manifest = manifest.replace(
        "serde = { version = \"*\" }",
        "serde = { version = \"*\", features = [\"derive\"] }",
    );
    for name in cases.keys() {
        let path = here.join(format!("tests/refused/{name}.rs"));
        let path = path.display();
        manifest.push_str(&format!("[[bin]]\nname = '{name}'\npath = '{path}'\n"));
    }
    std::fs::write(project.join("Cargo.toml"), manifest).unwrap();
    std::fs::copy(workspace.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    project
}
