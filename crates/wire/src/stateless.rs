//! The revision without sessions: every request says for itself who asks, and in which revision.

mod streams;

use std::borrow::Cow;

use memchr::memmem::Finder;
use serde_json::json;
use serde_json::value::RawValue;

pub use self::streams::{subscription_ended, subscription_opened, told_on_stream};
use crate::glance::{Glance, Name};
use crate::header;
use crate::initialize::{self, Announces, NAME_LIMIT};
use crate::input::asks_for_input;
use crate::json::Fields;
use crate::meta::{
    CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, META, PROGRESS_TOKEN, PROTOCOL_VERSION,
    SERVER_INFO,
};
use crate::result::without_member;
use crate::revision::{Protocol, Revision};
use crate::rpc::{INVALID_PARAMS, RpcError};

static RESULT_TYPE: Name = Name::new(|| Finder::new(b"resultType"));

/// A header says something else than the message.
pub const HEADER_MISMATCH: i64 = -32020;
/// The revision is not offered.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// The parameters of a request, read once: its fields, and those of its `_meta`.
#[derive(Debug, Default)]
pub struct Params<'a> {
    /// All fields; none if the parameters are no object.
    pub fields: Fields<'a>,
    meta: Fields<'a>,
}

/// What a request says of its sender.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Introduction {
    /// The client's name.
    pub name: Option<String>,
    /// The client's version.
    pub version: Option<String>,
    /// The W3C trace that the request belongs to, as it was given.
    pub traceparent: Option<String>,
}

/// For how long a result may be kept, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    /// Milliseconds; 0 means that it has to be asked for anew each time.
    pub ttl_ms: u64,
    /// Who may be given it.
    pub scope: CacheScope,
}

/// Who may be given a result that was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// Everybody: it is the same whoever asks.
    Public,
    /// Only who asked.
    Private,
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
        "cacheScope": freshness.scope.as_str(),
        META: { SERVER_INFO: initialize::server_info(version) },
    })
    .to_string()
}

/// A result of ours that clients may keep, with what this revision wants to know of it.
pub fn cacheable(result: &str, freshness: Freshness) -> String {
    let (ttl_ms, scope) = (freshness.ttl_ms, freshness.scope.as_str());
    with_members(
        result,
        &format!(r#""resultType":"complete","ttlMs":{ttl_ms},"cacheScope":"{scope}""#),
    )
}

/// A result as this revision has it: it says that it is complete, unless a server of this revision
/// asks for input with it.
pub fn complete(result: &str) -> String {
    if says_its_type(result) {
        return result.to_owned();
    }
    let kind = if asks_for_input(result) {
        r#""resultType":"input_required""#
    } else {
        r#""resultType":"complete""#
    };
    with_members(&without_result_type(result), kind)
}

/// A result of a server that clients may keep for as long as the server says, or else as is said here.
pub fn complete_and_cacheable(result: &str, otherwise: Freshness) -> String {
    let complete = complete(result);
    let fields: Fields<'_> = serde_json::from_str(&complete).unwrap_or_default();
    if asks_for_input(result) || fields.given("ttlMs").is_some() {
        return complete;
    }
    let (ttl_ms, scope) = (otherwise.ttl_ms, otherwise.scope.as_str());
    let scope = match fields.get("cacheScope") {
        Some(_) => String::new(),
        None => format!(r#","cacheScope":"{scope}""#),
    };
    with_members(&complete, &format!(r#""ttlMs":{ttl_ms}{scope}"#))
}

/// A result as the revisions with sessions have it. Only a server of this revision says what type
/// a result is; the others know no such member.
pub fn without_result_type(result: &str) -> Cow<'_, str> {
    if !RESULT_TYPE.may_be_in(result) {
        return Cow::Borrowed(result);
    }
    let Ok(fields) = serde_json::from_str::<Fields<'_>>(result) else {
        return Cow::Borrowed(result);
    };
    if fields.get("resultType").is_none() {
        return Cow::Borrowed(result);
    }
    Cow::Owned(without_member(&fields, "resultType"))
}

/// Whether it is plain that a result says, in its first member, that it is complete or asks for input.
fn says_its_type(result: &str) -> bool {
    const KNOWN: [&str; 2] = [r#"":"complete""#, r#"":"input_required""#];
    if !result.starts_with(r#"{"resultType""#) {
        return false;
    }
    match RESULT_TYPE.look(result) {
        Glance::Followed(said) => KNOWN.iter().any(|known| said.starts_with(known)),
        Glance::Absent | Glance::Unsure => false,
    }
}

/// The object with members in front of its own.
fn with_members(object: &str, members: &str) -> String {
    let body = object.trim_start().strip_prefix('{').unwrap_or("}");
    let is_empty = body.trim_start().starts_with('}');
    let comma = if is_empty { "" } else { "," };
    ["{", members, comma, body].concat()
}

fn offered() -> Vec<&'static str> {
    Revision::ALL
        .into_iter()
        .filter(|revision| revision.protocol() == Protocol::Stateless)
        .map(Revision::as_str)
        .collect()
}

// === impl Params ===

impl<'a> Params<'a> {
    /// Reads parameters; those that are no object have no fields.
    pub fn read(params: Option<&'a RawValue>) -> Self {
        let fields: Fields<'a> = params.and_then(object).unwrap_or_default();
        let meta = fields.given(META).and_then(object).unwrap_or_default();
        Self { fields, meta }
    }

    /// A field that is a string.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        text(self.fields.given(name)?)
    }

    /// What the client of this request can be asked, as it declares it.
    pub fn capabilities(&self) -> Option<&'a RawValue> {
        self.meta.given(CLIENT_CAPABILITIES)
    }

    /// What progress is to be reported under: a string or a number.
    pub fn progress_token(&self) -> Option<&'a RawValue> {
        let token = self.meta.given(PROGRESS_TOKEN)?;
        let is_token = |first: &u8| matches!(first, b'"' | b'-' | b'0'..=b'9');
        token
            .get()
            .as_bytes()
            .first()
            .filter(|first| is_token(first))?;
        Some(token)
    }

    /// The least severe log messages that are wanted during this request.
    pub fn log_level(&self) -> Option<&'a RawValue> {
        self.meta.given(LOG_LEVEL)
    }

    /// Whether the request names its revision, as only those of this one do.
    pub fn names_revision(&self) -> bool {
        self.meta.get(PROTOCOL_VERSION).is_some()
    }

    /// The revision that the request names.
    pub fn revision(&self) -> Option<Cow<'a, str>> {
        text(self.meta.given(PROTOCOL_VERSION)?)
    }

    /// Whether the request says all that it has to; the error is the one to answer with.
    pub fn introduce(&self) -> Result<Introduction, RpcError> {
        let revision = self.revision().ok_or_else(|| missing(PROTOCOL_VERSION))?;
        let is_offered = |revision: &str| {
            Revision::parse(revision).map(Revision::protocol) == Some(Protocol::Stateless)
        };
        if !is_offered(&revision) {
            return Err(unsupported_version(&revision));
        }
        self.meta
            .given(CLIENT_CAPABILITIES)
            .and_then(object)
            .ok_or_else(|| missing(CLIENT_CAPABILITIES))?;
        let info = self
            .meta
            .given(CLIENT_INFO)
            .and_then(object)
            .unwrap_or_default();
        let part = |fields: &Fields<'a>, name: &str| {
            let text = text(fields.given(name)?)?;
            Some(text.chars().take(NAME_LIMIT).collect())
        };
        Ok(Introduction {
            name: part(&info, "name"),
            version: part(&info, "version"),
            traceparent: part(&self.meta, header::TRACEPARENT),
        })
    }
}

fn missing(key: &str) -> RpcError {
    RpcError::new(
        INVALID_PARAMS,
        format!("Invalid params: every request without a session needs '{key}' in params._meta"),
    )
}

fn object(raw: &RawValue) -> Option<Fields<'_>> {
    serde_json::from_str(raw.get()).ok()
}

pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    if !raw.get().contains('\\') {
        let inside = raw.get().strip_prefix('"')?.strip_suffix('"')?;
        return Some(Cow::Borrowed(inside));
    }
    serde_json::from_str(raw.get()).ok().map(Cow::Owned)
}

// === impl CacheScope ===

impl CacheScope {
    /// The name it has in a message.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

#[cfg(test)]
mod tests;
