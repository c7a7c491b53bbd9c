//! A record as the stores keep it: named columns in a fixed order.
//!
//! The chain hashes these very cells, so whatever is changed in a table shows, even where it
//! can no longer be read as a record. Both stores have these columns, in these types.

use std::sync::Arc;

use jiff::Timestamp;
use mcpproxy_policy::{Operation, Sensitivity};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::record::{ChainLink, Hash, Payload, Record, RecordError, RecordKind, Status};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// A UUID, 16 bytes.
    Uuid,
    /// Text.
    Text,
    /// A whole number; 0 and 1 for no and yes.
    Int,
}

/// A column of the table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub of: ColumnType,
}

const fn column(name: &'static str, of: ColumnType) -> Column {
    Column { name, of }
}

/// What is known before a call is sent; it never changes afterwards.
pub const REQUEST: [Column; 17] = [
    column("id", ColumnType::Uuid),
    column("request_id", ColumnType::Uuid),
    column("parent_id", ColumnType::Uuid),
    column("session_id", ColumnType::Text),
    column("trace_id", ColumnType::Text),
    column("type", ColumnType::Text),
    column("timestamp", ColumnType::Int),
    column("server_name", ColumnType::Text),
    column("tool_name", ColumnType::Text),
    column("tool_variant", ColumnType::Text),
    column("intent_type", ColumnType::Text),
    column("sensitivity", ColumnType::Text),
    column("agent", ColumnType::Text),
    column("arguments", ColumnType::Text),
    column("arguments_size", ColumnType::Int),
    column("arguments_cut", ColumnType::Int),
    column("metadata", ColumnType::Text),
];

/// What came of it.
pub const OUTCOME: [Column; 8] = [
    column("status", ColumnType::Text),
    column("duration_us", ColumnType::Int),
    column("response", ColumnType::Text),
    column("response_size", ColumnType::Int),
    column("response_cut", ColumnType::Int),
    column("error_code", ColumnType::Text),
    column("error_message", ColumnType::Text),
    column("warnings", ColumnType::Text),
];

/// One value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A whole number.
    Int(i64),
    /// Text.
    Text(String),
    /// Bytes: a UUID, or what somebody put in the place of something else.
    Bytes(Vec<u8>),
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The cells of [`REQUEST`].
    pub request: Arc<[Cell]>,
    /// The cells of [`OUTCOME`].
    pub outcome: Vec<Cell>,
    /// The chain it is in.
    pub chain: Uuid,
    /// Its place from before the call was sent.
    pub opened: Option<ChainLink>,
    /// Its place with the outcome.
    pub closed: Option<ChainLink>,
}

/// What is stored of an outcome that nobody has seen.
pub fn no_outcome() -> Vec<Cell> {
    let mut cells = vec![Cell::Null; OUTCOME.len()];
    cells[0] = Cell::from(Status::InDoubt.as_str());
    cells
}

// === impl Row ===

impl Row {
    /// The id, where it can be read.
    pub fn id(&self) -> Option<Uuid> {
        self.request.first().and_then(Cell::uuid)
    }

    /// The record; nothing where a cell holds what was never written there.
    pub fn to_record(&self) -> Option<Record> {
        let [
            id,
            request_id,
            parent_id,
            session_id,
            trace_id,
            kind,
            timestamp,
            server_name,
            tool_name,
            tool_variant,
            intent_type,
            sensitivity,
            agent,
            arguments,
            arguments_size,
            arguments_cut,
            metadata,
        ] = &*self.request
        else {
            return None;
        };
        let [
            status,
            duration_us,
            response,
            response_size,
            response_cut,
            error_code,
            error_message,
            warnings,
        ] = &*self.outcome
        else {
            return None;
        };
        Some(Record {
            id: id.uuid()?,
            request_id: request_id.uuid()?,
            parent_id: parent_id.uuid(),
            session_id: session_id.owned(),
            trace_id: trace_id.owned(),
            kind: RecordKind::parse(kind.text()?)?,
            timestamp: Timestamp::from_millisecond(timestamp.int()?).ok()?,
            duration_us: duration_us.int(),
            server_name: server_name.owned(),
            tool_name: tool_name.owned(),
            tool_variant: tool_variant.owned(),
            intent_type: intent_type.text().and_then(Operation::parse),
            sensitivity: sensitivity.text().and_then(Sensitivity::parse),
            agent: agent.owned(),
            status: Status::parse(status.text()?)?,
            arguments: payload(arguments, arguments_size, arguments_cut),
            response: payload(response, response_size, response_cut),
            error: error_code.owned().map(|code| RecordError {
                code,
                message: error_message.owned().unwrap_or_default(),
            }),
            warnings: json(warnings).unwrap_or_else(|| Value::Array(Vec::new())),
            metadata: match json(metadata) {
                Some(Value::Object(map)) => map,
                _ => Map::new(),
            },
            chain: self.chain,
            opened: self.opened,
            closed: self.closed,
        })
    }
}

fn payload(text: &Cell, size: &Cell, is_cut: &Cell) -> Option<Payload> {
    Some(Payload {
        text: text.owned()?,
        size: size.int().and_then(|size| u64::try_from(size).ok())?,
        is_cut: is_cut.int() == Some(1),
    })
}

fn json(cell: &Cell) -> Option<Value> {
    serde_json::from_str(cell.text()?).ok()
}

// === impl Cell ===

impl Cell {
    /// The UUID in it.
    pub fn uuid(&self) -> Option<Uuid> {
        match self {
            Self::Bytes(bytes) => Uuid::from_slice(bytes).ok(),
            _ => None,
        }
    }

    /// The text in it.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number in it.
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    fn owned(&self) -> Option<String> {
        self.text().map(str::to_owned)
    }
}

impl From<Uuid> for Cell {
    fn from(id: Uuid) -> Self {
        Self::Bytes(id.as_bytes().to_vec())
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<bool> for Cell {
    fn from(yes: bool) -> Self {
        Self::Int(i64::from(yes))
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A place in a chain from the three columns that keep it.
pub fn link(seq: &Cell, prev_hash: &Cell, hash: &Cell) -> Option<ChainLink> {
    let bytes = |cell: &Cell| match cell {
        Cell::Bytes(bytes) => Hash::from_bytes(bytes),
        _ => None,
    };
    Some(ChainLink {
        seq: seq.int()?,
        // A hash that is no hash cannot match; zeros say so without hiding the row.
        prev_hash: bytes(prev_hash).unwrap_or_default(),
        hash: bytes(hash).unwrap_or_default(),
    })
}
