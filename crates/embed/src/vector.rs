//! Vector of a text, in eight bits a number.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is compiled for the narrowest processor alone"
)]

use std::sync::LazyLock;

use fearless_simd::dispatch;

pub(crate) use fearless_simd::Level;

/// Numbers of a vector.
pub const DIMENSIONS: usize = 384;

/// Level of this processor, which says how wide loops may be.
static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);

/// Vector of a text. It has the length one, so that products of two are between -1 and 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    /// The numbers, in proportion to the largest of them.
    values: [i8; DIMENSIONS],
    /// Worth of one step of a value.
    step: f32,
}

impl Vector {
    /// Bytes of a vector that is written down.
    pub const BYTES: usize = DIMENSIONS + 4;

    /// The vector that has the direction of these numbers; the one without any if they have none.
    pub fn of(numbers: &[f32; DIMENSIONS]) -> Self {
        let largest = numbers
            .iter()
            .fold(0.0_f32, |most, one| most.max(one.abs()));
        if largest <= 0.0 || !largest.is_finite() {
            return Self {
                values: [0; DIMENSIONS],
                step: 0.0,
            };
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is between -127 and 127"
        )]
        let values = numbers.map(|one| (one / largest * 127.0).round() as i8);
        let squares: f32 = values.iter().map(|one| f32::from(*one).powi(2)).sum();
        Self {
            values,
            step: 1.0 / squares.sqrt(),
        }
    }

    /// Likeness of this text to each of some others, from -1 to 1.
    pub fn similarities<const N: usize>(&self, others: &[Self; N]) -> [f32; N] {
        dispatch!(*LEVEL, _simd => similarities(self, others))
    }

    /// Likeness of two texts, from -1 to 1.
    pub fn similarity(&self, other: &Self) -> f32 {
        similarity(self, other)
    }

    /// The numbers of the vector.
    pub fn numbers(&self) -> [f32; DIMENSIONS] {
        self.values.map(|one| f32::from(one) * self.step)
    }

    /// The vector, written down.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (step, values) = bytes.split_at_mut(4);
        step.copy_from_slice(&self.step.to_le_bytes());
        for (byte, value) in values.iter_mut().zip(self.values) {
            *byte = value.to_le_bytes()[0];
        }
        bytes
    }

    /// The vector that was written down, if it is one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (step, numbers) = bytes.split_first_chunk::<4>()?;
        let numbers: &[u8; DIMENSIONS] = numbers.try_into().ok()?;
        let vector = Self {
            values: numbers.map(|byte| i8::from_le_bytes([byte])),
            step: f32::from_le_bytes(*step),
        };
        // A step that does not go with its numbers was not written by us.
        let length = vector.similarity(&vector);
        (vector.step == 0.0 || (length - 1.0).abs() < 0.01).then_some(vector)
    }
}

#[inline(always)]
fn similarities<const N: usize>(one: &Vector, others: &[Vector; N]) -> [f32; N] {
    others.each_ref().map(|other| similarity(one, other))
}

#[inline(always)]
fn similarity(one: &Vector, other: &Vector) -> f32 {
    let products = one.values.iter().zip(&other.values);
    let sum: i32 = products
        .map(|(one, other)| i32::from(*one) * i32::from(*other))
        .sum();
    #[expect(
        clippy::cast_precision_loss,
        reason = "an estimate needs no more precision"
    )]
    let sum = sum as f32;
    sum * one.step * other.step
}
