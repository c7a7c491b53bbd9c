//! Settings in force, which a reload replaces.

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use mcpproxy_redact::Mask;

use super::keys::Settings;

/// Settings in force, the mask of their secrets, and why the file on disk is not what runs.
pub struct LiveSettings {
    settings: ArcSwap<Settings>,
    mask: ArcSwap<Mask>,
    /// Set after a change of the file that could not be used.
    problem: ArcSwapOption<String>,
}

impl LiveSettings {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            mask: ArcSwap::from_pointee(Mask::new(settings.secrets())),
            settings: ArcSwap::from_pointee(settings),
            problem: ArcSwapOption::empty(),
        }
    }

    /// Settings of now, to be looked at and let go.
    pub fn load(&self) -> Guard<Arc<Settings>> {
        self.settings.load()
    }

    /// Settings of now, to be kept.
    pub fn current(&self) -> Arc<Settings> {
        self.settings.load_full()
    }

    /// Mask of every secret that the settings hold.
    pub(crate) fn mask(&self) -> Guard<Arc<Mask>> {
        self.mask.load()
    }

    /// Reason why the file on disk is not what runs.
    pub fn problem(&self) -> Option<String> {
        self.problem.load().as_deref().cloned()
    }

    pub(crate) fn set_problem(&self, problem: Option<String>) {
        self.problem.store(problem.map(Arc::new));
    }

    /// Puts other settings in force.
    pub(crate) fn replace(&self, settings: Settings) -> Arc<Settings> {
        self.mask.store(Arc::new(Mask::new(settings.secrets())));
        let settings = Arc::new(settings);
        self.settings.store(Arc::clone(&settings));
        settings
    }
}
