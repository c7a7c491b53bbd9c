//! `cargo xtask lines`: how much source the product has, tests left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::source::{self, CrateModules};

/// Prints the lines of every crate below a root folder, and their sum.
pub(crate) fn print(root: &Path) -> Result<()> {
    let mut total = 0;
    for folder in source::crate_folders(root)? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let lines = count_crate(&folder)?;
        println!("{lines:>7}  {name}");
        total += lines;
    }
    println!("{total:>7}  total");
    Ok(())
}

fn count_crate(folder: &Path) -> Result<usize> {
    let test_files = CrateModules::load(folder)?.test_files;
    source::rust_files(&folder.join("src"))?
        .iter()
        .filter(|file| !is_test_file(file, &test_files))
        .map(|file| Ok(count_lines(&source::read(file)?)))
        .sum()
}

/// Whether a file is test code by its name, its folder or the module that declares it.
fn is_test_file(file: &Path, test_files: &BTreeSet<PathBuf>) -> bool {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    stem == "tests"
        || stem.ends_with("_tests")
        || file.iter().any(|part| part == "tests")
        || test_files.contains(file)
}

/// Lines of a file, blank ones and comments included, without those of its test modules.
fn count_lines(source: &str) -> usize {
    let tokens = source::tokens(source);
    let test_lines: usize = source::without_tests(&tokens)
        .test_lines
        .into_iter()
        .map(Iterator::count)
        .sum();
    source.lines().count() - test_lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_without_test_modules() {
        let check = |source: &str, expected: usize| {
            assert_eq!(count_lines(source), expected, "{source}");
        };
        check("", 0);
        check("//! A module.\n\nfn a() {}\n", 3);
        check("fn a() {}\n\n#[cfg(test)]\nmod tests {\n    // }\n}\n", 2);
        check("#[cfg(test)]\nmod tests;\nfn a() {}", 3);
        check("#[cfg(test)]\nfn only_for_tests() {}\n", 2);
        check("const A: &str = \"\n#[cfg(test)]\nmod b {\n}\n\";\n", 5);
    }

    #[test]
    fn test_files_are_known_by_name_folder_or_declaration() {
        let declared = BTreeSet::from([PathBuf::from("src/rehearsal.rs")]);
        let check = |file: &str, expected: bool| {
            assert_eq!(is_test_file(Path::new(file), &declared), expected, "{file}");
        };
        check("src/call.rs", false);
        check("src/call/tests.rs", true);
        check("src/call/tests/more.rs", true);
        check("src/call_tests.rs", true);
        check("src/rehearsal.rs", true);
        check("src/latest.rs", false);
    }
}
