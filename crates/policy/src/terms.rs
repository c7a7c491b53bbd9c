//! Terms that a tool of the contract announces in its definition, and what they mean for a call.
//!
//! The definition comes from a server. What is malformed in it announces nothing, which `contract check` reports; what
//! is announced holds for every caller. Nothing here reads a clock: who asks says which day it is.

use std::time::Duration;

use jiff::civil::Date;
use serde_json::Value;

use crate::{AccessTo, Rights, Warning};

/// Longest time that a result is cached, whatever its tool says: after a day even what never changes is worth asking for.
const LONGEST_CACHE_TTL: Duration = Duration::from_hours(24);

/// Longest window of a limit, whatever its tool says: a caller that is shut out for longer than a day cannot wait.
const LONGEST_WINDOW: Duration = Duration::from_hours(24);

/// Most characters of a name or version that somebody else wrote; longer ones are none.
const LONGEST_WORD: usize = 200;

/// Terms of a tool that announces the contract.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContractTerms {
    /// Version of the tool.
    pub version: Option<String>,
    /// Whether it says that it changes something, whatever its annotations say.
    pub is_mutation: bool,
    /// Permissions that a caller needs, each `resource:action`.
    pub permissions: Vec<String>,
    /// Limit on the calls of one caller.
    pub rate_limit: Option<AnnouncedLimit>,
    /// Time that a result may be cached; none for what has to run every time, and for mutations.
    pub cache_ttl: Option<Duration>,
    /// Deprecation, if the tool is going to be removed.
    pub deprecation: Option<AnnouncedDeprecation>,
}

/// Limit on the calls of one caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnnouncedLimit {
    /// Calls that a window admits.
    pub max_calls: u32,
    /// Length of the window.
    pub window: Duration,
}

/// Deprecation of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedDeprecation {
    /// Version of the tool since which it is deprecated.
    pub since: Option<String>,
    /// Tool that takes its place: its name at the same server, or `server:tool`.
    pub replacement: Option<String>,
    /// Day from which on there is no such tool.
    pub removal_date: Option<Date>,
}

// === impl ContractTerms ===

impl ContractTerms {
    /// Terms that a definition announces.
    pub fn of(definition: &Value) -> Self {
        let permissions = definition["permissions"].as_array();
        let permissions = permissions.into_iter().flatten().filter_map(Value::as_str);
        Self {
            version: word(&definition["version"]),
            is_mutation: definition["category"] == "mutation",
            permissions: permissions.map(str::to_owned).collect(),
            rate_limit: AnnouncedLimit::of(&definition["rateLimit"]),
            cache_ttl: cache_ttl(definition),
            deprecation: AnnouncedDeprecation::of(&definition["deprecated"]),
        }
    }

    /// Permissions that a caller with these rights lacks.
    pub fn missing_permissions(&self, rights: &Rights) -> Vec<&str> {
        let needed = self.permissions.iter().map(String::as_str);
        needed
            .filter(|permission| !rights.allow(AccessTo::Permission(permission)))
            .collect()
    }

    /// Whether there is no such tool any more on this day.
    pub fn is_removed(&self, today: Date) -> bool {
        let deprecation = self.deprecation.as_ref();
        let removal = deprecation.and_then(|one| one.removal_date);
        removal.is_some_and(|removal| removal <= today)
    }
}

// === impl AnnouncedLimit ===

impl AnnouncedLimit {
    fn of(limit: &Value) -> Option<Self> {
        let max_calls = whole(&limit["maxCalls"])?;
        let window = whole(&limit["windowMs"])?;
        Some(Self {
            max_calls: u32::try_from(max_calls).unwrap_or(u32::MAX),
            window: Duration::from_millis(window).min(LONGEST_WINDOW),
        })
    }
}

// === impl AnnouncedDeprecation ===

impl AnnouncedDeprecation {
    fn of(deprecated: &Value) -> Option<Self> {
        deprecated.is_object().then(|| Self {
            since: word(&deprecated["since"]),
            replacement: word(&deprecated["replacement"]),
            removal_date: date(&deprecated["removalDate"]),
        })
    }

    /// Deprecation without a replacement that a caller cannot call: its name would tell of a tool that does not exist
    /// for the caller.
    #[must_use]
    pub fn shown_to(&self, server: &str, can_call: impl Fn(&str) -> bool) -> Self {
        let is_shown = self
            .replacement_at(server)
            .is_some_and(|name| can_call(&name));
        Self {
            replacement: self.replacement.clone().filter(|_| is_shown),
            ..self.clone()
        }
    }

    /// Warning to whoever calls this tool.
    pub fn warning(&self, server: &str, tool: &str) -> Warning {
        let removal = self.removal_date;
        let removal = removal.map(|date| format!(" and will be removed on {date}"));
        let replacement = self.replacement_at(server);
        let replacement = replacement.map(|name| format!(", use {name}"));
        let [removal, replacement] = [removal, replacement].map(Option::unwrap_or_default);
        Warning {
            code: "DEPRECATED_TOOL",
            message: format!("Tool '{server}:{tool}' is deprecated{removal}{replacement}"),
        }
    }

    /// Replacement as `server:tool`, for a tool of this server.
    pub fn replacement_at(&self, server: &str) -> Option<String> {
        let name = self.replacement.as_deref()?;
        if name.contains(':') {
            return Some(name.to_owned());
        }
        Some(format!("{server}:{name}"))
    }
}

/// Time that results may be cached, if the definition says so and is not that of a mutation.
fn cache_ttl(definition: &Value) -> Option<Duration> {
    if definition["cacheable"] != true || definition["category"] == "mutation" {
        return None;
    }
    let seconds = definition["cacheTTL"].as_f64().filter(|ttl| *ttl > 0.0)?;
    let ttl = Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_CACHE_TTL);
    Some(ttl.min(LONGEST_CACHE_TTL))
}

/// Day of a date or of a point in time, as ISO 8601 writes both.
fn date(value: &Value) -> Option<Date> {
    value.as_str()?.get(..10)?.parse().ok()
}

/// Whole number above zero. Some languages write it as `60000.0`.
fn whole(value: &Value) -> Option<u64> {
    let number = value.as_u64();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is out of range is cut, and nothing is below zero"
    )]
    let number = number.or_else(|| Some(value.as_f64()?.max(0.0).ceil() as u64));
    number.filter(|number| *number > 0)
}

/// Text that is short enough to be repeated, and that nothing can hide in: names and versions are plain characters.
fn word(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty())?;
    let is_plain = text
        .chars()
        .all(|one| one.is_ascii_graphic() || one.is_alphanumeric());
    (is_plain && text.chars().count() <= LONGEST_WORD).then(|| text.to_owned())
}
