//! Documents are wrapped, so that a change of a sentence is a change of a few lines.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::{Path, PathBuf};

/// Most characters of a line of prose.
const LONGEST_LINE: usize = 120;

/// Folders without documents of ours.
const NOT_OURS: [&str; 2] = ["target", "node_modules"];

fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') || NOT_OURS.contains(&&*name) || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            documents(&path, found);
        } else if path.extension().is_some_and(|one| one == "md") {
            found.push(path);
        }
    }
}

/// Numbers of the lines that are too long. Rows of tables, code, and what has no space to be wrapped at, such as a link,
/// may be longer.
fn too_long(text: &str) -> Vec<usize> {
    let mut is_code = false;
    let lines = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim_start();
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let may_be_long = is_code || is_fence || line.starts_with('|');
        let can_wrap = line.trim_start_matches(['-', '*', ' ']).contains(' ');
        !may_be_long && can_wrap
    });
    let long = lines.filter(|(_, line)| line.chars().count() > LONGEST_LINE);
    long.map(|(at, _)| at + 1).collect()
}

#[test]
fn lines_of_prose_fit_into_120_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    documents(&root, &mut found);
    assert!(found.len() > 30, "{} documents", found.len());
    let long = found.iter().flat_map(|path| {
        let lines = too_long(&std::fs::read_to_string(path).unwrap());
        let name = path.strip_prefix(&root).unwrap().display();
        lines.into_iter().map(move |line| format!("{name}:{line}"))
    });
    let long: Vec<String> = long.collect();
    assert!(long.is_empty(), "wrap {}", long.join(", "));
}

#[test]
fn only_prose_has_to_be_wrapped() {
    let long = "word ".repeat(25);
    let link = format!("- [x](https://{}/y)", "a".repeat(LONGEST_LINE));
    let text = format!("{long}\n| {long} |\n```\n{long}\n```\n{link}\nshort\n- {long}\n");
    assert_eq!(too_long(&text), [1, 8]);
}
