//! Tools of a server against what it published, as the store has it.
//!
//! What callers can rely on moves forward with every change that breaks nobody. A change that breaks a rule leaves it
//! where it is, so that the rule stays broken until the server mends it.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use mcpproxy_activity::StoredDefinition;
use mcpproxy_activity::store::published_tools::{LARGEST_DEFINITION, MOST_PUBLISHED};
use mcpproxy_contract::ContractViolation;
use mcpproxy_contract::wire::DEFINITION_KEY;
use mcpproxy_contract_check as check;
use mcpproxy_contract_check::published::PublishedTool;
use mcpproxy_wire::json::decode_for_display;
use serde_json::Value;

/// Tools that a server lists, as text and as values.
pub(super) struct KnownTools {
    texts: Vec<String>,
    values: Vec<Value>,
}

/// Outcome of a comparison.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Rules that are broken towards those who rely on what was published, or by the calendar.
    pub(super) broken: Vec<ContractViolation>,
    pub(super) to_store: Vec<StoredDefinition>,
    /// Tools that went when they were to go.
    pub(super) to_forget: Vec<String>,
}

/// Compares the tools of a server with those that are stored of it.
pub(super) fn compared(
    stored: &[StoredDefinition],
    tools: &KnownTools,
    now: Timestamp,
) -> Comparison {
    let today = day(now);
    let rows: HashMap<&str, &StoredDefinition> =
        stored.iter().map(|row| (row.tool.as_str(), row)).collect();
    let mut comparison = Comparison::default();
    let mut room = MOST_PUBLISHED.saturating_sub(rows.len());
    for (text, tool) in tools.texts.iter().zip(&tools.values) {
        let Some(name) = tool["name"].as_str().filter(|_| check::announces(tool)) else {
            continue;
        };
        let row = rows.get(name).copied();
        let (broken, kept) = match row {
            Some(row) => against(row, text, tool, today),
            None => (Vec::new(), text),
        };
        let deprecation_seen = row.and_then(|row| row.deprecation_seen);
        let deprecation_seen =
            deprecation_seen.or_else(|| check::is_deprecated(tool).then_some(now));
        comparison.broken.extend(broken);
        let first_seen = deprecation_seen.map(day);
        comparison
            .broken
            .extend(check::deprecation(tool, first_seen, today));
        let after = StoredDefinition {
            tool: name.to_owned(),
            definition: kept.clone(),
            first_seen: row.map_or(now, |row| row.first_seen),
            deprecation_seen,
        };
        let fits = after.definition.len() <= LARGEST_DEFINITION && (row.is_some() || room > 0);
        if fits && row != Some(&after) {
            room = room.saturating_sub(usize::from(row.is_none()));
            comparison.to_store.push(after);
        }
    }
    comparison.see_missing(stored, tools, today);
    comparison
}

/// Rules that a tool breaks towards its row, and the definition that callers rely on from now on.
fn against<'a>(
    row: &'a StoredDefinition,
    text: &'a String,
    tool: &Value,
    today: Date,
) -> (Vec<ContractViolation>, &'a String) {
    let before = PublishedTool::of_listed(&decode_for_display(&row.definition));
    let after = PublishedTool::of_listed(tool);
    let broken = before.map_or_else(Vec::new, |before| before.broken_by(after.as_ref(), today));
    let kept = if broken.is_empty() {
        text
    } else {
        &row.definition
    };
    (broken, kept)
}

fn day(moment: Timestamp) -> Date {
    TimeZone::UTC.to_datetime(moment).date()
}

// === impl Comparison ===

impl Comparison {
    /// Looks at tools that are no longer listed.
    fn see_missing(&mut self, stored: &[StoredDefinition], tools: &KnownTools, today: Date) {
        let is_listed = |name: &str| tools.values.iter().any(|tool| tool["name"] == name);
        for row in stored.iter().filter(|row| !is_listed(&row.tool)) {
            let before = PublishedTool::of_listed(&decode_for_display(&row.definition));
            let broken = before.map_or_else(Vec::new, |before| before.broken_by(None, today));
            if broken.is_empty() {
                self.to_forget.push(row.tool.clone());
            }
            self.broken.extend(broken);
        }
    }
}

// === impl KnownTools ===

impl KnownTools {
    pub(super) fn parse(texts: impl Iterator<Item = String>) -> Self {
        let texts: Vec<String> = texts.collect();
        let values = texts.iter().map(|text| decode_for_display(text));
        Self {
            values: values.collect(),
            texts,
        }
    }

    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    /// Name, category and text of each tool that announces the contract.
    pub(super) fn announcing(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let tools = self.texts.iter().zip(&self.values);
        tools.filter_map(|(text, tool)| {
            let definition = &tool["_meta"][DEFINITION_KEY];
            let category = definition["category"].as_str().unwrap_or_default();
            let name = tool["name"].as_str().filter(|_| definition.is_object())?;
            Some((name, category, text.as_str()))
        })
    }
}

#[cfg(test)]
mod tests;
