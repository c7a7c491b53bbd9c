//! Client behind a request, and the way back to it while the request is open.
//!
//! A server may report progress, write log messages, and ask for what only the client has: an answer
//! of its user, its model, its folders. All of that travels as [`ClientMessage`]s to whoever serves
//! the client; nothing here knows how that one speaks.

mod asking;
pub(crate) mod call_routes;
pub(crate) mod incoming;
mod link;
mod message_queue;
mod messages;

pub use self::asking::{AnswerRecorder, AskingCall, ClientRequestLog, OpeningRecord, PassedOn};
pub use self::link::{ClientInput, ClientLink, ClientMessages};
pub use self::messages::{
    ClientAnswer, ClientMessage, ClientNotification, ClientRequest, ClientRequestKind, LogLevel,
};
