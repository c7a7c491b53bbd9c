//! The key of the REST interface: the configured one, or one that is made on the first start.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use super::document::read_open;
use super::keys::Settings;
use super::protection::private_files::{self, DataDirError};
use super::secret::Secret;
use super::text;

/// The file in the data folder.
pub(super) const KEY_FILE: &str = "api_key";

/// Length of a new key: as many bytes as cannot be guessed.
const RANDOM_BYTES: usize = 32;

/// A key file with fewer characters was cut short or written by hand without care.
const SHORTEST_KEY: usize = 16;

/// Most bytes of a key file: far above any key, far below what would hurt to read.
const LONGEST_FILE: usize = 4096;

/// Reason why there is no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiKeyError {
    /// The key file has nothing in it.
    #[error("the file api_key in the data folder is empty: delete it to have a new key generated")]
    Empty,
    /// The key file has too little in it.
    #[error(
        "the key in the file api_key of the data folder is shorter than {SHORTEST_KEY} characters: delete the file to have a new key generated"
    )]
    TooShort,
    /// The key file holds something else than a key.
    #[error(
        "the file api_key in the data folder does not hold one line of visible ASCII characters: delete it to have a new key generated"
    )]
    NotAKey,
    /// Others know the key, or can put another one in its place.
    #[error(
        "other users can read or change the file api_key of the data folder: `{0}`; if somebody may have read it, delete it to have a new key generated"
    )]
    OpenToOthers(String),
    /// The data folder cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The file or its folder cannot be read or written.
    #[error("the file api_key in the data folder cannot be {0}: {1}")]
    Io(&'static str, #[source] io::Error),
    /// The operating system gives no random numbers.
    #[error("no key can be generated because the operating system gives no random numbers: {0}")]
    NoRandomNumbers(getrandom::Error),
}

/// The key: the configured one, else that of the key file, which is made when it is not there.
pub fn api_key(settings: &Settings) -> Result<Secret, ApiKeyError> {
    if let Some(key) = &settings.api_key {
        return Ok(key.clone());
    }
    let path = settings.data_dir.join(KEY_FILE);
    match read_private(&path) {
        Err(ApiKeyError::Io(_, source)) if source.kind() == ErrorKind::NotFound => {}
        found => return found,
    }
    let written = |source| ApiKeyError::Io("written", source);
    create_data_dir(settings)?;
    // Each caller has its own draft, so that two that start at once do not write into one.
    let draft = path.with_file_name(format!("{KEY_FILE}.{}.new", random_hex::<8>()?));
    write_new(&draft, &path, &random_hex::<RANDOM_BYTES>()?).map_err(written)?;
    // Read back instead of returned: another process may have been first, and its key holds.
    read_private(&path)
}

/// Key that is there, without making one: the configured one, else that of the key file.
pub(super) fn present_key(settings: &Settings) -> Result<Option<Secret>, ApiKeyError> {
    if let Some(key) = &settings.api_key {
        return Ok(Some(key.clone()));
    }
    match read_private(&settings.data_dir.join(KEY_FILE)) {
        Err(ApiKeyError::Io(_, source)) if source.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Texts of the key file that must not be shown; none without one.
pub(crate) fn secrets_of_key_file(settings: &Settings) -> Vec<String> {
    let key = read(&settings.data_dir.join(KEY_FILE));
    key.map_or_else(|_| Vec::new(), |key| key.exposing_texts().collect())
}

/// Creates the data folder, for its owner only, unless it exists; then it has to be safe to use.
pub fn create_data_dir(settings: &Settings) -> Result<(), DataDirError> {
    private_files::create_data_dir(&settings.data_dir)
}

/// Reads the key file if it is for its owner alone.
fn read_private(path: &Path) -> Result<Secret, ApiKeyError> {
    // Not before the key itself: one that is no key is not mended by its mode.
    let key = read(path)?;
    let metadata = path
        .metadata()
        .map_err(|source| ApiKeyError::Io("read", source))?;
    match private_files::mending_command(path, &metadata) {
        Some(command) => Err(ApiKeyError::OpenToOthers(command)),
        None => Ok(key),
    }
}

fn read(path: &Path) -> Result<Secret, ApiKeyError> {
    let content = private_files::open(path).and_then(|file| read_open(&file, LONGEST_FILE));
    let content = content.map_err(|source| ApiKeyError::Io("read", source))?;
    let text = String::from_utf8(content).map_err(|_| ApiKeyError::NotAKey)?;
    let key = text.trim();
    if key.is_empty() {
        return Err(ApiKeyError::Empty);
    }
    if !(text::API_KEY.is_valid)(key) || text.len() > LONGEST_FILE {
        return Err(ApiKeyError::NotAKey);
    }
    if key.len() < SHORTEST_KEY {
        return Err(ApiKeyError::TooShort);
    }
    Ok(Secret::new(key))
}

fn random_hex<const BYTES: usize>() -> Result<String, ApiKeyError> {
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes).map_err(ApiKeyError::NoRandomNumbers)?;
    let mut hex = String::with_capacity(2 * BYTES);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    Ok(hex)
}

/// Writes the key so that a reader finds all of it or nothing, and never over another key.
fn write_new(draft: &Path, path: &Path, key: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(draft).and_then(|mut file| {
        writeln!(file, "{key}")?;
        file.sync_all()
    });
    // A link fails when the name is taken, which a rename does not.
    let published = written.and_then(|()| match fs::hard_link(draft, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        // Some file systems have no links.
        Err(_) => fs::rename(draft, path),
        linked => linked,
    });
    let _ = fs::remove_file(draft);
    published
}
