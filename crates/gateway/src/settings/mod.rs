//! The settings of a gateway: what was written, merged, and resolved once.
//!
//! [`load`] reads the configuration file, lets environment and flags win over it and replaces
//! references. It opens no port and reads no file it was not given, and whatever bytes the file
//! has, it answers with settings or with every problem at its line and column. No message and no
//! `Debug` output of this module holds a secret.
//!
//! Start reading at `keys`: it lists every key once. What the file may say, the settings themselves,
//! the JSON Schema, the reference page and what is shown of them come from that list.

mod api_key;
mod document;
pub mod environment;
mod generated;
mod keys;
mod live;
mod problem;
mod reader;
pub mod redaction;
mod references;
mod rules;
mod secret;
mod section;
mod shape;
mod sources;
mod text;
mod watch;

#[cfg(test)]
mod tests;

use std::io::ErrorKind;
use std::path::PathBuf;

pub use api_key::{ApiKeyError, api_key, create_data_dir};
pub use environment::Environment;
pub use generated::{reference_page, schema};
pub use keys::{
    ADMIN_SERVER, ActivitySettings, AnnotationOverrides, Detail, DiscoverySettings, Durability,
    HintSettings, IntentSettings, ProxiedHints, ServerSettings, Settings, StoreSettings,
    ToolRateLimit, ToolSettings, Trust,
};
pub use live::LiveSettings;
pub use problem::SettingsError;
pub use secret::{Secret, SettingText};
pub use sources::Sources;
pub use text::StoreAddress;
pub use watch::{SettingsWatch, watch};

use document::{Document, empty_object, read_bounded};
use reader::{KeyRule, Section, SettingsReader, Written};
use references::References;
use rules::Nested;
use sources::Locations;

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

/// Every key with the value that holds, defaults included; each secret is `***`.
pub fn effective(settings: &Settings) -> serde_json::Value {
    serde_json::Value::Object(settings.shown())
}

fn load_from(locations: Locations, sources: &Sources) -> Result<Settings, SettingsError> {
    let path = locations.config_file;
    let document = match read_bounded(&path) {
        Ok(bytes) => {
            let name = path.file_name().unwrap_or(path.as_os_str());
            Some(Document::parse(&name.to_string_lossy(), bytes)?)
        }
        Err(error) if error.kind() == ErrorKind::NotFound && !locations.is_named => None,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(SettingsError::Missing { path });
        }
        Err(source) => return Err(SettingsError::Unreadable { path, source }),
    };
    let tree = match &document {
        Some(document) => document.tree()?,
        None => empty_object(),
    };
    let references = References {
        environment: &sources.environment,
        folder: path.parent().unwrap_or(&path),
    };
    let document = document.as_ref();
    let nowhere = Document::default();
    let mut reader = SettingsReader::new(document.unwrap_or(&nowhere), &references);
    let listen = sources.given_listen();
    let listen = listen.map(|(name, value)| {
        reader.overridden.push("listen");
        text::ADDRESS.given(&mut reader, name, value)
    });
    let api_key = sources.given_variable(environment::API_KEY);
    let api_key = api_key.map(|(name, value)| {
        reader.overridden.push("api_key");
        text::API_KEY.given(&mut reader, name, value)
    });
    let settings: Option<Settings> = Nested.read(&mut reader, Written::new(&tree, ""));
    reader.problems.into_result()?;
    let mut settings = settings.expect("a reader that gave nothing has noted a problem");
    settings.listen = listen.flatten().unwrap_or(settings.listen);
    settings.api_key = api_key.flatten().or(settings.api_key);
    settings.data_dir = locations.data_dir;
    settings.config_file = path;
    settings.demo = sources.demo;
    Ok(settings)
}
