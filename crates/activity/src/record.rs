//! Record, as people and programs see it.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use jiff::Timestamp;
use mcpproxy_policy::{Operation, RecordScope, Sensitivity};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use uuid::Uuid;

mcpproxy_policy::words! {
    /// Kind of a record: what kind of thing happened.
    #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
    #[cfg_attr(feature = "openapi", schema(as = ActivityType, rename_all = "snake_case"))]
    RecordKind {
        /// A call that went to its server.
        ToolCall = "tool_call",
        /// A call that was refused.
        PolicyDecision = "policy_decision",
        /// A search for tools.
        Discovery = "discovery",
        /// A question of a server to the client of a call.
        ClientRequest = "client_request",
        /// A server came, went or changed.
        ServerChange = "server_change",
        /// A tool came, went or changed.
        ToolChange = "tool_change",
        /// A token was made, changed or withdrawn.
        TokenChange = "token_change",
        /// The configuration changed, or a change could not be used.
        ConfigChange = "config_change",
        /// The gateway or its log did something by itself.
        System = "system",
    }
}

mcpproxy_policy::words! {
    /// Status of a record: what came of what happened.
    #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
    #[cfg_attr(feature = "openapi", schema(as = ActivityStatus, rename_all = "snake_case"))]
    Status {
        /// The call worked.
        Success = "success",
        /// The call failed at the server, or on the way there.
        Error = "error",
        /// The call was refused.
        Blocked = "blocked",
        /// Nobody saw the outcome.
        InDoubt = "in_doubt",
    }
}

/// Payload: what was sent or came back, as far as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The text, secrets hidden, cut where it was too long.
    pub text: String,
    /// Bytes that there were before anything was hidden or cut.
    pub size: u64,
    /// Whether the text was cut.
    pub is_cut: bool,
}

/// Error that a record tells of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ActivityError))]
pub struct RecordError {
    /// Code that programs match on.
    pub code: String,
    /// Message that says what happened.
    pub message: String,
}

/// Link of a chain: the place of a record in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainLink {
    /// Number in the chain, from one.
    pub seq: i64,
    /// The hash of the link before it; zeros for the first.
    pub prev_hash: Hash,
    /// The hash over its content and the link before it.
    pub hash: Hash,
}

/// A SHA-256 hash, shown in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Hash(pub [u8; 32]);

/// Record of one thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Id, a UUIDv7: ordered by time.
    pub id: Uuid,
    /// The id of the request it answers.
    pub request_id: Uuid,
    /// The record this one belongs to.
    pub parent_id: Option<Uuid>,
    /// The session the request came in.
    pub session_id: Option<String>,
    /// The trace the request belongs to.
    pub trace_id: Option<String>,
    /// Kind of what happened.
    pub kind: RecordKind,
    /// Moment it began.
    pub timestamp: Timestamp,
    /// Duration in microseconds; not known of what is in doubt.
    pub duration_us: Option<i64>,
    /// The server it was about.
    pub server_name: Option<String>,
    /// The tool it was about.
    pub tool_name: Option<String>,
    /// The tool of the menu it came through.
    pub tool_variant: Option<String>,
    /// The operation of that variant.
    pub intent_type: Option<Operation>,
    /// Sensitivity of the data; unknown where a call does not say.
    pub sensitivity: Option<Sensitivity>,
    /// Agent that asked, in one word: the token's name, else the client's.
    pub agent: Option<String>,
    /// Id of the token that it counts for. Decides who may see the record, and is shown to nobody.
    pub token_id: Option<String>,
    /// Status of what came of it.
    pub status: Status,
    /// Arguments that were sent.
    pub arguments: Option<Payload>,
    /// Response that came back.
    pub response: Option<Payload>,
    /// Error, if it did not work.
    pub error: Option<RecordError>,
    /// Warnings to the caller, as a JSON list.
    pub warnings: Value,
    /// The intent as declared, the variant, the client, and what else there is to say.
    pub metadata: Map<String, Value>,
    /// The chain it is in.
    pub chain: Uuid,
    /// Link from before the call was sent, if it was written then.
    pub opened: Option<ChainLink>,
    /// Link with the outcome; nothing while that is not there.
    pub closed: Option<ChainLink>,
}

impl Record {
    /// The intent as it was declared.
    pub fn intent(&self) -> Option<&Value> {
        self.metadata.get("intent")
    }

    /// Whether whoever may see these records may see this one.
    pub fn is_within(&self, scope: &RecordScope) -> bool {
        match scope {
            RecordScope::All => true,
            RecordScope::Token(id) => self.token_id.as_ref() == Some(id),
            RecordScope::Session(id) => {
                self.token_id.is_none() && self.session_id.as_ref() == Some(id)
            }
            RecordScope::Nothing => false,
        }
    }

    /// The place in the chain that a reader sees.
    pub fn link(&self) -> Option<&ChainLink> {
        self.closed.as_ref().or(self.opened.as_ref())
    }

    /// Duration in milliseconds.
    pub fn duration_ms(&self) -> Option<f64> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a call of 285 years would be shown a microsecond short"
        )]
        self.duration_us
            .map(|microseconds| microseconds as f64 / 1_000.0)
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let link = self.link();
        let (arguments, response) = (self.arguments.as_ref(), self.response.as_ref());
        ShownRecord {
            id: self.id,
            request_id: self.request_id,
            parent_id: self.parent_id,
            session_id: self.session_id.as_deref(),
            trace_id: self.trace_id.as_deref(),
            kind: self.kind,
            timestamp: format!("{:.3}", self.timestamp),
            duration_ms: self.duration_ms(),
            server_name: self.server_name.as_deref(),
            tool_name: self.tool_name.as_deref(),
            tool_variant: self.tool_variant.as_deref(),
            intent_type: self.intent_type,
            intent: self.intent(),
            data_sensitivity: self.sensitivity,
            agent: self.agent.as_deref(),
            status: self.status,
            arguments: arguments.map(Payload::to_json),
            arguments_size: arguments.map(|payload| payload.size),
            arguments_truncated: arguments.is_some_and(|payload| payload.is_cut),
            response: response.map(Payload::to_json),
            response_size: response.map(|payload| payload.size),
            response_truncated: response.is_some_and(|payload| payload.is_cut),
            error: self.error.as_ref(),
            warnings: &self.warnings,
            metadata: &self.metadata,
            chain: self.chain,
            seq: link.map(|link| link.seq),
            prev_hash: link.map(|link| link.prev_hash),
            hash: link.map(|link| link.hash),
            opened_seq: self.closed.and(self.opened).map(|link| link.seq),
        }
        .serialize(serializer)
    }
}

/// One thing that happened.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Activity))]
pub struct ShownRecord<'a> {
    /// A UUIDv7: ordered by time.
    id: Uuid,
    /// The request it answers.
    request_id: Uuid,
    /// The record this one belongs to.
    #[cfg_attr(feature = "openapi", schema(required))]
    parent_id: Option<Uuid>,
    /// The session the request came in.
    #[cfg_attr(feature = "openapi", schema(required))]
    session_id: Option<&'a str>,
    /// The W3C trace the request belongs to.
    #[cfg_attr(feature = "openapi", schema(required))]
    trace_id: Option<&'a str>,
    /// What kind of thing happened.
    #[serde(rename = "type")]
    kind: RecordKind,
    /// When it began: UTC, with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime, example = "2026-01-31T12:00:00.000Z"))]
    timestamp: String,
    /// How long it took; null of what is in doubt.
    #[cfg_attr(feature = "openapi", schema(required))]
    duration_ms: Option<f64>,
    /// The server it was about.
    #[cfg_attr(feature = "openapi", schema(required))]
    server_name: Option<&'a str>,
    /// The tool it was about.
    #[cfg_attr(feature = "openapi", schema(required))]
    tool_name: Option<&'a str>,
    /// The tool of the menu it came through.
    #[cfg_attr(feature = "openapi", schema(required))]
    tool_variant: Option<&'a str>,
    /// The operation of that variant.
    #[cfg_attr(feature = "openapi", schema(required))]
    intent_type: Option<Operation>,
    /// What the agent declared, as it declared it; also in `metadata`.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Value))]
    intent: Option<&'a Value>,
    /// How sensitive the data is; `unknown` where a call does not say.
    #[cfg_attr(feature = "openapi", schema(required))]
    data_sensitivity: Option<Sensitivity>,
    /// Who asked: the token's name, else the client's.
    #[cfg_attr(feature = "openapi", schema(required))]
    agent: Option<&'a str>,
    /// What came of it. Of what is `in_doubt` nobody saw the outcome.
    status: Status,
    /// What was sent, secrets hidden; text where it was cut.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Value))]
    arguments: Option<Value>,
    /// How many bytes there were.
    #[cfg_attr(feature = "openapi", schema(required))]
    arguments_size: Option<u64>,
    /// Whether only the beginning was kept.
    arguments_truncated: bool,
    /// What came back, secrets hidden; text where it was cut.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Value))]
    response: Option<Value>,
    /// How many bytes there were.
    #[cfg_attr(feature = "openapi", schema(required))]
    response_size: Option<u64>,
    /// Whether only the beginning was kept.
    response_truncated: bool,
    /// Why it did not work.
    #[cfg_attr(feature = "openapi", schema(required))]
    error: Option<&'a RecordError>,
    /// What the caller was warned about.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<mcpproxy_policy::Warning>))]
    warnings: &'a Value,
    /// The intent, the variant, the client, and what else there is to say.
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, Value>))]
    metadata: &'a Map<String, Value>,
    /// The chain it is in: each writer has its own.
    chain: Uuid,
    /// Its number in the chain.
    #[cfg_attr(feature = "openapi", schema(required))]
    seq: Option<i64>,
    /// The hash of the link before it, in hexadecimal.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>))]
    prev_hash: Option<Hash>,
    /// The hash over its content and the link before it, in hexadecimal.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>))]
    hash: Option<Hash>,
    /// Its number from before the call was sent, where it was written then.
    #[cfg_attr(feature = "openapi", schema(required))]
    opened_seq: Option<i64>,
}

// === impl Status ===

impl Status {
    /// Kind of answer to a client request that ended so; nothing where nobody saw the answer.
    pub(crate) fn answer(self) -> Option<&'static str> {
        match self {
            Self::Success => Some("accept"),
            Self::Blocked => Some("decline"),
            Self::Error => Some("cancel"),
            Self::InDoubt => None,
        }
    }
}

// === impl Payload ===

impl Payload {
    /// The JSON itself where all of it is there, else the text that is.
    pub fn to_json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| Value::String(self.text.clone()))
    }
}

// === impl Hash ===

impl Hash {
    /// Stand-in for a hash that cannot be read. No link has it: zeros would be those of a first link.
    pub const UNREADABLE: Self = Self([0xff; 32]);

    /// Reads the bytes of a hash.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Reads the hexadecimal form.
    pub fn from_hex(text: &str) -> Option<Self> {
        Self::from_bytes(&HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?)
    }
}

impl std::fmt::Display for Hash {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        HEXLOWER.encode_display(&self.0).fmt(formatter)
    }
}

impl std::fmt::Debug for Hash {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{self}")
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
