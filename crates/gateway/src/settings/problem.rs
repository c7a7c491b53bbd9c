//! Problems of a configuration, said so that a person can mend it.

use std::io;
use std::path::PathBuf;

/// Most problems that are listed; more are counted.
const LISTED_PROBLEMS: usize = 50;

/// Most problems of one server that are listed.
const LISTED_OF_SERVER: usize = 20;

/// Most characters of a key or value from the file that a message repeats.
const SHOWN_CHARACTERS: usize = 60;

/// Reason why the settings could not be loaded. Nothing in it holds a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file, a flag or a variable says something that is not allowed: a line for each problem.
    #[error("{0}")]
    Invalid(String),
    /// The certificate that `tls` names cannot be used; with the files that it is in.
    #[error("{0}")]
    Certificate(String, [PathBuf; 2]),
    /// The settings or the data folder would open the gateway to others: a line for each reason.
    #[error("{0}")]
    Refused(String),
    /// A file that was asked for is not there.
    #[error(
        "the configuration file '{}' does not exist: create it or name another with --config",
        .0.display()
    )]
    Missing(PathBuf),
    /// A data folder that was given is not there.
    #[error(
        "the data directory '{}', which {by} names, does not exist or is no directory: `{command}` creates it; without {by} it is ~/.mcpproxy",
        .data_dir.display()
    )]
    MissingDataDir {
        /// Folder that was given.
        data_dir: PathBuf,
        /// Flag or variable that names it.
        by: &'static str,
        /// Command that creates it.
        command: String,
    },
    /// The file is there and cannot be read.
    #[error("the configuration file '{}' cannot be read: {}", .0.display(), .1)]
    Unreadable(PathBuf, #[source] io::Error),
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
        .0.display()
    )]
    Panicked(PathBuf),
    /// A path that was given cannot be made absolute.
    #[error("the path '{}' cannot be used: {}", .0.display(), .1)]
    UnusablePath(PathBuf, #[source] io::Error),
}

/// Line and column of a problem, both counted from one; columns are characters. Zero for what does
/// not stand in the file.
pub(super) type FilePosition = (usize, usize);

/// Problems that were found, in words that begin with their place.
pub(super) struct Problems {
    listed: Vec<(FilePosition, String)>,
    unlisted: usize,
    /// Most that are listed.
    most: usize,
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

impl Problems {
    /// Of a file, none so far.
    pub(super) fn of_file() -> Self {
        Self::at_most(LISTED_PROBLEMS)
    }

    /// Of one server, none so far.
    pub(super) fn of_server() -> Self {
        Self::at_most(LISTED_OF_SERVER)
    }

    fn at_most(most: usize) -> Self {
        Self {
            listed: Vec::new(),
            unlisted: 0,
            most,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Notes a problem, which is only made when it will be listed: a hostile file has a million.
    pub(super) fn add_with(&mut self, problem: impl FnOnce() -> (FilePosition, String)) {
        if self.listed.len() < self.most {
            self.listed.push(problem());
        } else {
            self.unlisted += 1;
        }
    }

    /// Notes all problems of others as well.
    pub(super) fn add_all(&mut self, others: &Self) {
        for problem in &others.listed {
            self.add_with(|| problem.clone());
        }
        self.unlisted += others.unlisted;
    }

    /// A line for each, in the order of the file: what was found later may be higher up.
    pub(super) fn into_lines(mut self) -> Vec<String> {
        self.listed.sort_by_key(|(position, _)| *position);
        let lines = self.listed.into_iter().map(|(_, text)| text);
        let more = format!("… and {} more problems", self.unlisted);
        let more = (self.unlisted > 0).then_some(more);
        lines.chain(more).collect()
    }
}
