//! The folders everything happens in, found once.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::process;

/// Names the folder that holds what the tests need, for this program and for the tests.
pub(crate) const PEERS_VARIABLE: &str = "MCPPROXY_PEERS";

/// Where the sources are and where things are built and installed.
pub(crate) struct Place {
    /// The root of the repository.
    pub(crate) root: PathBuf,
    /// The build directory cargo uses.
    pub(crate) target: PathBuf,
    /// The folder for what the tests need.
    pub(crate) peers: PathBuf,
    /// The folder for the databases of the tests, one folder below it for each run.
    pub(crate) postgres: PathBuf,
}

impl Place {
    pub(crate) fn find() -> Result<Self> {
        let root = root()?;
        let target = target_directory(&root)?;
        let peers = match env::var_os(PEERS_VARIABLE).filter(|value| !value.is_empty()) {
            Some(folder) => std::path::absolute(folder)
                .with_context(|| format!("{PEERS_VARIABLE} is not a usable path"))?,
            None => target.join("peers"),
        };
        let postgres = target.join("postgres");
        Ok(Self {
            root,
            target,
            peers,
            postgres,
        })
    }
}

/// Root of the repository.
pub(crate) fn root() -> Result<PathBuf> {
    // A build directory shared by several clones may hold a binary compiled for another one, so the folder that
    // cargo names at run time counts first.
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = package.parent();
    Ok(root
        .context("the xtask package has no parent folder")?
        .to_path_buf())
}

fn target_directory(root: &Path) -> Result<PathBuf> {
    let mut metadata = process::cargo(root);
    metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
    let answer = process::output(&mut metadata)?;
    read_target_directory(&answer).context("`cargo metadata` does not name the build directory")
}

/// Reads one field of the answer; a JSON parser would be the only reason for another dependency.
fn read_target_directory(metadata: &str) -> Option<PathBuf> {
    let (_, after) = metadata.split_once("\"target_directory\":\"")?;
    let (path, _) = after.split_once('"')?;
    // A path with a quotation mark or a backslash would need unescaping; refusing it beats using a wrong folder.
    (!path.contains('\\')).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_directory_is_read_from_metadata() {
        let check = |metadata: &str, expected: Option<&str>| {
            assert_eq!(
                read_target_directory(metadata),
                expected.map(PathBuf::from),
                "{metadata}"
            );
        };
        check(
            r#"{"target_directory":"/a/target","version":1}"#,
            Some("/a/target"),
        );
        check(
            r#"{"packages":[],"target_directory":"/with space/t"}"#,
            Some("/with space/t"),
        );
        check(r#"{"target_directory":"C:\\t"}"#, None);
        check("{}", None);
    }
}
