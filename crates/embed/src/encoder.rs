//! Encoder: from a text to its vector.

#[cfg(feature = "model")]
use crate::loaded::LoadedModel as Model;
#[cfg(not(feature = "model"))]
use crate::no_model::NoModel as Model;
use crate::vector::Vector;

/// Encoder of texts. It keeps about 3 MB of the model in memory until it is dropped.
#[derive(Debug)]
pub struct Encoder(Model);

impl Encoder {
    /// Whether the program has the model.
    pub const IS_AVAILABLE: bool = cfg!(feature = "model");

    /// An encoder, ready for use; nothing if the program was built without the model.
    pub fn load() -> Option<Self> {
        #[cfg(feature = "model")]
        let loaded = Some(Self(Model::load()));
        #[cfg(not(feature = "model"))]
        let loaded = None;
        loaded
    }

    /// The vector of a text. Of a long one the first 128 tokens count.
    pub fn embed(&self, text: &str) -> Vector {
        self.0.embed(text)
    }

    /// The vector of a request, to be compared with those of texts about tools. Nothing if it has no word that the model
    /// knows: a row of letters means nothing, and is near to anything.
    pub fn embed_request(&self, request: &str) -> Option<Vector> {
        self.0.embed_request(request)
    }

    #[cfg(all(test, feature = "model"))]
    pub(crate) fn tokens(&self, text: &str) -> Vec<u32> {
        self.0.tokens(text)
    }
}
