//! Patterns for tools: `server:tool` with `*` for any characters and `?` for one.

use serde::{Deserialize, Serialize};

/// Most characters of a pattern: as many as the longest `server:tool` that is worth naming has.
const MOST_CHARACTERS: usize = 256;

/// Pattern that `server:tool` is matched with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolGlob(String);

impl ToolGlob {
    /// Reads a pattern; the error says what a pattern has to be.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.chars().nth(MOST_CHARACTERS).is_some() {
            return Err(format!(
                "a pattern of tools has 1 to {MOST_CHARACTERS} characters, such as github:list_*"
            ));
        }
        let has_server = text.split_once(':').is_some_and(|(server, tool)| {
            !server.is_empty() && !tool.is_empty() && !text.contains(char::is_whitespace)
        });
        if !has_server && text != "*" {
            return Err(format!(
                "'{text}' is no pattern of tools: it matches server:tool, such as github:list_*"
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// Text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Server that the pattern names without a wildcard.
    pub fn server(&self) -> Option<&str> {
        let (server, _) = self.0.split_once(':')?;
        (!server.contains(['*', '?'])).then_some(server)
    }

    /// Whether `server:tool` matches.
    pub fn matches(&self, qualified: &str) -> bool {
        matches(&self.0, qualified)
    }

    /// Whether a tool of a server can match, by whatever name.
    pub fn concerns(&self, server: &str) -> bool {
        match self.0.split_once(':') {
            Some((of_server, _)) => matches(of_server, server),
            None => true,
        }
    }

    /// Whether every tool of a server matches, whatever its name.
    pub fn matches_all_of(&self, server: &str) -> bool {
        match self.0.split_once(':') {
            Some((of_server, "*")) => matches(of_server, server),
            _ => self.0 == "*",
        }
    }
}

impl TryFrom<String> for ToolGlob {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<ToolGlob> for String {
    fn from(glob: ToolGlob) -> Self {
        glob.0
    }
}

/// Matches without recursion: a mismatch goes back to the last `*` alone, so the time is bounded by the product of both
/// lengths.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let is_boundary = |at: usize| text.get(at).is_none_or(|byte| byte & 0xC0 != 0x80);
    let (mut in_pattern, mut in_text) = (0, 0);
    // Place behind the last `*`, and the place in the text that it was tried with.
    let mut star = None;
    while in_text < text.len() {
        match pattern.get(in_pattern) {
            Some(b'*') => {
                in_pattern += 1;
                star = Some((in_pattern, in_text));
                continue;
            }
            Some(b'?') => {
                in_pattern += 1;
                in_text += 1;
                while !is_boundary(in_text) {
                    in_text += 1;
                }
                continue;
            }
            Some(byte) if *byte == text[in_text] => {
                in_pattern += 1;
                in_text += 1;
                continue;
            }
            _ => {}
        }
        let Some((behind, tried)) = star else {
            return false;
        };
        let mut next = tried + 1;
        while !is_boundary(next) {
            next += 1;
        }
        star = Some((behind, next));
        (in_pattern, in_text) = (behind, next);
    }
    pattern[in_pattern..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("*", "github:get_file", true),
            ("github:*", "github:get_file", true),
            ("github:*", "gitlab:get_file", false),
            ("github:get_*", "github:get_file", true),
            ("github:get_*", "github:delete_file", false),
            ("github:get_*", "github:get_", true),
            ("*:get_*", "gitlab:get_file", true),
            ("github:get_fil?", "github:get_file", true),
            ("github:get_fil?", "github:get_fil", false),
            ("github:get_fil?", "github:get_fil\u{e9}", true),
            ("github:?", "github:\u{1F600}", true),
            ("github:*\u{e9}", "github:caf\u{e9}", true),
            ("github:a*b*c", "github:a-b-b-c", true),
            ("github:a*b*c", "github:a-c-b", false),
            ("github:get_file", "github:get_file", true),
            ("github:get_file", "github:get_files", false),
        ] {
            let glob = ToolGlob::parse(pattern).unwrap();
            assert_eq!(glob.matches(name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_names_a_server_and_a_tool() {
        for wrong in ["", "github", ":x", "github:", "a b:c", &"x:".repeat(200)] {
            assert!(ToolGlob::parse(wrong).is_err(), "{wrong}");
        }
        let server = |text: &str| {
            let glob = ToolGlob::parse(text).unwrap();
            glob.server().map(str::to_owned)
        };
        assert_eq!(server("github:get_*").as_deref(), Some("github"));
        assert_eq!(server("git*:get_*"), None);
        assert_eq!(server("*"), None);
    }

    #[test]
    fn a_pattern_concerns_the_servers_of_its_first_part() {
        let concerns = |text: &str| ToolGlob::parse(text).unwrap().concerns("github");
        assert!(concerns("*") && concerns("github:get_*") && concerns("git*:x") && concerns("*:x"));
        assert!(!concerns("gitlab:*") && !concerns("git:hub") && !concerns("github2:*"));
    }

    #[test]
    fn all_tools_of_a_server_are_matched_by_a_star_alone() {
        let all = |text: &str| ToolGlob::parse(text).unwrap().matches_all_of("github");
        assert!(all("*") && all("github:*") && all("git*:*"));
        assert!(!all("github:get_*") && !all("gitlab:*") && !all("github:?*"));
    }
}
