//! References in strings: `${env:NAME}`, `${file:PATH}` and `${secret:NAME}`, and as clients write them `${NAME}`,
//! `${NAME:-default}` and `${workspaceFolder}`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::document::read_bounded;
use super::environment::Environment;
use super::problem::shown;
use super::protection::private_files::{self, mending_command};
use super::protection::secret_files;
use super::secret::Secret;
use super::text::is_variable;

/// A token, a key or a certificate fits; a mistaken path to something large does not.
const FILE_LIMIT: usize = 64 * 1024;

/// Places that references lead to.
pub(super) struct References<'a> {
    /// File of the configuration, which has the secrets of all servers.
    pub(super) config: &'a Path,
    pub(super) environment: &'a Environment,
    /// Relative paths start here.
    pub(super) folder: &'a Path,
    /// Folder of the secrets' folder.
    pub(super) data_dir: &'a Path,
}

/// A reference, read.
enum Reference<'a> {
    /// A variable of the environment, and what holds where it is not set or empty.
    Variable(&'a str, Option<&'a str>),
    /// Content of a file.
    File(&'a str),
    /// A secret of the data folder.
    Stored(&'a str),
    /// A secret of the data folder, in the words of where there is a keyring.
    Keyring(&'a str),
    /// The folder of the configuration file.
    Folder,
    /// Something that only some client has.
    Foreign(&'a str),
}

/// Text that a reference stands for.
enum Replacement {
    /// Hidden wherever it is shown.
    Secret(String),
    Plain(String),
}

/// Names of the secrets that a string refers to, if every reference in it is well formed; else what is wrong.
pub(super) fn secret_names(raw: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    replace(raw, |reference| {
        if let Reference::Stored(name) | Reference::Keyring(name) = reference {
            secret_files::check_name(name)?;
            names.push(name.to_owned());
        }
        Ok(Replacement::Plain(String::new()))
    })?;
    Ok(names)
}

/// Variable of the gateway itself that a string refers to, if it does.
pub(super) fn own_variable(raw: &str) -> Option<String> {
    let mut own = None;
    let _ = replace(raw, |reference| {
        if let Reference::Variable(name, _) = reference
            && name.to_ascii_uppercase().starts_with("MCPPROXY_")
        {
            own.get_or_insert_with(|| shown(name));
        }
        Ok(Replacement::Plain(String::new()))
    });
    own
}

/// String without its references, but with their defaults, which are written out.
pub(super) fn without(raw: &str) -> String {
    let rest = replace(raw, |reference| {
        let default = match reference {
            Reference::Variable(_, default) => default.unwrap_or_default(),
            _ => "",
        };
        Ok(Replacement::Plain(default.to_owned()))
    });
    rest.map_or_else(|_| raw.to_owned(), |rest| rest.value)
}

/// String in which every reference is replaced.
pub(super) struct Expansion {
    pub(super) text: Secret,
    /// Remarks about the files that references lead to.
    pub(super) warnings: Vec<String>,
}

impl References<'_> {
    /// Replaces every reference. The error names the one that leads nowhere, never a value.
    pub(super) fn expand(&self, raw: &str) -> Result<Expansion, String> {
        let mut warnings = Vec::new();
        let text = replace(raw, |reference| match reference {
            Reference::Variable(name, default) => match (self.variable(name)?, default) {
                (Some(value), None) => Ok(Replacement::of_variable(name, value)),
                (Some(value), Some(_)) if !value.is_empty() => {
                    Ok(Replacement::of_variable(name, value))
                }
                (_, Some(default)) => Ok(Replacement::Plain(default.to_owned())),
                (None, None) => Err(format!("environment variable {} is not set", shown(name))),
            },
            Reference::File(path) => self.file(path, &mut warnings).map(Replacement::Secret),
            Reference::Stored(name) => {
                secret_files::read(self.data_dir, name, &mut warnings).map(Replacement::Secret)
            }
            Reference::Keyring(name) => {
                warnings.push(format!(
                    "there is no keyring here: ${{keyring:{name}}} is read as ${{secret:{name}}}"
                ));
                secret_files::read(self.data_dir, name, &mut warnings).map(Replacement::Secret)
            }
            Reference::Folder => {
                let folder = self.folder.to_str();
                let folder = folder.ok_or("the folder of the configuration is not valid UTF-8");
                Ok(Replacement::Plain(folder?.to_owned()))
            }
            Reference::Foreign(text) => Err(format!(
                "only a client knows what ${{{}}} is, write ${{env:NAME}}, ${{file:PATH}} or ${{secret:NAME}}",
                shown(text)
            )),
        })?;
        Ok(Expansion { text, warnings })
    }

    /// Value of a variable, if it is set.
    fn variable(&self, name: &str) -> Result<Option<String>, String> {
        let Some(value) = self.environment.get(name) else {
            return Ok(None);
        };
        let value = value.into_string();
        let value =
            value.map_err(|_| format!("environment variable {} is not valid UTF-8", shown(name)));
        value.map(Some)
    }

    /// Text of a file that a person named, without the line break at its end.
    pub(super) fn file(&self, path: &str, warnings: &mut Vec<String>) -> Result<String, String> {
        let problem = |what: &str| format!("file '{}' {what}", shown(path));
        let unreadable = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => problem("does not exist"),
            ErrorKind::PermissionDenied => problem("may not be read by this user"),
            _ => problem("cannot be read"),
        };
        let full = self.folder.join(path);
        let is_config = || {
            fs::canonicalize(&full)
                .is_ok_and(|full| fs::canonicalize(self.config).is_ok_and(|config| config == full))
        };
        if private_files::is_state(self.data_dir, &full) || is_config() {
            return Err(problem(
                "belongs to the gateway itself, no reference leads there",
            ));
        }
        // Opening a named pipe would wait for somebody to write to it.
        let metadata = fs::metadata(&full).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(problem("is not a regular file"));
        }
        warnings.extend(mending_command(&full, &metadata).map(|command| {
            problem(&format!(
                "can be read or changed by other users: `{command}`"
            ))
        }));
        let content = read_bounded(&full, FILE_LIMIT).map_err(unreadable)?;
        if content.len() > FILE_LIMIT {
            return Err(problem("is larger than the 64 KiB allowed"));
        }
        let mut content = String::from_utf8(content).map_err(|_| problem("is not valid UTF-8"))?;
        content.truncate(content.trim_end_matches(['\n', '\r']).len());
        Ok(content)
    }
}

// === impl Replacement ===

impl Replacement {
    /// Value of a variable. That of the few which only say who and where somebody is would hide half of all paths.
    fn of_variable(name: &str, value: String) -> Self {
        const PLAIN: [&str; 9] = [
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "PWD",
            "TMPDIR",
            "LANG",
            "USERPROFILE",
            "HOSTNAME",
        ];
        if PLAIN.contains(&name) || name.starts_with("XDG_") {
            Self::Plain(value)
        } else {
            Self::Secret(value)
        }
    }
}

// === impl Reference ===

impl<'a> Reference<'a> {
    /// Reads what stands between the braces.
    fn parse(text: &'a str) -> Option<Self> {
        if text == "workspaceFolder" {
            return Some(Self::Folder);
        }
        if is_variable(text) {
            return Some(Self::Variable(text, None));
        }
        match text.split_once(':')? {
            (_, "") => None,
            ("env", name) => Some(Self::Variable(name, None)),
            ("file", path) => Some(Self::File(path)),
            ("secret", name) => Some(Self::Stored(name)),
            ("keyring", name) => Some(Self::Keyring(name)),
            ("input" | "command" | "config", _) => Some(Self::Foreign(text)),
            (name, default) if is_variable(name) => {
                let default = default.strip_prefix('-')?;
                // A reference inside another would end too early.
                let is_plain = !default.contains("${");
                is_plain.then_some(Self::Variable(name, Some(default)))
            }
            _ => None,
        }
    }
}

/// Replaces every reference by what it stands for; `$${` stands for a literal `${`.
fn replace(
    raw: &str,
    mut resolve: impl FnMut(Reference<'_>) -> Result<Replacement, String>,
) -> Result<Secret, String> {
    let (mut value, mut parts, mut rest) = (String::new(), Vec::new(), raw);
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            value.extend([before, "${"]);
            rest = after;
            continue;
        }
        let Some((reference, after)) = after.split_once('}') else {
            return Err("a reference has no closing }, write $${ for a literal ${".to_owned());
        };
        let Some(known) = Reference::parse(reference) else {
            return Err(format!(
                "found the reference ${{{}}}, allowed: ${{env:NAME}}, ${{NAME}}, ${{NAME:-default}}, ${{file:PATH}}, ${{secret:NAME}}, ${{workspaceFolder}}; write $${{ for a literal ${{",
                shown(reference)
            ));
        };
        value.push_str(before);
        match resolve(known)? {
            Replacement::Secret(part) => {
                value.push_str(&part);
                parts.push(part);
            }
            Replacement::Plain(part) => value.push_str(&part),
        }
        rest = after;
    }
    value.push_str(rest);
    Ok(Secret { value, parts })
}
