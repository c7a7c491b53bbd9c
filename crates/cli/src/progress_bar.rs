//! Progress of long work, on stderr when that is a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Pace at which a bar moves by itself, so that a person sees the program is alive.
const TICK: Duration = Duration::from_millis(120);

/// Progress bar, or nothing where nobody would see one.
pub(crate) struct TerminalProgress(ProgressBar);

impl TerminalProgress {
    /// Begins to show that something is done, as yet without knowing how much there is to do.
    pub(crate) fn start(what: &'static str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::hidden();
        }
        let bar = ProgressBar::new_spinner()
            .with_style(style("{spinner} {msg} {elapsed}"))
            .with_message(what);
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Shows nothing.
    pub(crate) fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }

    /// Whether anybody sees it.
    pub(crate) fn is_seen(&self) -> bool {
        !self.0.is_hidden()
    }

    /// Shows that so much of so much is done.
    pub(crate) fn at(&self, done: u64, total: u64) {
        if self.0.length() != Some(total) {
            self.0.set_length(total);
            self.0
                .set_style(style("{spinner} {msg} [{bar:30}] {pos}/{len} {eta}"));
        }
        self.0.set_position(done);
    }

    /// Takes it off the screen.
    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_that_nobody_sees_can_be_moved() {
        let progress = TerminalProgress::hidden();
        progress.at(1, 2);
        progress.at(2, 2);
        assert!(!progress.is_seen());
        progress.end();
    }
}
