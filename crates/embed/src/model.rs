//! The weights of the model, where they lie in the file. `models/make.py` writes it in this order.
//!
//! ```text
//! vocabulary   its length (u32) and text; spaces up to a multiple of four
//! words        a step (f32) for each token, then a row of i8 for each
//! positions    a row of f32 for each place of a token
//! norm         weight and bias (f32)
//! layer × 6    queries, keys and values in one; attention's output; norm; up; down; norm
//! ```
//!
//! A matrix is a step (f32) and a bias (f32) for each row, and then the rows (i8). A weight is its number times the step.

use crate::vector::DIMENSIONS;

/// Tokens of a text that count, at most; those that begin and end it are among them.
pub(crate) const TOKEN_LIMIT: usize = 128;

const LAYERS: usize = 6;
/// Width of the inner part of a layer.
pub(crate) const INNER: usize = 1536;

/// Number of tokens that the model knows.
const VOCABULARY: usize = 30_522;

/// The model: small parts decoded, large ones where they lie in the file.
#[derive(Debug)]
pub(crate) struct Model<'a> {
    pub(crate) vocabulary: &'a str,
    word_steps: &'a [u8],
    words: &'a [u8],
    pub(crate) positions: Vec<f32>,
    pub(crate) norm: Norm,
    pub(crate) layers: Vec<ModelLayer<'a>>,
}

/// One layer of the model.
#[derive(Debug)]
pub(crate) struct ModelLayer<'a> {
    /// Queries, keys and values, in this order.
    pub(crate) attention: Matrix<'a>,
    pub(crate) output: Matrix<'a>,
    pub(crate) output_norm: Norm,
    pub(crate) up: Matrix<'a>,
    pub(crate) down: Matrix<'a>,
    pub(crate) norm: Norm,
}

/// Matrix of weights, with what is added to each product.
#[derive(Debug)]
pub(crate) struct Matrix<'a> {
    pub(crate) steps: Vec<f32>,
    pub(crate) bias: Vec<f32>,
    /// Rows of numbers, each an i8.
    pub(crate) rows: &'a [u8],
    pub(crate) width: usize,
}

/// Weight and bias of a normalisation.
#[derive(Debug)]
pub(crate) struct Norm {
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

impl<'a> Model<'a> {
    /// The model in a file that `models/make.py` wrote.
    ///
    /// # Panics
    /// If the file is another one. It is part of the program, and every test of this crate would fail.
    pub(crate) fn read(file: &'a [u8]) -> Self {
        let mut file = File(file);
        let length = file.take(4);
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]);
        let vocabulary = std::str::from_utf8(file.take(length as usize));
        let model = Self {
            vocabulary: vocabulary.unwrap_or_default().trim_end_matches(' '),
            word_steps: file.take(VOCABULARY * 4),
            words: file.take(VOCABULARY * DIMENSIONS),
            positions: file.numbers(TOKEN_LIMIT * DIMENSIONS),
            norm: file.norm(),
            layers: (0..LAYERS).map(|_| file.layer()).collect(),
        };
        assert!(file.0.is_empty(), "the model's file has its length");
        model
    }

    /// Adds the vector of a token to a row.
    pub(crate) fn add_word(&self, token: u32, row: &mut [f32]) {
        let token = token as usize;
        let step = number(&self.word_steps[token * 4..]);
        let word = &self.words[token * DIMENSIONS..][..DIMENSIONS];
        for (sum, byte) in row.iter_mut().zip(word) {
            *sum += f32::from(i8::from_le_bytes([*byte])) * step;
        }
    }
}

/// Rest of the file.
struct File<'a>(&'a [u8]);

impl<'a> File<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn numbers(&mut self, count: usize) -> Vec<f32> {
        self.take(count * 4).chunks_exact(4).map(number).collect()
    }

    fn norm(&mut self) -> Norm {
        Norm {
            weight: self.numbers(DIMENSIONS),
            bias: self.numbers(DIMENSIONS),
        }
    }

    fn matrix(&mut self, height: usize, width: usize) -> Matrix<'a> {
        Matrix {
            steps: self.numbers(height),
            bias: self.numbers(height),
            rows: self.take(height * width),
            width,
        }
    }

    fn layer(&mut self) -> ModelLayer<'a> {
        ModelLayer {
            attention: self.matrix(3 * DIMENSIONS, DIMENSIONS),
            output: self.matrix(DIMENSIONS, DIMENSIONS),
            output_norm: self.norm(),
            up: self.matrix(INNER, DIMENSIONS),
            down: self.matrix(DIMENSIONS, INNER),
            norm: self.norm(),
        }
    }
}

fn number(bytes: &[u8]) -> f32 {
    f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
