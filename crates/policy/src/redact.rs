//! Hiding secrets in what is recorded.
//!
//! A [`Redactor`] hides three kinds of secrets: values that are known from the configuration, the
//! secrets of the call itself ([`OwnSecrets`], found by [`SecretFields`]), and credentials that
//! show themselves by their looks or by the name they stand under. It must never fail, never
//! take more than linear time, and never turn valid JSON into something else.
//!
//! Start reading at [`Redactor::json`]; [`document`] goes through the text of a document,
//! [`shapes`] knows what credentials look like, [`names`] how they are called.

mod assignment;
mod document;
mod fields;
mod headers;
mod names;
mod own;
mod shapes;
mod tokens;

use std::borrow::Cow;

pub use fields::SecretFields;
pub use own::OwnSecrets;

use crate::mask::{MASKED, Mask, hide};

/// How many documents inside the strings of documents are opened.
const DEEPEST_EMBEDDING: usize = 3;

/// Hiding one secret can bring another to light, because it now stands apart. This many times at
/// most is looked again.
const ROUNDS: usize = 4;

/// Hides secrets in texts and JSON documents before they are stored or logged. A clone is cheap.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    known: Mask,
}

/// A text inside a document, or the document itself.
#[derive(Clone, Copy)]
struct Layer<'a> {
    own: &'a OwnSecrets,
    /// How many documents are around it.
    depth: usize,
    /// Whether the text was broken off.
    broken_off: bool,
}

impl Redactor {
    /// Hides these values wherever they turn up, besides everything that looks like a credential.
    /// Values of fewer than six characters are left out, as by [`Mask::new`].
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        Self {
            known: Mask::new(secrets),
        }
    }

    /// A plain text with its secrets replaced by `***`; what surrounds them is kept.
    pub fn text<'a>(&self, text: &'a str, own: &OwnSecrets) -> Cow<'a, str> {
        let layer = Layer {
            own,
            depth: 0,
            broken_off: false,
        };
        self.string(text, layer)
    }

    /// The text of a JSON document, or of the beginning of one, with its secrets replaced by
    /// `***`. Valid JSON stays valid, and what has no secrets stays as it is, byte for byte.
    pub fn json<'a>(&self, text: &'a str, own: &OwnSecrets) -> Cow<'a, str> {
        if own.is_everything() {
            return Cow::Owned(format!("\"{MASKED}\""));
        }
        let layer = Layer {
            own,
            depth: 0,
            broken_off: false,
        };
        let (walked, foreign) = document::walk(self, text, layer);
        match foreign {
            None => walked,
            // From here on it is no JSON.
            Some(at) => {
                let rest = self.string(&walked[at..], layer).into_owned();
                if rest == walked[at..] {
                    walked
                } else {
                    Cow::Owned(format!("{}{rest}", &walked[..at]))
                }
            }
        }
    }

    /// Hides the secrets in the value of a string, or in a plain text.
    fn string<'a>(&self, text: &'a str, layer: Layer<'_>) -> Cow<'a, str> {
        if layer.own.is_everything() || layer.own.is_exactly(text.trim()) {
            return Cow::Borrowed(MASKED);
        }
        let walked = if layer.depth < DEEPEST_EMBEDDING && is_document(text) {
            let inside = Layer {
                depth: layer.depth + 1,
                ..layer
            };
            document::walk(self, text, inside).0
        } else {
            Cow::Borrowed(text)
        };
        match self.plain(&walked, layer) {
            None => walked,
            Some(hidden) => Cow::Owned(hidden),
        }
    }

    /// The text with its secrets hidden; `None` if there are none.
    fn plain(&self, text: &str, layer: Layer<'_>) -> Option<String> {
        let mut hidden: Option<String> = None;
        for _ in 0..ROUNDS {
            let current = hidden.as_deref().unwrap_or(text);
            let mut found = Vec::new();
            self.known.find(current, &mut found);
            layer.own.find(current, &mut found);
            if layer.broken_off {
                self.known.find_broken_off(current, &mut found);
                layer.own.find_broken_off(current, &mut found);
            }
            let values = found.len();
            if shapes::is_suspicious(current) {
                shapes::find(current, layer.broken_off, &mut found);
            }
            if found.is_empty() {
                break;
            }
            hidden = Some(hide(current, found).into_owned());
            if values == 0 {
                break;
            }
        }
        hidden
    }

    /// Whether anything in a text may be a value or a shape to hide.
    fn is_suspicious(&self, text: &str, own: &OwnSecrets) -> bool {
        self.known.is_in(text) || own.is_in(text) || shapes::is_suspicious(text)
    }
}

/// Whether a text may be a JSON document with names or strings in it.
fn is_document(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"']) && text.contains('"')
}
