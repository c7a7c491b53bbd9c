//! Intent that an agent declares of a call.
//!
//! The declaration comes nested (`intent: { operation_type, … }`) or flat
//! (`intent_operation_type`, …); [`Intent::parse`] accepts both, in both modes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Operation;

/// The most characters (Unicode scalar values) a reason may have.
pub const REASON_LIMIT: usize = 1000;

/// Keys of a nested declaration.
pub const INTENT_KEYS: [&str; 3] = ["operation_type", "data_sensitivity", "reason"];

/// Characters of a refused value that an error message repeats.
const SHOWN_VALUE_LIMIT: usize = 200;

/// Whether an agent has to name the operation a second time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// `operation_type` is required and must match the variant.
    #[default]
    TwoKey,
    /// `operation_type` is taken from the variant; if given it must match.
    Inferred,
}

mcpproxy_wire::words! {
    /// How the agent classes the data it touches.
    #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
    #[cfg_attr(feature = "openapi", schema(as = DataSensitivity, rename_all = "lowercase"))]
    Sensitivity {
        /// May be known to anyone.
        Public = "public",
        /// For the organisation.
        Internal = "internal",
        /// Personal or confidential.
        Private = "private",
        /// The agent does not know.
        Unknown = "unknown",
    }
}

/// Fields of a call that declare intent, as they arrived and not yet checked.
#[derive(Debug, Clone, Default)]
pub struct DeclaredIntent {
    /// The nested object.
    pub intent: Option<Value>,
    /// Flat `intent_operation_type`.
    pub operation_type: Option<Value>,
    /// Flat `intent_data_sensitivity`.
    pub data_sensitivity: Option<Value>,
    /// Flat `intent_reason`.
    pub reason: Option<Value>,
}

/// A checked intent: its operation is the one of the variant it came through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    operation: Operation,
    declared_operation: Option<Operation>,
    sensitivity: Option<Sensitivity>,
    reason: Option<String>,
}

/// Why a declaration is refused. The messages are part of the product's interface.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IntentError {
    /// Nothing was declared where a declaration is required for this variant.
    #[error("intent parameter is required for {}", .0.variant())]
    Missing(Operation),
    /// Something was declared, but not the operation.
    #[error("intent.operation_type is required")]
    MissingOperationType,
    /// The operation, as given, is not one of the three words.
    #[error("Invalid intent.operation_type '{0}': must be read, write, or destructive")]
    InvalidOperationType(String),
    /// The operation is another than the variant's.
    #[error("Intent mismatch: tool is {} but intent declares {declared}", .variant.variant())]
    Mismatch {
        /// The variant that was called.
        variant: Operation,
        /// Operation that the intent declares.
        declared: Operation,
    },
    /// The sensitivity, as given, is not one of the four words.
    #[error("Invalid intent.data_sensitivity '{0}': must be public, internal, private, or unknown")]
    InvalidSensitivity(String),
    /// The reason is longer than [`REASON_LIMIT`].
    #[error("intent.reason exceeds maximum length of {REASON_LIMIT} characters")]
    ReasonTooLong,
    /// A key, as given, that no declaration has: what it says would be lost.
    #[error("Unknown key '{0}' in intent: must be operation_type, data_sensitivity, or reason")]
    UnknownKey(String),
    /// The declaration does not have the shape of one.
    #[error("{0}")]
    Malformed(String),
}

// === impl DeclaredIntent ===

impl DeclaredIntent {
    /// The declaration as it was given, in the nested form, for the record. What is longer than
    /// any accepted value is cut; nothing if nothing was declared.
    pub fn for_record(&self) -> Option<Value> {
        let mut kept = serde_json::Map::new();
        for (name, nested, flat) in self.fields() {
            if let Some(value) = nested.or(flat) {
                kept.insert(name.to_owned(), bounded(value));
            }
        }
        match present(self.intent.as_ref()) {
            Some(other) if kept.is_empty() && !other.is_object() => Some(bounded(other)),
            None if kept.is_empty() => None,
            _ => Some(Value::Object(kept)),
        }
    }

    /// The three fields by their names, each as the nested and as the flat form give it.
    fn fields(&self) -> [(&'static str, Option<&Value>, Option<&Value>); 3] {
        let nested = present(self.intent.as_ref());
        let flat = [
            ("operation_type", &self.operation_type),
            ("data_sensitivity", &self.data_sensitivity),
            ("reason", &self.reason),
        ];
        flat.map(|(name, flat)| {
            let nested = nested.and_then(|nested| present(nested.get(name)));
            (name, nested, present(flat.as_ref()))
        })
    }
}

/// A value of a declaration, no longer than a reason may be.
fn bounded(value: &Value) -> Value {
    cut(&plain_text(value), REASON_LIMIT).map_or_else(|| value.clone(), Value::String)
}

/// Beginning of a text with more characters than the limit, with a mark that it was cut.
fn cut(text: &str, limit: usize) -> Option<String> {
    let (end, _) = text.char_indices().nth(limit)?;
    Some(format!("{}…", &text[..end]))
}

// === impl Intent ===

impl Intent {
    /// Checks a declaration that came through the given variant.
    pub fn parse(
        variant: Operation,
        declared: &DeclaredIntent,
        mode: Mode,
    ) -> Result<Self, IntentError> {
        let nested = present(declared.intent.as_ref());
        if let Some(other) = nested.filter(|nested| !nested.is_object()) {
            return Err(IntentError::Malformed(format!(
                "intent must be an object with operation_type, data_sensitivity and reason, found {}",
                kind(other)
            )));
        }
        if let Some(unknown) = nested.and_then(unknown_key) {
            return Err(IntentError::UnknownKey(shortened(unknown).into_owned()));
        }
        let [operation, sensitivity, reason] = declared.fields().map(agreed);
        let (operation, sensitivity, reason) = (operation?, sensitivity?, reason?);
        let is_declared = nested.or(operation).or(sensitivity).or(reason).is_some();
        let declared_operation = operation.map(read_operation).transpose()?;
        match declared_operation {
            Some(declared) if declared != variant => {
                return Err(IntentError::Mismatch { variant, declared });
            }
            None if mode == Mode::TwoKey && !is_declared => {
                return Err(IntentError::Missing(variant));
            }
            None if mode == Mode::TwoKey => return Err(IntentError::MissingOperationType),
            _ => {}
        }
        Ok(Self {
            operation: variant,
            declared_operation,
            sensitivity: sensitivity.map(read_sensitivity).transpose()?,
            reason: reason.map(read_reason).transpose()?,
        })
    }

    /// Operation of the call.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// Operation that the agent itself named, where it did.
    pub fn declared_operation(&self) -> Option<Operation> {
        self.declared_operation
    }

    /// Sensitivity that the agent gave the data; absent means nothing was said.
    pub fn sensitivity(&self) -> Option<Sensitivity> {
        self.sensitivity
    }

    /// Why the agent makes the call.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

fn unknown_key(intent: &Value) -> Option<&str> {
    let mut keys = intent.as_object()?.keys().map(String::as_str);
    keys.find(|key| !INTENT_KEYS.contains(key))
}

/// Value of a field, which both forms may give if they give the same.
fn agreed<'a>(
    (name, nested, flat): (&str, Option<&'a Value>, Option<&'a Value>),
) -> Result<Option<&'a Value>, IntentError> {
    match (nested, flat) {
        (Some(nested), Some(flat)) if nested != flat => Err(IntentError::Malformed(format!(
            "intent.{name} and intent_{name} disagree: give one of them, or the same value in both"
        ))),
        _ => Ok(nested.or(flat)),
    }
}

/// A JSON null says as little as an absent field.
fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

fn read_operation(value: &Value) -> Result<Operation, IntentError> {
    let operation = value.as_str().and_then(Operation::parse);
    operation.ok_or_else(|| IntentError::InvalidOperationType(as_given(value)))
}

fn read_sensitivity(value: &Value) -> Result<Sensitivity, IntentError> {
    let sensitivity = value.as_str().and_then(Sensitivity::parse);
    sensitivity.ok_or_else(|| IntentError::InvalidSensitivity(as_given(value)))
}

fn read_reason(value: &Value) -> Result<String, IntentError> {
    let Some(reason) = value.as_str() else {
        let message = format!("intent.reason must be a string, found {}", kind(value));
        return Err(IntentError::Malformed(message));
    };
    // Counting stops at the limit, so a reason of many megabytes costs no more than a long one.
    if reason.chars().nth(REASON_LIMIT).is_some() {
        return Err(IntentError::ReasonTooLong);
    }
    Ok(reason.to_owned())
}

/// A value as the agent wrote it, cut where repeating it helps nobody.
fn as_given(value: &Value) -> String {
    shortened(&plain_text(value)).into_owned()
}

/// A text, cut where repeating it helps nobody.
fn shortened(text: &str) -> Cow<'_, str> {
    cut(text, SHOWN_VALUE_LIMIT).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Text of a value, a string without its quotes.
fn plain_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
