//! What is about to be recorded, and how it becomes a row: secrets hidden, long texts cut.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_policy::{Caller, Operation, Sensitivity, Warning};
use mcpproxy_redact::mask::MASKED;
use mcpproxy_redact::{OwnSecrets, Redactor};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::record::{RecordKind, Status};
use crate::row::Cell;
use crate::search_terms::{self, SearchTerms, prefix};

/// How much more of a text is looked at than is kept, so that a secret that the cut goes through
/// is hidden whole.
const MARGIN: usize = 16 * 1024;

/// The part of a record that is known before its call is sent.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) id: Uuid,
    pub(crate) request_id: Uuid,
    pub(crate) kind: RecordKind,
    pub(crate) caller: Arc<Caller>,
    pub(crate) operation: Option<Operation>,
    pub(crate) server: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) intent: Option<Value>,
    pub(crate) sensitivity: Option<Sensitivity>,
    pub(crate) arguments: Option<Excerpt>,
    pub(crate) details: Map<String, Value>,
    pub(crate) redaction: Redaction,
}

/// What came of it.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    pub(crate) status: Status,
    /// How long it took; nothing for what happened at one moment.
    pub(crate) duration: Option<Duration>,
    pub(crate) response: Option<Excerpt>,
    pub(crate) error: Option<(String, String)>,
    pub(crate) warnings: Vec<Warning>,
    /// Values that must not be kept, those included that only the result has shown to be secret.
    pub(crate) own: OwnSecrets,
}

/// The beginning of a text that was sent or came back.
#[derive(Debug, Clone)]
pub(crate) struct Excerpt {
    text: String,
    size: u64,
}

/// What must not be kept, and how much may be.
#[derive(Debug, Clone)]
pub(crate) struct Redaction {
    pub(crate) redactor: Arc<Redactor>,
    /// The values of secret fields of this one call.
    pub(crate) own: OwnSecrets,
    /// How many bytes of a text are kept.
    pub(crate) limit: usize,
}

/// A draft as the cells of its row.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) id: Uuid,
    pub(crate) request: Arc<[Cell]>,
    reason: Option<String>,
    redaction: Redaction,
}

// === impl Excerpt ===

impl Excerpt {
    /// As much of a text as matters for what will be kept of it.
    pub(crate) fn of(text: &str, limit: usize) -> Self {
        Self {
            text: prefix(text, limit.saturating_add(MARGIN)).to_owned(),
            size: text.len() as u64,
        }
    }

    /// Nothing of the text but its size, where there is no room for more.
    pub(crate) fn size_only(text: &str) -> Self {
        Self {
            text: String::new(),
            size: text.len() as u64,
        }
    }

    /// How many bytes it takes while it waits.
    pub(crate) fn weight(&self) -> usize {
        self.text.len()
    }
}

// === impl Draft ===

impl Draft {
    /// How many bytes it takes while it waits.
    pub(crate) fn weight(&self) -> usize {
        self.arguments.as_ref().map_or(0, Excerpt::weight)
    }

    /// The cells of its row. The one place where what agents sent becomes what is kept.
    pub(crate) fn prepare(&self) -> Prepared {
        let redaction = &self.redaction;
        let clean =
            |text: &Option<String>| Cell::from(text.as_deref().map(|text| redaction.text(text)));
        let [arguments, arguments_size, arguments_cut] = redaction.payload(self.arguments.as_ref());
        let metadata = redaction.json(&self.metadata());
        let reason = self
            .intent
            .as_ref()
            .and_then(|intent| intent["reason"].as_str());
        let reason = reason.map(|reason| redaction.text(reason));
        let request = [
            self.id.into(),
            self.request_id.into(),
            Cell::Null,
            clean(&self.caller.session_id),
            clean(&self.caller.trace_id),
            self.kind.as_str().into(),
            Cell::Int(milliseconds(self.id)),
            clean(&self.server),
            clean(&self.tool),
            self.operation.map(Operation::variant).into(),
            self.operation.map(Operation::as_str).into(),
            self.sensitivity.map(Sensitivity::as_str).into(),
            clean(&self.caller.client_name),
            arguments,
            arguments_size,
            arguments_cut,
            metadata.into(),
        ];
        Prepared {
            id: self.id,
            request: Arc::new(request),
            reason,
            redaction: redaction.clone(),
        }
    }

    fn metadata(&self) -> String {
        let mut metadata = Map::new();
        if let Some(intent) = &self.intent {
            metadata.insert("intent".to_owned(), intent.clone());
        }
        if let Some(operation) = self.operation {
            metadata.insert("tool_variant".to_owned(), json!(operation.variant()));
        }
        if self.caller.client_name.is_some() {
            let client = json!({
                "name": self.caller.client_name,
                "version": self.caller.client_version,
            });
            metadata.insert("client".to_owned(), client);
        }
        metadata.extend(self.details.clone());
        Value::Object(metadata).to_string()
    }
}

// === impl Prepared ===

impl Prepared {
    /// The cells of an outcome.
    pub(crate) fn outcome(&self, ending: &Ending) -> Vec<Cell> {
        let redaction = &Redaction {
            own: ending.own.clone(),
            ..self.redaction.clone()
        };
        let [response, response_size, response_cut] = redaction.payload(ending.response.as_ref());
        let (code, message) = match &ending.error {
            Some((code, message)) => (
                Cell::from(code.as_str()),
                Cell::from(redaction.text(message)),
            ),
            None => (Cell::Null, Cell::Null),
        };
        let warnings = match ending.warnings.as_slice() {
            [] => Cell::Null,
            warnings => redaction.json(&json!(warnings).to_string()).into(),
        };
        let microseconds = |duration: Duration| i64::try_from(duration.as_micros());
        let duration = ending.duration.map(microseconds);
        let duration = duration.map(|microseconds| microseconds.unwrap_or(i64::MAX));
        vec![
            ending.status.as_str().into(),
            duration.into(),
            response,
            response_size,
            response_cut,
            code,
            message,
            warnings,
        ]
    }

    /// The words the record is found by, those of its outcome included.
    pub(crate) fn words(&self, outcome: &[Cell]) -> SearchTerms {
        let [.., server, tool, _, _, _, _, arguments, _, _, _] = &*self.request else {
            return SearchTerms::default();
        };
        let mut cells = vec![server, tool];
        cells.extend(outcome.get(5..7).into_iter().flatten());
        cells.push(arguments);
        search_terms::of_cells(self.reason.as_deref(), &cells)
    }
}

// === impl Redaction ===

impl Redaction {
    fn text(&self, text: &str) -> String {
        storable(or_nothing(|| {
            self.redactor.text(text, &self.own).into_owned()
        }))
    }

    fn json(&self, text: &str) -> String {
        storable(or_nothing(|| {
            self.redactor.json(text, &self.own).into_owned()
        }))
    }

    /// The three cells of a payload: the text, its size, and whether it was cut.
    fn payload(&self, kept: Option<&Excerpt>) -> [Cell; 3] {
        let Some(kept) = kept else {
            return [Cell::Null, Cell::Null, Cell::Null];
        };
        let hidden = self.json(&kept.text);
        let text = prefix(&hidden, self.limit);
        let is_cut = text.len() < hidden.len() || (kept.text.len() as u64) < kept.size;
        let size = i64::try_from(kept.size).unwrap_or(i64::MAX);
        [text.into(), size.into(), is_cut.into()]
    }
}

/// What is left of a text when its secrets are hidden. Should that ever fail on some text, all of
/// the text is hidden: the writer goes on, and nothing gets past it.
fn or_nothing(hide: impl FnOnce() -> String) -> String {
    std::panic::catch_unwind(AssertUnwindSafe(hide)).unwrap_or_else(|_| format!("\"{MASKED}\""))
}

/// A text both stores can keep: PostgreSQL has no zero character.
fn storable(text: String) -> String {
    if text.contains('\0') {
        return text.replace('\0', "\u{fffd}");
    }
    text
}

/// The millisecond that an id begins with.
fn milliseconds(id: Uuid) -> i64 {
    let mut bytes = [0; 8];
    bytes[2..].copy_from_slice(&id.as_bytes()[..6]);
    i64::from_be_bytes(bytes)
}
