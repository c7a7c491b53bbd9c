//! What is equal directly and through the gateway, and the table of it.

use anyhow::Result;

use super::protocol::{Tools, renamed};
use super::servers::Registry;
use super::{FieldServer, Listed};

/// The most names of tools that are said to differ.
const NAMED: usize = 3;

/// Row of the table: a server by itself.
pub(crate) struct Row {
    pub(crate) server: String,
    package: String,
    version: String,
    pub(crate) listed: Result<Listed>,
}

/// What came of a server through the gateway.
pub(crate) struct Through {
    pub(crate) server: String,
    own: Outcome,
    all: Outcome,
}

/// Comparison of one list with that of the server by itself.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Number of tools, all of them equal byte for byte.
    Equal(usize),
    /// Tools that are missing, too many, or other ones.
    Different(Vec<String>),
    /// Reason why there is no list.
    Failed(String),
}

// === impl Row ===

impl Row {
    pub(crate) fn new(server: &FieldServer, listed: Result<Listed>) -> Self {
        let registry = match server.package.registry {
            Registry::Npm => "npm",
            Registry::Pypi => "PyPI",
        };
        Self {
            server: server.name.clone(),
            package: format!("{} ({registry})", server.package.name),
            version: server.version.clone(),
            listed,
        }
    }
}

// === impl Through ===

impl Through {
    pub(crate) fn is_equal(&self) -> bool {
        matches!(
            (&self.own, &self.all),
            (Outcome::Equal(_), Outcome::Equal(_))
        )
    }
}

/// Compares what a server lists by itself with its own endpoint, and with its share of the list of all.
pub(crate) fn through(server: &str, direct: &Tools, own: Result<Tools>, all: &Tools) -> Through {
    let prefix = format!("{server}__");
    let name_there = |name: &str| format!("{prefix}{name}");
    let there = direct.iter().filter_map(|(name, definition)| {
        let name = name_there(name);
        Some((name.clone(), renamed(definition, &name)?))
    });
    let share = all.iter().filter(|(name, _)| name.starts_with(&prefix));
    let share = share.map(|(name, definition)| (name.clone(), definition.clone()));
    Through {
        server: server.to_owned(),
        own: match own {
            Ok(own) => compared(direct, &own),
            Err(error) => Outcome::Failed(format!("{error:#}")),
        },
        all: compared(&there.collect(), &share.collect()),
    }
}

fn compared(expected: &Tools, found: &Tools) -> Outcome {
    let names = expected
        .keys()
        .chain(found.keys().filter(|name| !expected.contains_key(*name)));
    let different = names.filter(|name| expected.get(*name) != found.get(*name));
    let different: Vec<String> = different.cloned().collect();
    if different.is_empty() {
        Outcome::Equal(found.len())
    } else {
        Outcome::Different(different)
    }
}

/// The table, in Markdown.
pub(crate) fn table(rows: &[Row], through: &[Through]) -> String {
    let mut lines = vec![
        "| server | package | version | revision | tools | equal at `/mcp/s/…` | equal at `/mcp/all` | seconds to its list |".to_owned(),
        "|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    for row in rows {
        let start = format!("| {} | {} | {} |", row.server, row.package, row.version);
        let found = through.iter().find(|one| one.server == row.server);
        let rest = match (&row.listed, found) {
            (Ok(listed), Some(found)) => format!(
                " {} | {} | {} | {} | {:.1} |",
                listed.revision,
                listed.tools.len(),
                words(&found.own),
                words(&found.all),
                listed.took.as_secs_f64()
            ),
            (Err(error), _) => {
                format!(
                    " | | | | does not start by itself: {} |",
                    in_cell(&format!("{error:#}"))
                )
            }
            (Ok(_), None) => " | | | | not compared |".to_owned(),
        };
        lines.push(start + &rest);
    }
    lines.push(sum(rows, through));
    lines.join("\n")
}

fn sum(rows: &[Row], through: &[Through]) -> String {
    let started = rows.iter().filter_map(|row| row.listed.as_ref().ok());
    let (started, tools) = started.fold((0, 0), |(servers, tools), one| {
        (servers + 1, tools + one.tools.len())
    });
    let equal = through.iter().filter(|one| one.is_equal()).count();
    format!(
        "\n{} servers, {started} start by themselves with {tools} tools, {equal} are equal through the gateway.",
        rows.len()
    )
}

fn words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Equal(count) => format!("{count} of {count}"),
        Outcome::Different(names) => {
            let first = names.iter().take(NAMED).cloned().collect::<Vec<_>>();
            let first = first.join(", ");
            format!("**{} differ**: {}", names.len(), in_cell(&first))
        }
        Outcome::Failed(reason) => format!("**no list**: {}", in_cell(reason)),
    }
}

/// Text that cannot end a cell of the table.
fn in_cell(text: &str) -> String {
    let line = text.replace(['\n', '\r'], " ").replace('|', "\\|");
    line.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(list: &[(&str, &str)]) -> Tools {
        let own =
            |(name, definition): &(&str, &str)| ((*name).to_owned(), (*definition).to_owned());
        list.iter().map(own).collect()
    }

    const A: &str = r#"{"name":"a","x":1}"#;
    const A_AT_ALL: &str = r#"{"name":"s__a","x":1}"#;

    #[test]
    fn definitions_are_equal_byte_for_byte_but_for_the_name_beside_others() {
        let direct = tools(&[("a", A)]);
        let other = ("t__a", r#"{"name":"t__a"}"#);
        for (own, all, expected) in [
            (A, A_AT_ALL, true),
            (r#"{"name":"a", "x":1}"#, A_AT_ALL, false),
            (r#"{"x":1,"name":"a"}"#, A_AT_ALL, false),
            (A, r#"{"name":"s__a","x":1.0}"#, false),
            (A, A, false),
        ] {
            let all = tools(&[("s__a", all), other]);
            let found = through("s", &direct, Ok(tools(&[("a", own)])), &all);
            assert_eq!(found.is_equal(), expected, "{own}");
        }
    }

    #[test]
    fn missing_and_additional_tools_differ_and_a_failure_is_no_equality() {
        let (none, one) = (Tools::new(), tools(&[("a", A)]));
        assert_eq!(compared(&one, &one), Outcome::Equal(1));
        assert_eq!(compared(&none, &none), Outcome::Equal(0));
        for (expected, found) in [(&one, &none), (&none, &one)] {
            assert_eq!(
                compared(expected, found),
                Outcome::Different(vec!["a".to_owned()])
            );
        }
        let all = tools(&[("s__a", A_AT_ALL)]);
        let failed = through("s", &one, Err(anyhow::anyhow!("it\n| ended")), &all);
        assert!(!failed.is_equal());
        assert_eq!(words(&failed.own), "**no list**: it \\| ended");
    }
}
