//! Tools that a caller may use: nothing of the others may show in a score.

use mcpproxy_policy::{AccessTo, Rights};

use crate::index::{Figures, Index, Posting};

/// Tools of an index that a caller may use.
pub(super) enum VisibleTools {
    /// Every one.
    All,
    /// Some: for each segment, whether each of its tools is one.
    Some(Vec<Vec<bool>>),
}

impl VisibleTools {
    pub(super) fn of(index: &Index, rights: &Rights) -> Self {
        if rights.allow_all_tools() {
            return Self::All;
        }
        let segments = index.segments.iter().map(|segment| {
            // Most servers of many are often not among those of a token.
            let has_server = rights.allow(AccessTo::Server(&segment.server));
            let tools = segment.tools.iter();
            tools
                .map(|tool| has_server && tool.is_within(rights))
                .collect()
        });
        Self::Some(segments.collect())
    }

    pub(super) fn has(&self, segment: usize, place: usize) -> bool {
        match self {
            Self::All => true,
            Self::Some(segments) => segments[segment][place],
        }
    }

    /// Number of tools among those of a word's postings in a segment.
    pub(super) fn count(&self, segment: usize, postings: &[Posting]) -> usize {
        match self {
            Self::All => postings.len(),
            Self::Some(segments) => {
                let is_visible = &segments[segment];
                let postings = postings.iter();
                postings
                    .filter(|one| is_visible[one.document as usize])
                    .count()
            }
        }
    }

    pub(super) fn figures(&self, index: &Index) -> Figures {
        match self {
            Self::All => index.figures,
            Self::Some(segments) => {
                let documents = segments.iter().flatten().filter(|is_visible| **is_visible);
                let segments = index.segments.iter().zip(segments);
                let sums = segments.map(|(segment, is_visible)| segment.lengths_of(is_visible));
                Figures::new(documents.count(), sums)
            }
        }
    }
}
