//! Few modules side by side, so that a folder can be read as a list of contents.

use super::CrateUnderCheck;

/// Most modules directly under `src` of the crates that a call passes through.
const MOST_UNDER_SRC: usize = 16;
/// Most modules everywhere else.
const MOST: usize = 20;

pub(super) fn find(crates: &[CrateUnderCheck]) -> Vec<String> {
    let mut findings = Vec::new();
    for package in crates {
        for module in &package.modules.modules {
            let most = most(&package.name, module.path.is_empty());
            let count = module.children.len();
            if count > most {
                findings.push(format!(
                    "{}: {} has {count} modules side by side, {most} are the most",
                    package.name,
                    module.name()
                ));
            }
        }
    }
    findings
}

fn most(package: &str, is_root: bool) -> usize {
    match package {
        "server" | "upstream" | "gateway" if is_root => MOST_UNDER_SRC,
        _ => MOST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_modules_lie_side_by_side() {
        super::super::refuse(find);
    }
}
