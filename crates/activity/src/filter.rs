//! Filter of records: which of them are asked for.

use jiff::{Span, Timestamp, civil, tz::TimeZone};
use mcpproxy_policy::{Operation, RecordScope, Sensitivity};
use uuid::Uuid;

use crate::record::{Record, RecordKind, Status};
use crate::row::Cell;
use crate::search_terms;

/// Filter of records; what is not set does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Kind of what happened.
    pub kind: Option<RecordKind>,
    /// The server it was about.
    pub server: Option<String>,
    /// The tool it was about.
    pub tool: Option<String>,
    /// Status of what came of it.
    pub status: Option<Status>,
    /// The operation of the variant.
    pub intent_type: Option<Operation>,
    /// The request it answers.
    pub request_id: Option<Uuid>,
    /// The session it came in.
    pub session_id: Option<String>,
    /// Sensitivity of the data.
    pub sensitivity: Option<Sensitivity>,
    /// Agent that asked.
    pub agent: Option<String>,
    /// Earliest time.
    pub from: Option<Timestamp>,
    /// Time that all are before.
    pub to: Option<Timestamp>,
    /// Words that start like these stand in server, tool, reason, error or arguments.
    pub text: Option<String>,
    /// Records that whoever asks may see. Nobody can type it: it comes from the caller.
    pub scope: RecordScope,
}

/// Error of a filter that cannot be used. The message names what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FilterError {
    /// The filter that is wrong.
    pub name: String,
    /// Message that says what is wrong and what is allowed.
    pub message: String,
    /// The allowed words, where there is a list of them.
    pub allowed: Vec<&'static str>,
}

/// Conditions on columns and ids that a filter comes to, alike for both stores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Columns that hold exactly this.
    pub equal: Vec<(&'static str, Cell)>,
    /// Whether only records without a token are wanted.
    pub without_token: bool,
    /// No id below this one.
    pub first_id: Option<Uuid>,
    /// Only ids below this one.
    pub end_id: Option<Uuid>,
    /// Words that have to be found, each by how it starts.
    pub words: Vec<String>,
}

impl Filter {
    /// The names of all filters.
    pub const NAMES: [&'static str; 12] = [
        "type",
        "server",
        "tool",
        "status",
        "intent_type",
        "request_id",
        "session_id",
        "sensitivity",
        "agent",
        "from",
        "to",
        "text",
    ];

    /// Sets one filter by its name, as it was typed. Times may be given as so long before `now`.
    pub fn set(&mut self, name: &str, value: &str, now: Timestamp) -> Result<(), FilterError> {
        let owned = || Some(value.to_owned());
        match name {
            "type" => self.kind = Some(word(name, value, &RecordKind::ALL, RecordKind::as_str)?),
            "server" => self.server = owned(),
            "tool" => self.tool = owned(),
            "status" => self.status = Some(word(name, value, &Status::ALL, Status::as_str)?),
            "intent_type" => {
                self.intent_type = Some(word(name, value, &Operation::ALL, Operation::as_str)?);
            }
            "request_id" => self.request_id = Some(read_id(name, value)?),
            "session_id" => self.session_id = owned(),
            "sensitivity" => {
                let all = &Sensitivity::ALL;
                self.sensitivity = Some(word(name, value, all, Sensitivity::as_str)?);
            }
            "agent" => self.agent = owned(),
            "from" => self.from = Some(read_time(name, value, now)?),
            "to" => self.to = Some(read_time(name, value, now)?),
            "text" if search_terms::of_query(value).is_empty() => {
                let expected = "one word or more, of letters or digits";
                return Err(refused(name, value, expected));
            }
            "text" => self.text = owned(),
            _ => {
                let (shown, names) = (shown(name), listed(&Self::NAMES));
                return Err(FilterError {
                    name: name.to_owned(),
                    message: format!("Unknown filter '{shown}': must be {names}"),
                    allowed: Self::NAMES.to_vec(),
                });
            }
        }
        Ok(())
    }

    /// The filter as the stores apply it.
    pub fn conditions(&self) -> Conditions {
        let (own_token, own_session) = match &self.scope {
            RecordScope::All | RecordScope::Nothing => (None, None),
            RecordScope::Token(id) => (Some(id.as_str()), None),
            RecordScope::Session(id) => (None, Some(id.as_str())),
        };
        let end_id = match self.scope {
            // No id is below this one.
            RecordScope::Nothing => Some(Uuid::nil()),
            _ => self.to.map(first_id_at),
        };
        let equal = [
            ("token_id", Cell::from(own_token)),
            ("session_id", own_session.into()),
            ("request_id", self.request_id.into()),
            // Beside that of the scope: both have to hold.
            ("session_id", self.session_id.as_deref().into()),
            ("tool_name", self.tool.as_deref().into()),
            ("server_name", self.server.as_deref().into()),
            ("agent", self.agent.as_deref().into()),
            ("status", self.status.map(Status::as_str).into()),
            ("type", self.kind.map(RecordKind::as_str).into()),
            (
                "intent_type",
                self.intent_type.map(Operation::as_str).into(),
            ),
            (
                "sensitivity",
                self.sensitivity.map(Sensitivity::as_str).into(),
            ),
        ];
        let is_set = |(_, cell): &(_, Cell)| *cell != Cell::Null;
        let words = self.text.as_deref().map(search_terms::of_query);
        Conditions {
            equal: equal.into_iter().filter(is_set).collect(),
            without_token: own_session.is_some(),
            first_id: self.from.map(first_id_at),
            end_id,
            words: words.unwrap_or_default(),
        }
    }

    /// Whether a record is among those asked for.
    pub fn admits(&self, record: &Record) -> bool {
        fn same<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
            wanted.is_none() || wanted == found
        }
        let conditions = self.conditions();
        let found = search_terms::of_record(record);
        record.is_within(&self.scope)
            && same(self.kind.as_ref(), Some(&record.kind))
            && same(self.server.as_ref(), record.server_name.as_ref())
            && same(self.tool.as_ref(), record.tool_name.as_ref())
            && same(self.status.as_ref(), Some(&record.status))
            && same(self.intent_type.as_ref(), record.intent_type.as_ref())
            && same(self.request_id.as_ref(), Some(&record.request_id))
            && same(self.session_id.as_ref(), record.session_id.as_ref())
            && same(self.sensitivity.as_ref(), record.sensitivity.as_ref())
            && same(self.agent.as_ref(), record.agent.as_ref())
            && conditions.first_id.is_none_or(|first| record.id >= first)
            && conditions.end_id.is_none_or(|end| record.id < end)
            && conditions
                .words
                .iter()
                .all(|start| found.split(' ').any(|word| word.starts_with(start)))
    }
}

/// Lowest id that a record of this moment can have: ids start with their millisecond. So every
/// range of times is a range of ids, and every index that ends in the id serves it.
pub fn first_id_at(moment: Timestamp) -> Uuid {
    let nanoseconds = moment.as_nanosecond();
    // Rounded up: a record of the millisecond that `moment` is in began before `moment`.
    let milliseconds =
        nanoseconds.div_euclid(1_000_000) + i128::from(nanoseconds.rem_euclid(1_000_000) > 0);
    let milliseconds = u64::try_from(milliseconds)
        .unwrap_or(0)
        .min(0xffff_ffff_ffff);
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&milliseconds.to_be_bytes()[2..]);
    Uuid::from_bytes(bytes)
}

/// Moment that an id of a record begins with.
pub(crate) fn moment_of(id: Uuid) -> Option<Timestamp> {
    let (seconds, nanoseconds) = id.get_timestamp()?.to_unix();
    let (seconds, nanoseconds) = (seconds.try_into().ok()?, nanoseconds.try_into().ok()?);
    Timestamp::new(seconds, nanoseconds).ok()
}

fn word<T: Copy>(
    name: &str,
    value: &str,
    all: &[T],
    as_str: fn(T) -> &'static str,
) -> Result<T, FilterError> {
    let found = all.iter().copied().find(|one| as_str(*one) == value);
    found.ok_or_else(|| {
        let allowed: Vec<&str> = all.iter().map(|one| as_str(*one)).collect();
        let error = refused(name, value, &listed(&allowed));
        FilterError { allowed, ..error }
    })
}

fn read_id(name: &str, value: &str) -> Result<Uuid, FilterError> {
    Uuid::try_parse(value).map_err(|_| refused(name, value, "a UUID, as the activity log shows it"))
}

fn read_time(name: &str, value: &str, now: Timestamp) -> Result<Timestamp, FilterError> {
    let date = || -> Option<Timestamp> {
        let date: civil::Date = value.parse().ok()?;
        Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let ago = || -> Option<Timestamp> {
        let span: Span = value.parse().ok()?;
        // Days are taken as 24 hours: a moment without a place has no other.
        let seconds = span
            .total(jiff::SpanTotal::from(jiff::Unit::Second).days_are_24_hours())
            .ok()?;
        now.checked_sub(std::time::Duration::try_from_secs_f64(seconds).ok()?)
            .ok()
    };
    value.parse().ok().or_else(date).or_else(ago).ok_or_else(|| {
        refused(
            name,
            value,
            "a time such as 2026-01-31T12:00:00Z, a date such as 2026-01-31 (UTC), or so long ago, such as 15m, 24h or 7d",
        )
    })
}

fn refused(name: &str, value: &str, expected: &str) -> FilterError {
    FilterError {
        name: name.to_owned(),
        message: format!("Invalid {name} '{}': must be {expected}", shown(value)),
        allowed: Vec::new(),
    }
}

fn shown(value: &str) -> String {
    value.chars().take(100).collect()
}

/// Words as a sentence lists them.
fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first, second] => format!("{first} or {second}"),
        [most @ .., last] => format!("{}, or {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Result<Filter, FilterError> {
        let mut filter = Filter::default();
        filter.set(name, value, Timestamp::from_second(1_000_000).unwrap())?;
        Ok(filter)
    }

    #[test]
    fn wrong_values_are_refused_with_what_is_allowed() {
        let check = |name: &str, value: &str, expected: &str| {
            assert_eq!(set(name, value).unwrap_err().message, expected);
        };
        check(
            "intent_type",
            "delete",
            "Invalid intent_type 'delete': must be read, write, or destructive",
        );
        check(
            "status",
            "Success",
            "Invalid status 'Success': must be success, error, blocked, or in_doubt",
        );
        check(
            "sensitivity",
            "secret",
            "Invalid sensitivity 'secret': must be public, internal, private, or unknown",
        );
        check(
            "request_id",
            "7",
            "Invalid request_id '7': must be a UUID, as the activity log shows it",
        );
        check(
            "text",
            " . ",
            "Invalid text ' . ': must be one word or more, of letters or digits",
        );
        assert!(
            set("type", "call")
                .unwrap_err()
                .message
                .contains("tool_call")
        );
        assert!(
            set("servers", "x")
                .unwrap_err()
                .message
                .contains("server, tool")
        );
        assert!(
            set("from", "yesterday")
                .unwrap_err()
                .message
                .contains("24h")
        );
    }

    #[test]
    fn times_are_moments_dates_or_so_long_ago() {
        let at = |value: &str| set("from", value).unwrap().from.unwrap().as_second();
        assert_eq!(at("1970-01-02T00:00:01Z"), 86_401);
        assert_eq!(at("1970-01-02T01:00:01+01:00"), 86_401);
        assert_eq!(at("1970-01-03"), 172_800);
        assert_eq!(at("15m"), 1_000_000 - 900);
        assert_eq!(at("7d"), 1_000_000 - 604_800);
    }

    #[test]
    fn a_range_of_times_is_a_range_of_ids() {
        let moment = Timestamp::from_millisecond(1_700_000_000_123).unwrap();
        let id = first_id_at(moment);
        assert_eq!(id.as_bytes()[..6], 1_700_000_000_123_u64.to_be_bytes()[2..]);
        let made = uuid::Builder::from_unix_timestamp_millis(1_700_000_000_123, &[0; 10]);
        assert_eq!(moment_of(*made.as_uuid()), Some(moment));
        assert!(id < *made.as_uuid());
        let later = moment + jiff::SignedDuration::from_nanos(1);
        assert!(first_id_at(later) > id);
        assert_eq!(
            first_id_at(Timestamp::from_second(-5).unwrap()),
            Uuid::nil()
        );
    }
}
