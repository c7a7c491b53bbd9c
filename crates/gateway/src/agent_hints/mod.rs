//! Hints in results: those of upstreams are vetted, and tools that give none get observed ones.
//!
//! A server that announces the tool contract sends hints with its results; they are untrusted,
//! see [`vetting`]. For all other tools the gateway remembers what it saw ([`observed`]) and makes
//! hints from it ([`proxied`]), which are kept as text until enough has changed. Hints never decide
//! anything, never change what a server said apart from its hints, and never hold up a call: one
//! lock is taken, to count and to look a text up.

mod observed;
mod primed;
mod proxied;
mod resources;
mod vetting;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use mcpproxy_catalog::{CatalogTool, Snapshot};
use mcpproxy_contract::agent_hints::AgentHints;
use mcpproxy_policy::agent_hints::vet;
use mcpproxy_policy::{Caller, Operation, Permit, Warning};
use mcpproxy_wire::CallResult;
use mcpproxy_wire::meta::AGENT_HINTS;
use serde_json::Value;

use self::observed::{Call, Observed};
use self::proxied::Ended;
use crate::Gateway;
use crate::failure::{Code, Failure};
use crate::request::Arguments;
use crate::settings::ProxiedHints;

/// How long a text is good while calls go on, however little they change.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// A text is made anew when so much of what it rests on is new: one part in eight.
const NEW_PART: u64 = 8;

/// What can be new at most, since counts are halved from time to time.
const MOST_NEW: u64 = 512;

/// The most tools whose texts are kept; beyond it they are made anew when they are wanted.
const MOST_TEXTS: usize = 1_024;

/// What was observed, and the texts made from it.
#[derive(Default)]
pub(crate) struct ObservedHints {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    observed: Observed,
    texts: HashMap<Arc<str>, Texts>,
}

/// The texts for a tool: for calls that ended well, and badly.
#[derive(Default)]
struct Texts {
    well: Option<Kept>,
    badly: Option<Kept>,
}

/// A text, and what it rests on.
struct Kept {
    text: Arc<Text>,
    revision: u64,
    made: Timestamp,
    /// A change of the catalog may withhold what is suggested, so the text ends with it.
    catalog: Weak<Snapshot>,
}

/// Hints as JSON, into which resources can be put.
#[derive(Debug)]
struct Text {
    json: String,
    /// Where the list of related resources begins.
    resources_at: usize,
}

/// A call that its server answered, as far as hints are concerned.
#[derive(Debug)]
pub(crate) struct Made {
    entry: Arc<CatalogTool>,
    took: Duration,
    ended: Ended,
    asked_for: Option<String>,
}

/// Hints of ours, and where they go.
#[derive(Debug)]
pub(crate) enum Placed {
    /// Into `_meta`, as this JSON.
    Meta(String),
    /// Into a text block at the end of the content.
    Content(String),
}

impl Made {
    /// What is to be learned from an answer. Nothing, if the server could not be reached: that says
    /// nothing about the tool.
    pub(crate) fn of(
        entry: &Arc<CatalogTool>,
        arguments: &Arguments,
        took: Duration,
        answer: &Result<CallResult, Failure>,
    ) -> Option<Self> {
        let ended = match answer {
            // It has not ended.
            Ok(result) if result.asks_for_input() => return None,
            Ok(result) if !result.is_error() => Ended::Well,
            Ok(_) => Ended::Badly,
            Err(failure) if says_something_of_the_tool(failure.code.as_str()) => Ended::Badly,
            Err(_) => return None,
        };
        Some(Self {
            entry: Arc::clone(entry),
            took,
            ended,
            asked_for: resources::asked_for(arguments.value()),
        })
    }
}

/// Whether a failure with this code counts against the tool, and not against its server or us.
fn says_something_of_the_tool(code: &str) -> bool {
    [Code::UpstreamTimeout, Code::UpstreamError]
        .iter()
        .any(|one| one.as_str() == code)
}

impl Gateway {
    /// What a server answered, as it may be passed on. From one that announces the tool contract
    /// the answer is held to the contract and its hints are vetted; the answers of all others stay
    /// as they are.
    pub(crate) fn answer_of(
        &self,
        entry: &CatalogTool,
        variant: Operation,
        result: CallResult,
        warnings: &mut Vec<Warning>,
    ) -> Result<CallResult, Failure> {
        if !entry.announces_contract() || result.asks_for_input() {
            return Ok(result);
        }
        self.hold_to_contract(entry, variant, &result, warnings)?;
        let catalog = self.catalog.snapshot();
        let (result, warning) = vetting::vetted(result, entry.server(), &catalog);
        warnings.extend(warning);
        Ok(result)
    }

    /// The deadline of a call: the configured one, or an earlier one where the tool has shown how
    /// long it takes and giving up does no harm.
    pub(crate) fn measured_deadline(
        &self,
        entry: &CatalogTool,
        permit: &Permit,
        configured: Instant,
    ) -> Instant {
        if !permit.may_repeat() {
            return configured;
        }
        match self
            .observed_hints
            .lock()
            .observed
            .patience(entry.qualified())
        {
            Some(patience) => configured.min(Instant::now() + patience),
            None => configured,
        }
    }

    /// Learns from a call, and gives the hints that go with its result.
    pub(crate) fn hints_after(
        &self,
        made: &Made,
        caller: &Caller,
        result: &Result<CallResult, Failure>,
    ) -> Option<Placed> {
        let call = Call {
            caller: same_caller(caller),
            tool: made.entry.qualified(),
            succeeded: made.ended == Ended::Well,
            took: made.took,
            at: Timestamp::now(),
        };
        let place = self.settings.load().hints;
        let (Ok(result), false) = (result, made.entry.announces_contract()) else {
            self.observed_hints.learn(&call);
            return None;
        };
        if place == ProxiedHints::Off {
            self.observed_hints.learn(&call);
            return None;
        }
        let text = self
            .observed_hints
            .after(&call, made.ended, &self.catalog.snapshot())?;
        let json = text.with(&resources::named(result, made.asked_for.as_deref()));
        Some(match place {
            ProxiedHints::Content => Placed::Content(format!(r#"{{"{AGENT_HINTS}":{json}}}"#)),
            _ => Placed::Meta(json),
        })
    }
}

/// Which calls are of the same caller: those of a session, else those of a client.
fn same_caller(caller: &Caller) -> Option<&str> {
    caller
        .session_id
        .as_deref()
        .or(caller.client_name.as_deref())
}

// === impl ObservedHints ===

impl ObservedHints {
    fn learn(&self, call: &Call<'_>) {
        self.lock().observed.learn(call);
    }

    /// Learns from a call, and gives the text of the hints for it.
    fn after(&self, call: &Call<'_>, ended: Ended, catalog: &Arc<Snapshot>) -> Option<Arc<Text>> {
        let mut state = self.lock();
        let revision = state.observed.learn(call);
        let kept = state
            .texts
            .get(call.tool)
            .and_then(|texts| texts.kept(ended));
        if let Some(kept) = kept
            && kept.is_good(revision, catalog, call.at)
        {
            return Some(Arc::clone(&kept.text));
        }
        let observation = state.observed.of(call.tool)?;
        drop(state);
        let hints = proxied::hints(&observation, catalog, ended, call.at);
        let text = Arc::new(Text::of(&hints, catalog));
        let kept = Kept {
            text: Arc::clone(&text),
            revision,
            made: call.at,
            catalog: Arc::downgrade(catalog),
        };
        self.lock().keep(call.tool, ended, kept);
        Some(text)
    }

    /// Puts what happened before the start beneath what was seen since.
    fn prime(&self, earlier: Observed) {
        let mut state = self.lock();
        let later = std::mem::replace(&mut state.observed, earlier);
        state.observed.absorb(later);
        state.texts.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Whoever panicked with it was counting; a count that is one short harms nobody.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&mut self, tool: &str, ended: Ended, kept: Kept) {
        if self.texts.len() >= MOST_TEXTS && !self.texts.contains_key(tool) {
            self.texts.clear();
        }
        let texts = self.texts.entry(tool.into()).or_default();
        match ended {
            Ended::Well => texts.well = Some(kept),
            Ended::Badly => texts.badly = Some(kept),
        }
    }
}

impl Texts {
    fn kept(&self, ended: Ended) -> Option<&Kept> {
        match ended {
            Ended::Well => self.well.as_ref(),
            Ended::Badly => self.badly.as_ref(),
        }
    }
}

impl Kept {
    fn is_good(&self, revision: u64, catalog: &Arc<Snapshot>, now: Timestamp) -> bool {
        let new = revision.saturating_sub(self.revision);
        new * NEW_PART <= self.revision.min(MOST_NEW)
            && now.duration_since(self.made).unsigned_abs() < KEPT_FOR
            && std::ptr::eq(self.catalog.as_ptr(), Arc::as_ptr(catalog))
    }
}

// === impl Text ===

impl Text {
    /// The JSON of hints, each suggestion with how to call it.
    fn of(hints: &AgentHints, catalog: &Snapshot) -> Self {
        let members = match serde_json::to_value(hints) {
            Ok(Value::Object(members)) => members,
            // Hints are an object of plain values, which always serialises.
            _ => serde_json::Map::new(),
        };
        let vetted = vet(members, &|action| vetting::resolve(catalog, "", action));
        let mut text = Self {
            json: String::from("{"),
            resources_at: 0,
        };
        for (name, value) in &vetted.hints {
            if text.json.len() > 1 {
                text.json.push(',');
            }
            text.json.push_str(&Value::from(name.as_str()).to_string());
            text.json.push(':');
            if name == "relatedResources" {
                text.resources_at = text.json.len() + 1;
            }
            text.json.push_str(&value.to_string());
        }
        text.json.push('}');
        text
    }

    /// The same with these resources, each as JSON. The hints of a tool know of none by themselves.
    fn with(&self, resources: &[String]) -> String {
        if resources.is_empty() || self.resources_at == 0 {
            return self.json.clone();
        }
        let (before, after) = self.json.split_at(self.resources_at);
        [before, &resources.join(","), after].concat()
    }
}

#[cfg(test)]
mod tests;
