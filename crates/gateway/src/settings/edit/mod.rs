//! Changes of the configuration file by commands: what a person wrote around them stays as it stands.
//!
//! [`planned`] says what a change would make of the file, [`write()`] makes it. A change is applied to the file as it is at
//! that moment, under a lock that other commands respect, and a file that somebody replaces meanwhile is read again.
//! Nothing is written that could not be read back as intended.

mod apply;
mod file;
mod snippet;
mod splice;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value as Json};

pub use snippet::{SNIPPET_LIMIT, SnippetServer, servers as servers_of_snippet};

use super::keys::{ServerSettings, Settings};
use super::problem::SettingsError;
use super::sources::{Locations, Sources};
use super::text::{SERVER_NAME, URL};
use super::{read_file, settings_of};

/// Change of one server of the file.
#[derive(Debug, Clone)]
pub enum ServerChange {
    /// A new one.
    Add(Map<String, Json>),
    /// It goes, with the comments that belong to it.
    Remove,
    /// It goes if its entry is still this one.
    TakeBack(Map<String, Json>),
    /// It is used from now on, or not, whatever words its entry has for that.
    Enable(bool),
    /// These keys have these values from now on; null removes a key.
    Merge(Map<String, Json>),
}

/// Configuration file before and after a change.
#[derive(Debug)]
pub struct Edited {
    /// Text before; nothing where there was no file.
    pub before: Option<String>,
    /// Text after.
    pub after: String,
    /// Settings of the text after.
    pub settings: Settings,
}

/// Reason why a file is not changed. Nothing in it holds a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The file cannot be used as it is.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A server has the name already.
    #[error(
        "a server '{0}' is configured already: choose another name, or remove it first with `mcpproxy upstream remove {0}`"
    )]
    NameTaken(String),
    /// No server of the file has the name.
    #[error("the configuration has no server '{0}'")]
    UnknownServer(String),
    /// The change cannot be made of this entry.
    #[error("{0}")]
    Entry(String),
    /// The entry is another one than it was.
    #[error("the entry of server '{0}' was changed meanwhile, and stays")]
    Changed(String),
    /// The change would make something else of the file than was meant.
    #[error(
        "the configuration file cannot be changed safely in its present form: change the entry of server '{0}' by hand"
    )]
    NotSafe(String),
    /// Somebody else changes the file all the time.
    #[error("the configuration file is being changed by somebody else: try again")]
    Busy,
    /// The file cannot be written.
    #[error("the configuration file '{}' cannot be written: {}", .0.display(), .1)]
    Io(std::path::PathBuf, #[source] std::io::Error),
}

/// File as it would be after a change. Nothing is written. `check` may refuse its settings.
pub fn planned(
    sources: &Sources,
    name: &str,
    change: &ServerChange,
    check: impl Fn(&Settings) -> Result<(), SettingsError>,
) -> Result<Edited, EditError> {
    let locations = Locations::find(sources)?;
    let bytes = read_file(&locations)?;
    let edited = edited(&locations, sources, bytes, name, change)?;
    check(&edited.settings)?;
    Ok(edited)
}

/// Changes the file, unless `check` refuses the settings that it would have. Blocks until the lock is free, for a while at
/// most.
pub fn write(
    sources: &Sources,
    name: &str,
    change: &ServerChange,
    check: impl Fn(&Settings) -> Result<(), SettingsError>,
) -> Result<Edited, EditError> {
    let locations = Locations::find(sources)?;
    file::replace(&locations, |bytes| {
        let edited = edited(&locations, sources, bytes, name, change)?;
        check(&edited.settings)?;
        let text = edited.after.clone();
        Ok((text, edited))
    })
}

/// Refuses a name that no server can have, and one that a shell or a folder would hide: `-rf`, `..`.
pub fn check_name(name: &str) -> Result<(), String> {
    let begins_well = name.starts_with(|one: char| one.is_ascii_alphanumeric());
    if (SERVER_NAME.is_valid)(name) {
        if begins_well {
            return Ok(());
        }
        return Err(format!(
            "found the server name '{name}', which does not begin with a letter or a digit"
        ));
    }
    let (shown, allowed) = (super::problem::shown(name), SERVER_NAME.allowed);
    Err(format!(
        "found the server name '{shown}', allowed: {allowed}"
    ))
}

/// Name that a server of this name of somebody else's gets here.
pub fn usable_name(written: &str) -> String {
    let names = super::clients::names::usable(&[written]);
    names.into_iter().next().unwrap_or_default()
}

/// Refuses an address that no server can have.
pub fn check_url(url: &str) -> Result<(), String> {
    if url.contains("${") || (URL.is_valid)(url) {
        return Ok(());
    }
    Err(format!("the URL is not valid, allowed: {}", URL.allowed))
}

/// Mistake in the entry of a server, told without its place in a file that does not have it yet; nothing if the entry is
/// well written, wherever its references lead.
pub fn mistake(name: &str, settings: &Settings) -> Option<String> {
    let mut servers = settings.servers.iter();
    let server = servers.find(|server| *server.name == *name)?;
    let is_mistaken = server.problems.len() > server.dangling;
    let problems = problems(server, settings).join("; ");
    is_mistaken.then(|| format!("Server '{name}' cannot have this entry: {problems}"))
}

/// Problems of an entry without their places.
pub(crate) fn problems(server: &ServerSettings, settings: &Settings) -> Vec<String> {
    let file = settings.config_file.file_name().unwrap_or_default();
    let place = format!("{}:", file.to_string_lossy());
    let problems = server.problems.iter().map(|problem| {
        let rest = problem.strip_prefix(&place);
        let rest = rest.and_then(|rest| rest.split_once(": "));
        rest.map_or(problem.as_str(), |(_, problem)| problem)
            .to_owned()
    });
    problems.collect()
}

/// Whether a value under a name, as variables and headers have it, looks like a secret. References are none.
pub fn looks_secret(name: &str, value: &str) -> bool {
    use super::secret::credentials::{StringContext, find};
    !value.contains("${") && !find(value, StringContext::of_name(name)).is_empty()
}

fn edited(
    locations: &Locations,
    sources: &Sources,
    bytes: Option<Vec<u8>>,
    name: &str,
    change: &ServerChange,
) -> Result<Edited, EditError> {
    let before = match bytes {
        None => None,
        Some(bytes) => {
            // What is wrong with it already is said in the words of the file that is there.
            settings_of(locations.clone(), sources, &bytes)?;
            let text = String::from_utf8(bytes);
            Some(text.map_err(|_| EditError::NotSafe(name.to_owned()))?)
        }
    };
    let after = apply::apply(before.as_deref(), name, change)?;
    let settings = settings_of(locations.clone(), sources, after.as_bytes())
        .map_err(|error| EditError::Entry(error.to_string()))?;
    Ok(Edited {
        before,
        after,
        settings,
    })
}
