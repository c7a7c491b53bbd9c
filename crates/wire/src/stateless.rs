//! The revision without sessions: every request says for itself who asks, and in which revision.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use crate::initialize::{self, Announces, NAME_LIMIT};
use crate::input_required::asks_for_input;
use crate::json::splice::prepend_members;
use crate::json::{Fields, JsonText, Members, may_name, to_text};
use crate::meta::{META, SERVER_INFO, SUBSCRIPTION_ID};
use crate::method::SUBSCRIPTION_ACKNOWLEDGED;
use crate::revision::{Protocol, Revision};
use crate::rpc::{Id, RpcError, notification};

/// A header says something else than the message.
pub const HEADER_MISMATCH: i64 = -32020;
/// The revision is not offered.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Freshness of a result: for how long it may be kept, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    /// Milliseconds; 0 means that it has to be asked for anew each time.
    pub ttl_ms: u64,
    /// Scope of those who may be given it.
    pub scope: CacheScope,
}

crate::words! {
    /// Who may be given a result that was kept.
    CacheScope {
        /// Everybody: it is the same whoever asks.
        Public = "public",
        /// Only who asked.
        Private = "private",
    }
}

/// The refusal of a revision that is not offered.
pub fn unsupported_version(requested: &str) -> RpcError {
    let requested: String = requested.chars().take(NAME_LIMIT).collect();
    let supported = offered();
    RpcError {
        code: UNSUPPORTED_VERSION,
        message: format!(
            "Revision '{requested}' is not offered without a session; use {}",
            supported.join(", ")
        ),
        data: Some(json!({ "supported": supported, "requested": requested })),
    }
}

/// The result of `server/discover`.
pub fn discovery(
    version: &str,
    instructions: &str,
    announces: Announces,
    freshness: Freshness,
) -> String {
    json!({
        "resultType": "complete",
        "supportedVersions": offered(),
        "capabilities": initialize::capabilities(announces),
        "instructions": instructions,
        "ttlMs": freshness.ttl_ms,
        "cacheScope": freshness.scope,
        META: { SERVER_INFO: initialize::server_info(version) },
    })
    .to_string()
}

/// Members that say what a result is, and for how long it holds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultMembers {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_scope: Option<CacheScope>,
}

/// Members of a result that is complete.
const COMPLETE: ResultMembers = ResultMembers {
    result_type: Some("complete"),
    ttl_ms: None,
    cache_scope: None,
};

/// Result of ours that clients may keep, with what this revision wants to know of it.
pub fn cacheable(result: &str, freshness: Freshness) -> String {
    let members = ResultMembers {
        ttl_ms: Some(freshness.ttl_ms),
        cache_scope: Some(freshness.scope),
        ..COMPLETE
    };
    prepend_members(result, &members)
}

/// Result as this revision has it: it says that it is complete, unless a server of this revision
/// asks for input with it.
pub fn complete(result: String) -> String {
    let said = Fields::read(&result).and_then(|fields| fields.get("resultType"));
    if said.is_some_and(|raw| says_its_type(&result, raw.get())) {
        return result;
    }
    let mut members = COMPLETE;
    if asks_for_input(&result) {
        members.result_type = Some("input_required");
    }
    prepend_members(&without_result_type(&result), &members)
}

/// Result of a server that clients may keep for as long as the server says, or else as is said here.
pub fn complete_and_cacheable(result: String, otherwise: Freshness) -> String {
    let asks_for_input = asks_for_input(&result);
    let complete = complete(result);
    let fields = Fields::read(&complete).unwrap_or_default();
    if asks_for_input || fields.given("ttlMs").is_some() {
        return complete;
    }
    let has_scope = fields.get("cacheScope").is_some();
    let members = ResultMembers {
        result_type: None,
        ttl_ms: Some(otherwise.ttl_ms),
        cache_scope: (!has_scope).then_some(otherwise.scope),
    };
    prepend_members(&complete, &members)
}

/// A result as the revisions with sessions have it. Only a server of this revision says what type
/// a result is; the others know no such member.
pub fn without_result_type(result: &str) -> Cow<'_, str> {
    if !may_name(result, "resultType") {
        return Cow::Borrowed(result);
    }
    match Fields::read(result) {
        Some(fields) if fields.get("resultType").is_some() => {
            Cow::Owned(to_text(&fields.without("resultType")))
        }
        _ => Cow::Borrowed(result),
    }
}

/// Whether a result says in its first member that it is complete or asks for input. `said` is what
/// stands in the last place where it says its type.
pub(crate) fn says_its_type(result: &str, said: &str) -> bool {
    let first = result.strip_prefix(r#"{"resultType":"#);
    let is_first = first.is_some_and(|first| std::ptr::eq(first.as_ptr(), said.as_ptr()));
    is_first && matches!(said, r#""complete""# | r#""input_required""#)
}

/// Notification that opens a stream of changes, with the kinds of changes that are sent on it.
pub fn subscription_opened(id: Id<'_>, promised: &Value) -> String {
    let promised = promised.to_string();
    let params = stream_members(id, None, Some(("notifications", &promised)));
    notification(SUBSCRIPTION_ACKNOWLEDGED, &params)
}

/// Notification on a stream of changes; of a resource it names the address.
pub fn stream_notification(id: Id<'_>, method: &str, uri: Option<&str>) -> String {
    let uri = uri.map(|uri| to_text(&uri));
    let params = stream_members(id, None, uri.as_deref().map(|uri| ("uri", uri)));
    notification(method, &params)
}

/// Result that ends a stream of changes in order.
pub fn subscription_ended(id: Id<'_>, version: &str) -> String {
    let server_info = initialize::server_info(version).to_string();
    complete(stream_members(id, Some(&server_info), None))
}

/// Parameters of a message on the stream that a request opened, or the result that ends it.
fn stream_members(id: Id<'_>, server_info: Option<&str>, other: Option<(&str, &str)>) -> String {
    let mut meta = vec![(SUBSCRIPTION_ID, JsonText(id.text()))];
    meta.extend(server_info.map(|info| (SERVER_INFO, JsonText(info))));
    let meta = to_text(&Members(meta));
    let mut members = vec![(META, JsonText(&meta))];
    members.extend(other.map(|(name, json)| (name, JsonText(json))));
    to_text(&Members(members))
}

fn offered() -> Vec<&'static str> {
    Revision::ALL
        .into_iter()
        .filter(|revision| revision.protocol() == Protocol::Stateless)
        .map(Revision::as_str)
        .collect()
}

#[cfg(test)]
mod tests;
