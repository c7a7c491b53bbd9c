//! The best matches so far, without keeping all of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Match: whether it stands back behind all others, the bits of its score, which have the order of scores because none
/// is negative, whether it is going to be removed, how many matches came before it, its segment and its place there.
/// The greater one is the worse hit.
type Match = (bool, Reverse<u32>, bool, usize, usize, usize);

/// The best matches so far, the worst of them on top.
#[derive(Default)]
pub(super) struct Best {
    limit: usize,
    pub(super) total: usize,
    heap: BinaryHeap<Match>,
}

/// Rank of a match, but for its place.
pub(super) struct Ranked {
    pub(super) score: f32,
    /// Stands behind all that do not, whatever its score.
    pub(super) stands_back: bool,
    pub(super) is_deprecated: bool,
}

impl Best {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Takes a match. Matches come in the order of servers and names.
    pub(super) fn consider(&mut self, segment: usize, place: usize, ranked: &Ranked) {
        let score = Reverse(ranked.score.to_bits());
        let found = (
            ranked.stands_back,
            score,
            ranked.is_deprecated,
            self.total,
            segment,
            place,
        );
        self.total += 1;
        if self.heap.len() < self.limit {
            self.heap.push(found);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && found < *worst
        {
            *worst = found;
        }
    }

    /// The matches, best first: score, segment and place. No score is above the one before it.
    pub(super) fn into_sorted(self) -> impl Iterator<Item = (f32, usize, usize)> {
        let found = self.heap.into_sorted_vec().into_iter();
        found.scan(
            1.0_f32,
            |before, (_, Reverse(score), _, _, segment, place)| {
                *before = f32::from_bits(score).clamp(0.0, *before);
                Some((*before, segment, place))
            },
        )
    }
}
