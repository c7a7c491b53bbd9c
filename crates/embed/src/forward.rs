//! The forward pass: from tokens to the vector of a text.
//!
//! Products of matrices are computed with integers: weights have eight bits, and each row of what is multiplied with them
//! is brought to fourteen, so that next to nothing is lost and sums fit into 32 bits. All else is `f32`. Loops are plain;
//! the compiler makes them wide, once for each kind of processor, and `dispatch!` chooses when the program runs.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is compiled for the narrowest processor alone"
)]

use std::sync::LazyLock;

use fearless_simd::dispatch;

use crate::model::{INNER, Matrix, Model, ModelLayer, Norm, TOKEN_LIMIT};
use crate::vector::{DIMENSIONS, Level};

const HEADS: usize = 12;
const HEAD: usize = DIMENSIONS / HEADS;
const QKV: usize = 3 * DIMENSIONS;

/// Largest number that a row of `f32` is brought to: 127 times it, [`INNER`] times, is still an `i32`.
const LARGEST: f32 = 8191.0;

/// The vector of a text with these tokens, not yet of length one.
pub(crate) fn forward(level: Level, model: &Model<'_>, tokens: &[u32]) -> [f32; DIMENSIONS] {
    dispatch!(level, _simd => pass(model, tokens))
}

#[inline(always)]
fn pass(model: &Model<'_>, tokens: &[u32]) -> [f32; DIMENSIONS] {
    let count = tokens.len().min(TOKEN_LIMIT);
    let mut state = model.positions[..count * DIMENSIONS].to_vec();
    for (row, token) in state.chunks_exact_mut(DIMENSIONS).zip(tokens) {
        model.add_word(*token, row);
        normalize(row, &model.norm);
    }
    let mut work = Work::new(count);
    for layer in &model.layers {
        pass_layer(layer, &mut state, &mut work);
    }
    let mut sum = [0.0; DIMENSIONS];
    for row in state.chunks_exact(DIMENSIONS) {
        add(&mut sum, row);
    }
    sum
}

/// Memory for the steps between two states, used for every layer again.
struct Work {
    integers: Integers,
    attention: Vec<f32>,
    inner: Vec<f32>,
    context: Vec<f32>,
    product: Vec<f32>,
}

/// Rows in integers, and what a step of each is worth; and a row of weights as it is multiplied with them.
struct Integers {
    rows: Vec<i16>,
    steps: Vec<f32>,
    weights: Vec<i16>,
}

impl Work {
    fn new(count: usize) -> Self {
        let integers = Integers {
            rows: vec![0; count * INNER],
            steps: vec![0.0; count],
            weights: vec![0; INNER],
        };
        Self {
            integers,
            attention: vec![0.0; count * QKV],
            inner: vec![0.0; count * INNER],
            context: vec![0.0; count * DIMENSIONS],
            product: vec![0.0; count * DIMENSIONS],
        }
    }
}

#[inline(always)]
fn pass_layer(layer: &ModelLayer<'_>, state: &mut [f32], work: &mut Work) {
    let Work {
        integers,
        attention,
        inner,
        context,
        product,
    } = work;
    multiply(integers, state, &layer.attention, attention);
    attend(attention, context);
    multiply(integers, context, &layer.output, product);
    add_and_normalize(state, product, &layer.output_norm);
    multiply(integers, state, &layer.up, inner);
    for value in inner.iter_mut() {
        *value = gelu(*value);
    }
    multiply(integers, inner, &layer.down, product);
    add_and_normalize(state, product, &layer.norm);
}

/// Multiplies each row with each row of a matrix.
#[inline(always)]
fn multiply(integers: &mut Integers, from: &[f32], matrix: &Matrix<'_>, to: &mut [f32]) {
    let Integers {
        rows,
        steps,
        weights,
    } = integers;
    to_integers(from, matrix.width, rows, steps);
    let (width, height) = (matrix.width, matrix.steps.len());
    let weights = &mut weights[..width];
    for (number, bytes) in matrix.rows.chunks_exact(width).enumerate() {
        for (weight, byte) in weights.iter_mut().zip(bytes) {
            *weight = i16::from(i8::from_le_bytes([*byte]));
        }
        let rows = rows.chunks_exact(width).zip(steps.iter());
        for ((row, step), out) in rows.zip(to.chunks_exact_mut(height)) {
            #[expect(clippy::cast_precision_loss, reason = "it was rounded before")]
            let sum = integer_product(row, weights) as f32;
            out[number] = sum * (step * matrix.steps[number]) + matrix.bias[number];
        }
    }
}

#[inline(always)]
fn integer_product(one: &[i16], other: &[i16]) -> i32 {
    let products = one.iter().zip(other);
    products
        .map(|(one, other)| i32::from(*one) * i32::from(*other))
        .sum()
}

/// Brings each row to integers, in proportion to its largest number.
#[inline(always)]
fn to_integers(from: &[f32], width: usize, to: &mut [i16], steps: &mut [f32]) {
    let rows = from.chunks_exact(width).zip(to.chunks_exact_mut(width));
    for ((row, integers), step) in rows.zip(steps) {
        let largest = row
            .iter()
            .fold(f32::MIN_POSITIVE, |most, one| most.max(one.abs()));
        let factor = LARGEST / largest;
        *step = largest / LARGEST;
        for (integer, one) in integers.iter_mut().zip(row) {
            #[expect(clippy::cast_possible_truncation, reason = "it is within the limit")]
            {
                *integer = (one * factor) as i16;
            }
        }
    }
}

/// Attention: each token becomes a mixture of the values of all, by how well its query meets their keys.
#[inline(always)]
fn attend(attention: &[f32], context: &mut [f32]) {
    let count = context.len() / DIMENSIONS;
    let mut scores = vec![0.0_f32; count];
    context.fill(0.0);
    for head in 0..HEADS {
        let part = |row: usize, kind: usize| -> &[f32] {
            &attention[row * QKV + kind * DIMENSIONS + head * HEAD..][..HEAD]
        };
        for token in 0..count {
            let query = part(token, 0);
            for (other, score) in scores.iter_mut().enumerate() {
                *score = product(query, part(other, 1));
            }
            softmax(&mut scores);
            let mixture = &mut context[token * DIMENSIONS + head * HEAD..][..HEAD];
            for (other, share) in scores.iter().enumerate() {
                for (sum, value) in mixture.iter_mut().zip(part(other, 2)) {
                    *sum += share * value;
                }
            }
        }
    }
}

/// Product of two vectors, in eight sums, which the compiler may compute at once.
#[inline(always)]
fn product(one: &[f32], other: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    for (one, other) in one.chunks_exact(8).zip(other.chunks_exact(8)) {
        for ((sum, one), other) in sums.iter_mut().zip(one).zip(other) {
            *sum += one * other;
        }
    }
    sums.iter().sum()
}

#[inline(always)]
fn softmax(scores: &mut [f32]) {
    #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
    let factor = 1.0 / (HEAD as f32).sqrt();
    let most = scores.iter().fold(f32::MIN, |most, one| most.max(*one));
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = ((*score - most) * factor).exp();
        sum += *score;
    }
    for score in scores.iter_mut() {
        *score /= sum;
    }
}

#[inline(always)]
fn add(sum: &mut [f32], row: &[f32]) {
    for (sum, value) in sum.iter_mut().zip(row) {
        *sum += value;
    }
}

#[inline(always)]
fn add_and_normalize(state: &mut [f32], product: &[f32], norm: &Norm) {
    let rows = state.chunks_exact_mut(DIMENSIONS);
    for (row, product) in rows.zip(product.chunks_exact(DIMENSIONS)) {
        add(row, product);
        normalize(row, norm);
    }
}

#[inline(always)]
fn normalize(row: &mut [f32], norm: &Norm) {
    #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
    let count = DIMENSIONS as f32;
    let mean = row.iter().sum::<f32>() / count;
    for value in row.iter_mut() {
        *value -= mean;
    }
    let variance = product(row, row) / count;
    let factor = 1.0 / (variance + 1e-12).sqrt();
    let weights = norm.weight.iter().zip(&norm.bias);
    for (value, (weight, bias)) in row.iter_mut().zip(weights) {
        *value = *value * factor * weight + bias;
    }
}

/// Beyond this, GELU is the number itself or nothing.
const GELU_END: f32 = 6.0;
/// Points of the table for a distance of one.
const GELU_POINTS: f32 = 256.0;

/// GELU at equal distances, from `-GELU_END` on. Between two points a straight line differs by less than 0.000002.
static GELU: LazyLock<Vec<f32>> = LazyLock::new(|| {
    let points = 0..=3073_u16;
    let at = |point: u16| f64::from(f32::from(point) / GELU_POINTS - GELU_END);
    #[expect(clippy::cast_possible_truncation, reason = "it is rounded")]
    points
        .map(|point| (at(point) * normal(at(point))) as f32)
        .collect()
});

#[inline(always)]
fn gelu(value: f32) -> f32 {
    if value <= -GELU_END {
        return 0.0;
    }
    if value >= GELU_END {
        return value;
    }
    let place = (value + GELU_END) * GELU_POINTS;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between the ends of the table"
    )]
    let point = place as usize;
    #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
    let share = place - point as f32;
    let (before, after) = (GELU[point], GELU[point + 1]);
    before + (after - before) * share
}

/// Share of a normal distribution below a value, by its series.
fn normal(value: f64) -> f64 {
    let (mut term, mut sum, mut n) = (value, value, 1.0);
    while term.abs() > 1e-12 {
        term *= value * value / (2.0 * n + 1.0);
        sum += term;
        n += 1.0;
    }
    let density = (-value * value / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    0.5 + density * sum
}
