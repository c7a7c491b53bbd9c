//! Sources of the settings besides the file, and the places of the files.

use std::path::{Path, PathBuf};

use super::environment::{self, Environment};
use super::problem::SettingsError;

/// The file in the data folder that is read when no other is named.
const CONFIG_FILE: &str = "mcp_config.json";

/// The data folder, inside the home folder, when no other is named.
const DATA_FOLDER: &str = ".mcpproxy";

/// Flags of the command line, and the environment.
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

/// Places of the files.
#[derive(Debug, Clone)]
pub(super) struct Locations {
    pub(super) data_dir: PathBuf,
    pub(super) config_file: PathBuf,
    /// Whether a person named the file: then it has to exist.
    pub(super) is_named: bool,
}

impl Sources {
    /// The file a flag or a variable names.
    pub(super) fn named_config(&self) -> Option<PathBuf> {
        let variable = || self.environment.given(environment::CONFIG);
        self.config
            .clone()
            .or_else(|| variable().map(PathBuf::from))
    }

    /// Value that wins over a key of the file, with the flag or variable that gave it. What is not
    /// UTF-8 becomes something that the rules refuse.
    pub(super) fn given(&self, key: &str) -> Option<(&'static str, String)> {
        let (flag, variable) = match key {
            "listen" => (self.listen.clone(), environment::LISTEN),
            "api_key" => (None, environment::API_KEY),
            _ => return None,
        };
        let variable = || {
            let value = self.environment.given(variable)?;
            Some((variable, value.to_string_lossy().into_owned()))
        };
        flag.map(|value| ("--listen", value)).or_else(variable)
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

fn absolute(path: &Path) -> Result<PathBuf, SettingsError> {
    let absolute = std::path::absolute(path);
    absolute.map_err(|source| SettingsError::UnusablePath(path.to_owned(), source))
}
