//! From the vector of a request to where the tools are that it is about.
//!
//! People say what they need ("What does the clock say in Oslo?"), tools say what they do ("Get the current time in a
//! time zone"). The model puts the two near to each other, but not as near as they belong. A matrix that was fitted to
//! sentences and the tools they are about moves the one towards the other. It has a step (f32) for each row, and then
//! the rows (i8); `models/requests.int8` is written by `mcpproxy-recall fit`.

use std::borrow::Cow;

use crate::vector::{DIMENSIONS, Vector};

/// Matrix of this program.
#[cfg(feature = "model")]
static EMBEDDED: &[u8; BYTES] = include_bytes!("../../../models/requests.int8");

/// Bytes of the steps, and of a whole matrix.
const STEPS: usize = DIMENSIONS * 4;
const BYTES: usize = STEPS + DIMENSIONS * DIMENSIONS;

/// Matrix that moves the vectors of requests towards the tools they are about.
#[derive(Debug, Clone)]
pub struct RequestMatrix(Cow<'static, [u8]>);

impl RequestMatrix {
    /// The matrix that belongs to the model.
    #[cfg(feature = "model")]
    pub(crate) fn embedded() -> Self {
        Self(Cow::Borrowed(EMBEDDED))
    }

    /// A matrix of these numbers, row by row; rows that are missing move nothing.
    pub fn of(numbers: &[[f32; DIMENSIONS]]) -> Self {
        let missing = std::iter::repeat(&[0.0; DIMENSIONS]);
        let rows = || numbers.iter().chain(missing.clone()).take(DIMENSIONS);
        let mut bytes = Vec::with_capacity(BYTES);
        let largest = |row: &[f32; DIMENSIONS]| {
            let largest = row.iter().fold(0.0_f32, |most, one| most.max(one.abs()));
            largest.max(f32::MIN_POSITIVE)
        };
        for row in rows() {
            bytes.extend((largest(row) / 127.0).to_le_bytes());
        }
        for row in rows() {
            let step = largest(row) / 127.0;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "it is between -127 and 127"
            )]
            bytes.extend(row.map(|one| ((one / step).round() as i8).cast_unsigned()));
        }
        Self(Cow::Owned(bytes))
    }

    /// The matrix, written down.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Vector of a request, from the vector of its text.
    pub fn apply(&self, text: &Vector) -> Vector {
        let numbers = text.numbers();
        let mut moved = numbers;
        let (steps, rows) = self.0.split_at(STEPS);
        let rows = steps.as_chunks().0.iter().zip(rows.chunks(DIMENSIONS));
        for (number, (step, row)) in numbers.iter().zip(rows) {
            let factor = number * f32::from_le_bytes(*step);
            for (sum, byte) in moved.iter_mut().zip(row) {
                *sum += factor * f32::from(i8::from_le_bytes([*byte]));
            }
        }
        Vector::of(&moved)
    }
}
