//! Summary: counts of records.

use std::collections::BTreeMap;

use serde::Serialize;

/// Tally of the records that agree in all of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Kind of what happened.
    pub kind: String,
    /// The server.
    pub server: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// The operation.
    pub intent: Option<String>,
    /// Status of what came of it.
    pub status: String,
    /// Number of records.
    pub count: u64,
}

/// How many records there are; each list begins with the most frequent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Summary))]
pub struct RecordSummary {
    /// How many records there are.
    pub total: u64,
    /// By what came of it.
    pub by_status: Vec<NamedCounts>,
    /// By operation.
    pub by_intent: Vec<NamedCounts>,
    /// By what kind of thing happened.
    pub by_type: Vec<NamedCounts>,
    /// By server.
    pub by_server: Vec<NamedCounts>,
    /// By tool, as `server:tool`.
    pub by_tool: Vec<NamedCounts>,
}

/// Counts of the records with one word, by how they went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Counted))]
pub struct NamedCounts {
    /// The word.
    pub name: String,
    /// How many records have it.
    pub count: u64,
    /// How many of them worked.
    pub success: u64,
    /// How many failed.
    pub error: u64,
    /// How many were refused.
    pub blocked: u64,
    /// Of how many nobody saw the outcome.
    pub in_doubt: u64,
}

impl RecordSummary {
    /// Adds up what a store counted.
    pub fn of(tallies: &[Tally]) -> Self {
        let by = |name: &dyn Fn(&Tally) -> Option<String>| {
            let mut counts: BTreeMap<String, NamedCounts> = BTreeMap::new();
            for tally in tallies {
                if let Some(name) = name(tally) {
                    counts.entry(name).or_default().add(tally);
                }
            }
            let mut list: Vec<NamedCounts> = counts
                .into_iter()
                .map(|(name, counted)| NamedCounts { name, ..counted })
                .collect();
            // The map is in the order of names, and the sort keeps it among equals.
            list.sort_by_key(|counted| std::cmp::Reverse(counted.count));
            list
        };
        Self {
            total: tallies.iter().map(|tally| tally.count).sum(),
            by_status: by(&|tally| Some(tally.status.clone())),
            by_intent: by(&|tally| tally.intent.clone()),
            by_type: by(&|tally| Some(tally.kind.clone())),
            by_server: by(&|tally| tally.server.clone()),
            by_tool: by(&|tally| match (&tally.server, &tally.tool) {
                (Some(server), Some(tool)) => Some(format!("{server}:{tool}")),
                _ => None,
            }),
        }
    }
}

impl NamedCounts {
    fn add(&mut self, tally: &Tally) {
        self.count += tally.count;
        match tally.status.as_str() {
            "success" => self.success += tally.count,
            "error" => self.error += tally.count,
            "blocked" => self.blocked += tally.count,
            _ => self.in_doubt += tally.count,
        }
    }
}
