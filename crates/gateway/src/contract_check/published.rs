//! Tools of a server against what it published, as the store has it.
//!
//! What callers can rely on moves forward with every change that breaks nobody. A change that breaks a rule leaves it
//! where it is, so that the rule stays broken until the server mends it.

use std::collections::{HashMap, HashSet};

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

/// Compares the tools of a server with those that are stored of it; nothing is stored where the store cannot be read.
pub(super) fn compared(
    stored: Option<&[StoredDefinition]>,
    tools: &KnownTools,
    now: Timestamp,
) -> Comparison {
    let today = day(now);
    let is_readable = stored.is_some();
    let stored = stored.unwrap_or_default();
    let rows: HashMap<&str, &StoredDefinition> =
        stored.iter().map(|row| (row.tool.as_str(), row)).collect();
    let mut comparison = Comparison::default();
    let mut room = MOST_PUBLISHED.saturating_sub(rows.len());
    for (name, (text, tool)) in tools.announced() {
        let row = rows.get(name).copied();
        let (broken, kept) = match row {
            Some(row) => against(row, text, tool, today),
            None => (Vec::new(), text),
        };
        let fits = is_readable && kept.len() <= LARGEST_DEFINITION && (row.is_some() || room > 0);
        let before = row.and_then(|row| row.deprecation_seen);
        // A deprecation that was withdrawn is none any more.
        let deprecation_seen = check::is_deprecated(tool).then(|| before.unwrap_or(now));
        // What cannot be stored may have been seen on any earlier day, and nobody is blamed for a guess.
        let first_seen = deprecation_seen.filter(|_| fits).map(day);
        comparison.broken.extend(broken);
        comparison
            .broken
            .extend(check::deprecation(tool, first_seen, today));
        let after = StoredDefinition {
            tool: name.to_owned(),
            definition: kept.clone(),
            first_seen: row.map_or(now, |row| row.first_seen),
            deprecation_seen,
        };
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
    let kept = if broken.is_empty() && text.len() <= LARGEST_DEFINITION {
        text
    } else {
        &row.definition
    };
    (broken, kept)
}

/// Change of the store by which what is announced now counts as published, whatever it breaks: of one tool, or of all.
pub(super) fn accepted(
    stored: &[StoredDefinition],
    tools: &KnownTools,
    only: Option<&str>,
    now: Timestamp,
) -> Comparison {
    let is_meant = |name: &str| only.is_none_or(|only| only == name);
    let announced: HashMap<&str, (&String, &Value)> = tools.announced().collect();
    let mut comparison = Comparison::default();
    let fits = |text: &String| text.len() <= LARGEST_DEFINITION;
    for row in stored.iter().filter(|row| is_meant(&row.tool)) {
        match announced.get(row.tool.as_str()) {
            Some((text, tool)) if fits(text) => {
                let seen = row.deprecation_seen.unwrap_or(now);
                let after = StoredDefinition {
                    definition: (*text).clone(),
                    deprecation_seen: check::is_deprecated(tool).then_some(seen),
                    ..row.clone()
                };
                if after != *row {
                    comparison.to_store.push(after);
                }
            }
            _ => comparison.to_forget.push(row.tool.clone()),
        }
    }
    comparison
}

fn day(moment: Timestamp) -> Date {
    TimeZone::UTC.to_datetime(moment).date()
}

// === impl Comparison ===

impl Comparison {
    /// Looks at tools that are no longer listed as tools of the contract.
    fn see_missing(&mut self, stored: &[StoredDefinition], tools: &KnownTools, today: Date) {
        let announced: HashSet<&str> = tools.announced().map(|(name, _)| name).collect();
        let is_announced = |row: &&StoredDefinition| announced.contains(row.tool.as_str());
        for row in stored.iter().filter(|row| !is_announced(row)) {
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

    /// Tools that announce the contract: name, and text and value of each.
    fn announced(&self) -> impl Iterator<Item = (&str, (&String, &Value))> {
        let tools = self.texts.iter().zip(&self.values);
        tools.filter_map(|(text, tool)| {
            let name = tool["name"].as_str().filter(|_| check::announces(tool))?;
            Some((name, (text, tool)))
        })
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
