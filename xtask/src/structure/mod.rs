//! Rules of the architecture that the compiler does not know: edges between crates, circles among modules, how many of
//! them lie side by side, names, and how much authors of tools have to know.
//!
//! `cargo test -p xtask` refuses what breaks them; `cargo xtask structure` lists it.

mod author_surface;
mod circles;
#[cfg(test)]
mod crate_edges;
mod siblings;
mod type_names;
mod words;

use std::path::Path;

use anyhow::Result;

use crate::source::{self, CrateModules};

/// One crate with its modules.
struct CrateUnderCheck {
    /// Name of its folder.
    name: String,
    modules: CrateModules,
}

/// What one rule has against the sources, one text for each place.
type Rule = fn(&[CrateUnderCheck]) -> Vec<String>;

const RULES: [(&str, Rule); 5] = [
    ("circles among modules", circles::find),
    ("too many modules side by side", siblings::find),
    ("types of one name", type_names::find),
    ("retired words", words::find),
    ("too many items for authors of tools", author_surface::find),
];

/// Prints everything that breaks a rule.
pub(crate) fn print(root: &Path) -> Result<()> {
    let crates = load(root)?;
    for (title, find) in RULES {
        let findings = find(&crates);
        println!("== {title}: {}", findings.len());
        for finding in findings {
            println!("{finding}");
        }
        println!();
    }
    Ok(())
}

fn load(root: &Path) -> Result<Vec<CrateUnderCheck>> {
    source::crate_folders(root)?
        .iter()
        .map(|folder| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            Ok(CrateUnderCheck {
                name: name.into_owned(),
                modules: CrateModules::load(folder)?,
            })
        })
        .collect()
}

/// Place in a file for messages, from the crate's folder on.
fn location(file: &Path, line: usize) -> String {
    let parts: Vec<String> = file
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let start = parts.iter().rposition(|part| part == "crates").unwrap_or(0);
    format!("{}:{line}", parts[start..].join("/"))
}

#[cfg(test)]
fn refuse(find: Rule) {
    let crates = crate::place::root().and_then(|root| load(&root)).unwrap();
    let findings = find(&crates);
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
