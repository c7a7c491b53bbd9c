//! Memory of what servers that announce the contract did: bounded, and without what they answered.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use mcpproxy_contract::{ContractViolation, Rule};
use mcpproxy_contract_check::confidence::{ConfidenceMemory, ConfidenceSeen, answer_hash};
use serde::{Deserialize, Serialize};

use super::published::KnownTools;

/// Most tools of a server that are watched; the others are checked call by call, and what they broke is not remembered.
const MOST_TOOLS: usize = 1_000;

/// Longest message of a violation that is remembered, in characters: it may repeat what the server sent.
const LONGEST_MESSAGE: usize = 500;

/// Most messages that are remembered of a rule that the definition of a tool breaks in several places.
const MOST_MESSAGES: usize = 20;

/// Most of them beside the first ones that are remembered of a server.
const MOST_MORE: usize = 2_000;

/// Most violations of a server that `status` shows.
const SHOWN: usize = 100;

/// How a server keeps the tool contract that it announces.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ContractStatus {
    /// How often it broke a rule since the gateway started.
    pub violations: u64,
    /// The rules it broke, tool by tool; in a status the first 100 of them.
    pub broken: Vec<BrokenRule>,
    /// The confidence in the answers of its tools, as far as they were seen.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, Object>))]
    pub confidence: BTreeMap<String, ConfidenceSeen>,
}

/// Rule of the contract that a tool broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BrokenRule {
    /// The tool.
    pub tool: String,
    /// The rule.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub rule: Rule,
    /// What was seen the first time.
    pub message: String,
    /// What else its definition breaks of the rule; at most 19 more faults, and only where all of them are asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<String>,
    /// How often it was seen.
    pub count: u64,
}

/// Answer of a tool, as far as it is remembered.
pub(super) struct SeenAnswer<'a> {
    /// Faults that the answer shows by itself.
    pub(super) violations: Vec<ContractViolation>,
    pub(super) confidence: Option<f64>,
    /// Text of the data, if it has any.
    pub(super) data: Option<&'a str>,
    /// Whether it says that it comes from a cache.
    pub(super) is_cached: bool,
    /// Whether the server announced a change that nothing else can have caused.
    pub(super) has_changed: bool,
}

/// Violations that an answer comes with.
#[derive(Debug, Default)]
pub(super) struct SeenViolations {
    /// All of them.
    pub(super) all: Vec<ContractViolation>,
    /// Violations of rules that the tool had not broken before.
    pub(super) first: Vec<ContractViolation>,
}

/// Servers that are watched, by name.
#[derive(Default)]
pub(super) struct WatchedServers(HashMap<Arc<str>, WatchedServer>);

#[derive(Default)]
struct WatchedServer {
    tools: HashMap<Box<str>, WatchedTool>,
    /// Counts of how often each rule was broken, also by tools that are gone.
    violations: BTreeMap<Rule, u64>,
}

#[derive(Default)]
struct WatchedTool {
    category: Option<WatchedCategory>,
    /// Hash of what was listed, once it is known: who lists another tool under the name begins anew.
    definition: Option<u64>,
    confidence: ConfidenceMemory,
    /// Rules that it broke, each once.
    broken: Vec<KnownViolation>,
}

/// Categories that answers are held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WatchedCategory {
    Query,
    Mutation,
}

struct KnownViolation {
    rule: Rule,
    message: String,
    /// Other faults of the same rule that stand as well.
    more: Vec<String>,
    count: u64,
    /// Whether it is in the definition, and so true of each call.
    stands: bool,
}

// === impl WatchedServers ===

impl WatchedServers {
    pub(super) fn is_watched(&self, server: &str) -> bool {
        self.0.contains_key(server)
    }

    /// Takes the tools of a server and what is wrong with them; gives the violations that are new.
    pub(super) fn listed(
        &mut self,
        server: &str,
        tools: &KnownTools,
        standing: Vec<ContractViolation>,
    ) -> Vec<ContractViolation> {
        let known = self.0.entry(server.into()).or_default();
        let before = known.end_standing();
        // Tools that are gone leave their places to others; what stands of them is put back below.
        let listed: HashSet<&str> = tools.announcing().map(|(name, ..)| name).collect();
        known.tools.retain(|name, _| listed.contains(&**name));
        for (name, category, text) in tools.announcing() {
            let definition = answer_hash(text);
            let Some(tool) = known.tool(name) else {
                continue;
            };
            if tool
                .definition
                .replace(definition)
                .is_some_and(|before| before != definition)
            {
                // What answers broke, another version may mend.
                tool.broken.clear();
                tool.confidence = ConfidenceMemory::default();
            }
            tool.category = WatchedCategory::of(category);
        }
        let mut first: Vec<ContractViolation> = Vec::new();
        // What stood before has ended, so there is room for as many again.
        let mut room = MOST_MORE;
        for violation in standing {
            let key = (violation.tool.as_str().into(), violation.rule);
            let mut told = first.iter();
            let is_told = told.any(|one| one.tool == violation.tool && one.rule == violation.rule);
            if !known.count(&violation.tool, &violation, true) && room > 0 {
                room -= usize::from(known.add_standing(&violation));
            }
            // Several faults of one rule are told in one line.
            if !is_told && !before.contains(&key) {
                first.push(violation);
            }
        }
        first
    }

    /// Names of the servers.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.0.keys().cloned().collect()
    }

    /// Takes a violation of a tool that is no matter of an answer; tells whether it is the first of its rule.
    pub(super) fn broken(
        &mut self,
        server: &Arc<str>,
        violation: &ContractViolation,
        stands: bool,
    ) -> bool {
        let known = self.0.entry(Arc::clone(server)).or_default();
        known.count(&violation.tool, violation, stands)
    }

    /// Takes an answer of a tool; gives the violations that it comes with.
    pub(super) fn answered(
        &mut self,
        server: &Arc<str>,
        tool: &str,
        answer: SeenAnswer<'_>,
    ) -> SeenViolations {
        if !self.0.contains_key(server) {
            self.0.insert(Arc::clone(server), WatchedServer::default());
        }
        let Some(known) = self.0.get_mut(server) else {
            return SeenViolations::default();
        };
        let (more, standing) = known.tool(tool).map_or_else(Default::default, |tool| {
            (tool.learn(&answer), tool.standing())
        });
        let mut seen = SeenViolations::default();
        for violation in answer.violations.into_iter().chain(more) {
            let violation = ContractViolation {
                tool: tool.to_owned(),
                ..violation
            };
            if known.count(tool, &violation, false) {
                seen.first.push(violation.clone());
            }
            seen.all.push(violation);
        }
        for violation in standing {
            known.count(tool, &violation, true);
            seen.all.push(violation);
        }
        seen
    }

    /// Takes a call of a tool that its server published and does not announce any more; gives that violation.
    pub(super) fn lost(&mut self, server: &str, tool: &str) -> Option<ContractViolation> {
        let known = self.0.get_mut(server)?;
        let violation = known.tools.get(tool)?.lost_name(tool)?;
        known.count(tool, &violation, true);
        Some(violation)
    }

    /// Whether some server published a tool that it does not announce any more.
    pub(super) fn has_lost_names(&self) -> bool {
        let mut tools = self.0.values().flat_map(|server| &server.tools);
        tools.any(|(name, tool)| tool.lost_name(name).is_some())
    }

    /// How a server keeps the contract, in brief; nothing if it announces none.
    pub(super) fn status(&self, server: &str) -> Option<ContractStatus> {
        let mut status = self.everything(server)?;
        status.broken.truncate(SHOWN);
        status.broken.iter_mut().for_each(|one| one.more.clear());
        Some(status)
    }

    /// How a server keeps the contract, with all that is remembered of what it broke; nothing if it announces none.
    pub(super) fn everything(&self, server: &str) -> Option<ContractStatus> {
        let server = self.0.get(server)?;
        let mut tools: Vec<_> = server.tools.iter().collect();
        tools.sort_unstable_by_key(|(name, _)| *name);
        let broken = tools.iter().flat_map(|(name, tool)| {
            tool.broken.iter().map(|one| BrokenRule {
                tool: name.to_string(),
                rule: one.rule,
                message: one.message.clone(),
                more: one.more.clone(),
                count: one.count,
            })
        });
        let confidence = tools.iter();
        let confidence =
            confidence.filter_map(|(name, tool)| Some((name.to_string(), tool.confidence.seen()?)));
        Some(ContractStatus {
            violations: server.violations.values().sum(),
            broken: broken.collect(),
            confidence: confidence.collect(),
        })
    }

    /// Counts of how often each rule was broken, by server, in the order of both.
    pub(super) fn counts(&self) -> Vec<(Arc<str>, Rule, u64)> {
        let servers = self.0.iter().flat_map(|(name, server)| {
            let rules = server.violations.iter();
            rules.map(|(rule, count)| (Arc::clone(name), *rule, *count))
        });
        let mut counts: Vec<_> = servers.collect();
        counts.sort_unstable();
        counts
    }
}

// === impl WatchedServer ===

impl WatchedServer {
    /// Tool that is watched, as long as there is room.
    fn tool(&mut self, name: &str) -> Option<&mut WatchedTool> {
        if !self.tools.contains_key(name) {
            if self.tools.len() >= MOST_TOOLS {
                return None;
            }
            self.tools.insert(name.into(), WatchedTool::default());
        }
        self.tools.get_mut(name)
    }

    /// Takes away what stood in the definitions; gives what that was.
    fn end_standing(&mut self) -> HashSet<(Box<str>, Rule)> {
        let mut ended = HashSet::new();
        for (name, tool) in &mut self.tools {
            let standing = tool.broken.extract_if(.., |one| one.stands);
            ended.extend(standing.map(|one| (name.clone(), one.rule)));
        }
        ended
    }

    /// Remembers another fault of a rule that the definition of a tool breaks; tells whether it is one.
    fn add_standing(&mut self, violation: &ContractViolation) -> bool {
        let tool = self.tools.get_mut(violation.tool.as_str());
        let mut broken = tool.into_iter().flat_map(|tool| &mut tool.broken);
        let Some(known) = broken.find(|one| one.rule == violation.rule) else {
            return false;
        };
        let message = remembered(&violation.message);
        let is_known = known.message == message || known.more.contains(&message);
        if is_known || known.more.len() + 1 >= MOST_MESSAGES {
            return false;
        }
        known.more.push(message);
        true
    }

    /// Counts a violation; tells whether the tool had not broken the rule before.
    fn count(&mut self, tool: &str, violation: &ContractViolation, stands: bool) -> bool {
        let count = self.violations.entry(violation.rule).or_default();
        *count = count.saturating_add(1);
        let Some(tool) = self.tool(tool) else {
            return false;
        };
        let known = &mut tool.broken;
        if let Some(known) = known.iter_mut().find(|one| one.rule == violation.rule) {
            known.count = known.count.saturating_add(1);
            return false;
        }
        known.push(KnownViolation {
            rule: violation.rule,
            message: remembered(&violation.message),
            more: Vec::new(),
            count: 1,
            stands,
        });
        true
    }
}

/// Message as far as it is remembered.
fn remembered(message: &str) -> String {
    message.chars().take(LONGEST_MESSAGE).collect()
}

// === impl WatchedTool ===

impl WatchedTool {
    /// Learns from an answer; gives the faults that it does not show by itself.
    fn learn(&mut self, answer: &SeenAnswer<'_>) -> Vec<ContractViolation> {
        let mut found = Vec::new();
        let mut add = |rule, message: String| {
            let tool = String::new();
            found.push(ContractViolation {
                tool,
                rule,
                message,
            });
        };
        // A confidence out of range is a fault of its own, and errors rest on little.
        let confidence = answer
            .confidence
            .filter(|value| (0.0..=1.0).contains(value));
        if let (Some(confidence), Some(data)) = (confidence, answer.data) {
            self.confidence.learn(confidence, || answer_hash(data));
            let typed_in = self.confidence.seen().and_then(|seen| seen.typed_in());
            if let Some(fault) = typed_in {
                add(Rule::ConfidenceCalculated, fault);
            }
        }
        if answer.is_cached && self.category == Some(WatchedCategory::Mutation) {
            let fault = "metadata.cached is true, but a mutation is never answered from a cache";
            add(Rule::CacheableFits, fault.to_owned());
        }
        if answer.has_changed && self.category == Some(WatchedCategory::Query) {
            let fault = "the server announced a change of a list or of a resource during the call, but a query changes nothing";
            add(Rule::QueryPure, fault.to_owned());
        }
        found
    }

    /// Violation by no longer being announced, if it is not.
    fn lost_name(&self, name: &str) -> Option<ContractViolation> {
        let mut standing = self.standing().into_iter();
        let violation = standing.find(|one| one.rule == Rule::NameKept)?;
        let tool = name.to_owned();
        Some(ContractViolation { tool, ..violation })
    }

    /// Violations in the definition.
    fn standing(&self) -> Vec<ContractViolation> {
        let standing = self.broken.iter().filter(|one| one.stands);
        let standing = standing.map(|one| ContractViolation {
            tool: String::new(),
            rule: one.rule,
            message: one.message.clone(),
        });
        standing.collect()
    }
}

// === impl WatchedCategory ===

impl WatchedCategory {
    fn of(category: &str) -> Option<Self> {
        match category {
            "query" => Some(Self::Query),
            "mutation" => Some(Self::Mutation),
            _ => None,
        }
    }
}
