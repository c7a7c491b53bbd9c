//! Draft of a record, and how it becomes the cells of a row: secrets redacted, long texts cut.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use mcpproxy_policy::{Caller, Operation, Sensitivity, Warning};
use mcpproxy_redact::mask::MASKED;
use mcpproxy_redact::{OwnSecrets, Redactor};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::filter::moment_of;
use crate::record::{Payload, RecordKind, Status};
use crate::row::{Cell, OutcomeColumns, RequestColumns};
use crate::search_terms::prefix;

/// Bytes of a text that are looked at beyond those stored, so that a secret that the cut goes through
/// is redacted whole.
const MARGIN: usize = 16 * 1024;

/// Part of a record that is known before its call is sent.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) id: Uuid,
    pub(crate) request_id: Uuid,
    /// Record that this one belongs to.
    pub(crate) parent_id: Option<Uuid>,
    pub(crate) kind: RecordKind,
    pub(crate) caller: Arc<Caller>,
    pub(crate) operation: Option<Operation>,
    pub(crate) server: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) intent: Option<Value>,
    pub(crate) sensitivity: Option<Sensitivity>,
    pub(crate) arguments: Option<Payload>,
    pub(crate) details: Map<String, Value>,
    pub(crate) redaction: RecordRedaction,
}

/// Part of a record that says what came of it.
#[derive(Debug, Clone)]
pub(crate) struct DraftOutcome {
    pub(crate) status: Status,
    /// Duration; nothing for what happened at one moment.
    pub(crate) duration: Option<Duration>,
    pub(crate) response: Option<Payload>,
    pub(crate) error: Option<(String, String)>,
    pub(crate) warnings: Vec<Warning>,
    /// Values that must not be stored, those included that only the result has shown to be secret.
    pub(crate) own: OwnSecrets,
}

/// Rules for what of a record must not be stored, and how much may be.
#[derive(Debug, Clone)]
pub(crate) struct RecordRedaction {
    pub(crate) redactor: Arc<Redactor>,
    /// Values of secret fields of this one call.
    pub(crate) own: OwnSecrets,
    /// Bytes of a text that are stored.
    pub(crate) limit: usize,
}

// === impl Draft ===

impl Draft {
    /// Draft about which nothing is known but who made it and what it is.
    pub(crate) fn new(kind: RecordKind, caller: Arc<Caller>, redaction: RecordRedaction) -> Self {
        Self {
            id: Uuid::now_v7(),
            request_id: Uuid::now_v7(),
            parent_id: None,
            kind,
            caller,
            operation: None,
            server: None,
            tool: None,
            intent: None,
            sensitivity: None,
            arguments: None,
            details: Map::new(),
            redaction,
        }
    }

    /// Bytes that it takes while it waits.
    pub(crate) fn weight(&self) -> usize {
        self.arguments
            .as_ref()
            .map_or(0, |arguments| arguments.text.len())
    }

    /// Cells of its row. The one place where what agents sent becomes what is stored.
    pub(crate) fn columns(&self) -> RequestColumns {
        let redaction = &self.redaction;
        let clean_text = |text: Option<&str>| Cell::from(text.map(|text| redaction.text(text)));
        let clean = |text: &Option<String>| clean_text(text.as_deref());
        let [arguments, arguments_size, arguments_cut] = redaction.payload(self.arguments.as_ref());
        RequestColumns {
            id: self.id.into(),
            request_id: self.request_id.into(),
            parent_id: self.parent_id.into(),
            session_id: clean(&self.caller.session_id),
            trace_id: clean(&self.caller.trace_id),
            kind: self.kind.as_str().into(),
            timestamp: moment_of(self.id).map(Timestamp::as_millisecond).into(),
            server_name: clean(&self.server),
            tool_name: clean(&self.tool),
            tool_variant: self.operation.map(Operation::variant).into(),
            intent_type: self.operation.map(Operation::as_str).into(),
            sensitivity: self.sensitivity.map(Sensitivity::as_str).into(),
            agent: clean_text(self.caller.agent()),
            arguments,
            arguments_size,
            arguments_cut,
            metadata: redaction.json(&self.metadata()).into(),
            token_id: self.caller.rights.token().map(|token| &*token.id).into(),
        }
    }

    /// The intent as declared, the variant, the client, and what else there is to say.
    fn metadata(&self) -> String {
        let caller = &self.caller;
        let client = caller.client_name.as_ref().map(|name| {
            let version = caller.client_version.as_ref();
            json!({"name": name, "version": version})
        });
        let known = [
            ("intent", self.intent.clone()),
            (
                "tool_variant",
                self.operation.map(|operation| operation.variant().into()),
            ),
            ("client", client),
        ];
        let known = known
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?)));
        let metadata: Map<String, Value> = known.chain(self.details.clone()).collect();
        Value::Object(metadata).to_string()
    }
}

// === impl DraftOutcome ===

impl DraftOutcome {
    /// Outcome of something that happened at one moment, without a response.
    pub(crate) fn immediate(status: Status, error: Option<(String, String)>) -> Self {
        Self {
            status,
            duration: None,
            response: None,
            error,
            warnings: Vec::new(),
            own: OwnSecrets::none(),
        }
    }

    /// Cells of its row, redacted as the draft it belongs to and by what the result has shown.
    pub(crate) fn columns(&self, redaction: &RecordRedaction) -> OutcomeColumns {
        let redaction = &RecordRedaction {
            own: self.own.clone(),
            ..redaction.clone()
        };
        let [response, response_size, response_cut] = redaction.payload(self.response.as_ref());
        let error = self.error.as_ref();
        let warnings = (!self.warnings.is_empty()).then(|| json!(self.warnings).to_string());
        let microseconds =
            |duration: Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        OutcomeColumns {
            status: self.status.as_str().into(),
            duration_us: self.duration.map(microseconds).into(),
            response,
            response_size,
            response_cut,
            error_code: error.map(|(code, _)| code.as_str()).into(),
            error_message: error.map(|(_, message)| redaction.text(message)).into(),
            warnings: warnings.map(|warnings| redaction.json(&warnings)).into(),
        }
    }
}

// === impl RecordRedaction ===

impl RecordRedaction {
    /// Part of a text that matters for what will be stored of it.
    pub(crate) fn excerpt(&self, text: &str) -> Payload {
        let start = prefix(text, self.limit.saturating_add(MARGIN));
        Payload {
            text: start.to_owned(),
            size: text.len() as u64,
            is_cut: start.len() < text.len(),
        }
    }

    fn text(&self, text: &str) -> String {
        storable(|| self.redactor.text(text, &self.own))
    }

    fn json(&self, text: &str) -> String {
        storable(|| self.redactor.json(text, &self.own))
    }

    /// Cells of a payload: the text, its size, and whether it was cut.
    fn payload(&self, payload: Option<&Payload>) -> [Cell; 3] {
        let Some(payload) = payload else {
            return [Cell::Null, Cell::Null, Cell::Null];
        };
        let redacted = self.json(&payload.text);
        let text = prefix(&redacted, self.limit);
        let is_cut = text.len() < redacted.len() || payload.is_cut;
        let size = i64::try_from(payload.size).unwrap_or(i64::MAX);
        [text.into(), size.into(), is_cut.into()]
    }
}

/// Nothing of a text but its size, where there is no room for more or it may hold secrets.
pub(crate) fn size_only(size: usize) -> Payload {
    Payload {
        text: String::new(),
        size: size as u64,
        is_cut: size > 0,
    }
}

/// Result of redacting a text, as both stores can hold it: PostgreSQL has no zero character. Should
/// redacting ever fail on some text, all of the text is masked: the writer goes on, and nothing
/// gets past it.
fn storable<'a>(redact: impl FnOnce() -> Cow<'a, str>) -> String {
    let redacted = std::panic::catch_unwind(AssertUnwindSafe(redact));
    let text = redacted.map_or_else(|_| format!("\"{MASKED}\""), Cow::into_owned);
    if text.contains('\0') {
        return text.replace('\0', "\u{fffd}");
    }
    text
}
