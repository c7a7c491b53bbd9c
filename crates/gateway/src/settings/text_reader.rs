//! Reading of strings that may hold references, and of what flags and variables say instead.

use mcpproxy_redact::mask::{MASKED, hide, is_maskable};
use mcpproxy_redact::{OwnSecrets, Redactor};
use serde_json::json;

use super::problem::shown;
use super::reader::{Resolved, SettingsReader, Written};
use super::references::{self, Expansion};
use super::rules::{Key, KeyRule, TextKind};
use super::secret::Secret;
use super::secret::credentials::{self, StringContext};
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
        match references::secret_names(raw) {
            Ok(names) => self.secret_names.extend(names),
            Err(problem) => {
                self.report(value, || format!("{path}: {problem}"));
                return None;
            }
        }
        // What references will make of it cannot be known here.
        if !raw.contains("${") && !is_valid(raw) {
            return self.refuse(rule, at, &found(kind, raw));
        }
        if self.given.iter().any(|(key, _)| *key == path) {
            return Some(Resolved::default());
        }
        let own = self
            .server_problems
            .as_ref()
            .and_then(|_| references::own_variable(raw));
        let expansion = match own {
            Some(own) => Err(format!(
                "{own} belongs to the gateway itself, no server gets it"
            )),
            None => self.references.expand(raw),
        };
        let problem = match expansion {
            Ok(Expansion { text, warnings }) if is_valid(text.expose()) => {
                for warning in warnings {
                    self.warn(|| format!("{path}: {warning}"));
                }
                self.has_literal_secrets |= self.is_literal_secret(kind, &text);
                return Some(self.resolve(kind, path, text));
            }
            Ok(_) => {
                format!("its references give a value that is not allowed, allowed: {allowed}")
            }
            Err(problem) => {
                self.dangling += 1;
                problem
            }
        };
        self.report(value, || format!("{path}: {problem}"));
        // It concerns one server only, which keeps the string as it was written.
        self.server_problems.as_ref()?;
        let raw = if kind == TextKind::Hidden { "" } else { raw };
        let rest = references::without(raw);
        if credentials::find(&rest, self.context_of(kind)).is_empty() {
            // References are no secrets, under whatever name: masked, they would be missing in their own problem.
            let value = json!({ "value": raw, "parts": [] });
            let shown = json!(raw);
            return Some(Resolved { value, shown });
        }
        Some(self.resolve(kind, path, Secret::new(rest)))
    }

    /// Whether a string without references holds a secret, so that who reads the file knows it.
    fn is_literal_secret(&self, kind: TextKind, text: &Secret) -> bool {
        let found = || credentials::find(&text.value, self.context_of(kind));
        let mut parts = match kind {
            TextKind::Hidden => Vec::from([text.value.as_str()]),
            _ => found().into_iter().map(|part| &text.value[part]).collect(),
        };
        parts.retain(|part| is_maskable(part));
        text.parts.is_empty() && !parts.is_empty()
    }

    fn context_of(&self, kind: TextKind) -> StringContext {
        match kind {
            TextKind::Url | TextKind::Store => StringContext::Url,
            _ => self.context,
        }
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
                (Err(_), Some(problems)) => problems.add_with(|| ((0, 0), not_utf8(path))),
                (Err(_), None) => self.problems.add_with(|| ((0, 0), not_utf8(path))),
            }
        }
        let context = self.context_of(kind);
        let shown = match kind {
            TextKind::Address => {
                let address = parse_address(text.expose()).map(|address| address.to_string());
                return json!(address).into();
            }
            TextKind::Store => (text.expose() == "sqlite").then(|| "sqlite".to_owned()),
            TextKind::Visible | TextKind::Path | TextKind::Url if text.parts.is_empty() => {
                let found = credentials::find(&text.value, context);
                let parts = found
                    .iter()
                    .map(|range| text.value[range.clone()].to_owned());
                text.parts = parts.collect();
                let hidden = hide(&text.value, found);
                // What is left may look like a credential where the whole did not.
                let redactor = Redactor::default();
                Some(redactor.text(&hidden, &OwnSecrets::none()).into_owned())
            }
            TextKind::Visible | TextKind::Path | TextKind::Url | TextKind::Hidden => None,
        };
        let value = json!({ "value": text.value, "parts": text.parts });
        if shown.is_none() || !text.parts.is_empty() {
            let is_harmless = context != StringContext::Named && kind != TextKind::Hidden;
            self.secrets.extend(text.without_numbers(is_harmless));
        }
        let shown = json!(shown.as_deref().unwrap_or(MASKED));
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
