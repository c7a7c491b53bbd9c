//! Configuration that changes while the gateway runs.

use mcpproxy_redact::OwnSecrets;

use crate::Gateway;
use crate::settings::{Settings, SettingsError, redaction};

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
                redaction::set_from(&settings);
                self.records.apply(&settings);
                let settings = self.settings.replace(settings);
                self.records.configuration_reloaded();
                self.servers.reconcile(&settings);
                self.settings.set_problem(None);
                tracing::info!("configuration reloaded");
            }
            Err(error) => {
                tracing::error!(%error, "the changed configuration cannot be used, the running one stays");
                // It repeats what is wrong, which may be a secret in the wrong place.
                let problem = error.to_string();
                let problem = redaction::current()
                    .text(&problem, &OwnSecrets::none())
                    .into_owned();
                self.records.configuration_refused(&problem);
                self.settings.set_problem(Some(problem));
            }
        }
    }
}
