//! Sources of the settings besides the file, and the places of the files.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::environment::{self, Environment};
use super::problem::SettingsError;
use super::protection::private_files::quoted;

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

    /// The data folder that a flag or a variable names, and which of them does.
    fn given_data_dir(&self) -> Option<(PathBuf, &'static str)> {
        let by_flag = self.data_dir.clone().map(|dir| (dir, "--data-dir"));
        let variable = || self.environment.given(environment::DATA_DIR);
        by_flag.or_else(|| Some((PathBuf::from(variable()?), environment::DATA_DIR)))
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
        let data_dir = sources.given_data_dir().map(|(data_dir, _)| data_dir);
        let data_dir = data_dir.or_else(home).ok_or(SettingsError::NoDataDir)?;
        let data_dir = absolute(&data_dir)?;
        let named = sources.named_config();
        Ok(Self {
            is_named: named.is_some(),
            config_file: match named {
                Some(file) => absolute(&file)?,
                None => data_dir.join(CONFIG_FILE),
            },
            data_dir,
        })
    }

    /// Finds them for a command, which is refused if one that a person named is not there: a mistyped one would be
    /// another gateway, with nothing in it.
    pub(super) fn find_existing(sources: &Sources) -> Result<Self, SettingsError> {
        let found = Self::find(sources)?;
        if let Some((_, by)) = sources.given_data_dir() {
            check_folder(&found.data_dir, by)?;
        }
        if found.is_named && is_missing(&found.config_file) {
            return Err(SettingsError::Missing(found.config_file));
        }
        Ok(found)
    }
}

/// Refuses a data folder that was given and is not there. What else is wrong with it is found where it is used.
fn check_folder(data_dir: &Path, by: &'static str) -> Result<(), SettingsError> {
    let is_something_else = fs::metadata(data_dir).is_ok_and(|found| !found.is_dir());
    if is_missing(data_dir) || is_something_else {
        let command = format!("mkdir -m 700 {}", quoted(data_dir));
        let data_dir = data_dir.to_owned();
        return Err(SettingsError::MissingDataDir {
            data_dir,
            by,
            command,
        });
    }
    Ok(())
}

fn is_missing(path: &Path) -> bool {
    let kind = fs::metadata(path).map_err(|error| error.kind());
    matches!(kind, Err(ErrorKind::NotFound | ErrorKind::NotADirectory))
}

fn absolute(path: &Path) -> Result<PathBuf, SettingsError> {
    let absolute = std::path::absolute(path);
    absolute.map_err(|source| SettingsError::UnusablePath(path.to_owned(), source))
}
