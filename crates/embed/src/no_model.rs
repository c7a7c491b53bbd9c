//! Stand-in for the model, in programs that are built without it.

use crate::vector::Vector;

/// Model that cannot be loaded.
#[derive(Debug)]
pub(crate) enum NoModel {}

impl NoModel {
    pub(crate) const fn embed_request(&self, _request: &str) -> Option<Vector> {
        match *self {}
    }

    pub(crate) const fn embed(&self, _text: &str) -> Vector {
        match *self {}
    }
}
