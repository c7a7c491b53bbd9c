//! Names of servers: those that cannot be used here get others.

use std::collections::{HashMap, HashSet};

use crate::settings::text::{ADMIN_SERVER, SERVER_NAME};

/// Longest name, in characters, all of which are ASCII.
const LONGEST: usize = 64;

/// A usable name for each server, no two the same. Names that can be used as they are stay, whatever comes before them,
/// and of equal ones the first.
pub(in crate::settings) fn usable(written: &[&str]) -> Vec<String> {
    let is_usable = |name: &str| (SERVER_NAME.is_valid)(name);
    let mut taken: HashSet<String> = written
        .iter()
        .filter(|name| is_usable(name))
        .map(|name| (*name).to_owned())
        .collect();
    let mut first = HashSet::new();
    // The next number of each name, so that a thousand equal ones are not counted a thousand times.
    let mut next: HashMap<String, usize> = HashMap::new();
    let names = written.iter().map(|name| {
        if is_usable(name) && first.insert(*name) {
            return (*name).to_owned();
        }
        let cleaned = cleaned(name);
        if is_usable(&cleaned) && taken.insert(cleaned.clone()) {
            return cleaned;
        }
        let number = next.entry(cleaned.clone()).or_insert(2);
        loop {
            let name = with_number(&cleaned, *number);
            *number += 1;
            if taken.insert(name.clone()) {
                return name;
            }
        }
    });
    names.collect()
}

/// The name with other characters replaced: each run of them by `-`, and `__` by `_`.
fn cleaned(name: &str) -> String {
    let is_allowed = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '.' | '-');
    let (mut cleaned, mut in_run) = (String::new(), false);
    // Twice as many as a name may have: what is cut off says nothing, and trimming takes little.
    for one in name.chars().take(2 * LONGEST) {
        let is_repeated = if is_allowed(one) {
            one == '_' && cleaned.ends_with('_')
        } else {
            in_run
        };
        in_run = !is_allowed(one);
        if !is_repeated {
            cleaned.push(if in_run { '-' } else { one });
        }
    }
    let ends = ['-', '_', '.'];
    let cleaned = cleaned.trim_matches(ends);
    match cleaned[..cleaned.len().min(LONGEST)].trim_end_matches(ends) {
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
            (&["a", "a", "a-2", "a"], &["a", "a-3", "a-2", "a-4"]),
            (&["a--b (c)", "a___b!c"], &["a--b-c", "a_b-c"]),
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
