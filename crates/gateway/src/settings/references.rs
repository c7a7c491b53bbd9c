//! References in strings: `${env:NAME}` and `${file:PATH}`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::document::read_bounded;
use super::environment::Environment;
use super::problem::shown;
use super::protection::private_files::mending_command;
use super::secret::Secret;

/// A token, a key or a certificate fits; a mistaken path to something large does not.
const FILE_LIMIT: usize = 64 * 1024;

/// Places that references lead to.
pub(super) struct References<'a> {
    pub(super) environment: &'a Environment,
    /// Relative paths start here.
    pub(super) folder: &'a Path,
}

/// Whether every reference in a string is well formed, and if not, what is wrong.
pub(super) fn check(raw: &str) -> Result<(), String> {
    replace(raw, |_, _| Ok(String::new())).map(drop)
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
        let text = replace(raw, |kind, name| match kind {
            "env" => self.variable(name),
            "file" => self.file(name, &mut warnings),
            _ => Err(format!(
                "this version has no keyring for ${{keyring:{}}}, use ${{env:…}} or ${{file:…}}",
                shown(name)
            )),
        })?;
        Ok(Expansion { text, warnings })
    }

    fn variable(&self, name: &str) -> Result<String, String> {
        let value = self
            .environment
            .get(name)
            .ok_or_else(|| format!("environment variable {} is not set", shown(name)))?;
        value
            .into_string()
            .map_err(|_| format!("environment variable {} is not valid UTF-8", shown(name)))
    }

    fn file(&self, path: &str, warnings: &mut Vec<String>) -> Result<String, String> {
        let problem = |what: &str| format!("file '{}' {what}", shown(path));
        let unreadable = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => problem("does not exist"),
            ErrorKind::PermissionDenied => problem("may not be read by this user"),
            _ => problem("cannot be read"),
        };
        let full = self.folder.join(path);
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

/// Replaces every reference by what is said to its kind and name; `$${` stands for a literal `${`.
fn replace(
    raw: &str,
    mut resolve: impl FnMut(&str, &str) -> Result<String, String>,
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
        let part = match reference.split_once(':') {
            Some((kind @ ("env" | "file" | "keyring"), name)) if !name.is_empty() => {
                resolve(kind, name)?
            }
            _ => {
                return Err(format!(
                    "found the reference ${{{}}}, allowed: ${{env:NAME}}, ${{file:PATH}}; write $${{ for a literal ${{",
                    shown(reference)
                ));
            }
        };
        value.extend([before, &part]);
        parts.push(part);
        rest = after;
    }
    value.push_str(rest);
    Ok(Secret { value, parts })
}
