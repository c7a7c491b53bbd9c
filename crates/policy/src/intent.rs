//! What an agent declares about a call.
//!
//! The declaration comes nested (`intent: { operation_type, … }`) or flat
//! (`intent_operation_type`, …); [`Intent::parse`] accepts both, in both modes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::Operation;

/// The most characters (Unicode scalar values) a reason may have.
pub const REASON_LIMIT: usize = 1000;

/// How much of a refused value an error message repeats.
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
    #[derive(ToSchema)]
    #[schema(as = DataSensitivity, rename_all = "lowercase")]
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
    /// Nothing was declared where a declaration is required.
    #[error("intent parameter is required for {}", .variant.variant())]
    Missing {
        /// The variant that was called.
        variant: Operation,
    },
    /// Something was declared, but not the operation.
    #[error("intent.operation_type is required")]
    MissingOperationType,
    /// The operation is not one of the three words.
    #[error("Invalid intent.operation_type '{value}': must be read, write, or destructive")]
    InvalidOperationType {
        /// The value as given.
        value: String,
    },
    /// The operation is another than the variant's.
    #[error("Intent mismatch: tool is {} but intent declares {declared}", .variant.variant())]
    Mismatch {
        /// The variant that was called.
        variant: Operation,
        /// What the intent says.
        declared: Operation,
    },
    /// The sensitivity is not one of the four words.
    #[error(
        "Invalid intent.data_sensitivity '{value}': must be public, internal, private, or unknown"
    )]
    InvalidSensitivity {
        /// The value as given.
        value: String,
    },
    /// The reason is longer than [`REASON_LIMIT`].
    #[error("intent.reason exceeds maximum length of {REASON_LIMIT} characters")]
    ReasonTooLong,
    /// The declaration does not have the shape of one.
    #[error("{0}")]
    Malformed(String),
}

// === impl DeclaredIntent ===

impl DeclaredIntent {
    /// The declaration as it was given, in the nested form, for the record. What is longer than
    /// any accepted value is cut; nothing if nothing was declared.
    pub fn for_record(&self) -> Option<Value> {
        let nested = present(self.intent.as_ref());
        let fields = [
            ("operation_type", &self.operation_type),
            ("data_sensitivity", &self.data_sensitivity),
            ("reason", &self.reason),
        ];
        let mut kept = serde_json::Map::new();
        for (name, flat) in fields {
            let inner = nested.and_then(|nested| present(nested.get(name)));
            if let Some(value) = inner.or(present(flat.as_ref())) {
                kept.insert(name.to_owned(), bounded(value));
            }
        }
        if kept.is_empty() {
            return nested.map(|nested| match nested {
                Value::Object(_) => Value::Object(kept),
                other => bounded(other),
            });
        }
        Some(Value::Object(kept))
    }
}

/// A value of a declaration, no longer than a reason may be.
fn bounded(value: &Value) -> Value {
    let text = match value {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        other => Cow::Owned(other.to_string()),
    };
    cut(&text, REASON_LIMIT).map_or_else(|| value.clone(), Value::String)
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
        let fields = IntentFields::gather(declared)?;
        let declared_operation = fields.operation_type.map(read_operation).transpose()?;
        match declared_operation {
            Some(declared) if declared != variant => {
                return Err(IntentError::Mismatch { variant, declared });
            }
            None if mode == Mode::TwoKey && !fields.something_declared => {
                return Err(IntentError::Missing { variant });
            }
            None if mode == Mode::TwoKey => return Err(IntentError::MissingOperationType),
            _ => {}
        }
        Ok(Self {
            operation: variant,
            declared_operation,
            sensitivity: fields.data_sensitivity.map(read_sensitivity).transpose()?,
            reason: fields.reason.map(read_reason).transpose()?,
        })
    }

    /// What the call does.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// What the agent itself named, where it did.
    pub fn declared_operation(&self) -> Option<Operation> {
        self.declared_operation
    }

    /// How the agent classed the data; absent means nothing was said.
    pub fn sensitivity(&self) -> Option<Sensitivity> {
        self.sensitivity
    }

    /// Why the agent makes the call.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

// === impl IntentError ===

impl IntentError {
    /// The stable code programs match on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "MISSING_INTENT",
            Self::MissingOperationType => "MISSING_OPERATION_TYPE",
            Self::InvalidOperationType { .. } => "INVALID_OPERATION_TYPE",
            Self::Mismatch { .. } => "INTENT_MISMATCH",
            Self::InvalidSensitivity { .. } => "INVALID_SENSITIVITY",
            Self::ReasonTooLong => "REASON_TOO_LONG",
            Self::Malformed(_) => "INVALID_ARGUMENTS",
        }
    }
}

/// The three fields of a declaration, taken from either form.
struct IntentFields<'a> {
    something_declared: bool,
    operation_type: Option<&'a Value>,
    data_sensitivity: Option<&'a Value>,
    reason: Option<&'a Value>,
}

impl<'a> IntentFields<'a> {
    fn gather(declared: &'a DeclaredIntent) -> Result<Self, IntentError> {
        let nested = match &declared.intent {
            None | Some(Value::Null) => None,
            Some(Value::Object(object)) => Some(object),
            Some(other) => {
                return Err(IntentError::Malformed(format!(
                    "intent must be an object with operation_type, data_sensitivity and reason, found {}",
                    kind(other)
                )));
            }
        };
        let field = |name: &str, flat: &'a Option<Value>| {
            let inner = nested.and_then(|object| present(object.get(name)));
            let flat = present(flat.as_ref());
            match (inner, flat) {
                (Some(inner), Some(flat)) if inner != flat => Err(IntentError::Malformed(format!(
                    "intent.{name} and intent_{name} disagree: give one of them, or the same value in both"
                ))),
                (inner, flat) => Ok(inner.or(flat)),
            }
        };
        let operation_type = field("operation_type", &declared.operation_type)?;
        let data_sensitivity = field("data_sensitivity", &declared.data_sensitivity)?;
        let reason = field("reason", &declared.reason)?;
        let any_field = operation_type.or(data_sensitivity).or(reason).is_some();
        Ok(Self {
            something_declared: nested.is_some() || any_field,
            operation_type,
            data_sensitivity,
            reason,
        })
    }
}

/// A JSON null says as little as an absent field.
fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

fn read_operation(value: &Value) -> Result<Operation, IntentError> {
    value
        .as_str()
        .and_then(Operation::parse)
        .ok_or_else(|| IntentError::InvalidOperationType {
            value: as_given(value),
        })
}

fn read_sensitivity(value: &Value) -> Result<Sensitivity, IntentError> {
    value
        .as_str()
        .and_then(Sensitivity::parse)
        .ok_or_else(|| IntentError::InvalidSensitivity {
            value: as_given(value),
        })
}

fn read_reason(value: &Value) -> Result<String, IntentError> {
    let Some(reason) = value.as_str() else {
        return Err(IntentError::Malformed(format!(
            "intent.reason must be a string, found {}",
            kind(value)
        )));
    };
    // Counting stops at the limit, so a reason of many megabytes costs no more than a long one.
    if reason.chars().nth(REASON_LIMIT).is_some() {
        return Err(IntentError::ReasonTooLong);
    }
    Ok(reason.to_owned())
}

/// A value as the agent wrote it, cut where repeating it helps nobody.
fn as_given(value: &Value) -> String {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    cut(&text, SHOWN_VALUE_LIMIT).unwrap_or(text)
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
