//! The settings of a gateway: what was written, merged, and resolved once.
//!
//! [`load`] reads the configuration file, lets environment and flags win over it and replaces
//! references. It opens no port and reads no file that nobody named, and whatever bytes the file
//! has, it answers with settings or with every problem at its line and column. No message and no
//! `Debug` output of this module holds a secret.
//!
//! Start reading at `keys`: it lists every key once. What the file may say, the settings themselves,
//! the JSON Schema, the reference page and what is shown of them come from that list.

mod api_key;
mod clients;
mod document;
pub mod edit;
mod environment;
mod generated;
mod keys;
mod live;
mod problem;
mod protection;
mod reader;
pub mod redaction;
mod references;
mod rules;
mod secret;
mod server_reader;
mod sources;
mod text;
mod text_reader;
mod watch;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jsonc_parser::common::Ranged;

pub use api_key::{ApiKeyError, api_key, create_data_dir};
pub use environment::Environment;
pub use generated::{reference_page, schema};
pub use keys::{
    ActivitySettings, AnnotationOverrides, AnonymousAccess, ArgumentCheck, Detail,
    DiscoverySettings, Durability, EndpointSettings, HintSettings, IntentSettings, ProxiedHints,
    ServerSettings, Settings, StoreSettings, TlsSettings, ToolRateLimit, ToolSettings, Trust,
};
pub use live::LiveSettings;
pub use problem::SettingsError;
pub use protection::private_files::{DataDirError, open_secret_warning};
pub use protection::secret_files;
pub use secret::{Secret, SettingText};
pub use sources::Sources;
pub use text::{ADMIN_SERVER, StoreAddress};
pub use watch::{SettingsWatch, watch};

use document::{Document, SIZE_LIMIT, read_bounded};
use protection::{exposure, private_files};
use reader::{SettingsReader, Written};
use references::References;
use rules::KeyRule;
use sources::Locations;

/// Loads the settings: flags over environment over file over defaults.
///
/// A file that was not named by a person may be missing: then the defaults hold. So may the data folder.
pub fn load(sources: &Sources) -> Result<Settings, SettingsError> {
    load_from(Locations::find_existing(sources)?, sources)
}

/// Folder of the state, whatever the configuration file says or whether it can be read.
pub fn data_dir(sources: &Sources) -> Result<PathBuf, SettingsError> {
    Ok(Locations::find_existing(sources)?.data_dir)
}

/// Every key with the value that holds, defaults included; each secret is `***`.
pub fn effective(settings: &Settings) -> serde_json::Value {
    settings.shown.clone()
}

/// Refuses settings with which a gateway must not listen, and a data folder that is not safe to use. `running` are those
/// that it listens with already: their address stays, and so does their certificate where it is needed.
pub fn check_start(settings: &Settings, running: Option<&Settings>) -> Result<(), SettingsError> {
    let mut problems = Vec::new();
    if let Err(error) = private_files::check_data_dir(&settings.data_dir) {
        problems.push(error.to_string());
    }
    problems.extend(private_files::check_unchangeable(&settings.config_file).err());
    let key = api_key::present_key(settings).unwrap_or_else(|error| {
        problems.push(error.to_string());
        None
    });
    let is_protected = settings.allow_plain_http || settings.certificate.is_some();
    let mut addresses = BTreeMap::new();
    if let Some(running) = running {
        let stays_protected = is_protected || running.certificate.is_some();
        addresses.insert(running.listen, stays_protected);
    }
    addresses.entry(settings.listen).or_insert(is_protected);
    for (address, is_protected) in addresses {
        problems.extend(exposure::problems(address, is_protected, key.as_ref()));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(SettingsError::Refused(problems.join("\n")))
}

fn load_from(locations: Locations, sources: &Sources) -> Result<Settings, SettingsError> {
    let bytes = read_file(&locations)?.unwrap_or_else(|| b"{}".to_vec());
    settings_of(locations, sources, &bytes)
}

/// Bytes of the configuration file; nothing where there is none and none has to be.
fn read_file(locations: &Locations) -> Result<Option<Vec<u8>>, SettingsError> {
    let path = &locations.config_file;
    match read_bounded(path, SIZE_LIMIT) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound && !locations.is_named => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(SettingsError::Missing(path.clone()))
        }
        Err(source) => Err(SettingsError::Unreadable(path.clone(), source)),
    }
}

/// Settings of a configuration file with these bytes.
fn settings_of(
    locations: Locations,
    sources: &Sources,
    bytes: &[u8],
) -> Result<Settings, SettingsError> {
    let path = locations.config_file;
    let name = path.file_name().unwrap_or(path.as_os_str());
    let document = Document::parse(&name.to_string_lossy(), bytes)?;
    let mut tree = document.tree()?;
    let of_clients = clients::files::rewrite(&mut tree);
    let references = References {
        config: &path,
        environment: &sources.environment,
        folder: path.parent().unwrap_or(&path),
        data_dir: &locations.data_dir,
    };
    let mut reader = SettingsReader::new(&document, &references);
    for (place, warning) in of_clients {
        reader.warn_at(&place, || warning);
    }
    for key in Settings::SECTION.keys {
        if let Some((name, value)) = sources.given(key.name) {
            reader.give(key, name, value);
        }
    }
    let read = reader.read(
        &KeyRule::Nested(&Settings::SECTION),
        Written::new(&tree, ""),
    );
    let SettingsReader {
        secrets,
        mut warnings,
        entry_warnings,
        has_literal_secrets,
        secret_names,
        problems,
        problems_of_servers,
        ..
    } = reader;
    if !problems.is_empty() {
        // Who has to mend the file anyway is told all of it, after what stops the start.
        let all = [problems.into_lines(), problems_of_servers.into_lines()];
        return Err(SettingsError::Invalid(all.concat().join("\n")));
    }
    if has_literal_secrets
        && let Ok(metadata) = path.metadata()
        && let Some(command) = private_files::mending_command(&path, &metadata)
    {
        warnings.push(format!("the configuration file holds secrets, and other users can read or change it: `{command}`, or write references such as ${{env:NAME}} in their place"));
    }
    warnings.extend(private_files::foreign_owner_warning(&path));
    warnings.extend(private_files::data_dir_warning(&locations.data_dir));
    let read = read.expect("a reader that gave nothing has noted a problem");
    let mut settings: Settings =
        serde_json::from_value(read.value).expect("the rules admit what the settings take");
    if let Some(tls) = &settings.tls {
        settings.certificate = Some(tls.read().map_err(|problem| {
            let key = tree.as_object().and_then(|object| object.get("tls"));
            let at = key.map_or(0, Ranged::start);
            let (_, problem) = document.problem(at, &format!("tls: {problem}"));
            SettingsError::Certificate(problem, tls.files().map(Path::to_owned))
        })?);
    }
    settings.data_dir = locations.data_dir;
    settings.config_file = path;
    settings.demo = sources.demo;
    settings.shown = read.shown;
    settings.secrets = secrets;
    settings.warnings = warnings;
    settings.entry_warnings = entry_warnings;
    settings.secret_names = secret_names;
    Ok(settings)
}
