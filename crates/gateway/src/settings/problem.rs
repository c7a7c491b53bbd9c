//! What is wrong with a configuration, said so that a person can mend it.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// More problems than this are counted, not listed.
const LISTED_PROBLEMS: usize = 50;

/// How many characters of a key or value from the file a message repeats.
const SHOWN_CHARACTERS: usize = 60;

/// Why the settings could not be loaded. Nothing in it holds a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file, a flag or a variable says something that is not allowed.
    #[error("{0}")]
    Invalid(Problems),
    /// A file that was asked for is not there.
    #[error(
        "the configuration file '{}' does not exist: create it or name another with --config",
        .path.display()
    )]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file is there and cannot be read.
    #[error("the configuration file '{}' cannot be read: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// There is no folder for the state.
    #[error(
        "the data folder is not known because HOME is not set: give it with --data-dir or MCPPROXY_DATA_DIR"
    )]
    NoDataDir,
    /// The operating system gives no notice of changes; the settings themselves are fine.
    #[error("changes of the configuration file cannot be noticed: {0}")]
    Unwatchable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Reading the file broke on our side; the panic itself is in the log.
    #[error(
        "the configuration file '{}' cannot be read because of a fault in the gateway, its log has the cause",
        .path.display()
    )]
    Panicked {
        /// The file.
        path: PathBuf,
    },
    /// A path that was given cannot be made absolute.
    #[error("the path '{}' cannot be used: {source}", .path.display())]
    UnusablePath {
        /// The path as given.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Every problem that was found, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems {
    listed: Vec<SettingsProblem>,
    unlisted: usize,
}

/// One problem and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsProblem {
    /// Where it is.
    pub place: ProblemPlace,
    /// What was found and what is allowed.
    pub message: String,
}

/// Where a problem is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemPlace {
    /// In the configuration file.
    File {
        /// Its name without the folder.
        file: String,
        /// The line and column.
        position: FilePosition,
    },
    /// In a flag or a variable, named as the person wrote it.
    Given(&'static str),
}

/// A line and a column, both counted from one; columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePosition {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// Text from the file as messages repeat it: escaped, and cut when it is long.
pub(super) fn shown(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(SHOWN_CHARACTERS)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(SHOWN_CHARACTERS).is_some() {
        shown.push('…');
    }
    shown
}

// === impl Problems ===

impl Problems {
    /// The problems, at most the first fifty.
    pub fn iter(&self) -> impl Iterator<Item = &SettingsProblem> {
        self.listed.iter()
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Notes a problem, which is only made when it will be listed: a hostile file has a million.
    pub(super) fn push_with(&mut self, problem: impl FnOnce() -> SettingsProblem) {
        if self.listed.len() < LISTED_PROBLEMS {
            self.listed.push(problem());
        } else {
            self.unlisted += 1;
        }
    }

    /// `Ok` when nothing is wrong. Sorts by place first: what was found later may be higher up.
    pub(super) fn into_result(mut self) -> Result<(), SettingsError> {
        if self.is_empty() {
            return Ok(());
        }
        self.listed.sort_by_key(|problem| match problem.place {
            ProblemPlace::File { position, .. } => Some(position),
            ProblemPlace::Given(_) => None,
        });
        Err(SettingsError::Invalid(self))
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.listed.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            write!(formatter, "{problem}")?;
        }
        if self.unlisted > 0 {
            write!(formatter, "\n… and {} more problems", self.unlisted)?;
        }
        Ok(())
    }
}

// === impl SettingsProblem ===

impl fmt::Display for SettingsProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            ProblemPlace::File { file, position } => {
                let FilePosition { line, column } = position;
                write!(formatter, "{file}:{line}:{column}: {}", self.message)
            }
            ProblemPlace::Given(name) => write!(formatter, "{name}: {}", self.message),
        }
    }
}
