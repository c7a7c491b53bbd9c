//! Reading of strings that may hold references, and of what flags and variables say instead.

use mcpproxy_redact::mask::MASKED;
use mcpproxy_redact::{OwnSecrets, Redactor};
use serde_json::json;

use super::problem::shown;
use super::reader::{Resolved, SettingsReader, Written};
use super::references;
use super::rules::{Key, KeyRule, TextKind};
use super::secret::Secret;
use super::text::{TextRule, parse_address};

impl SettingsReader<'_> {
    /// Lets a flag or a variable of this name win over a key, with its text taken as it stands.
    pub(super) fn give(&mut self, key: &Key, name: &str, text: String) {
        let KeyRule::Text(rule, kind) = &key.rule else {
            return;
        };
        let given = if (rule.is_valid)(&text) {
            Some(self.resolve(*kind, name, Secret::new(text)))
        } else {
            let (found, allowed) = (found(*kind, &text), rule.allowed);
            let message = format!("{name}: found {found}, allowed: {allowed}");
            self.problems.add_with(|| ((0, 0), message));
            None
        };
        self.given.push((key.name, given));
    }

    /// Reads a string that may hold references. It is checked twice: whether the references are well
    /// formed, and what it has become once they are replaced.
    pub(super) fn text(&mut self, rule: &KeyRule, raw: &str, at: Written<'_>) -> Option<Resolved> {
        let KeyRule::Text(TextRule { allowed, is_valid }, kind) = *rule else {
            return None;
        };
        let Written { value, path } = at;
        if let Err(problem) = references::check(raw) {
            self.report(value, || format!("{path}: {problem}"));
            return None;
        }
        // What references will make of it cannot be known here.
        if !raw.contains("${") && !is_valid(raw) {
            return self.refuse(rule, at, &found(kind, raw));
        }
        if self.given.iter().any(|(key, _)| *key == path) {
            return Some(Resolved::default());
        }
        let problem = match self.references.expand(raw) {
            Ok(text) if is_valid(text.expose()) => {
                return Some(self.resolve(kind, path, text));
            }
            Ok(_) => {
                format!("its references give a value that is not allowed, allowed: {allowed}")
            }
            Err(problem) => problem,
        };
        let problem = format!("{path}: {problem}");
        let Some(problems) = &mut self.server_problems else {
            self.report(value, || problem);
            return None;
        };
        // It concerns one server only, which keeps the string as it was written.
        problems.push(problem);
        let raw = if kind == TextKind::Hidden { "" } else { raw };
        Some(self.resolve(kind, path, Secret::new(raw)))
    }

    /// Takes a string in which references are replaced; notes it if it is secret.
    fn resolve(&mut self, kind: TextKind, path: &str, mut text: Secret) -> Resolved {
        if kind == TextKind::Path {
            let full = self.references.folder.join(text.expose());
            match (
                full.into_os_string().into_string(),
                &mut self.server_problems,
            ) {
                (Ok(full), _) => text.value = full,
                (Err(_), Some(problems)) => problems.push(not_utf8(path)),
                (Err(_), None) => self.problems.add_with(|| ((0, 0), not_utf8(path))),
            }
        }
        let visible = match kind {
            TextKind::Address => {
                let address = parse_address(text.expose()).map(|address| address.to_string());
                return json!(address).into();
            }
            TextKind::Hidden => None,
            TextKind::Store => (text.expose() == "sqlite").then(|| "sqlite".to_owned()),
            // What looks like a credential in it is hidden all the same.
            TextKind::Visible | TextKind::Path => text.parts.is_empty().then(|| {
                let redactor = Redactor::default();
                redactor
                    .text(text.expose(), &OwnSecrets::none())
                    .into_owned()
            }),
        };
        let value = json!({ "value": text.value, "parts": text.parts });
        if visible.is_none() {
            self.secrets.push(text);
        }
        let shown = json!(visible.as_deref().unwrap_or(MASKED));
        Resolved { value, shown }
    }
}

fn not_utf8(path: &str) -> String {
    format!("{path}: the folder of the configuration is not valid UTF-8, write an absolute path")
}

/// Words for what was found in place of an allowed string; only addresses to listen on hold no secret.
fn found(kind: TextKind, text: &str) -> String {
    match (text, kind) {
        ("", _) => "an empty string".to_owned(),
        (_, TextKind::Address) => format!("\"{}\"", shown(text)),
        _ => "another string".to_owned(),
    }
}
