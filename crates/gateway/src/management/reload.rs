//! Configuration that changes while the gateway runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpproxy_redact::OwnSecrets;

use crate::Gateway;
use crate::settings::{self, Secret, Settings, SettingsError, Sources, redaction};

impl Gateway {
    /// Takes the configuration anew whenever its file changes. `sources` are those that the settings
    /// were loaded from; `key_changed` gets the API key of each configuration that is taken.
    ///
    /// Runs until it is dropped. Whatever goes wrong with one change is reported, and the next one
    /// is followed again.
    pub async fn follow(
        self: Arc<Self>,
        sources: Sources,
        key_changed: impl FnMut(Secret) + Send + 'static,
    ) {
        let watched = sources.clone();
        let mut watch = match settings::watch(sources, Settings::clone(&self.settings.load())) {
            Ok(watch) => watch,
            Err(error) => {
                tracing::warn!(%error, "changes of the configuration are not followed");
                return;
            }
        };
        let sources = Arc::new(watched);
        let key_changed = Arc::new(Mutex::new(key_changed));
        while let Some(read) = watch.changed().await {
            let (gateway, sources) = (Arc::clone(&self), Arc::clone(&sources));
            let key_changed = Arc::clone(&key_changed);
            let take = move || {
                // One that broke over an earlier change is asked again all the same.
                let mut key_changed = key_changed.lock().unwrap_or_else(PoisonError::into_inner);
                gateway.take_change(read, &sources, &mut *key_changed);
            };
            // Files are read, and other changes waited for, so it is no work for a thread that serves calls.
            if self.background.compute(take).await.is_none() {
                let problem = "the changed configuration could not be taken because of a fault in the gateway, its log has the cause";
                tracing::error!("{problem}");
                self.records.configuration_refused(problem);
                self.settings.set_problem(Some(problem.to_owned()));
            }
        }
    }

    /// Takes a configuration that was seen to have changed.
    fn take_change(
        &self,
        read: Result<Settings, SettingsError>,
        sources: &Sources,
        key_changed: &mut impl FnMut(Secret),
    ) {
        let _one_at_a_time = self.one_reload_at_a_time();
        // Read again: a command may have put a newer one in force since this one was read.
        let read = read.and_then(|_| self.usable(sources));
        // First the key, which may be made by this: the gateway then knows what to hide.
        let key = read.as_ref().ok().map(settings::api_key);
        self.reload(read);
        match key {
            Some(Ok(key)) => key_changed(key),
            Some(Err(error)) => {
                tracing::error!(%error, "the API key cannot be read, the known one stays");
            }
            None => {}
        }
    }

    /// Puts settings in force: servers are started, replaced and stopped as they say.
    pub(crate) fn put_in_force(&self, mut settings: Settings) {
        let running = self.settings.load();
        if settings.listen != running.listen {
            tracing::warn!("the new listen address takes effect at the next start");
        }
        if settings.store != running.store {
            tracing::warn!("the new store takes effect at the next start");
        }
        if must_keep_tls(&running, &settings) {
            tracing::warn!(
                "`tls` stays in force until the next start: without it, anybody on the way could listen"
            );
            settings.certificate.clone_from(&running.certificate);
        }
        drop(running);
        redaction::set_from(&settings);
        settings.log_warnings();
        self.records.apply(&settings);
        let settings = self.settings.replace(settings);
        self.servers.reconcile(&settings);
        self.settings.set_problem(None);
    }

    /// Reads the configuration and puts it in force, without waiting for somebody to notice its change.
    pub(crate) fn reload_now(&self) -> Result<(), SettingsError> {
        let _one_at_a_time = self.one_reload_at_a_time();
        let settings = self.usable(&self.sources)?;
        self.reload(Ok(settings));
        Ok(())
    }

    /// Settings of the sources, if a gateway that runs may take them.
    fn usable(&self, sources: &Sources) -> Result<Settings, SettingsError> {
        let settings = settings::load(sources)?;
        settings::check_start(&settings, Some(&self.settings.load()))?;
        Ok(settings)
    }

    fn is_in_force(&self, settings: &Settings) -> bool {
        *settings == **self.settings.load() && self.settings.problem().is_none()
    }

    fn one_reload_at_a_time(&self) -> MutexGuard<'_, ()> {
        let held = self.reloading.lock();
        held.unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a configuration that was read anew. One that cannot be used is reported, and
    /// what runs stays as it is.
    fn reload(&self, read: Result<Settings, SettingsError>) {
        match read {
            // A command put it in force before its change was noticed.
            Ok(settings) if self.is_in_force(&settings) => {
                // The key that stands beside the file may be another one.
                redaction::set_from(&settings);
                self.records.apply(&settings);
            }
            Ok(settings) => {
                self.records.configuration_reloaded();
                self.put_in_force(settings);
                tracing::info!("configuration reloaded");
            }
            Err(error) => {
                tracing::error!(%error, "the changed configuration cannot be used, the running one stays");
                // It repeats what is wrong, which may be a secret in the wrong place.
                let (problem, redactor) = (error.to_string(), redaction::current());
                let problem = redactor.text(&problem, &OwnSecrets::none()).into_owned();
                self.records.configuration_refused(&problem);
                self.settings.set_problem(Some(problem));
            }
        }
    }
}

/// Whether plain HTTP would take the place of TLS where it is not allowed: the address stays until the next start.
fn must_keep_tls(running: &Settings, wanted: &Settings) -> bool {
    let may_be_plain = running.listen.ip().is_loopback() || wanted.allow_plain_http;
    running.certificate.is_some() && wanted.certificate.is_none() && !may_be_plain
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::mpsc;

    use super::*;
    use crate::GatewayOptions;
    use crate::settings::Environment;

    #[tokio::test]
    async fn a_key_that_can_be_guessed_was_taken_while_others_could_reach_the_gateway() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp_config.json");
        let long = r#"{ "api_key": "a-key-of-more-than-24-characters", "listen": "0.0.0.0:0", "allow_plain_http": true }"#;
        std::fs::write(&file, long).unwrap();
        let sources = Sources {
            data_dir: Some(folder.path().to_owned()),
            environment: Environment::of_variables::<String, String>([]),
            ..Sources::default()
        };
        let settings = settings::load(&sources).unwrap();
        let gateway = Gateway::start(settings, GatewayOptions::default()).unwrap();
        let taken = |key: Secret| panic!("{key:?} was taken");
        let following = tokio::spawn(Arc::clone(&gateway).follow(sources, taken));
        // A new address holds from the next start on, so the old one is still reached.
        let draft = folder.path().join("draft");
        std::fs::write(&draft, r#"{ "api_key": "short" }"#).unwrap();
        std::fs::rename(&draft, &file).unwrap();
        let refused = async {
            while gateway.settings.problem().is_none() {
                tokio::task::yield_now().await;
            }
        };
        let refused = tokio::time::timeout(Duration::from_secs(30), refused).await;
        assert!(refused.is_ok(), "the change is seen");
        let problem = gateway.settings.problem().unwrap();
        assert!(problem.contains("24 characters"), "{problem}");
        following.abort();
        gateway.stop().await;
    }

    #[tokio::test]
    async fn a_change_that_is_taken_while_the_gateway_stops_starts_no_server() {
        let folder = tempfile::tempdir().unwrap();
        let sources = Sources {
            data_dir: Some(folder.path().to_owned()),
            environment: Environment::of_variables::<String, String>([]),
            ..Sources::default()
        };
        let settings = settings::load(&sources).unwrap();
        let gateway = Gateway::start(settings, GatewayOptions::default()).unwrap();
        let file = folder.path().join("mcp_config.json");
        std::fs::write(&file, r#"{ "mcpServers": { "a": { "command": "cat" } } }"#).unwrap();
        let changed = settings::load(&sources).unwrap();
        gateway.stop().await;
        gateway.put_in_force(changed);
        assert!(gateway.servers().names().is_empty());
    }

    #[tokio::test]
    async fn the_file_is_followed_also_after_a_change_that_broke_us() {
        let folder = tempfile::tempdir().unwrap();
        let sources = Sources {
            data_dir: Some(folder.path().to_owned()),
            environment: Environment::of_variables::<String, String>([]),
            ..Sources::default()
        };
        let settings = settings::load(&sources).unwrap();
        let file = settings.config_file.clone();
        let gateway = Gateway::start(settings, GatewayOptions::default()).unwrap();
        let (sender, mut keys) = mpsc::unbounded_channel();
        let serving = std::thread::current().id();
        let following = tokio::spawn(Arc::clone(&gateway).follow(sources, move |key| {
            let taken_by = std::thread::current().id();
            sender.send((key.expose().to_owned(), taken_by)).unwrap();
            assert_ne!(key.expose(), "a-key-that-breaks", "a fault of ours");
        }));
        for key in ["a-key-that-breaks", "a-key-that-works"] {
            let draft = folder.path().join("draft");
            std::fs::write(&draft, format!(r#"{{ "api_key": "{key}" }}"#)).unwrap();
            std::fs::rename(&draft, &file).unwrap();
            let received = tokio::time::timeout(Duration::from_secs(30), keys.recv()).await;
            let (received, taken_by) = received.expect("the change is followed").unwrap();
            assert_eq!(received, key);
            assert_ne!(taken_by, serving, "calls do not wait for it");
        }
        while gateway.settings.problem().is_some() {
            tokio::task::yield_now().await;
        }
        following.abort();
        gateway.stop().await;
    }
}
