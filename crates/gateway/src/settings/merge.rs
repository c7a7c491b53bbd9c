//! From what was written to what holds: flags over environment over file over defaults.

use std::path::{Path, PathBuf};

use super::content::{Address, ApiKey};
use super::environment::{self, Environment};
use super::problem::SettingsError;
use super::values::RawText;
use super::written::WrittenFile;

/// The file in the data folder that is read when no other is named.
const CONFIG_FILE: &str = "mcp_config.json";

/// The data folder, inside the home folder, when no other is named.
const DATA_FOLDER: &str = ".mcpproxy";

/// What the command line said, and where variables are looked up.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<String>,
    /// `--demo`.
    pub demo: bool,
    /// The environment.
    pub environment: Environment,
}

/// Where the files are.
#[derive(Debug, Clone)]
pub(super) struct Locations {
    pub(super) data_dir: PathBuf,
    pub(super) config_file: PathBuf,
    /// Whether a person named the file: then it has to exist.
    pub(super) is_named: bool,
}

/// A value and who gave it. It may be a secret, so it has no `Debug`.
pub(super) enum Given<C> {
    /// The file, or its default.
    File(RawText<C>),
    /// A flag or a variable of this name.
    Outside {
        /// As the person wrote it.
        name: &'static str,
        /// Taken as it stands.
        value: String,
    },
}

/// Everything that holds, with references not yet replaced.
pub(super) struct Merged {
    pub(super) data_dir: PathBuf,
    pub(super) config_file: PathBuf,
    pub(super) demo: bool,
    pub(super) listen: Given<Address>,
    pub(super) api_key: Option<Given<ApiKey>>,
    pub(super) file: WrittenFile,
}

impl Sources {
    /// The file a flag or a variable names.
    fn named_config(&self) -> Option<PathBuf> {
        let variable = || self.environment.given(environment::CONFIG);
        self.config
            .clone()
            .or_else(|| variable().map(PathBuf::from))
    }

    /// Whether a person named the file.
    pub(super) fn names_config(&self) -> bool {
        self.named_config().is_some()
    }
}

impl Locations {
    /// Finds the data folder and the file.
    pub(super) fn find(sources: &Sources) -> Result<Self, SettingsError> {
        let variable = |name| sources.environment.given(name).map(PathBuf::from);
        let home = || variable(environment::HOME).map(|home| home.join(DATA_FOLDER));
        let data_dir = sources
            .data_dir
            .clone()
            .or_else(|| variable(environment::DATA_DIR))
            .or_else(home);
        let named = sources.named_config();
        let data_dir = absolute(&data_dir.ok_or(SettingsError::NoDataDir)?)?;
        Ok(Self {
            is_named: named.is_some(),
            config_file: match named {
                Some(file) => absolute(&file)?,
                None => data_dir.join(CONFIG_FILE),
            },
            data_dir,
        })
    }
}

/// Lets flags and variables win over the file.
pub(super) fn merge(file: WrittenFile, locations: Locations, sources: &Sources) -> Merged {
    let variable = |name: &'static str| {
        let value = sources.environment.given(name)?;
        // What is not UTF-8 becomes something that the check refuses.
        let value = value.to_string_lossy().into_owned();
        Some((name, value))
    };
    let listen = sources
        .listen
        .clone()
        .map(|value| ("--listen", value))
        .or_else(|| variable(environment::LISTEN));
    let api_key = variable(environment::API_KEY);
    Merged {
        data_dir: locations.data_dir,
        config_file: locations.config_file,
        demo: sources.demo,
        listen: match listen {
            Some((name, value)) => Given::Outside { name, value },
            None => Given::File(file.listen.clone()),
        },
        api_key: match api_key {
            Some((name, value)) => Some(Given::Outside { name, value }),
            None => file.api_key.clone().map(Given::File),
        },
        file,
    }
}

fn absolute(path: &Path) -> Result<PathBuf, SettingsError> {
    std::path::absolute(path).map_err(|source| SettingsError::UnusablePath {
        path: path.to_owned(),
        source,
    })
}
