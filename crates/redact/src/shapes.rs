//! Credentials that are known by their looks.
//!
//! Every shape has a trigger, a few characters without which it cannot be there. One pass looks
//! for all triggers at once, so text without any costs no more than that pass; only around a trigger
//! does its matcher look closer.
//!
//! Hostile text must not make this slow. A matcher therefore either hides what it read, and
//! nothing hidden is looked at again, or it gives up after a bounded number of characters.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::trigger::TriggerPlace;
use crate::{assignment, headers, tokens};

/// Looks at a place and tells what to hide.
type Matcher = fn(TriggerPlace<'_>) -> Option<Range<usize>>;

struct Triggers {
    finder: AhoCorasick,
    matchers: Vec<Matcher>,
}

static TRIGGERS: LazyLock<Triggers> = LazyLock::new(|| {
    let prefixed = tokens::prefixes().map(|prefix| (prefix, tokens::prefixed as Matcher));
    let names = assignment::TRIGGERS.split_ascii_whitespace();
    let names = names.map(|word| (word, assignment::assignment as Matcher));
    let all = prefixed.chain(OTHER.iter().copied()).chain(names);
    let (words, matchers): (Vec<_>, Vec<_>) = all.unzip();
    Triggers {
        finder: AhoCorasick::builder()
            .ascii_case_insensitive(true)
            // Triggers may overlap; only the standard kind reports each of them.
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(words)
            .expect("a hundred short words fit into an automaton"),
        matchers,
    }
});

/// The triggers that are neither the prefix of a token nor part of a name.
const OTHER: &[(&str, Matcher)] = &[
    ("eyJ", tokens::json_web_token),
    ("SG.", tokens::send_grid),
    (":AA", tokens::telegram),
    ("-----BEGIN", tokens::private_key),
    ("bearer", headers::bearer),
    ("basic", headers::basic),
    ("://", headers::url_password),
    ("hooks.slack.com/services/", headers::slack_webhook),
    ("sig=", assignment::parameter),
    ("signature=", assignment::parameter),
    ("pwd=", assignment::parameter),
];

/// Places of the credentials that a text shows, in their order.
pub fn credentials(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    find(text, false, &mut found);
    found
}

/// Whether anything in the text needs a closer look.
pub(super) fn is_suspicious(text: &str) -> bool {
    TRIGGERS.finder.is_match(text)
}

/// Adds the credentials that the text shows.
pub(super) fn find(text: &str, broken_off: bool, found: &mut Vec<Range<usize>>) {
    let triggers = &*TRIGGERS;
    let mut floor = 0;
    for one in triggers.finder.find_overlapping_iter(text) {
        if one.start() < floor {
            continue;
        }
        let place = TriggerPlace {
            text,
            start: one.start(),
            end: one.end(),
            floor,
            broken_off,
        };
        if let Some(range) = (triggers.matchers[one.pattern()])(place)
            && !range.is_empty()
        {
            floor = floor.max(range.end);
            // What is already hidden stays as it is, so that text without secrets is not copied.
            if &text[range.clone()] != crate::mask::MASKED {
                found.push(range);
            }
        }
    }
}
