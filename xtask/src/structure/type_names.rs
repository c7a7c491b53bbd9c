//! One name, one type: whoever searches for a type by its name finds one concept.

use std::collections::BTreeMap;

use super::{CrateUnderCheck, location};

/// Names that several types have, with the reason why.
const EXCEPTIONS: [(&str, &str); 0] = [];

pub(super) fn find(crates: &[CrateUnderCheck]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for package in crates {
        for module in &package.modules.modules {
            for (name, line) in &module.types {
                places
                    .entry(name)
                    .or_default()
                    .push(location(&module.file, *line));
            }
        }
    }
    places
        .into_iter()
        .filter(|(name, places)| places.len() > 1 && !is_excepted(name))
        .map(|(name, places)| format!("{name}: {}", places.join(" ")))
        .collect()
}

fn is_excepted(name: &str) -> bool {
    EXCEPTIONS.iter().any(|(excepted, _)| *excepted == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_types_have_one_name() {
        super::super::refuse(find);
    }
}
