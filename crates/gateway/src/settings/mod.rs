//! The settings of a gateway: what was written, merged, and resolved once.
//!
//! [`load`] reads the configuration file, lets environment and flags win over it and replaces
//! references. It opens no port and reads no file it was not given, and whatever bytes the file
//! has, it answers with settings or with every problem at its line and column. No message and no
//! `Debug` output of this module holds a secret.
//!
//! Start reading at `written`: it lists every key once. The reader, the allowed keys in messages,
//! the JSON Schema and the reference page come from that list.

mod api_key;
mod content;
mod document;
mod effective;
pub mod environment;
mod generated;
mod live;
mod merge;
mod problem;
pub mod redaction;
mod references;
mod resolve;
mod resolved;
mod secret;
mod section;
mod shape;
mod values;
mod watch;
mod written;

#[cfg(test)]
mod tests;

use std::io::ErrorKind;
use std::path::PathBuf;

pub use api_key::{ApiKeyError, api_key, create_data_dir};
pub use effective::effective;
pub use environment::Environment;
pub use generated::{reference_page, schema};
pub use live::LiveSettings;
pub use merge::Sources;
pub use problem::{FilePosition, ProblemPlace, Problems, SettingsError, SettingsProblem};
pub use resolved::{
    ActivitySettings, Detail, DiscoverySettings, Durability, ProxiedHints, ServerSettings,
    ServerTransport, Settings, StoreSettings, ToolRateLimit, ToolSettings, Trust,
};
pub use secret::{Secret, SettingText};
pub use watch::{SettingsWatch, watch};
pub use written::ADMIN_SERVER;

use document::{Document, empty_object, read_bounded};
use merge::{Locations, merge};
use references::References;
use shape::{SettingsReader, Shape};

/// Loads the settings: flags over environment over file over defaults.
///
/// A file that was not named by a person may be missing: then the defaults hold.
pub fn load(sources: &Sources) -> Result<Settings, SettingsError> {
    load_from(Locations::find(sources)?, sources)
}

/// Where the state is kept, whatever the configuration file says or whether it can be read.
pub fn data_dir(sources: &Sources) -> Result<PathBuf, SettingsError> {
    Ok(Locations::find(sources)?.data_dir)
}

fn load_from(locations: Locations, sources: &Sources) -> Result<Settings, SettingsError> {
    let path = locations.config_file.clone();
    let document = match read_bounded(&path) {
        Ok(bytes) => {
            let name = path.file_name().unwrap_or(path.as_os_str());
            Some(Document::parse(&name.to_string_lossy(), bytes).map_err(single)?)
        }
        Err(error) if error.kind() == ErrorKind::NotFound && !locations.is_named => None,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(SettingsError::Missing { path });
        }
        Err(source) => return Err(SettingsError::Unreadable { path, source }),
    };
    let tree = match &document {
        Some(document) => document.tree().map_err(single)?,
        None => empty_object(),
    };
    let nowhere = Document::empty();
    let mut reader = SettingsReader::new(document.as_ref().unwrap_or(&nowhere));
    let file = written::WrittenFile::read(&mut reader, &tree, "");
    let settings = file.and_then(|file| {
        let references = References {
            environment: &sources.environment,
            folder: path.parent().unwrap_or(&path),
        };
        resolve::resolve(merge(file, locations, sources), &references, &mut reader)
    });
    reader.problems.into_result()?;
    Ok(settings.expect("a reader that gave nothing has noted a problem"))
}

fn single(problem: SettingsProblem) -> SettingsError {
    let mut problems = Problems::default();
    problems.push_with(|| problem);
    SettingsError::Invalid(problems)
}
