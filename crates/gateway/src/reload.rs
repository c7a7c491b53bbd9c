//! A configuration that changes while the gateway runs.

use std::sync::{Arc, PoisonError};

use mcpproxy_redact::{Mask, OwnSecrets};

use crate::settings::{Settings, SettingsError};
use crate::{Gateway, change_records, redaction};

impl Gateway {
    /// Takes a configuration that was read anew. One that cannot be used is reported, and
    /// what runs stays as it is.
    pub fn reload(&self, read: Result<Settings, SettingsError>) {
        match read {
            Ok(settings) => {
                if settings.listen != self.settings.load().listen {
                    tracing::warn!("the new listen address takes effect at the next start");
                }
                if settings.store != self.settings.load().store {
                    tracing::warn!("the new store takes effect at the next start");
                }
                self.mask.store(Arc::new(Mask::new(settings.secrets())));
                redaction::set_from(&settings);
                self.log.set_redactor(redaction::current());
                self.log
                    .set_policy(change_records::recording_policy(&settings));
                let settings = Arc::new(settings);
                self.settings.store(Arc::clone(&settings));
                self.note_configuration(None);
                self.reconcile(&settings);
                self.note_problem(None);
                tracing::info!("configuration reloaded");
            }
            Err(error) => {
                tracing::error!(%error, "the changed configuration cannot be used, the running one stays");
                // It repeats what is wrong, which may be a secret in the wrong place.
                let problem = error.to_string();
                let problem = redaction::current()
                    .text(&problem, &OwnSecrets::none())
                    .into_owned();
                self.note_configuration(Some(&problem));
                self.note_problem(Some(problem));
            }
        }
    }

    /// Why the file on disk is not what runs.
    pub fn configuration_problem(&self) -> Option<String> {
        self.problem
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn note_problem(&self, problem: Option<String>) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }
}
