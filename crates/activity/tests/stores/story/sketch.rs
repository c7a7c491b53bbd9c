//! Records to try a store with.

use jiff::{SignedDuration, Timestamp};
use mcpproxy_activity::chain::ChainHead;
use mcpproxy_activity::filter::first_id_at;
use mcpproxy_activity::record::Record;
use mcpproxy_activity::row::{Cell, OutcomeColumns, RequestColumns, Row};
use uuid::Uuid;

/// When the first record is from.
pub(crate) fn beginning() -> Timestamp {
    Timestamp::from_second(1_750_000_000).unwrap()
}

/// So many milliseconds after the beginning.
pub(crate) fn moment(millisecond: i64) -> Timestamp {
    beginning() + SignedDuration::from_millis(millisecond)
}

/// An id of a millisecond, one of many.
pub(crate) fn id(millisecond: i64, number: u64) -> Uuid {
    let first = first_id_at(moment(millisecond)).as_u128();
    Uuid::from_u128(first | (7 << 76) | (2 << 62) | u128::from(number))
}

/// A chain of its own for a number.
pub(crate) fn chain(number: u64) -> Uuid {
    id(0, number | (1 << 40))
}

/// The cells of a request, all empty but those that a record cannot be without.
pub(crate) fn request(id: Uuid) -> RequestColumns {
    RequestColumns {
        id: Cell::from(id),
        request_id: Cell::from(id),
        kind: Cell::from("tool_call"),
        timestamp: Cell::from((id.as_u128() >> 80) as i64),
        ..RequestColumns::EMPTY
    }
}

/// The cells of an outcome.
pub(crate) fn outcome(status: &str) -> OutcomeColumns {
    OutcomeColumns {
        status: Cell::from(status),
        ..OutcomeColumns::EMPTY
    }
}

/// A part of a row whose cells can be set by the names of their columns.
pub(crate) trait Settable {
    fn set(&mut self, name: &str, value: Cell);
}

macro_rules! settable {
    ($part:ident) => {
        impl Settable for $part {
            fn set(&mut self, name: &str, value: Cell) {
                let names = $part::COLUMNS.map(|column| column.name);
                assert!(names.contains(&name), "{name}");
                let cells = self.cells().map(Clone::clone);
                let mut cells = names.into_iter().zip(cells).map(|(column, cell)| {
                    if column == name { value.clone() } else { cell }
                });
                *self = $part::read(&mut cells);
            }
        }
    };
}

settable!(RequestColumns);
settable!(OutcomeColumns);

/// Sets a cell by the name of its column.
pub(crate) fn set(cells: &mut impl Settable, name: &str, value: Cell) {
    cells.set(name, value);
}

/// Writes a chain, as the writer of the log does.
pub(crate) struct Quill {
    pub(crate) chain: Uuid,
    pub(crate) head: ChainHead,
}

impl Quill {
    pub(crate) fn new(chain: Uuid) -> Self {
        Self {
            chain,
            head: ChainHead::EMPTY,
        }
    }

    /// A record written with its outcome.
    pub(crate) fn whole(&mut self, request: RequestColumns, outcome: OutcomeColumns) -> Row {
        let closed = self.head.close(self.chain, &request, &outcome, None);
        Row {
            request: request.into(),
            outcome,
            chain: self.chain,
            opened: None,
            closed: Some(closed),
        }
    }

    /// A record written before its call is sent.
    pub(crate) fn open(&mut self, request: RequestColumns) -> Row {
        let opened = self.head.open(self.chain, &request);
        Row {
            request: request.into(),
            outcome: OutcomeColumns::in_doubt(),
            chain: self.chain,
            opened: Some(opened),
            closed: None,
        }
    }

    /// Its outcome.
    pub(crate) fn complete(&mut self, opened: &Row, outcome: OutcomeColumns) -> Row {
        let mut row = opened.clone();
        let link = self
            .head
            .close(self.chain, &row.request, &outcome, row.opened.as_ref());
        row.outcome = outcome;
        row.closed = Some(link);
        row
    }
}

/// The records of rows, of which none is completed.
pub(crate) fn records(rows: &[Row]) -> Vec<Record> {
    rows.iter().map(|row| row.to_record().unwrap()).collect()
}

/// Many different records: no two columns go in step, so that every pair of values occurs. They
/// are not written in the order of their ids, and several share a millisecond.
pub(crate) fn many(quill: &mut Quill, count: u64) -> Vec<Row> {
    let pick = |number: u64, step: u64, values: &[Option<&'static str>]| {
        let turn = (number / step + number * 7 / 3) % values.len() as u64;
        Cell::from(values[usize::try_from(turn).unwrap()])
    };
    let row = |place: u64| {
        // A step that has no factor in common with the count visits every number once.
        let number = place * 101 % count;
        let id = id(i64::try_from(number / 3).unwrap(), number);
        let mut request = request(id);
        let mut put = |name: &str, cell: Cell| set(&mut request, name, cell);
        put(
            "type",
            pick(
                number,
                1,
                &[Some("tool_call"), Some("discovery"), Some("system")],
            ),
        );
        put(
            "server_name",
            pick(number, 2, &[Some("github"), Some("files"), Some(""), None]),
        );
        put(
            "tool_name",
            pick(number, 3, &[Some("create_issue"), Some("read file"), None]),
        );
        put(
            "intent_type",
            pick(
                number,
                5,
                &[Some("read"), Some("write"), Some("destructive"), None],
            ),
        );
        put(
            "sensitivity",
            pick(number, 7, &[Some("private"), None, Some("public")]),
        );
        put(
            "agent",
            pick(number, 4, &[Some("claude"), Some("café ☕"), None]),
        );
        put(
            "session_id",
            pick(number, 6, &[Some("s-1"), Some("s-2"), None]),
        );
        put(
            "token_id",
            pick(number, 9, &[Some("t-1"), None, Some("t-2"), None]),
        );
        put(
            "arguments",
            pick(
                number,
                3,
                &[Some("{\"title\":\"Größe 日本語\"}"), Some("{}"), None],
            ),
        );
        put("arguments_size", Cell::from(i64::try_from(number).unwrap()));
        put("arguments_cut", Cell::from(number.is_multiple_of(2)));
        put(
            "metadata",
            Cell::from("{\"intent\":{\"reason\":\"tidying Up\"}}"),
        );
        if number.is_multiple_of(5) {
            put("request_id", Cell::from(chain(number / 50)));
        }
        let status = pick(
            number,
            8,
            &[Some("success"), Some("error"), Some("blocked")],
        );
        let mut outcome = outcome(status.text().unwrap());
        if status == Cell::from("error") {
            set(&mut outcome, "error_code", Cell::from("UPSTREAM_ERROR"));
            set(
                &mut outcome,
                "error_message",
                Cell::from("Connexion coupée"),
            );
        }
        (request, outcome)
    };
    (0..count)
        .map(|place| {
            let (request, outcome) = row(place);
            quill.whole(request, outcome)
        })
        .collect()
}
