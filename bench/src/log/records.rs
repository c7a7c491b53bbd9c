//! Records as a busy gateway would have written them in 90 days: made up, but alike in mix and size.
//!
//! The same number of records always has the same content but for its times, so that two runs measure the same
//! thing. Must never put a record anywhere; that is for `fill`.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use mcpproxy_activity::chain::ChainHead;
use mcpproxy_activity::row::{Cell, OutcomeColumns, RequestColumns, Row};
use mcpproxy_activity::{RecordKind, Status};
use mcpproxy_policy::Operation;
use serde_json::json;
use uuid::Uuid;

/// How far back the oldest record lies.
const DAYS: i64 = 90;
/// How many servers there are, and how many tools each has.
const SERVERS: u64 = 20;
const TOOLS_OF_SERVER: u64 = 10;
/// How many sessions there are, one after the other, several at a time.
const SESSIONS: u64 = 1_000;
const SESSIONS_AT_A_TIME: u64 = 8;
/// How many records are in doubt, and how many have the rare word, whatever the number of all.
const SELDOM: u64 = 20;

/// Who calls.
pub(crate) const AGENTS: [&str; 5] = ["claude-code", "cursor", "zed", "goose", "nightly-report"];
/// A word that nearly every third record has.
pub(crate) const COMMON_WORD: &str = "customer";
/// A word that only twenty records have.
pub(crate) const RARE_WORD: &str = "quicksilver";

/// What a log was filled with, for those who ask it something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// How many records there are.
    pub(crate) count: u64,
    /// The millisecond of the first one.
    first: i64,
    /// How many milliseconds lie between one and the next.
    step: i64,
}

/// Makes one record after the other, each with its place in the chain.
#[derive(Debug)]
pub(crate) struct Maker {
    extent: Extent,
    /// The chain they are in.
    pub(crate) chain: Uuid,
    /// The last link so far.
    pub(crate) head: ChainHead,
    random: Random,
    vocabulary: Vec<String>,
    made: u64,
}

/// A small generator of numbers that look random and are the same in every run.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

/// What decides the rest of a record.
struct Draw {
    kind: RecordKind,
    status: Status,
    operation: Option<Operation>,
}

impl Extent {
    /// So many records, the last of them now.
    pub(crate) fn until_now(count: u64) -> Self {
        let length = DAYS * 24 * 60 * 60 * 1_000;
        let step = (length / i64::try_from(count.max(1)).unwrap_or(i64::MAX)).max(1);
        let back = step.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX));
        Self {
            count,
            first: Timestamp::now().as_millisecond() - back,
            step,
        }
    }

    /// The moment of the record with a number.
    pub(crate) fn moment(&self, number: u64) -> Timestamp {
        Timestamp::from_millisecond(self.millisecond(number)).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// The id of the record with a number: the bits that are not its time are made of the number.
    pub(crate) fn id(&self, number: u64) -> Uuid {
        let mut random = Random(number);
        let mut bits = [0; 10];
        bits[..8].copy_from_slice(&random.next().to_be_bytes());
        let millisecond = u64::try_from(self.millisecond(number)).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(millisecond, &bits).into_uuid()
    }

    fn millisecond(&self, number: u64) -> i64 {
        let passed = i64::try_from(number).unwrap_or(i64::MAX);
        self.first.saturating_add(self.step.saturating_mul(passed))
    }

    /// Whether a number is one of the few that stand for what happens seldom.
    fn is_seldom(&self, number: u64) -> bool {
        let apart = (self.count / SELDOM).max(1);
        number % apart == apart / 2
    }
}

impl Maker {
    /// Begins a chain.
    pub(crate) fn new(extent: Extent) -> Self {
        Self {
            extent,
            chain: Uuid::now_v7(),
            head: ChainHead::EMPTY,
            random: Random(0),
            vocabulary: vocabulary(),
            made: 0,
        }
    }

    /// The next records, as many as one commit takes.
    pub(crate) fn batch(&mut self, size: u64) -> Vec<Row> {
        let left = self.extent.count - self.made;
        (0..size.min(left)).map(|_| self.record()).collect()
    }

    fn record(&mut self) -> Row {
        let number = self.made;
        self.made += 1;
        let draw = self.draw(number);
        let request = Arc::new(self.request(number, &draw));
        let outcome = match draw.status {
            Status::InDoubt => OutcomeColumns::in_doubt(),
            status => self.outcome(status),
        };
        // As the log does it: what writes is there before it is sent, and again with its outcome.
        let is_writing = draw.operation.is_some_and(|one| one != Operation::Read);
        let opened = (is_writing && draw.status != Status::Blocked)
            .then(|| self.head.open(self.chain, &request));
        let closed = (draw.status != Status::InDoubt).then(|| {
            self.head
                .close(self.chain, &request, &outcome, opened.as_ref())
        });
        Row {
            request,
            outcome,
            chain: self.chain,
            opened,
            closed,
        }
    }

    fn draw(&mut self, number: u64) -> Draw {
        let operation = match self.random.below(100) {
            0..3 => Operation::Destructive,
            3..20 => Operation::Write,
            _ => Operation::Read,
        };
        let (kind, status) = match self.random.below(1_000) {
            _ if self.extent.is_seldom(number) => {
                return Draw {
                    kind: RecordKind::ToolCall,
                    status: Status::InDoubt,
                    operation: Some(Operation::Write),
                };
            }
            0..20 => (RecordKind::PolicyDecision, Status::Blocked),
            20..30 => (RecordKind::ToolCall, Status::Error),
            30..80 => (RecordKind::Discovery, Status::Success),
            _ => (RecordKind::ToolCall, Status::Success),
        };
        Draw {
            kind,
            status,
            operation: (kind != RecordKind::Discovery).then_some(operation),
        }
    }

    fn request(&mut self, number: u64, draw: &Draw) -> RequestColumns {
        let size = self.random.size();
        let arguments = self.arguments(size);
        let agent = AGENTS[self.random.index(AGENTS.len())];
        let mut reason = self.text(60);
        if self.random.below(3) == 0 {
            let _ = write!(reason, " {COMMON_WORD}");
        }
        if self.extent.is_seldom(number) {
            let _ = write!(reason, " {RARE_WORD}");
        }
        let mut metadata = json!({ "client": { "name": agent, "version": "1.4.2" } });
        if let Some(operation) = draw.operation {
            metadata["intent"] = json!({ "operation_type": operation.as_str(), "reason": reason });
            metadata["tool_variant"] = json!(operation.variant());
        }
        // The first servers are asked more than the last, as in life.
        let server = self.random.below(SERVERS).min(self.random.below(SERVERS));
        let tool = self.random.below(TOOLS_OF_SERVER);
        let called = draw
            .operation
            .map(|_| (server_name(server), tool_name(server, tool)));
        let (server, tool) = called.unzip();
        let size = i64::try_from(arguments.len()).unwrap_or(i64::MAX);
        RequestColumns {
            id: self.extent.id(number).into(),
            request_id: uuid::Builder::from_random_bytes(self.random.bytes())
                .into_uuid()
                .into(),
            parent_id: Cell::Null,
            session_id: self.session(number).into(),
            trace_id: Cell::Null,
            kind: draw.kind.as_str().into(),
            timestamp: Cell::Int(self.extent.millisecond(number)),
            server_name: server.into(),
            tool_name: tool.or_else(|| Some("retrieve_tools".to_owned())).into(),
            tool_variant: draw.operation.map(Operation::variant).into(),
            intent_type: draw.operation.map(Operation::as_str).into(),
            sensitivity: draw.operation.map(|_| "unknown").into(),
            agent: agent.into(),
            arguments: arguments.into(),
            arguments_size: size.into(),
            arguments_cut: false.into(),
            metadata: metadata.to_string().into(),
            token_id: Cell::Null,
        }
    }

    fn outcome(&mut self, status: Status) -> OutcomeColumns {
        let size = self.random.size();
        let text = self.text(size);
        let response = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
        let error = match status {
            Status::Blocked => Some(("INTENT_MISMATCH", "Tool is marked destructive by server")),
            Status::Error => Some(("UPSTREAM_ERROR", "The server answered with an error")),
            Status::Success | Status::InDoubt => None,
        };
        let duration = i64::try_from(500 + self.random.below(200_000)).unwrap_or(0);
        let is_answered = status == Status::Success;
        let size = i64::try_from(response.len()).unwrap_or(i64::MAX);
        OutcomeColumns {
            status: status.as_str().into(),
            duration_us: duration.into(),
            response: is_answered.then_some(response).into(),
            response_size: is_answered.then_some(size).into(),
            response_cut: is_answered.then_some(false).into(),
            error_code: error.map(|(code, _)| code).into(),
            error_message: error.map(|(_, message)| message).into(),
            warnings: Cell::Null,
        }
    }

    /// A session of those that are open at this time.
    fn session(&mut self, number: u64) -> String {
        let newest = number.saturating_mul(SESSIONS) / self.extent.count.max(1);
        session_name((newest + self.random.below(SESSIONS_AT_A_TIME)) % SESSIONS)
    }

    /// JSON of about so many bytes, with an id that no other record has.
    fn arguments(&mut self, bytes: usize) -> String {
        let id = self.random.next();
        let text = self.text(bytes.saturating_sub(48));
        format!(
            r#"{{"item":"{id:016x}","limit":{},"query":"{text}"}}"#,
            id % 100
        )
    }

    /// Words up to so many bytes, some far more often than others.
    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            let count = self.vocabulary.len();
            let index = self.random.index(count).min(self.random.index(count));
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&self.vocabulary[index]);
        }
        text
    }
}

/// The name of a server.
pub(crate) fn server_name(number: u64) -> String {
    format!("server-{}", number % SERVERS)
}

/// The name of a tool; those of different servers have different names.
pub(crate) fn tool_name(server: u64, number: u64) -> String {
    format!("tool-{}-{}", server % SERVERS, number % TOOLS_OF_SERVER)
}

/// The name of a session.
pub(crate) fn session_name(number: u64) -> String {
    format!("0198f3c2-7a51-7d3e-9b42-{:012}", number % SESSIONS)
}

/// Words of two or three syllables, none of which is a word that is searched for.
fn vocabulary() -> Vec<String> {
    const SYLLABLES: [&str; 12] = [
        "ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "ta", "ve",
    ];
    let pairs = || {
        SYLLABLES
            .iter()
            .flat_map(|one| SYLLABLES.map(|two| format!("{one}{two}")))
    };
    let triples = pairs().flat_map(|pair| SYLLABLES.map(|three| format!("{pair}{three}")));
    pairs().chain(triples).collect()
}

// === impl Random ===

impl Random {
    /// The numbers that follow from a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number (the mixing of `SplitMix64`).
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another one.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn index(&mut self, length: usize) -> usize {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        usize::try_from(self.below(length)).unwrap_or(0)
    }

    /// The size of a payload: 50 to 2000 bytes, small ones as often as large ones of twice the size.
    fn size(&mut self) -> usize {
        let base = 50_u64 << self.below(6);
        let size = (base + self.below(base)).min(2_000);
        usize::try_from(size).unwrap_or(2_000)
    }

    fn bytes(&mut self) -> [u8; 16] {
        let (high, low) = (u128::from(self.next()), u128::from(self.next()));
        ((high << 64) | low).to_be_bytes()
    }
}
