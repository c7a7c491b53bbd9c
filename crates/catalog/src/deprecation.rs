//! Deprecation of a tool, as agents and people are shown it.

use mcpproxy_policy::{AnnouncedDeprecation, Rights};
use mcpproxy_support::one_line::one_line;
use serde::Serialize;

use crate::snapshot::Snapshot;
use crate::tool::CatalogTool;

/// Longest text of an announcement that is shown, in characters: names of tools are shorter.
const TEXT_LIMIT: usize = 100;

/// Announcement that a tool is going to be removed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownDeprecation {
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// As `server:tool`, so that it can be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    replacement: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removal_date: Option<String>,
}

impl Snapshot {
    /// Announcement that a tool is going to be removed, as a caller with these rights may know it: without a replacement
    /// that it cannot call. Who may use all tools is told what the server announces, whether or not it is there.
    pub fn deprecation_for(
        &self,
        tool: &CatalogTool,
        rights: &Rights,
    ) -> Option<AnnouncedDeprecation> {
        let can_call = |name: &str| {
            let found = name.split_once(':');
            let found = found.and_then(|(server, tool)| self.find(server, tool));
            rights.allow_all_tools() || found.is_some_and(|found| found.is_callable_by(rights))
        };
        let announced = tool.deprecation()?;
        Some(announced.shown_to(tool.server(), can_call))
    }
}

// === impl ShownDeprecation ===

impl ShownDeprecation {
    /// Announcement of a tool of this server, as its reader may know it.
    pub fn of(announced: &AnnouncedDeprecation, server: &str) -> Self {
        let shown = |text: &str| {
            let text = one_line(text, TEXT_LIMIT);
            (!text.is_empty()).then_some(text)
        };
        let replacement = announced.replacement_at(server);
        Self {
            since: announced.since.as_deref().and_then(shown),
            replacement: replacement.as_deref().and_then(shown),
            removal_date: announced.removal_date.map(|date| date.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_policy::ContractTerms;
    use serde_json::{Value, json};

    use super::*;

    fn shown(deprecated: &Value) -> Option<Value> {
        let terms = ContractTerms::of(&json!({ "deprecated": deprecated }));
        let announced = terms.deprecation?;
        Some(json!(ShownDeprecation::of(&announced, "cards")))
    }

    #[test]
    fn an_announcement_is_shown_whatever_others_write() {
        let whole =
            json!({ "since": "1.2.0", "replacement": "search-cards", "removalDate": "2027-06-01" });
        assert_eq!(
            shown(&whole),
            Some(
                json!({ "since": "1.2.0", "replacement": "cards:search-cards", "removalDate": "2027-06-01" })
            )
        );
        for odd in [json!(null), json!(true), json!("soon"), json!([])] {
            assert_eq!(shown(&odd), None, "{odd}");
        }
        let vague = json!({ "since": 2, "replacement": "", "removalDate": null });
        assert_eq!(shown(&vague), Some(json!({})));
        let elsewhere = shown(&json!({ "replacement": "decks:search" }));
        assert_eq!(elsewhere, Some(json!({ "replacement": "decks:search" })));
        let hidden = shown(&json!({ "replacement": "decks:search\u{202e}" }));
        assert_eq!(hidden, Some(json!({})));
    }
}
