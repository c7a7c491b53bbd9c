//! Sources of the crates as other commands look at them: which files are the product, and which modules they make.

mod modules;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(crate) use modules::CrateModules;
pub(crate) use tokens::{Token, after_visibility, group_end, tokens, without_tests};

/// Folders of the crates, `crates/*`, in order.
pub(crate) fn crate_folders(root: &Path) -> Result<Vec<PathBuf>> {
    let mut folders: Vec<PathBuf> = children(&root.join("crates"))?
        .into_iter()
        .filter(|folder| folder.join("Cargo.toml").is_file())
        .collect();
    folders.sort();
    Ok(folders)
}

/// All Rust files below a folder, in order.
pub(crate) fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for child in children(&folder)? {
            if child.is_dir() {
                folders.push(child);
            } else if child.extension().is_some_and(|extension| extension == "rs") {
                files.push(child);
            }
        }
    }
    files.sort();
    Ok(files)
}

pub(crate) fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))
}

fn children(folder: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("cannot read the folder `{}`", folder.display());
    fs::read_dir(folder)
        .with_context(context)?
        .map(|entry| Ok(entry.with_context(context)?.path()))
        .collect()
}
