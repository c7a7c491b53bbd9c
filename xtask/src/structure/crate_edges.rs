//! Edges between crates point down: what the table does not list is refused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{place, process};

/// Packages of ours, without the common prefix, that each may need to be built, and why no others.
///
/// An edge that no package has any more is refused, too, so that the table says what is there.
const ALLOWED: [(&str, &[&str], &str); 21] = [
    ("wire", &[], "messages are the bottom; everybody uses them"),
    (
        "redact",
        &[],
        "what counts as a secret is nobody's business but its own",
    ),
    (
        "support",
        &[],
        "small parts that both the gateway and authors of tools need",
    ),
    (
        "schema",
        &["support"],
        "values against schemas, for the gateway and authors of tools; it knows neither",
    ),
    (
        "embed",
        &[],
        "vectors of texts; it does not know what the texts are about",
    ),
    (
        "policy",
        &["wire"],
        "decisions are pure: they see messages and nothing that acts",
    ),
    (
        "activity",
        &["policy", "redact", "support"],
        "the log does not know who writes it",
    ),
    (
        "catalog",
        &["embed", "policy", "redact", "schema", "support", "wire"],
        "it does no network I/O",
    ),
    (
        "upstream",
        &["policy", "redact", "support", "wire"],
        "it calls with a permit and does not know who gave it",
    ),
    (
        "gateway",
        &[
            "activity",
            "catalog",
            "contract",
            "contract-check",
            "embed",
            "policy",
            "redact",
            "support",
            "upstream",
            "wire",
        ],
        "it assembles the parts; it knows no HTTP, no built-in service and no example",
    ),
    (
        "server",
        &["activity", "gateway", "policy", "support", "wire"],
        "it decides nothing and needs no built-in service",
    ),
    (
        "builtin",
        &[
            "activity", "cards", "contract", "gateway", "policy", "upstream", "wire",
        ],
        "services inside the process; the sample one only as an option",
    ),
    (
        "mcpproxy",
        &[
            "activity",
            "builtin",
            "contract",
            "contract-check",
            "gateway",
            "policy",
            "redact",
            "server",
            "support",
            "upstream",
            "wire",
        ],
        "the program may use every library, but an example only through what is built in",
    ),
    (
        "contract",
        &["redact", "support"],
        "authors of tools do not need a gateway",
    ),
    (
        "contract-serve",
        &["contract", "support"],
        "as the contract",
    ),
    (
        "contract-check",
        &["contract", "schema", "support"],
        "as the contract; what is checked need not be served",
    ),
    (
        "cards",
        &["contract", "contract-serve"],
        "a sample shows what the contract alone can do",
    ),
    (
        "first-tool",
        &["contract", "contract-serve"],
        "as the other sample",
    ),
    (
        "bench",
        &[
            "activity",
            "catalog",
            "contract",
            "contract-check",
            "gateway",
            "policy",
            "redact",
            "wire",
        ],
        "it measures the program from outside and some parts alone",
    ),
    (
        "recall",
        &["catalog", "embed", "gateway", "policy", "wire"],
        "it measures search by the parts that answer it",
    ),
    (
        "xtask",
        &[],
        "what checks the others has to build when they do not",
    ),
];

/// Packages that may use all others.
const FREE: [&str; 1] = ["tests"];

/// Packages that tests may use besides what their package may: fixtures, the services inside the process, and the other
/// crates for authors of tools.
const ALLOWED_FOR_TESTS: [&str; 5] = [
    "tests",
    "builtin",
    "contract",
    "contract-check",
    "contract-serve",
];

/// Packages that no test below them uses either, or a change of them would rebuild those tests.
const NEVER_BELOW: [&str; 2] = ["mcpproxy", "server"];

/// Edges that have to be optional.
const OPTIONAL: [(&str, &str); 1] = [("builtin", "cards")];

#[test]
fn crates_need_only_what_the_architecture_allows() {
    let packages = packages();
    let names: BTreeSet<&str> = packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED
        .into_iter()
        .map(|(name, edges, _)| (name, edges))
        .collect();
    let mut findings = Vec::new();
    for package in packages
        .iter()
        .filter(|package| !FREE.contains(&&*package.name))
    {
        let Some(edges) = allowed.get(&*package.name) else {
            findings.push(format!("`{}` is missing in the table", package.name));
            continue;
        };
        for edge in package
            .edges
            .iter()
            .filter(|edge| names.contains(&*edge.to))
        {
            if let Some(objection) = objection(&package.name, edge, edges) {
                findings.push(format!("`{}` -> `{}`: {objection}", package.name, edge.to));
            }
        }
        let built_with = package.edges.iter().filter(|edge| !edge.is_for_tests);
        let built_with: BTreeSet<&str> = built_with.map(|edge| &*edge.to).collect();
        let unused = edges.iter().filter(|to| !built_with.contains(**to));
        findings.extend(unused.map(|to| format!("`{}` -> `{to}`: nothing uses it", package.name)));
    }
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

fn objection(from: &str, edge: &Edge, allowed: &[&str]) -> Option<&'static str> {
    let to = edge.to.as_str();
    if edge.is_for_tests {
        let is_fine = (allowed.contains(&to) || ALLOWED_FOR_TESTS.contains(&to))
            && !NEVER_BELOW.contains(&to);
        return (!is_fine).then_some("not even for tests");
    }
    if !allowed.contains(&to) {
        return Some("the architecture has no such edge");
    }
    let must_be_optional = OPTIONAL.contains(&(from, to));
    (must_be_optional && !edge.is_optional).then_some("only as an optional dependency")
}

/// One package of the workspace.
struct Package {
    name: String,
    edges: Vec<Edge>,
}

/// One dependency of a package.
struct Edge {
    to: String,
    is_for_tests: bool,
    is_optional: bool,
}

fn packages() -> Vec<Package> {
    let mut metadata = process::cargo(&place::root().unwrap());
    metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&process::output(&mut metadata).unwrap()).unwrap();
    let read = |package: &Value| Package {
        name: short_name(&package["name"]),
        edges: list(&package["dependencies"]).map(read_edge).collect(),
    };
    list(&metadata["packages"]).map(read).collect()
}

fn read_edge(dependency: &Value) -> Edge {
    Edge {
        to: short_name(&dependency["name"]),
        is_for_tests: dependency["kind"] == "dev",
        is_optional: dependency["optional"] == true,
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn short_name(name: &Value) -> String {
    let name = name.as_str().unwrap_or_default();
    name.strip_prefix("mcpproxy-").unwrap_or(name).to_owned()
}

#[test]
fn objections_are_raised_for_each_kind_of_edge() {
    let check = |from: &str, to: &str, is_for_tests: bool, is_optional: bool, expected: bool| {
        let allowed = ALLOWED.iter().find(|(name, ..)| *name == from).unwrap().1;
        let edge = Edge {
            to: to.to_owned(),
            is_for_tests,
            is_optional,
        };
        assert_eq!(
            objection(from, &edge, allowed).is_none(),
            expected,
            "{from} -> {to}"
        );
    };
    check("policy", "wire", false, false, true);
    check("wire", "policy", false, false, false);
    check("contract", "support", false, false, true);
    check("support", "wire", false, false, false);
    check("wire", "support", false, false, false);
    check("wire", "support", true, false, false);
    check("redact", "support", false, false, false);
    check("gateway", "builtin", false, true, false);
    check("builtin", "cards", false, false, false);
    check("builtin", "cards", false, true, true);
    check("activity", "tests", true, false, true);
    check("activity", "server", true, false, false);
    check("activity", "tests", false, false, false);
}
