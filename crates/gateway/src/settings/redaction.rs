//! The redactor of this process, for what is not bound to one gateway: its log output.
//!
//! A secret that was known once stays hidden until the process ends, also after the configuration
//! has dropped it: it may still be valid, and turn up late.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use arc_swap::ArcSwap;
use mcpproxy_redact::Redactor;

use super::api_key::secrets_of_key_file;
use super::keys::Settings;

/// Redactor in force.
static CURRENT: LazyLock<ArcSwap<Redactor>> = LazyLock::new(ArcSwap::default);

/// Every secret that was ever known.
static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The redactor that knows every secret of the process so far.
pub fn current() -> Arc<Redactor> {
    CURRENT.load_full()
}

/// Hides every secret of the settings from now on, and the key that the data directory has.
pub(crate) fn set_from(settings: &Settings) {
    set(settings.secrets().chain(secrets_of_key_file(settings)));
}

/// Hides these values from now on, besides all earlier ones.
pub fn set(secrets: impl IntoIterator<Item = String>) {
    // Held until the redactor is in place, so that no set is lost to one that came later.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.extend(secrets);
    let redactor = Redactor::new(known.iter().cloned());
    CURRENT.store(Arc::new(redactor));
}

#[cfg(test)]
mod tests {
    use mcpproxy_redact::OwnSecrets;

    use super::*;

    #[test]
    fn a_secret_once_known_stays_hidden() {
        let hidden = |text: &str| current().text(text, &OwnSecrets::none()).into_owned();
        set(["first-known-value".to_owned()]);
        set(["second-known-value".to_owned()]);
        assert_eq!(
            hidden("a first-known-value b second-known-value c"),
            "a *** b *** c"
        );
    }
}
