//! Which index answers which question.
