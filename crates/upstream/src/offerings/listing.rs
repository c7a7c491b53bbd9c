//! Listing of one kind, all pages of it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_wire::offerings::RejectedItem;
use mcpproxy_wire::rpc::METHOD_NOT_FOUND;
use mcpproxy_wire::{ListedItem, ListedKind, ListedPage};
use tokio::time::Instant;

use crate::CallError;
use crate::protocol::connection::UpstreamConnection;

/// Most items taken of one list; the rest is left out with a warning.
const ITEMS_LIMIT: usize = 10_000;
/// Most items left out that are stored and logged.
const REJECTED_LIMIT: usize = 100;
/// Most pages asked for, so that a server cannot keep us turning them.
const PAGES_LIMIT: usize = 1_000;

/// Complete listing.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) items: Vec<ListedItem>,
    /// Time that the server says it holds: the shortest of any page.
    pub(crate) time_to_live: Option<Duration>,
    /// Items that cannot be used, with the reason.
    pub(crate) rejected: Vec<RejectedItem>,
    keys: HashSet<Arc<str>>,
    /// Number of items that the pages so far had, those left out included.
    seen: usize,
}

/// Asks for every page of a list.
pub(crate) async fn list(
    connection: &UpstreamConnection,
    kind: ListedKind,
    deadline: Instant,
) -> Result<Listing, CallError> {
    let mut listing = Listing::default();
    let mut cursor: Option<String> = None;
    let method = kind.method().as_str();
    for _ in 0..PAGES_LIMIT {
        let listed = connection.list(kind, cursor.as_deref(), deadline).await;
        let (page, time_to_live) = match listed {
            // Libraries declare resources for those who have no templates, and the other way round.
            Err(CallError::Rpc(error))
                if error.code == METHOD_NOT_FOUND && kind != ListedKind::Tool =>
            {
                return Ok(Listing::default());
            }
            listed => listed?,
        };
        let times = [listing.time_to_live, time_to_live];
        listing.time_to_live = times.into_iter().flatten().min();
        let Some(next) = listing.add(kind, page) else {
            return Ok(listing);
        };
        if cursor.as_ref() == Some(&next) {
            let reason = format!("{method} gives the same page over and over");
            return Err(CallError::malformed(reason));
        }
        cursor = Some(next);
    }
    let reason = format!("{method} has more than {PAGES_LIMIT} pages");
    Err(CallError::malformed(reason))
}

impl Listing {
    /// Takes a page; gives back where the next one starts, if it is wanted.
    fn add(&mut self, kind: ListedKind, page: ListedPage) -> Option<String> {
        let first = self.seen;
        self.seen += page.count;
        for item in page.rejected {
            let index = item.index + first;
            self.reject(RejectedItem { index, ..item });
        }
        for item in page.items {
            let reason = if self.items.len() == ITEMS_LIMIT {
                format!(
                    "the list has more than {ITEMS_LIMIT} items, this one and the rest are left out"
                )
            } else if self.keys.insert(Arc::clone(&item.key)) {
                self.items.push(item);
                continue;
            } else {
                format!("an item of an earlier page has the same {}", kind.key())
            };
            self.reject(RejectedItem {
                index: first,
                key: Some(item.key.to_string()),
                reason,
            });
            if self.items.len() == ITEMS_LIMIT {
                return None;
            }
        }
        page.next_cursor
    }

    fn reject(&mut self, item: RejectedItem) {
        if self.rejected.len() < REJECTED_LIMIT {
            self.rejected.push(item);
        }
    }

    /// Logs what was left out.
    pub(crate) fn log_rejected(&self, server: &str, kind: ListedKind) {
        for rejected in &self.rejected {
            tracing::warn!(
                server,
                method = kind.method().as_str(),
                index = rejected.index,
                name = rejected.key.as_deref().unwrap_or_default(),
                reason = rejected.reason,
                "left out a malformed item"
            );
        }
        if self.rejected.len() == REJECTED_LIMIT {
            tracing::warn!(server, "further malformed items are left out silently");
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::Json;

    use super::*;

    fn page(text: &str) -> ListedPage {
        let json = Json::parse(text.to_owned()).expect("valid JSON");
        ListedPage::parse(ListedKind::Tool, &json).expect("a page")
    }

    #[test]
    fn pages_add_up_and_names_stay_unique() {
        let mut listing = Listing::default();
        let first = r#"{"tools":[{"name":"a","inputSchema":{}},{"name":1}],"nextCursor":"x"}"#;
        let next = listing.add(ListedKind::Tool, page(first));
        assert_eq!(next, Some("x".to_owned()));
        let second = r#"{"tools":[{"name":"b","inputSchema":{}},{"name":"a","inputSchema":{}}]}"#;
        assert_eq!(listing.add(ListedKind::Tool, page(second)), None);
        let names: Vec<&str> = listing.items.iter().map(|tool| &*tool.key).collect();
        assert_eq!(names, ["a", "b"]);
        let rejected: Vec<usize> = listing.rejected.iter().map(|one| one.index).collect();
        assert_eq!(rejected, [1, 2]);
    }

    #[test]
    fn what_is_left_out_is_stored_within_bounds() {
        for kind in ListedKind::ALL {
            let long = format!(r#"{{"{}":"{}\n"}}"#, kind.key(), "é".repeat(5_000));
            let items = vec![long; 2 * REJECTED_LIMIT].join(",");
            let text = format!(r#"{{"{}":[{items}]}}"#, kind.as_str());
            let json = Json::parse(text).expect("valid JSON");
            let mut listing = Listing::default();
            for _ in 0..2 {
                listing.add(kind, ListedPage::parse(kind, &json).expect("a page"));
            }
            assert_eq!(listing.seen, 4 * REJECTED_LIMIT);
            assert_eq!(listing.rejected.len(), REJECTED_LIMIT);
            let keys = listing.rejected.iter().map(|item| item.key.as_ref());
            assert!(keys.flatten().all(|key| key.chars().count() <= 256));
        }
    }

    #[test]
    fn items_beyond_the_limit_are_left_out() {
        let tools: Vec<String> = (0..=ITEMS_LIMIT)
            .map(|number| format!(r#"{{"name":"t{number}","inputSchema":{{}}}}"#))
            .collect();
        let mut listing = Listing::default();
        let text = format!(r#"{{"tools":[{}],"nextCursor":"more"}}"#, tools.join(","));
        assert_eq!(listing.add(ListedKind::Tool, page(&text)), None);
        assert_eq!(listing.items.len(), ITEMS_LIMIT);
        assert_eq!(listing.rejected.len(), 1);
    }
}
