//! References in strings: `${env:NAME}` and `${file:PATH}`.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::environment::Environment;
use super::problem::shown;
use super::secret::Secret;

/// A token, a key or a certificate fits; a mistaken path to something large does not.
const FILE_LIMIT: u64 = 64 * 1024;

/// Where references lead.
pub(super) struct References<'a> {
    pub(super) environment: &'a Environment,
    /// Relative paths start here.
    pub(super) folder: &'a Path,
}

/// One piece of a string.
enum ReferencePiece<'r> {
    Literal(&'r str),
    Variable(&'r str),
    File(&'r str),
    Keyring(&'r str),
}

/// Whether every reference in a string is well formed, and if not, what is wrong.
pub(super) fn check(raw: &str) -> Result<(), String> {
    split(raw).map(|_| ())
}

impl References<'_> {
    /// Replaces every reference. The error names the one that leads nowhere, never a value.
    pub(super) fn expand(&self, raw: &str) -> Result<Secret, String> {
        let mut value = String::new();
        let mut parts = Vec::new();
        for piece in split(raw)? {
            let part = match piece {
                ReferencePiece::Literal(text) => {
                    value.push_str(text);
                    continue;
                }
                ReferencePiece::Variable(name) => self.variable(name)?,
                ReferencePiece::File(path) => self.file(path)?,
                ReferencePiece::Keyring(name) => {
                    return Err(format!(
                        "this version has no keyring for ${{keyring:{}}}, use ${{env:…}} or ${{file:…}}",
                        shown(name)
                    ));
                }
            };
            value.push_str(&part);
            parts.push(part);
        }
        Ok(Secret { value, parts })
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

    fn file(&self, path: &str) -> Result<String, String> {
        let problem = |what: &str| format!("file '{}' {what}", shown(path));
        let unreadable = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => problem("does not exist"),
            ErrorKind::PermissionDenied => problem("may not be read by this user"),
            _ => problem("cannot be read"),
        };
        let full = self.folder.join(path);
        // Opening a named pipe would wait for somebody to write to it.
        if !fs::metadata(&full).map_err(unreadable)?.is_file() {
            return Err(problem("is not a regular file"));
        }
        let mut content = Vec::new();
        File::open(&full)
            .and_then(|file| file.take(FILE_LIMIT + 1).read_to_end(&mut content))
            .map_err(unreadable)?;
        if content.len() as u64 > FILE_LIMIT {
            return Err(problem("is larger than the 64 KiB allowed"));
        }
        let mut content = String::from_utf8(content).map_err(|_| problem("is not valid UTF-8"))?;
        content.truncate(content.trim_end_matches(['\n', '\r']).len());
        Ok(content)
    }
}

/// The pieces of a string; `$${` stands for a literal `${`.
fn split(raw: &str) -> Result<Vec<ReferencePiece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            pieces.extend([
                ReferencePiece::Literal(before),
                ReferencePiece::Literal("${"),
            ]);
            rest = after;
            continue;
        }
        let Some((reference, after)) = after.split_once('}') else {
            return Err("a reference has no closing }, write $${ for a literal ${".to_owned());
        };
        pieces.extend([ReferencePiece::Literal(before), piece(reference)?]);
        rest = after;
    }
    pieces.push(ReferencePiece::Literal(rest));
    Ok(pieces)
}

fn piece(reference: &str) -> Result<ReferencePiece<'_>, String> {
    match reference.split_once(':') {
        Some(("env", name)) if !name.is_empty() => Ok(ReferencePiece::Variable(name)),
        Some(("file", path)) if !path.is_empty() => Ok(ReferencePiece::File(path)),
        Some(("keyring", name)) if !name.is_empty() => Ok(ReferencePiece::Keyring(name)),
        _ => Err(format!(
            "found the reference ${{{}}}, allowed: ${{env:NAME}}, ${{file:PATH}}; write $${{ for a literal ${{",
            shown(reference)
        )),
    }
}
