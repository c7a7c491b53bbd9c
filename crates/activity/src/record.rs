//! One line of the record.

use std::sync::Arc;

use jiff::Timestamp;
use mcpproxy_policy::{Intent, Operation, Sensitivity, Warning};
use serde::Serialize;
use uuid::Uuid;

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A call that went to its server.
    ToolCall,
    /// A call that was refused.
    PolicyDecision,
    /// A search for tools.
    Discovery,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It worked.
    Success,
    /// It failed at the server, or on the way there.
    Error,
    /// It was refused.
    Blocked,
    /// Nobody saw the outcome.
    InDoubt,
}

/// Who asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Caller {
    /// The session the request came in, where there is one.
    pub session_id: Option<String>,
    /// The client's own name.
    pub client_name: Option<String>,
    /// The client's own version.
    pub client_version: Option<String>,
}

/// One thing that happened.
#[derive(Debug, Clone, Serialize)]
pub struct Record {
    /// Its id, ordered by time.
    pub id: Uuid,
    /// The id of the request it answers.
    pub request_id: Uuid,
    /// What kind of thing happened.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// When it began.
    pub timestamp: Timestamp,
    /// How long it took.
    pub duration_ms: f64,
    /// Who asked.
    pub caller: Arc<Caller>,
    /// The server it was about.
    pub server_name: Option<String>,
    /// The tool it was about.
    pub tool_name: Option<String>,
    /// The variant it came through.
    pub intent_type: Option<Operation>,
    /// How the agent classed the data.
    pub data_sensitivity: Option<Sensitivity>,
    /// Why the agent made the call.
    pub reason: Option<String>,
    /// What came of it.
    pub status: Status,
    /// The code of the error, where there was one.
    pub error_code: Option<String>,
    /// What the caller was warned about.
    pub warnings: Vec<Warning>,
}

impl Record {
    /// Notes what the agent declared.
    pub fn declare(&mut self, intent: &Intent) {
        self.data_sensitivity = intent.sensitivity();
        self.reason = intent.reason().map(str::to_owned);
    }
}
