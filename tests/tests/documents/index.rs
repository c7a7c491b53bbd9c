//! `tests/README.md` names every file of product tests in its area.

use std::collections::BTreeSet;
use std::path::Path;

/// Most test programs of this package: each links the whole product.
const MOST_AREAS: usize = 15;

#[test]
fn every_file_of_tests_is_in_the_index() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = package.join("tests");
    let mut files = BTreeSet::new();
    let mut areas = 0;
    for area in std::fs::read_dir(&folder).unwrap() {
        let area = area.unwrap().path();
        assert!(area.is_dir(), "{} belongs to an area", area.display());
        areas += 1;
        for file in std::fs::read_dir(&area).unwrap() {
            let file = file.unwrap().path();
            let name = file.strip_prefix(&folder).unwrap();
            if file.is_file() && !file.ends_with("main.rs") {
                files.insert(name.display().to_string());
            }
        }
    }
    assert!(areas <= MOST_AREAS, "{areas} test programs");
    let index = std::fs::read_to_string(package.join("README.md")).unwrap();
    let lines = index.lines().filter_map(|line| line.strip_prefix("| `"));
    let listed: BTreeSet<String> = lines
        .filter_map(|line| line.split_once("` |"))
        .filter(|(_, what)| what.trim_matches([' ', '|']).len() > 10)
        .map(|(file, _)| file.to_owned())
        .collect();
    assert_eq!(listed, files, "tests/README.md has one line for each file");
}
