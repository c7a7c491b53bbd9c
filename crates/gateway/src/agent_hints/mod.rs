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
pub(crate) mod vetting;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use mcpproxy_catalog::{Catalog, CatalogTool, Snapshot};
use mcpproxy_contract::agent_hints::{AgentHints, RelatedResource};
use mcpproxy_policy::{AnonymousRole, Caller, Permit, Rights};
use mcpproxy_wire::meta::AGENT_HINTS;
use mcpproxy_wire::{CallResult, Json, JsonObject};
use serde_json::json;

use self::observed::{Observed, ObservedCall};
use self::proxied::CallEnding;
use crate::failure::{Code, Failure};
use crate::settings::ProxiedHints;

/// Time that a text is good while calls go on, however little they change.
const CACHED_FOR: Duration = Duration::from_secs(10);

/// Part of what a text rests on that is new when it is made anew: one in eight.
const NEW_PART: u64 = 8;

/// Most that can be new, since counts are halved from time to time.
const MOST_NEW: u64 = 512;

/// Most tools whose texts are kept; beyond it they are made anew when they are wanted.
const MOST_TEXTS: usize = 1_024;

/// Observations, and the texts made from them.
#[derive(Default)]
pub(crate) struct ObservedHints {
    state: Mutex<HintState>,
}

#[derive(Default)]
struct HintState {
    observed: Observed,
    /// Texts for each tool: for calls that ended well, and badly.
    texts: HashMap<Box<str>, [Option<CachedText>; 2]>,
}

/// Text, and what it rests on.
struct CachedText {
    text: Arc<HintText>,
    revision: u64,
    made: Timestamp,
    /// Catalog that it was made from. A change may withhold what is suggested, so the text ends with it.
    catalog: Weak<Snapshot>,
}

/// Hints as JSON, member by member, so that resources can be put in.
#[derive(Debug)]
struct HintText {
    members: Vec<(String, Json)>,
    /// Whether they say more than that little is known: a step or a risk.
    says_something: bool,
}

/// Call that its server answered, as far as hints are concerned.
#[derive(Debug)]
pub(crate) struct AnsweredCall {
    tool: Arc<CatalogTool>,
    took: Duration,
    ending: CallEnding,
    /// Address or path that the arguments name.
    requested_resource: Option<String>,
}

/// Hints of ours, and where they go.
#[derive(Debug)]
pub(crate) enum PlacedHints {
    /// Into `_meta`, as this JSON.
    Meta(String),
    /// Into a text block at the end of the content.
    Content(String),
}

impl AnsweredCall {
    /// Call that something is to be learned from. None, if the server could not be reached: that
    /// says nothing about the tool.
    pub(crate) fn of(
        tool: &Arc<CatalogTool>,
        arguments: &JsonObject,
        duration: Duration,
        answer: &Result<CallResult, Failure>,
    ) -> Option<Self> {
        let ending = match answer {
            // It has not ended.
            Ok(result) if result.asks_for_input() => return None,
            Ok(result) if !result.is_error() => CallEnding::Well,
            Ok(_) => CallEnding::Badly,
            Err(failure) if says_something_of_the_tool(failure.code.as_str()) => CallEnding::Badly,
            Err(_) => return None,
        };
        Some(Self {
            tool: Arc::clone(tool),
            took: duration,
            ending,
            requested_resource: resources::requested(arguments.value()),
        })
    }
}

/// Whether a failure with this code counts against the tool, and not against its server or us.
fn says_something_of_the_tool(code: &str) -> bool {
    [Code::UpstreamTimeout, Code::UpstreamError]
        .iter()
        .any(|one| one.as_str() == code)
}

/// Group of callers that learn from one another. A token learns from its own calls alone: what others do is not its
/// business, and what is suggested to it has to be within its rights.
fn group_of(rights: &Rights) -> &str {
    match rights {
        Rights::Token(token) => &token.id,
        Rights::Anonymous(AnonymousRole::Read) => "read",
        Rights::Anonymous(AnonymousRole::Full) | Rights::Administrator => "",
    }
}

/// Name that a tool is observed under: its own, with the group in front where there is one.
fn observed_by<'a>(group: &str, tool: &'a str) -> Cow<'a, str> {
    if group.is_empty() {
        return tool.into();
    }
    format!("{group}\n{tool}").into()
}

impl ObservedHints {
    /// Deadline of a call: the configured one, or an earlier one where the tool has shown how
    /// long it takes and giving up does no harm.
    pub(crate) fn deadline(
        &self,
        tool: &CatalogTool,
        caller: &Caller,
        permit: &Permit,
        configured: Instant,
    ) -> Instant {
        if !permit.may_repeat() {
            return configured;
        }
        let tool = observed_by(group_of(&caller.rights), tool.qualified());
        match self.lock().observed.time_limit(&tool) {
            Some(limit) => configured.min(Instant::now() + limit),
            None => configured,
        }
    }

    /// Calls of a tool that did not do what was asked, of all that were seen of this caller's group and are not forgotten.
    pub(crate) fn broken_of_all(&self, tool: &CatalogTool, caller: &Caller) -> (u64, u64) {
        let tool = observed_by(group_of(&caller.rights), tool.qualified());
        self.lock().observed.broken_of_all(&tool)
    }

    /// Learns from a call, and gives the hints that go with its result.
    pub(crate) fn after(
        &self,
        answered: &AnsweredCall,
        caller: &Caller,
        result: &Result<CallResult, Failure>,
        place: ProxiedHints,
        catalog: &Catalog,
    ) -> Option<PlacedHints> {
        // Of the same caller are the calls of a session, else those of a client.
        let same_caller = caller.session_id.clone().or_else(|| {
            // A client chooses its name, so the name alone joins nobody.
            let client = caller.client_name.as_ref()?;
            Some(format!("{}\n{client}", caller.limit_key()))
        });
        let call = ObservedCall {
            caller: same_caller.map(Cow::from),
            tool: observed_by(group_of(&caller.rights), answered.tool.qualified()),
            succeeded: answered.ending == CallEnding::Well,
            took: answered.took,
            at: Timestamp::now(),
        };
        let (Ok(result), false, ProxiedHints::Meta | ProxiedHints::Content) =
            (result, answered.tool.announces_contract(), place)
        else {
            self.lock().observed.learn(&call);
            return None;
        };
        let (ending, catalog) = (answered.ending, catalog.snapshot());
        let text = self.text_after(&call, ending, &catalog, &caller.rights)?;
        let resources = resources::named(result, answered.requested_resource.as_deref());
        // Agents pay for hints in tokens.
        if !text.says_something && resources.is_empty() {
            return None;
        }
        let hints = text.with(&resources);
        Some(match place {
            ProxiedHints::Content => PlacedHints::Content(format!("{{\"{AGENT_HINTS}\":{hints}}}")),
            _ => PlacedHints::Meta(hints),
        })
    }

    /// Learns from a call, and gives the text of the hints for it.
    fn text_after(
        &self,
        call: &ObservedCall<'_>,
        ending: CallEnding,
        catalog: &Arc<Snapshot>,
        rights: &Rights,
    ) -> Option<Arc<HintText>> {
        let mut state = self.lock();
        let revision = state.observed.learn(call);
        let cached = state.texts.get(&*call.tool);
        if let Some(cached) = cached.and_then(|texts| texts[ending as usize].as_ref())
            && cached.is_good(revision, catalog, call.at)
        {
            return Some(Arc::clone(&cached.text));
        }
        let observation = state.observed.of(&call.tool)?;
        drop(state);
        let hints = proxied::hints(&observation, catalog, ending, call.at, rights);
        let says_something = proxied::say_something(&hints, &observation);
        let text = Arc::new(HintText::of(&hints, says_something, catalog, rights));
        let cached = CachedText {
            text: Arc::clone(&text),
            revision,
            made: call.at,
            catalog: Arc::downgrade(catalog),
        };
        let texts = &mut self.lock().texts;
        if texts.len() >= MOST_TEXTS && !texts.contains_key(&*call.tool) {
            texts.clear();
        }
        let texts = texts.entry((*call.tool).into()).or_default();
        texts[ending as usize] = Some(cached);
        Some(text)
    }

    /// Learns from calls before the start, oldest first.
    fn prime<'a>(&self, calls: impl Iterator<Item = &'a ObservedCall<'a>>) {
        let mut state = self.lock();
        state.observed.learn_past(calls);
        state.texts.clear();
    }

    fn lock(&self) -> MutexGuard<'_, HintState> {
        // Whoever panicked with it was counting; a count that is one short harms nobody.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedText {
    fn is_good(&self, revision: u64, catalog: &Arc<Snapshot>, now: Timestamp) -> bool {
        let new = revision.saturating_sub(self.revision);
        new * NEW_PART <= self.revision.min(MOST_NEW)
            && now.duration_since(self.made).unsigned_abs() < CACHED_FOR
            && std::ptr::eq(self.catalog.as_ptr(), Arc::as_ptr(catalog))
    }
}

// === impl HintText ===

impl HintText {
    /// JSON of hints, each suggestion with how to call it.
    fn of(hints: &AgentHints, says_something: bool, catalog: &Snapshot, rights: &Rights) -> Self {
        let members = vetting::own_hints(hints, catalog, rights).into_iter();
        Self {
            members: members
                .map(|(name, value)| (name, Json::of(&value)))
                .collect(),
            says_something,
        }
    }

    /// JSON of the hints with the resources that one call has to do with, in place of those of the
    /// hints, which know of none by themselves.
    fn with(&self, resources: &[RelatedResource]) -> String {
        let resources = (!resources.is_empty()).then(|| Json::of(&json!(resources)));
        let mut text = String::from("{");
        for (name, value) in &self.members {
            let comma = if text.len() > 1 { "," } else { "" };
            let named = resources.as_ref().filter(|_| name == "relatedResources");
            text.extend([comma, "\"", name, "\":", named.unwrap_or(value).text()]);
        }
        text + "}"
    }
}

#[cfg(test)]
mod tests;
