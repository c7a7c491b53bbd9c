//! Row of the table: a record as the stores keep it, in named columns of a fixed order.
//!
//! The chain hashes these very cells, so whatever is changed in a table shows, even where it
//! can no longer be read as a record. Both stores have these columns, in these types, and bind
//! and read them through the structs below: a column that is added there is in every statement.

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use mcpproxy_policy::{Operation, Sensitivity};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::record::{ChainLink, Hash, Payload, Record, RecordError, RecordKind, Status};

/// Type of the values that a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// A UUID, 16 bytes.
    Uuid,
    /// Text.
    Text,
    /// A whole number; 0 and 1 for no and yes.
    Int,
    /// Bytes of any length.
    Bytes,
}

/// Column of the table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Name in the table.
    pub name: &'static str,
    /// Type of what it holds.
    pub of: ColumnType,
}

/// Value of a row in one column.
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

/// Row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Cells known before the call was sent.
    pub request: Arc<RequestColumns>,
    /// Cells of what came of it.
    pub outcome: OutcomeColumns,
    /// Chain it is in.
    pub chain: Uuid,
    /// Link from before the call was sent.
    pub opened: Option<ChainLink>,
    /// Link with the outcome.
    pub closed: Option<ChainLink>,
}

/// Declares a part of a row: a struct with a named cell for each column, in the order of the
/// table, which is the order in which the chain hashes them.
macro_rules! columns {
    ($(#[$doc:meta])* $part:ident { $($field:ident = $name:literal: $of:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $part {
            $(#[doc = concat!("Cell of the column `", $name, "`.")] pub $field: Cell,)+
        }

        impl $part {
            /// Columns, in the order of the table.
            pub const COLUMNS: [Column; [$($name),+].len()] =
                [$(Column { name: $name, of: ColumnType::$of }),+];

            /// Cells without anything in them.
            pub const EMPTY: Self = Self { $($field: Cell::Null,)+ };

            /// Cells, in the order of the columns.
            pub fn cells(&self) -> [&Cell; Self::COLUMNS.len()] {
                [$(&self.$field),+]
            }

            /// Takes the cells, one after the other in the order of the columns.
            pub fn read(cells: &mut impl Iterator<Item = Cell>) -> Self {
                Self { $($field: cells.next().unwrap_or(Cell::Null),)+ }
            }
        }
    };
}

columns! {
    /// Cells known before a call is sent; they never change afterwards.
    RequestColumns {
        id = "id": Uuid,
        request_id = "request_id": Uuid,
        parent_id = "parent_id": Uuid,
        session_id = "session_id": Text,
        trace_id = "trace_id": Text,
        kind = "type": Text,
        timestamp = "timestamp": Int,
        server_name = "server_name": Text,
        tool_name = "tool_name": Text,
        tool_variant = "tool_variant": Text,
        intent_type = "intent_type": Text,
        sensitivity = "sensitivity": Text,
        agent = "agent": Text,
        arguments = "arguments": Text,
        arguments_size = "arguments_size": Int,
        arguments_cut = "arguments_cut": Int,
        metadata = "metadata": Text,
        token_id = "token_id": Text,
    }
}

columns! {
    /// Cells of what came of a call.
    OutcomeColumns {
        status = "status": Text,
        duration_us = "duration_us": Int,
        response = "response": Text,
        response_size = "response_size": Int,
        response_cut = "response_cut": Int,
        error_code = "error_code": Text,
        error_message = "error_message": Text,
        warnings = "warnings": Text,
    }
}

columns! {
    /// Cells of a row's chain and of its two links. The chain does not hash these: they are what
    /// it makes of the others.
    ChainColumns {
        chain = "chain": Uuid,
        opened_seq = "opened_seq": Int,
        opened_prev_hash = "opened_prev_hash": Bytes,
        opened_hash = "opened_hash": Bytes,
        seq = "seq": Int,
        prev_hash = "prev_hash": Bytes,
        hash = "hash": Bytes,
    }
}

// === impl OutcomeColumns ===

impl OutcomeColumns {
    /// Outcome that nobody has seen.
    pub fn in_doubt() -> Self {
        Self {
            status: Cell::from(Status::InDoubt.as_str()),
            ..Self::EMPTY
        }
    }
}

// === impl Row ===

impl Row {
    /// Columns of the table, in its order.
    pub fn columns() -> impl Iterator<Item = &'static Column> {
        RequestColumns::COLUMNS
            .iter()
            .chain(&OutcomeColumns::COLUMNS)
            .chain(&ChainColumns::COLUMNS)
    }

    /// Names of all columns, as a statement lists them.
    pub fn column_names() -> &'static str {
        static NAMES: LazyLock<String> = LazyLock::new(|| {
            let names: Vec<&str> = Row::columns().map(|column| column.name).collect();
            names.join(", ")
        });
        &NAMES
    }

    /// Reads a row of cells in the order of [`Self::columns`].
    ///
    /// Whatever somebody put into it comes back as something that was never written there, and not
    /// as an error, so that the check of the chain can name the record.
    pub(crate) fn read(cells: impl IntoIterator<Item = Cell>) -> Self {
        let cells = &mut cells.into_iter();
        let request = RequestColumns::read(cells);
        let outcome = OutcomeColumns::read(cells);
        let chain = ChainColumns::read(cells);
        let link = |seq: &Cell, prev_hash: &Cell, hash: &Cell| {
            Some(ChainLink {
                seq: seq.int()?,
                prev_hash: prev_hash.hash(),
                hash: hash.hash(),
            })
        };
        Self {
            request: Arc::new(request),
            outcome,
            chain: chain.chain.uuid().unwrap_or(Uuid::max()),
            opened: link(
                &chain.opened_seq,
                &chain.opened_prev_hash,
                &chain.opened_hash,
            ),
            closed: link(&chain.seq, &chain.prev_hash, &chain.hash),
        }
    }

    /// Cells of its chain and links.
    pub fn chain_columns(&self) -> ChainColumns {
        ChainColumns {
            chain: self.chain.into(),
            opened_seq: self.opened.map(|link| link.seq).into(),
            opened_prev_hash: self.opened.map(|link| link.prev_hash).into(),
            opened_hash: self.opened.map(|link| link.hash).into(),
            seq: self.closed.map(|link| link.seq).into(),
            prev_hash: self.closed.map(|link| link.prev_hash).into(),
            hash: self.closed.map(|link| link.hash).into(),
        }
    }

    /// Id, where it can be read.
    pub fn id(&self) -> Option<Uuid> {
        self.request.id.uuid()
    }

    /// Whether it gives an outcome to a row that was written before its call was sent.
    pub fn is_completion(&self) -> bool {
        self.opened.is_some() && self.closed.is_some()
    }

    /// Record; nothing where a cell holds what was never written there.
    pub fn to_record(&self) -> Option<Record> {
        let (request, outcome) = (&*self.request, &self.outcome);
        let kind = RecordKind::parse(request.kind.text()?)?;
        let status = Status::parse(outcome.status.text()?)?;
        let mut metadata = match json(&request.metadata) {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        // The metadata are written before the answer is there, and the status has it.
        let answer = status.answer();
        if let Some(answer) = answer.filter(|_| kind == RecordKind::ClientRequest) {
            metadata.insert("answer".to_owned(), Value::from(answer));
        }
        Some(Record {
            id: request.id.uuid()?,
            request_id: request.request_id.uuid()?,
            parent_id: request.parent_id.uuid(),
            session_id: request.session_id.owned(),
            trace_id: request.trace_id.owned(),
            kind,
            timestamp: Timestamp::from_millisecond(request.timestamp.int()?).ok()?,
            duration_us: outcome.duration_us.int(),
            server_name: request.server_name.owned(),
            tool_name: request.tool_name.owned(),
            tool_variant: request.tool_variant.owned(),
            intent_type: request.intent_type.text().and_then(Operation::parse),
            sensitivity: request.sensitivity.text().and_then(Sensitivity::parse),
            agent: request.agent.owned(),
            token_id: request.token_id.owned(),
            status,
            arguments: payload(
                &request.arguments,
                &request.arguments_size,
                &request.arguments_cut,
            ),
            response: payload(
                &outcome.response,
                &outcome.response_size,
                &outcome.response_cut,
            ),
            error: outcome.error_code.owned().map(|code| RecordError {
                code,
                message: outcome.error_message.owned().unwrap_or_default(),
            }),
            warnings: json(&outcome.warnings).unwrap_or_else(|| Value::Array(Vec::new())),
            metadata,
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
    /// UUID in it.
    pub fn uuid(&self) -> Option<Uuid> {
        match self {
            Self::Bytes(bytes) => Uuid::from_slice(bytes).ok(),
            _ => None,
        }
    }

    /// Text in it.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Number in it.
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// Hash in it; one that no link has where there is none.
    pub fn hash(&self) -> Hash {
        match self {
            Self::Bytes(bytes) => Hash::from_bytes(bytes).unwrap_or(Hash::UNREADABLE),
            _ => Hash::UNREADABLE,
        }
    }

    pub(crate) fn owned(&self) -> Option<String> {
        self.text().map(str::to_owned)
    }
}

impl From<Uuid> for Cell {
    fn from(id: Uuid) -> Self {
        Self::Bytes(id.as_bytes().to_vec())
    }
}

impl From<Hash> for Cell {
    fn from(hash: Hash) -> Self {
        Self::Bytes(hash.0.to_vec())
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
