//! Secrets, hidden in what is stored, logged or shown.
//!
//! A [`Redactor`] hides three kinds of secrets: values that are known from the configuration, the
//! secrets of the call itself ([`OwnSecrets`], found by [`SecretFields`]), and credentials that
//! show themselves by their looks or by the name they stand under. It must never fail, never
//! take more than linear time, and never turn valid JSON into something else.
//!
//! Start reading at [`Redactor::json`]; `document` goes through the text of a document, `shapes`
//! knows what credentials look like, `names` how they are called.
//!
//! A [`Mask`] hides known values alone: what people are shown on a terminal keeps everything else.
//! This crate never keeps what it masked.

mod assignment;
mod encoded;
mod escapes;
mod fields;
mod headers;
pub mod mask;
mod names;
mod own_secrets;
mod redactor;
mod shapes;
mod spellings;
mod tokens;
mod trigger;

pub use fields::SecretFields;
pub use mask::{MASKED, Mask};
pub use names::{is_credential_name, is_secret_name, is_secret_parameter};
pub use own_secrets::OwnSecrets;
pub use redactor::Redactor;
pub use shapes::credentials;
