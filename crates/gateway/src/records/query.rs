//! Queries of the log, as they were typed into a URL or behind flags.

use std::collections::BTreeMap;

use jiff::Timestamp;
use mcpproxy_activity::{Filter, FilterError, LogPosition};
use mcpproxy_policy::RecordScope;
use mcpproxy_support::nearest::nearest_keyword;
use serde_json::json;
use uuid::Uuid;

use super::event_ids::EventIds;
use crate::failure::{Code, Failure};

/// Number of records of a page when nothing else is said.
pub const DEFAULT_LIMIT: usize = 50;

/// Most records that a page may have.
pub const MOST_RECORDS: usize = 1_000;

/// Name of a parameter and its value.
pub type Pair = (String, String);

/// Query for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordQuery {
    /// Filter of the records.
    pub filter: Filter,
    /// Most records of the page.
    pub limit: usize,
    /// Last record of the page before.
    pub cursor: Option<Uuid>,
}

/// Query of a follower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Following {
    /// Filter of the records.
    pub filter: Filter,
    /// Position where it stopped before; from now on without one.
    pub position: Option<LogPosition>,
}

/// Parameters that are no filters.
pub(super) type Others<'a> = BTreeMap<&'static str, &'a str>;

impl RecordQuery {
    /// Reads the parameters of a list.
    pub fn parse(pairs: &[Pair], scope: RecordScope) -> Result<Self, Failure> {
        let (filter, others) = parse(pairs, &["limit", "cursor"], scope)?;
        let limit = others.get("limit").map(|value| parse_limit(value));
        let cursor = others.get("cursor").map(|value| parse_cursor(value));
        Ok(Self {
            filter,
            limit: limit.unwrap_or(Ok(DEFAULT_LIMIT))?,
            cursor: cursor.transpose()?,
        })
    }
}

impl Following {
    /// Reads the parameters of a stream of events. `last_id` is the header of a client that comes
    /// back; it is newer than what its address says.
    pub fn parse(
        pairs: &[Pair],
        last_id: Option<&str>,
        scope: RecordScope,
        ids: &EventIds,
    ) -> Result<Self, Failure> {
        let (filter, others) = parse(pairs, &["last_event_id"], scope)?;
        let id = last_id.or(others.get("last_event_id").copied());
        let position = id.map(|id| {
            let expected = "the id of an event of this stream";
            ids.read(id)
                .ok_or_else(|| wrong("last_event_id", id, expected))
        });
        Ok(Self {
            filter,
            position: position.transpose()?,
        })
    }
}

/// Reads parameters of which all are filters.
pub fn parse_filter(pairs: &[Pair], scope: RecordScope) -> Result<Filter, Failure> {
    Ok(parse(pairs, &[], scope)?.0)
}

/// Reads the id of a record.
pub fn parse_id(value: &str) -> Result<Uuid, Failure> {
    Uuid::try_parse(value)
        .map_err(|_| wrong("id", value, "a UUID, as `mcpproxy activity list` shows it"))
}

/// Reads filters, and the other parameters that are allowed.
pub(super) fn parse<'a>(
    pairs: &'a [Pair],
    others: &[&'static str],
    scope: RecordScope,
) -> Result<(Filter, Others<'a>), Failure> {
    let now = Timestamp::now();
    let mut filter = Filter {
        scope,
        ..Filter::default()
    };
    let mut found = Others::new();
    let mut seen: Vec<&str> = Vec::new();
    for (name, value) in pairs {
        let known = Filter::NAMES.iter().chain(others);
        let Some(known) = known.copied().find(|known| known == name) else {
            return Err(unknown(name, others));
        };
        if seen.contains(&known) {
            let message =
                format!("The parameter '{known}' is given more than once; one value is possible");
            return Err(invalid(known, message));
        }
        seen.push(known);
        if others.contains(&known) {
            found.insert(known, value);
            continue;
        }
        filter.set(known, value, now).map_err(of_filter)?;
        if value.is_empty() {
            // An empty word would match nothing, or look as if nothing had been filtered.
            let message = format!("Invalid {known} '': must not be empty; leave it out to get all");
            return Err(invalid(known, message));
        }
    }
    Ok((filter, found))
}

/// Failure of a parameter with a value that cannot be used.
pub(super) fn wrong(name: &str, value: &str, expected: &str) -> Failure {
    let message = format!("Invalid {name} '{}': must be {expected}", shown(value));
    invalid(name, message)
}

fn parse_limit(value: &str) -> Result<usize, Failure> {
    let limit = value.parse().ok();
    let limit = limit.filter(|limit| (1..=MOST_RECORDS).contains(limit));
    let expected = format!("a number from 1 to {MOST_RECORDS}");
    limit.ok_or_else(|| wrong("limit", value, &expected))
}

fn parse_cursor(value: &str) -> Result<Uuid, Failure> {
    Uuid::try_parse(value)
        .ok()
        .filter(|id| id.get_version_num() == 7)
        .ok_or_else(|| wrong("cursor", value, "the next_cursor of an earlier answer"))
}

fn unknown(name: &str, others: &[&'static str]) -> Failure {
    let allowed: Vec<&str> = Filter::NAMES.iter().chain(others).copied().collect();
    let guess = nearest_keyword(name, &allowed)
        .map_or_else(String::new, |guess| format!(" Did you mean '{guess}'?"));
    let (shown, listed) = (shown(name), allowed.join(", "));
    let message = format!("Unknown parameter '{shown}': must be one of {listed}.{guess}");
    invalid(name, message).with("allowed", json!(allowed))
}

fn of_filter(error: FilterError) -> Failure {
    let failure = invalid(&error.name, error.message);
    if error.allowed.is_empty() {
        return failure;
    }
    failure.with("allowed", json!(error.allowed))
}

fn invalid(parameter: &str, message: String) -> Failure {
    Failure::new(Code::InvalidArguments, message).with("parameter", shown(parameter))
}

/// Part of what was typed that a message can show.
fn shown(value: &str) -> String {
    value.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<Pair> {
        text.split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn a_page_has_fifty_records_unless_something_else_is_asked_for() {
        let query = RecordQuery::parse(&[], RecordScope::All).unwrap();
        assert_eq!((query.limit, query.cursor), (DEFAULT_LIMIT, None));
        let id = Uuid::now_v7();
        let asked = format!("intent_type=read&status=error&limit=1000&cursor={id}");
        let query = RecordQuery::parse(&pairs(&asked), RecordScope::All).unwrap();
        assert_eq!((query.limit, query.cursor), (1_000, Some(id)));
        assert!(query.filter.intent_type.is_some() && query.filter.status.is_some());
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_what_can() {
        let check = |text: &str, message: &str| {
            let failure = RecordQuery::parse(&pairs(text), RecordScope::All).unwrap_err();
            assert_eq!(failure.code, Code::InvalidArguments, "{text}");
            assert_eq!(failure.message, message, "{text}");
        };
        check(
            "intent_type=delete",
            "Invalid intent_type 'delete': must be read, write, or destructive",
        );
        check(
            "limit=0",
            "Invalid limit '0': must be a number from 1 to 1000",
        );
        check(
            "limit=1001",
            "Invalid limit '1001': must be a number from 1 to 1000",
        );
        check(
            "limit=",
            "Invalid limit '': must be a number from 1 to 1000",
        );
        check(
            "limit=x",
            "Invalid limit 'x': must be a number from 1 to 1000",
        );
        check(
            "cursor=00000000-0000-0000-0000-000000000000",
            "Invalid cursor '00000000-0000-0000-0000-000000000000': must be the next_cursor of an earlier answer",
        );
        check(
            "status=error&status=error",
            "The parameter 'status' is given more than once; one value is possible",
        );
        check(
            "server=",
            "Invalid server '': must not be empty; leave it out to get all",
        );
        check(
            "status=",
            "Invalid status '': must be success, error, blocked, or in_doubt",
        );
        check(
            "intent=read",
            "Unknown parameter 'intent': must be one of type, server, tool, status, intent_type, request_id, session_id, sensitivity, agent, from, to, text, limit, cursor.",
        );
        check(
            "Status=error",
            "Unknown parameter 'Status': must be one of type, server, tool, status, intent_type, request_id, session_id, sensitivity, agent, from, to, text, limit, cursor. Did you mean 'status'?",
        );
        let failure = RecordQuery::parse(&pairs("status=fine"), RecordScope::All).unwrap_err();
        assert_eq!(
            failure.details["allowed"],
            json!(["success", "error", "blocked", "in_doubt"])
        );
        assert_eq!(failure.details["parameter"], "status");
    }

    #[test]
    fn a_follower_comes_back_by_header_or_address_and_the_header_is_newer() {
        let (old, new) = (
            format!("{}.1", Uuid::now_v7().simple()),
            format!("{}.2", Uuid::now_v7().simple()),
        );
        let asked = pairs(&format!("type=tool_call&last_event_id={old}"));
        let at = |following: Following| following.position.map(|position| position.to_string());
        assert_eq!(
            at(Following::parse(&asked, None, RecordScope::All, &EventIds::plain()).unwrap()),
            Some(old)
        );
        assert_eq!(
            at(Following::parse(&asked, Some(&new), RecordScope::All, &EventIds::plain()).unwrap()),
            Some(new)
        );
        assert_eq!(
            Following::parse(&[], None, RecordScope::All, &EventIds::plain())
                .unwrap()
                .position,
            None
        );
        let refused =
            Following::parse(&[], Some("yesterday"), RecordScope::All, &EventIds::plain())
                .unwrap_err();
        assert_eq!(
            refused.message,
            "Invalid last_event_id 'yesterday': must be the id of an event of this stream"
        );
        assert!(
            Following::parse(
                &pairs("limit=1"),
                None,
                RecordScope::All,
                &EventIds::plain()
            )
            .is_err()
        );
    }
}
