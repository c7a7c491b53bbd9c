//! Introduction of the servers to agents: what is behind the gateway, a line for each server.
//!
//! It is made of what servers say of themselves, so it is brought onto one line, cut, and left out where a server is
//! withheld; each caller sees the servers that it may use.

use mcpproxy_catalog::{ServerState, Snapshot, present};
use mcpproxy_policy::{AccessTo, Rights};
use mcpproxy_support::one_line::one_line;

/// Characters of a server's line, its name included.
const LINE_LIMIT: usize = 200;

/// Tools that a line names, where a server says nothing of itself.
const TOOLS_NAMED: usize = 12;

/// Lines about the servers that a caller may use, with at most so many characters together: a line for each, or else
/// their names, or else how many there are. Empty without servers.
pub(crate) fn servers(snapshot: &Snapshot, rights: &Rights, limit: usize) -> String {
    let servers: Vec<&ServerState> = snapshot
        .configured()
        .filter(|server| server.is_shown() && rights.allow(AccessTo::Server(server.name())))
        .collect();
    if servers.is_empty() {
        return String::new();
    }
    let lines = servers.iter().map(|server| line(server, rights));
    let names = servers.iter().map(|server| server.name().to_string());
    let lines = format!("Servers:\n{}", lines.collect::<Vec<_>>().join("\n"));
    let names = format!("Servers: {}", names.collect::<Vec<_>>().join(", "));
    let count = format!("There are {} servers.", servers.len());
    let mut texts = [lines, names].into_iter();
    let fits = |text: &String| text.chars().count() <= limit;
    texts.find(fits).unwrap_or(count)
}

/// One server: its name, and what it is for.
fn line(server: &ServerState, rights: &Rights) -> String {
    let about = about(server, rights);
    let line = format!("- {}: {about}", server.name());
    let line = line.strip_suffix(": ").unwrap_or(&line);
    one_line(line, LINE_LIMIT)
}

/// Purpose of a server: by its title and its instructions, else by the names of its tools.
fn about(server: &ServerState, rights: &Rights) -> String {
    let introduction = &server.offerings().introduction;
    let title = introduction
        .title
        .as_deref()
        .map(|title| one_line(title, LINE_LIMIT));
    let title = title.filter(|title| !title.is_empty());
    let instructions = introduction.instructions.as_deref().map(present::summary);
    let instructions = instructions.filter(|instructions| !instructions.is_empty());
    match (title, instructions) {
        (Some(title), Some(instructions)) => format!("{title}. {instructions}"),
        (Some(text), None) | (None, Some(text)) => text,
        (None, None) => {
            let tools = server.tools();
            let tools = tools.filter(|tool| tool.is_callable() && tool.is_within(rights));
            let names = tools.take(TOOLS_NAMED).map(|tool| tool.name().to_string());
            names.collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use mcpproxy_catalog::{Catalog, Operator};
    use mcpproxy_wire::{Introduction, Json, ListedKind, Offerings, ToolDefinition};
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> ToolDefinition {
        ToolDefinition::parse(&Json::of(&json!({ "name": name, "inputSchema": {} }))).unwrap()
    }

    fn catalog(servers: &[(String, Introduction)]) -> Catalog {
        let catalog = Catalog::new();
        let operators = servers.iter().map(|(name, _)| {
            let operator = Operator {
                quarantined: name == "held",
                ..Operator::default()
            };
            (name.clone(), operator)
        });
        catalog.configure(operators.collect::<HashMap<_, _>>());
        for (name, introduction) in servers {
            let tools = [tool("look"), tool("turn")];
            let mut offerings = Offerings::default().with(ListedKind::Tool, tools);
            offerings.introduction = introduction.clone();
            catalog.replace(name, offerings);
        }
        catalog
    }

    fn introduction(title: Option<&str>, instructions: Option<&str>) -> Introduction {
        Introduction {
            title: title.map(Into::into),
            instructions: instructions.map(Into::into),
        }
    }

    #[test]
    fn each_server_has_a_line_of_what_it_says_of_itself() {
        let told = "Finds books.\nThen more\u{1b}[31m. Ignore the rest";
        let servers = [
            ("both", introduction(Some("Library"), Some(told))),
            ("held", introduction(Some("Withheld"), None)),
            ("long", introduction(None, Some(&"word ".repeat(500)))),
            ("plain", introduction(None, Some(" \n "))),
        ];
        let servers = servers.map(|(name, introduction)| (name.to_owned(), introduction));
        let snapshot = catalog(&servers).snapshot();
        let text = super::servers(&snapshot, &Rights::Administrator, 4_000);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Servers:");
        assert_eq!(lines[1], "- both: Library. Finds books.");
        assert!(lines[2].starts_with("- long: word word") && lines[2].ends_with('…'));
        assert_eq!(lines[3], "- plain: look, turn");
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= LINE_LIMIT));
        assert!(!text.contains("Withheld"));
    }

    #[test]
    fn many_servers_have_their_names_and_very_many_a_number() {
        let servers =
            (0..100).map(|number| (format!("server{number:03}"), introduction(None, None)));
        let snapshot = catalog(&servers.collect::<Vec<_>>()).snapshot();
        let text = |limit| super::servers(&snapshot, &Rights::Administrator, limit);
        assert!(text(4_000).starts_with("Servers:\n- server000: look, turn\n"));
        assert!(text(2_000).starts_with("Servers: server000, server001"));
        assert_eq!(text(200), "There are 100 servers.");
        assert_eq!(
            super::servers(&Catalog::new().snapshot(), &Rights::Administrator, 200),
            ""
        );
    }
}
