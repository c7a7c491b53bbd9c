//! Term: what a word is in the index.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Stem of a word, as the hash of its letters. Two stems with the same hash would be taken for one;
/// with 64 bits nobody will see it, and it would only misplace a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Term(u64);

/// Hasher that takes a term as it is: it is a hash already.
#[derive(Default)]
pub(crate) struct TermHasher(u64);

// === impl Term ===

impl Term {
    pub(crate) fn of(stem: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        stem.hash(&mut hasher);
        Self(hasher.finish())
    }
}

// === impl TermHasher ===

impl Hasher for TermHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
