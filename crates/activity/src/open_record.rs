//! Record that a call holds open until its outcome is known.

use std::sync::Arc;
use std::time::Instant;

use mcpproxy_policy::{Caller, Intent, Operation, Sensitivity, Warning};
use mcpproxy_redact::OwnSecrets;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::draft::{Draft, DraftOutcome, size_only};
use crate::log::{Log, default_deadline};
use crate::queue::{Ack, Room, WriterCommand, too_slow, written};
use crate::record::{Payload, RecordKind, Status};
use crate::store::StoreError;

/// Record that a call holds open until its outcome is known.
///
/// Dropping it closes it as in doubt if the call was sent, and as failed if it was not.
#[derive(Debug)]
pub struct OpenRecord {
    log: Log,
    draft: Arc<Draft>,
    began: Instant,
    stage: Stage,
    /// Whether it was recorded before the call was sent.
    is_on_record: bool,
    /// Taken before the call is sent, so that its outcome can always be kept.
    room: Option<Room>,
    warnings: Vec<Warning>,
    /// Values that must not be kept anywhere in this record.
    own: OwnSecrets,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Preparing,
    Sent,
    Closed,
}

/// Outcome of a request.
#[derive(Debug, Clone, Copy)]
pub struct RecordOutcome<'a> {
    /// Status, in one word.
    pub status: Status,
    /// Error: a code and a message.
    pub error: Option<(&'a str, &'a str)>,
    /// Response, as JSON text.
    pub response: Option<&'a str>,
}

impl Log {
    /// Opens the record of a request.
    pub fn open(
        &self,
        kind: RecordKind,
        caller: &Arc<Caller>,
        operation: Option<Operation>,
    ) -> OpenRecord {
        let draft = Draft {
            operation,
            // What a call does not say is read as unknown.
            sensitivity: operation.map(|_| Sensitivity::Unknown),
            ..Draft::new(kind, Arc::clone(caller), self.redaction())
        };
        OpenRecord {
            log: self.clone(),
            draft: Arc::new(draft),
            began: Instant::now(),
            stage: Stage::Preparing,
            is_on_record: false,
            room: None,
            warnings: Vec::new(),
            own: OwnSecrets::none(),
        }
    }
}

// === impl OpenRecord ===

impl OpenRecord {
    /// Id of the record, which the caller gets back.
    pub fn id(&self) -> Uuid {
        self.draft.id
    }

    /// Id of the request, which the caller gets back.
    pub fn request_id(&self) -> Uuid {
        self.draft.request_id
    }

    /// Moment at which the request came in.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Sets the record that this one belongs to.
    pub fn set_parent(&mut self, id: Uuid) {
        self.draft().parent_id = Some(id);
    }

    /// Sets the tool a call is about.
    pub fn set_tool(&mut self, server: &str, tool: &str) {
        let draft = self.draft();
        draft.server = Some(server.to_owned());
        draft.tool = Some(tool.to_owned());
    }

    /// Sets the name of a tool or method that is asked of no server.
    pub fn set_tool_name(&mut self, tool: &str) {
        self.draft().tool = Some(tool.to_owned());
    }

    /// Sets what the call does, where that is known only when its tool is: before it is sent.
    pub fn set_operation(&mut self, operation: Operation) {
        if self.draft.operation != Some(operation) {
            self.draft().operation = Some(operation);
        }
    }

    /// Sets the intent as it was declared.
    pub fn set_declared_intent(&mut self, intent: Value) {
        self.draft().intent = Some(intent);
    }

    /// Sets an intent that holds: how the agent classes the data, and the operation, which
    /// it may have left to the variant.
    pub fn set_intent(&mut self, intent: &Intent) {
        let draft = self.draft();
        draft.sensitivity = Some(intent.sensitivity().unwrap_or(Sensitivity::Unknown));
        let declared = draft.intent.get_or_insert_with(|| json!({}));
        if let Some(fields) = declared.as_object_mut()
            && !fields.contains_key("operation_type")
        {
            let word = json!(intent.operation().as_str());
            fields.insert("operation_type".to_owned(), word);
        }
    }

    /// Sets the arguments, as JSON text.
    pub fn set_arguments(&mut self, text: &str) {
        let draft = self.draft();
        draft.arguments = Some(draft.redaction.excerpt(text));
    }

    /// Whether the arguments are set, and not only how large they are.
    pub fn has_arguments(&self) -> bool {
        self.draft.weight() > 0
    }

    /// Sets how many bytes the arguments have, where it is not known which of them are secret.
    pub fn set_arguments_size(&mut self, size: usize) {
        self.draft().arguments = Some(size_only(size));
    }

    /// Adds values that must not be stored anywhere in this record.
    pub fn add_secrets(&mut self, own: OwnSecrets) {
        self.own = std::mem::take(&mut self.own).and(own);
        if !self.is_on_record {
            self.draft().redaction.own = self.own.clone();
        }
    }

    /// Adds warnings that the caller gets.
    pub fn add_warnings(&mut self, warnings: &[Warning]) {
        self.warnings.extend_from_slice(warnings);
    }

    /// Marks the moment before the call goes out: from here on it may have an effect. A call that
    /// writes is on disk when this returns; any other has room for its record.
    pub async fn begin_sending(&mut self, deadline: Instant) -> Result<(), StoreError> {
        tracing::trace!(target: "mcpproxy::call_path", "the record is opened");
        let queue = self.log.queue();
        self.room = Some(queue.room(self.draft.weight(), deadline).await?);
        if !self.is_writing() || !self.log.policy().is_strict {
            self.stage = Stage::Sent;
            return Ok(());
        }
        if let Some(problem) = queue.problem() {
            return Err(problem);
        }
        let (ack, acknowledged) = oneshot::channel();
        self.open(Some(ack));
        match tokio::time::timeout_at(deadline.into(), acknowledged).await {
            Ok(Ok(Ok(()))) => {
                self.stage = Stage::Sent;
                Ok(())
            }
            Ok(Ok(Err(problem))) => {
                self.not_on_record();
                Err(problem)
            }
            Ok(Err(_)) | Err(_) => Err(too_slow()),
        }
    }

    /// Puts a call that takes long on record while it is under way, without waiting for it.
    pub fn mark_under_way(&mut self) {
        if !self.is_on_record {
            self.open(None);
        }
    }

    /// Closes the record. The outcome of a call that writes is on disk when this returns.
    pub async fn close(mut self, end: RecordOutcome<'_>) -> Result<(), StoreError> {
        tracing::trace!(target: "mcpproxy::call_path", "the record is closed");
        let was_sent = self.stage == Stage::Sent;
        let is_durable =
            was_sent && self.is_on_record && self.is_writing() && self.log.policy().is_strict;
        if end.status == Status::Blocked
            && !self.is_on_record
            && self.draft.kind == RecordKind::ToolCall
        {
            self.draft().kind = RecordKind::PolicyDecision;
        }
        if self.room.is_none() {
            let room = self
                .log
                .queue()
                .room(self.draft.weight(), default_deadline());
            self.room = Some(room.await.inspect_err(|_| {
                self.stage = Stage::Closed;
                self.log.queue().count_unrecorded();
            })?);
        }
        let response = match end.response {
            Some(text) => Some(self.response(text).await),
            None => None,
        };
        if !is_durable {
            self.finish(end.status, end.error, response, None);
            return Ok(());
        }
        let (ack, acknowledged) = oneshot::channel();
        self.finish(end.status, end.error, response, Some(ack));
        written(acknowledged, default_deadline()).await
    }

    /// Closes the record of something that writes nothing and has no response, without waiting: room for it was taken
    /// by [`Self::begin_sending`].
    pub fn close_at_once(mut self, status: Status, error: Option<(&str, &str)>) {
        self.finish(status, error, None, None);
    }

    /// Response, as far as there is room for it.
    async fn response(&mut self, text: &str) -> Payload {
        let excerpt = self.draft.redaction.excerpt(text);
        let queue = self.log.queue();
        let Ok(more) = queue.room(excerpt.text.len(), default_deadline()).await else {
            return size_only(text.len());
        };
        if let Some(room) = &mut self.room {
            room.merge(more);
        }
        excerpt
    }

    fn open(&mut self, ack: Option<Ack>) {
        self.is_on_record = true;
        self.log.count_under_way(1);
        self.log.queue().push(WriterCommand::Record {
            draft: Arc::clone(&self.draft),
            outcome: None,
            ack,
            room: None,
        });
    }

    fn not_on_record(&mut self) {
        self.is_on_record = false;
        self.log.count_under_way(-1);
    }

    fn finish(
        &mut self,
        status: Status,
        error: Option<(&str, &str)>,
        response: Option<Payload>,
        ack: Option<Ack>,
    ) {
        self.stage = Stage::Closed;
        if self.is_on_record {
            self.not_on_record();
        }
        // A client request during a call is no call of its own.
        if self.draft.kind != RecordKind::ClientRequest {
            self.log.count(status);
        }
        let outcome = DraftOutcome {
            status,
            duration: Some(self.began.elapsed()),
            response,
            error: error.map(|(code, message)| (code.to_owned(), message.to_owned())),
            warnings: std::mem::take(&mut self.warnings),
            own: std::mem::take(&mut self.own),
        };
        self.log.queue().push(WriterCommand::Record {
            draft: Arc::clone(&self.draft),
            outcome: Some(outcome),
            ack,
            room: self.room.take(),
        });
    }

    fn is_writing(&self) -> bool {
        matches!(
            self.draft.operation,
            Some(Operation::Write | Operation::Destructive)
        )
    }

    /// The draft while nobody else has it: until the record is opened.
    fn draft(&mut self) -> &mut Draft {
        Arc::make_mut(&mut self.draft)
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        if self.stage == Stage::Closed {
            return;
        }
        if self.room.is_none() {
            self.room = self.log.queue().room_now(self.draft.weight());
        }
        if self.room.is_none() {
            return self.log.queue().count_unrecorded();
        }
        let (status, message) = if self.stage == Stage::Sent {
            (Status::InDoubt, "The caller left before the answer came")
        } else {
            (Status::Error, "The caller left before the call was sent")
        };
        self.finish(status, Some(("CALLER_GONE", message)), None, None);
    }
}
