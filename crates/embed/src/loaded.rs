//! The model in memory: from a text to its vector.

use crate::forward::forward;
use crate::model::{Model, TOKEN_LIMIT};
use crate::request::RequestMatrix;
use crate::tokens::Vocabulary;
use crate::vector::{Level, Vector};

static MODEL_BYTES: &[u8] = include_bytes!("../../../models/all-MiniLM-L6-v2.int8");

/// Model with its vocabulary and its small parts in memory, about 3 MB, until it is dropped.
#[derive(Debug)]
pub(crate) struct LoadedModel {
    model: Model<'static>,
    vocabulary: Vocabulary<'static>,
    level: Level,
}

impl LoadedModel {
    pub(crate) fn load() -> Self {
        let model = Model::read(MODEL_BYTES);
        Self {
            vocabulary: Vocabulary::new(model.vocabulary),
            level: Level::new(),
            model,
        }
    }

    pub(crate) fn embed(&self, text: &str) -> Vector {
        Vector::of(&forward(self.level, &self.model, &self.tokens(text)))
    }

    pub(crate) fn embed_request(&self, request: &str) -> Option<Vector> {
        let is_known = self.vocabulary.knows_a_word_of(request);
        is_known.then(|| RequestMatrix::embedded().apply(&self.embed(request)))
    }

    pub(crate) fn tokens(&self, text: &str) -> Vec<u32> {
        self.vocabulary.tokens(text, TOKEN_LIMIT)
    }
}
