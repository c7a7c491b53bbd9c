//! No circle among modules: of two modules side by side, at most one needs the other, also through a third.
//!
//! A folder counts as one module towards those beside it. A parent may use what is inside it and the other way round;
//! a name that a parent re-exports counts for the module that defines it.

use std::collections::{BTreeMap, BTreeSet};

use super::{CrateUnderCheck, location};
use crate::source::CrateModules;

/// Children of one module that need each other: from, to, where.
type Edges = BTreeMap<usize, BTreeMap<(usize, usize), String>>;

pub(super) fn find(crates: &[CrateUnderCheck]) -> Vec<String> {
    let mut findings = Vec::new();
    for package in crates {
        let modules = &package.modules;
        for edges in edges(modules).values() {
            for circle in circles(edges) {
                findings.push(describe(package, edges, &circle));
            }
        }
    }
    findings
}

fn edges(modules: &CrateModules) -> Edges {
    let mut edges = Edges::new();
    for (from, module) in modules.modules.iter().enumerate() {
        for (path, line) in &module.paths {
            let Some(target) = modules.resolve(from, path) else {
                continue;
            };
            if let Some((parent, near, far)) = siblings(modules, from, target) {
                edges
                    .entry(parent)
                    .or_default()
                    .entry((near, far))
                    .or_insert_with(|| {
                        format!("{} `{}`", location(&module.file, *line), path.join("::"))
                    });
            }
        }
    }
    edges
}

/// The two children of the closest common parent that lead to two modules; none if one module holds the other.
fn siblings(modules: &CrateModules, from: usize, target: usize) -> Option<(usize, usize, usize)> {
    let from = ancestors(modules, from);
    let target = ancestors(modules, target);
    let depth = from
        .iter()
        .zip(&target)
        .take_while(|(from, target)| from == target)
        .count();
    Some((from[depth - 1], *from.get(depth)?, *target.get(depth)?))
}

/// A module and those it is in, outermost first.
fn ancestors(modules: &CrateModules, module: usize) -> Vec<usize> {
    let mut path: Vec<usize> =
        std::iter::successors(Some(module), |&module| modules.modules[module].parent).collect();
    path.reverse();
    path
}

/// Largest groups of modules that all reach each other.
fn circles(edges: &BTreeMap<(usize, usize), String>) -> Vec<BTreeSet<usize>> {
    let reached = |from: usize| {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(module) = open.pop() {
            for &(_, next) in edges.keys().filter(|(near, _)| *near == module) {
                if reached.insert(next) {
                    open.push(next);
                }
            }
        }
        reached
    };
    let all: BTreeSet<usize> = edges.keys().map(|(near, _)| *near).collect();
    let reach: BTreeMap<usize, BTreeSet<usize>> = all
        .iter()
        .map(|&module| (module, reached(module)))
        .collect();
    let mut circles = BTreeSet::new();
    for (&module, reached) in &reach {
        let circle: BTreeSet<usize> = reached
            .iter()
            .copied()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(&module)))
            .collect();
        if !circle.is_empty() {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

fn describe(
    package: &CrateUnderCheck,
    edges: &BTreeMap<(usize, usize), String>,
    circle: &BTreeSet<usize>,
) -> String {
    let name = |module: usize| package.modules.modules[module].name();
    let members: Vec<String> = circle.iter().map(|&module| name(module)).collect();
    let mut text = format!("{}: {} need each other:", package.name, members.join(", "));
    for ((near, far), place) in edges {
        if circle.contains(near) && circle.contains(far) {
            text.push_str(&format!(
                "\n    {} -> {} at {place}",
                name(*near),
                name(*far)
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_do_not_need_each_other_in_a_circle() {
        super::super::refuse(find);
    }

    #[test]
    fn circles_are_found_with_all_their_members() {
        let check = |pairs: &[(usize, usize)], expected: &[&[usize]]| {
            let edges = pairs.iter().map(|&pair| (pair, String::new())).collect();
            let found: Vec<Vec<usize>> = circles(&edges)
                .into_iter()
                .map(|circle| circle.into_iter().collect())
                .collect();
            assert_eq!(found, expected, "{pairs:?}");
        };
        check(&[(1, 2), (2, 3), (1, 3)], &[]);
        check(&[(1, 2), (2, 1), (2, 3)], &[&[1, 2]]);
        check(
            &[(1, 2), (2, 3), (3, 1), (4, 5), (5, 4)],
            &[&[1, 2, 3], &[4, 5]],
        );
    }
}
