//! Every environment variable the settings read, and the way they read them.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

pub(super) const DATA_DIR: &str = "MCPPROXY_DATA_DIR";
pub(super) const CONFIG: &str = "MCPPROXY_CONFIG";
pub(super) const LISTEN: &str = "MCPPROXY_LISTEN";
pub(super) const API_KEY: &str = "MCPPROXY_API_KEY";
pub(super) const HOME: &str = "HOME";

/// Variables with what they set, for the reference page.
pub(super) const DOCUMENTED: [(&str, &str); 5] = [
    (
        DATA_DIR,
        "The data folder, which has to exist. `--data-dir` wins over it. Default: `~/.mcpproxy`, which is made.",
    ),
    (
        CONFIG,
        "The configuration file. `--config` wins over it. Default: `mcp_config.json` in the data folder.",
    ),
    (
        LISTEN,
        "The address to listen on. `--listen` wins over it, and it wins over `listen` in the file.",
    ),
    (
        API_KEY,
        "The key of the REST interface, as it stands. It wins over `api_key` in the file.",
    ),
    (
        HOME,
        "Where `~` is, for the default data folder. Not needed when the data folder is given.",
    ),
];

/// Looks variables up, so that the settings can be loaded without the process's own environment.
#[derive(Clone)]
pub struct Environment(Arc<Lookup>);

type Lookup = dyn Fn(&str) -> Option<OsString> + Send + Sync;

impl Environment {
    /// An environment that holds these variables and no others.
    pub fn of_variables<N: Into<String>, V: Into<OsString>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables: HashMap<String, OsString> = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self(Arc::new(move |name| variables.get(name).cloned()))
    }

    /// The value of a variable, also when it is empty.
    pub fn get(&self, name: &str) -> Option<OsString> {
        // The operating system's lookup is not defined for such names.
        if name.is_empty() || name.contains(['=', '\0']) {
            return None;
        }
        (self.0)(name)
    }

    /// The value of one of our own variables: an empty one counts as not set.
    pub(super) fn given(&self, name: &str) -> Option<OsString> {
        self.get(name).filter(|value| !value.is_empty())
    }
}

impl Default for Environment {
    /// The environment of this process.
    fn default() -> Self {
        Self(Arc::new(|name| std::env::var_os(name)))
    }
}

impl fmt::Debug for Environment {
    /// Variables hold secrets, so none is shown.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Environment")
    }
}
