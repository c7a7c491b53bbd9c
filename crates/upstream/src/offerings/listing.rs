//! Listing of a server's tools, all pages of it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_wire::tool::{Rejected, ToolPage};
use mcpproxy_wire::{Json, ToolDefinition};
use tokio::time::Instant;

use crate::CallError;
use crate::protocol::connection::{FreshToolPage, UpstreamConnection};

/// Most tools taken from one server; the rest is left out with a warning.
const TOOLS_LIMIT: usize = 10_000;
/// Most pages asked for, so that a server cannot keep us turning them.
const PAGES_LIMIT: usize = 1_000;

/// Listing that the observer knows, to tell whether the next one differs.
#[derive(Debug)]
pub(crate) struct ReportedListing {
    raw: Vec<Json>,
    rejected: Vec<Rejected>,
    is_cut: bool,
}

/// Complete listing.
#[derive(Debug, Default)]
pub(crate) struct ToolListing {
    pub(crate) tools: Vec<ToolDefinition>,
    /// How long the server says it holds: the shortest time of any page.
    pub(crate) time_to_live: Option<Duration>,
    rejected: Vec<Rejected>,
    is_cut: bool,
    names: HashSet<Arc<str>>,
    /// How many tools the pages so far had, those left out included.
    seen: usize,
}

/// Asks for every page.
pub(crate) async fn list_tools(
    connection: &UpstreamConnection,
    deadline: Instant,
) -> Result<ToolListing, CallError> {
    let mut listing = ToolListing::default();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES_LIMIT {
        let FreshToolPage {
            tools,
            time_to_live,
        } = connection.list_tools(cursor.as_deref(), deadline).await?;
        listing.time_to_live = [listing.time_to_live, time_to_live]
            .into_iter()
            .flatten()
            .min();
        let Some(next) = listing.add(tools) else {
            return Ok(listing);
        };
        if cursor.as_ref() == Some(&next) {
            return Err(CallError::malformed(
                "tools/list gives the same page over and over",
            ));
        }
        cursor = Some(next);
    }
    Err(CallError::malformed(format!(
        "tools/list has more than {PAGES_LIMIT} pages"
    )))
}

// === impl ToolListing ===

impl ToolListing {
    /// Takes a page; gives back where the next one starts, if it is wanted.
    fn add(&mut self, page: ToolPage) -> Option<String> {
        let first = self.seen;
        self.seen += page.tools.len() + page.rejected.len();
        for mut rejected in page.rejected {
            rejected.index += first;
            self.rejected.push(rejected);
        }
        for tool in page.tools {
            if self.tools.len() == TOOLS_LIMIT {
                self.is_cut = true;
                return None;
            }
            if self.names.insert(Arc::clone(&tool.name)) {
                self.tools.push(tool);
            } else {
                self.rejected.push(Rejected {
                    index: first,
                    name: Some(tool.name.to_string()),
                    reason: "a tool of an earlier page has the same name".to_owned(),
                });
            }
        }
        page.next_cursor
    }

    /// Listing to remember.
    pub(crate) fn reported(&self) -> ReportedListing {
        ReportedListing {
            raw: self.tools.iter().map(|tool| tool.raw.clone()).collect(),
            rejected: self.rejected.clone(),
            is_cut: self.is_cut,
        }
    }

    /// Logs what was left out, unless the listing before left out the same.
    pub(crate) fn log(&self, server: &str, before: Option<&ReportedListing>) {
        if self.is_cut && !before.is_some_and(|before| before.is_cut) {
            tracing::warn!(
                server,
                limit = TOOLS_LIMIT,
                "left out tools beyond the limit"
            );
        }
        if before.is_some_and(|before| before.rejected == self.rejected) {
            return;
        }
        for rejected in &self.rejected {
            tracing::warn!(
                server,
                index = rejected.index,
                name = rejected.name.as_deref().unwrap_or_default(),
                reason = rejected.reason,
                "left out a malformed tool"
            );
        }
    }
}

// === impl ReportedListing ===

impl ReportedListing {
    /// Whether both have the very same tools, to the byte.
    pub(crate) fn has_tools_of(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> ToolPage {
        ToolPage::parse(&Json::parse(text.to_owned()).expect("valid JSON")).expect("a page")
    }

    #[test]
    fn pages_add_up_and_names_stay_unique() {
        let mut listing = ToolListing::default();
        let first = r#"{"tools":[{"name":"a","inputSchema":{}},{"name":1}],"nextCursor":"x"}"#;
        assert_eq!(listing.add(page(first)), Some("x".to_owned()));
        let second = r#"{"tools":[{"name":"b","inputSchema":{}},{"name":"a","inputSchema":{}}]}"#;
        assert_eq!(listing.add(page(second)), None);
        let names: Vec<&str> = listing
            .tools
            .iter()
            .map(|tool| tool.name.as_ref())
            .collect();
        assert_eq!(names, ["a", "b"]);
        let rejected: Vec<usize> = listing.rejected.iter().map(|one| one.index).collect();
        assert_eq!(rejected, [1, 2]);
    }

    #[test]
    fn tools_beyond_the_limit_are_left_out() {
        let tools: Vec<String> = (0..=TOOLS_LIMIT)
            .map(|number| format!(r#"{{"name":"t{number}","inputSchema":{{}}}}"#))
            .collect();
        let mut listing = ToolListing::default();
        let text = format!(r#"{{"tools":[{}],"nextCursor":"more"}}"#, tools.join(","));
        assert_eq!(listing.add(page(&text)), None);
        assert_eq!(listing.tools.len(), TOOLS_LIMIT);
        assert!(listing.is_cut);
    }

    #[test]
    fn a_changed_byte_is_a_changed_listing() {
        let listing = |hint: &str| {
            let mut listing = ToolListing::default();
            listing.add(page(&format!(
                r#"{{"tools":[{{"name":"a","inputSchema":{{}},"annotations":{{"readOnlyHint":{hint}}}}}]}}"#
            )));
            listing.reported()
        };
        assert!(listing("true").has_tools_of(&listing("true")));
        assert!(!listing("true").has_tools_of(&listing("false")));
        assert!(!listing("true").has_tools_of(&ToolListing::default().reported()));
    }
}
