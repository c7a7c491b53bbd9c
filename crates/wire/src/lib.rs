//! JSON-RPC and MCP messages, lossless.
//!
//! What a peer sends and we do not know is passed on as it came: a tool, an annotation, a
//! content block or a result keeps its bytes, key order and large integers included. So
//! messages here are views into the bytes that arrived ([`Json`]), and only the few fields
//! the gateway needs are decoded.
//!
//! This crate knows no policy and does no I/O. Start reading at [`rpc`], the envelope;
//! then [`tool`] and [`result`], what travels in it.

pub mod annotations;
pub mod batch;
pub mod capabilities;
pub mod downgrade;
pub mod header;
pub mod initialize;
pub mod input_required;
pub mod json;
pub mod meta;
pub mod method;
pub mod offerings;
pub mod param_headers;
pub mod response;
pub mod result;
pub mod revision;
pub mod rpc;
pub mod sse;
pub mod stateless;
pub mod tool;
mod words;

pub use annotations::ToolAnnotations;
pub use capabilities::{Capabilities, Introduction, ListChanges};
pub use json::{Json, JsonObject};
pub use method::Method;
pub use offerings::{ListedItem, ListedKind, ListedPage, Offerings};
pub use result::{CallResult, ResultText, RpcResult};
pub use revision::{Protocol, Revision};
pub use rpc::{Message, RequestId, RpcError};
pub use tool::ToolDefinition;
