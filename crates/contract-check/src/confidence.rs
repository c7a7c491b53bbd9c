//! Confidence over several answers: whether it is calculated, or typed in.
//!
//! What was answered is remembered as a hash, and only until the confidence has moved or enough different answers were
//! seen, so that the memory of a tool has a bound.

use std::hash::{DefaultHasher, Hasher};

use serde::{Deserialize, Serialize};

/// Calls after which a confidence that never moved counts as typed in.
const CALLS: u64 = 20;

/// Different answers among those calls: the same answer may well have the same confidence.
const ANSWERS: usize = 10;

/// Most of an answer that its hash is made of, in bytes: answers that differ at all differ early, or in their length.
const HASHED: usize = 16 * 1024;

/// Memory of the confidence in the answers of one tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConfidenceMemory {
    seen: Option<ConfidenceSeen>,
    /// Hashes of different answers, at most [`ANSWERS`].
    answers: Vec<u64>,
}

/// Confidence of the answers of one tool, as far as they were seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceSeen {
    /// Number of calls.
    pub calls: u64,
    /// Number of different answers; not counted beyond 10, nor once the confidence has moved.
    pub answers: u64,
    /// The lowest confidence.
    pub lowest: f64,
    /// The highest confidence.
    pub highest: f64,
}

// === impl ConfidenceMemory ===

impl ConfidenceMemory {
    /// Learns from an answer; its hash is only asked for where it matters.
    pub fn learn(&mut self, confidence: f64, answer: impl FnOnce() -> u64) {
        let seen = self.seen.get_or_insert(ConfidenceSeen {
            calls: 0,
            answers: 0,
            lowest: confidence,
            highest: confidence,
        });
        seen.calls = seen.calls.saturating_add(1);
        seen.lowest = seen.lowest.min(confidence);
        seen.highest = seen.highest.max(confidence);
        if seen.moves() {
            self.answers = Vec::new();
        } else if self.answers.len() < ANSWERS {
            let answer = answer();
            if !self.answers.contains(&answer) {
                self.answers.push(answer);
                seen.answers += 1;
            }
        }
    }

    /// Confidence that was seen; nothing before the first answer.
    pub fn seen(&self) -> Option<ConfidenceSeen> {
        self.seen
    }
}

// === impl ConfidenceSeen ===

impl ConfidenceSeen {
    /// Whether it has moved.
    pub fn moves(&self) -> bool {
        self.highest - self.lowest > f64::EPSILON
    }

    /// Fault of a confidence that stayed the same, whatever was answered.
    pub fn typed_in(&self) -> Option<String> {
        let is_known =
            !self.moves() && self.calls >= CALLS && self.answers >= u64::try_from(ANSWERS).ok()?;
        is_known.then(|| {
            format!(
                "agentHints/confidence was {} in all of at least {CALLS} calls with at least {ANSWERS} different answers; calculate it from what each answer rests on",
                self.lowest
            )
        })
    }

    /// Reason why it cannot be told yet.
    pub(crate) fn open(&self) -> String {
        format!(
            "it was {} in all of {} calls with {} different answers; {CALLS} calls with {ANSWERS} different answers would tell",
            self.lowest, self.calls, self.answers
        )
    }

    /// Evidence that it is calculated.
    pub(crate) fn evidence(&self) -> String {
        let Self {
            calls,
            lowest,
            highest,
            ..
        } = self;
        format!("it moved between {lowest} and {highest} over {calls} calls")
    }
}

/// Hash that tells an answer from others within this process.
pub fn answer_hash(answer: &str) -> u64 {
    let bytes = answer.as_bytes();
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes[..bytes.len().min(HASHED)]);
    hasher.write_usize(bytes.len());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(answers: impl IntoIterator<Item = (f64, u64)>) -> ConfidenceSeen {
        let mut memory = ConfidenceMemory::default();
        for (confidence, answer) in answers {
            memory.learn(confidence, || answer);
        }
        memory.seen().unwrap()
    }

    #[test]
    fn a_typed_in_confidence_passed_as_calculated() {
        assert!(seen((0..20).map(|call| (0.95, call))).typed_in().is_some());
        assert!(
            seen((0..20).map(|call| (0.95, call % 10)))
                .typed_in()
                .is_some()
        );
        // Too few calls, too few different answers, and one that moved.
        assert_eq!(seen((0..19).map(|call| (0.95, call))).typed_in(), None);
        assert_eq!(seen((0..99).map(|call| (0.95, call % 9))).typed_in(), None);
        let moved = (0..99).map(|call| (if call == 98 { 0.94 } else { 0.95 }, call));
        let moved = seen(moved);
        assert_eq!(moved.typed_in(), None);
        assert!(moved.moves());
    }

    #[test]
    fn the_memory_of_a_tool_does_not_grow() {
        let mut memory = ConfidenceMemory::default();
        for call in 0..1_000 {
            memory.learn(0.5, || call);
        }
        assert_eq!(memory.answers.len(), ANSWERS);
        memory.learn(0.6, || {
            unreachable!("a confidence that moves needs no answers")
        });
        assert!(memory.answers.is_empty());
    }
}
