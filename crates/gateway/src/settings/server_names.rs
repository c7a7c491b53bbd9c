//! Names of servers: those that cannot be used here get others.

use std::collections::HashSet;

use super::text::{ADMIN_SERVER, SERVER_NAME};

/// Longest name, in characters, all of which are ASCII.
const LONGEST: usize = 64;

/// A usable name for each server, no two the same. Names that can be used as they are stay, whatever comes before them.
pub(super) fn usable(written: &[&str]) -> Vec<String> {
    let is_usable = |name: &&str| (SERVER_NAME.is_valid)(name);
    let mut taken: HashSet<String> = written
        .iter()
        .filter(|name| is_usable(name))
        .map(|name| (*name).to_owned())
        .collect();
    let names = written.iter().map(|name| {
        if is_usable(name) {
            return (*name).to_owned();
        }
        let cleaned = cleaned(name);
        let numbered = (2..).map(|number| with_number(&cleaned, number));
        let mut candidates = std::iter::once(cleaned.clone()).chain(numbered);
        let free = candidates.find(|name| is_usable(&&**name) && !taken.contains(name));
        let name = free.unwrap_or(cleaned);
        taken.insert(name.clone());
        name
    });
    names.collect()
}

/// The name with other characters replaced: each run of them by `-`, and `__` by `_`.
fn cleaned(name: &str) -> String {
    let mut cleaned = String::new();
    for one in name.chars() {
        let one = match one {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '.' | '-' => one,
            _ => '-',
        };
        let is_repeated = matches!(one, '-' | '_') && cleaned.ends_with(one);
        if !is_repeated && cleaned.len() < 4 * LONGEST {
            cleaned.push(one);
        }
    }
    let cleaned = cleaned.trim_matches(['-', '_', '.']);
    let cleaned = cleaned[..cleaned.len().min(LONGEST)].trim_end_matches(['-', '_', '.']);
    match cleaned {
        "" => "server".to_owned(),
        name if name.eq_ignore_ascii_case(ADMIN_SERVER) => with_number(name, 2),
        name => name.to_owned(),
    }
}

fn with_number(name: &str, number: usize) -> String {
    let end = format!("-{number}");
    let kept = name.len().min(LONGEST - end.len());
    format!("{}{end}", &name[..kept])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_become_usable_ones() {
        let long = "a".repeat(70);
        for (written, expected) in [
            (&["github", "my.files_2"][..], &["github", "my.files_2"][..]),
            (&["Framelink MCP for Figma"], &["Framelink-MCP-for-Figma"]),
            (&["@org/server", "a__b"], &["org-server", "a_b"]),
            (&["a b", "a-b", "a/b"], &["a-b-2", "a-b", "a-b-3"]),
            (
                &["mcpproxy", "MCPproxy", ""],
                &["mcpproxy-2", "MCPproxy-2", "server"],
            ),
            (&["\u{65e5}\u{671f}", "!!"], &["server", "server-2"]),
            (
                &[&long, &format!("{long} ")],
                &[&long[..64], &format!("{}-2", &long[..62])],
            ),
        ] {
            assert_eq!(usable(written), expected, "{written:?}");
        }
    }
}
