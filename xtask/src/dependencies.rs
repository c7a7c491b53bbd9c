//! `deny.toml`: licences, second versions, sources and known faults of what the product depends on.

use anyhow::Result;

use crate::place::Place;
use crate::process;

/// Checks what can be checked here; gives what could not.
pub(crate) fn check(place: &Place) -> Result<Vec<String>> {
    let deny = |words: &[&str]| {
        let mut command = process::cargo(&place.root);
        command.arg("deny").args(words);
        command
    };
    if !process::succeeds(&mut deny(&["--version"])) {
        let needs = "licences, sources and versions of dependencies: needs `cargo-deny`";
        return Ok(vec![needs.to_owned()]);
    }
    process::explain(
        process::run(&mut deny(&["check", "bans", "licenses", "sources"])),
        "a dependency is not as `deny.toml` asks for",
        "Choose another one or give the reason there",
    )?;
    if process::install(&mut deny(&["fetch", "db"])).is_err() {
        let needs = "known faults of dependencies: needs their database from the network";
        return Ok(vec![needs.to_owned()]);
    }
    process::explain(
        process::run(&mut deny(&["check", "--disable-fetch", "advisories"])),
        "a dependency has a known fault",
        "Update it, or say in `deny.toml` why it does not matter here",
    )?;
    Ok(Vec::new())
}
