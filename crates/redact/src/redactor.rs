//! Secrets hidden in texts and JSON documents.

mod document;

use std::borrow::Cow;

use crate::mask::{MASKED, Mask, hide};
use crate::own_secrets::OwnSecrets;
use crate::{escapes, shapes};

/// Documents inside the strings of documents that are opened.
const DEEPEST_EMBEDDING: usize = 3;

/// Hiding one secret can bring another to light, because it now stands apart. This many times at
/// most is looked again.
const ROUNDS: usize = 4;

/// Mark where something longer was cut to be shown.
const CUT: &str = "…";

/// Cuts of one text that are looked at; nothing that we write has more.
const MOST_CUTS: usize = 32;

/// Hides secrets in texts and JSON documents before they are stored or logged. A clone is cheap.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    pub(crate) known: Mask,
}

/// A text inside a document, or the document itself.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'a> {
    pub(crate) own: &'a OwnSecrets,
    /// Number of documents around it.
    pub(crate) depth: usize,
    /// Whether the text may be broken off. What stands inside a whole text is whole.
    pub(crate) broken_off: bool,
}

impl Redactor {
    /// Hides these values wherever they turn up, besides everything that looks like a credential.
    /// Values that are short or common are left out, as by [`Mask::new`].
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
        if own.is_everything {
            return Cow::Owned(format!("\"{MASKED}\""));
        }
        let layer = Layer {
            own,
            depth: 0,
            broken_off: true,
        };
        let (walked, foreign) = document::walk(self, text, layer);
        let Some(at) = foreign else {
            return walked;
        };
        // From here on it is no JSON.
        let rest = self.text(&walked[at..], own).into_owned();
        if rest == walked[at..] {
            return walked;
        }
        Cow::Owned(format!("{}{rest}", &walked[..at]))
    }

    /// Hides the secrets in the value of a string, or in a plain text.
    pub(crate) fn string<'a>(&self, text: &'a str, layer: Layer<'_>) -> Cow<'a, str> {
        if layer.own.is_everything || layer.own.is_exactly(text.trim()) {
            return Cow::Borrowed(MASKED);
        }
        self.rounds(text, layer)
    }

    /// Hides the secrets in the name of a member. A name that equals a short secret of the call
    /// tells nothing, and it is needed to read the rest.
    pub(crate) fn name<'a>(&self, name: &'a str, layer: Layer<'_>) -> Cow<'a, str> {
        let no_document = Layer {
            depth: DEEPEST_EMBEDDING,
            ..layer
        };
        self.rounds(name, no_document)
    }

    fn rounds<'a>(&self, text: &'a str, layer: Layer<'_>) -> Cow<'a, str> {
        let mut hidden = Cow::Borrowed(text);
        for _ in 0..ROUNDS {
            let Some(changed) = self.round(&hidden, layer) else {
                break;
            };
            hidden = Cow::Owned(changed);
        }
        hidden
    }

    /// Looks at a text once, as a document if it may be one; `None` if there is nothing to hide.
    fn round(&self, text: &str, layer: Layer<'_>) -> Option<String> {
        if layer.depth == DEEPEST_EMBEDDING || !is_document(text) {
            return self.plain(text, layer);
        }
        let inside = Layer {
            depth: layer.depth + 1,
            ..layer
        };
        match document::walk(self, text, inside).0 {
            Cow::Borrowed(same) => self.plain(same, layer),
            Cow::Owned(walked) => Some(self.plain(&walked, layer).unwrap_or(walked)),
        }
    }

    /// Looks at a text that is no document; `None` if there is nothing to hide.
    fn plain(&self, text: &str, layer: Layer<'_>) -> Option<String> {
        let mut found = Vec::new();
        self.known.find(text, &mut found);
        layer.own.find(text, &mut found);
        if layer.broken_off {
            self.known.find_broken_off(text, &mut found);
            self.known.find_encoded_broken_off(text, &mut found);
            layer.own.find_broken_off(text, &mut found);
        }
        for (end, _) in text.match_indices(CUT).take(MOST_CUTS) {
            self.known.find_broken_off(&text[..end], &mut found);
            layer.own.find_broken_off(&text[..end], &mut found);
        }
        if shapes::is_suspicious(text) {
            shapes::find(text, layer.broken_off, &mut found);
        }
        if let Some(undone) = escapes::undo(text) {
            let mut hidden = Vec::new();
            self.known.find(&undone.text, &mut hidden);
            layer.own.find(&undone.text, &mut hidden);
            found.extend(hidden.iter().map(|range| undone.written(range)));
        }
        (!found.is_empty()).then(|| hide(text, found).into_owned())
    }

    /// Whether anything in a text may be a value or a shape to hide.
    pub(crate) fn is_suspicious(&self, text: &str, own: &OwnSecrets) -> bool {
        self.known.is_in(text)
            || own.is_in(text)
            || shapes::is_suspicious(text)
            || text.contains(CUT)
    }
}

/// Whether a text may be a JSON document with names or strings in it.
pub(crate) fn is_document(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"']) && text.contains('"')
}
