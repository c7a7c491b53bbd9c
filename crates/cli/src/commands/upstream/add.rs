//! `mcpproxy upstream add`

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use mcpproxy_gateway::settings::edit::{self, EditError, SNIPPET_LIMIT, ServerChange};
use mcpproxy_gateway::settings::{self, secret_files};
use mcpproxy_gateway::{Failure, ServersToStart};
use mcpproxy_redact::{MASKED, OwnSecrets, Redactor};
use serde_json::{Value, json};

use super::pages;
use super::wanted::{self, WantedServer};
use crate::CommandResult;
use crate::arguments::{AddArguments, Common};
use crate::backend::Backend;
use crate::commands::secrets::of_secret;
use crate::commands::serve::interrupted;
use crate::error::CliError;
use crate::output::{elements, note, printable, text};
use crate::progress_bar::TerminalProgress;
use crate::secret_input;

pub(super) async fn run(common: &Common, arguments: &AddArguments) -> CommandResult {
    let takes_stdin = arguments.json.as_deref() == Some("-");
    let snippet = match arguments.json.as_deref() {
        Some("-") => Some(read_snippet()?),
        given => given.map(str::to_owned),
    };
    let ask = |name: &str| {
        if takes_stdin {
            let why = "cannot be asked for, because --json reads standard input";
            return Err(format!("the value of {name} {why}"));
        }
        secret_input::read_line(name).map_err(|error| text(&error.error()["message"]))
    };
    let servers = wanted::servers(arguments, snippet.as_deref(), ask).map_err(CliError::usage)?;
    let mut code = ExitCode::SUCCESS;
    for server in &servers {
        let done = if arguments.dry_run {
            plan(common, server)
        } else {
            add(common, server, arguments.force).await
        };
        // The others have nothing to do with it.
        match done {
            Err(error) if servers.len() > 1 => code = error.report(common.output),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    Ok(code)
}

fn read_snippet() -> Result<String, CliError> {
    let mut snippet = Vec::new();
    let limit = SNIPPET_LIMIT as u64 + 1;
    let read = std::io::stdin()
        .lock()
        .take(limit)
        .read_to_end(&mut snippet);
    read.map_err(|error| CliError::usage(format!("standard input cannot be read: {error}")))?;
    // One that is too long was cut, maybe within a character, and is refused for its length.
    if snippet.len() > SNIPPET_LIMIT {
        return Ok(String::from_utf8_lossy(&snippet).into_owned());
    }
    String::from_utf8(snippet).map_err(|_| CliError::usage("standard input is not valid UTF-8"))
}

/// Shows the entry that would be written. Nothing is.
fn plan(common: &Common, server: &WantedServer) -> CommandResult {
    let change = ServerChange::Add(server.entry.clone());
    let planned = edit::planned(&common.sources(), &server.name, &change, |_| Ok(()));
    let planned = planned.map_err(of_edit)?;
    if let Some(mistake) = edit::mistake(&server.name, &planned.settings) {
        return Err(CliError::usage(mistake));
    }
    let secrets: Vec<&String> = server.secrets.iter().map(|(name, _)| name).collect();
    for warning in planned.settings.entry_warnings(&server.name) {
        note(&printable(&format!("warning: {} {warning}", server.name)));
    }
    let entry = tell_of_plain_secrets(server);
    let plan = json!({
        "file": planned.settings.config_file,
        "name": server.name,
        "entry": entry,
        "secrets": secrets,
    });
    Ok(common.output.result(&plan.to_string(), planned_page))
}

/// Says if the entry has what looks like a secret in plain text; gives the entry as it may be shown.
fn tell_of_plain_secrets(server: &WantedServer) -> Value {
    let entry = Value::Object(server.entry.clone());
    let shown = masked("", &entry);
    if shown != entry {
        let name = &server.name;
        note(&printable(&format!(
            "warning: the entry of {name} has what looks like a secret in plain text: `mcpproxy secrets set {name}.NAME` keeps it apart, and ${{secret:{name}.NAME}} in the entry refers to it"
        )));
    }
    shown
}

/// Value under a name as it may be shown: what looks like a secret is hidden, references are none.
fn masked(name: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if text.contains("${") => value.clone(),
        Value::String(text) if edit::looks_secret(name, text) => json!(MASKED),
        Value::String(text) => json!(Redactor::default().text(text, &OwnSecrets::none())),
        Value::Array(items) => items.iter().map(|item| masked("", item)).collect(),
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, value)| (name.clone(), masked(name, value)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

fn planned_page(plan: &Value) -> String {
    let name = json!(plan["name"]);
    let mut page = format!(
        "would be added to {}:\n\n{name}: {:#}\n",
        text(&plan["file"]),
        plan["entry"]
    );
    for secret in elements(&plan["secrets"]) {
        page.push_str(&format!(
            "\nthe secret {} would be kept in the data directory\n",
            text(secret)
        ));
    }
    page
}

/// Adds a server. What was kept for it goes again if it is not added.
async fn add(common: &Common, server: &WantedServer, force: bool) -> CommandResult {
    let sources = common.sources();
    let wanted = ServersToStart::Only(server.name.clone());
    let backend = Backend::find(&sources, wanted).await?;
    let data_dir = settings::data_dir(&sources)?;
    let added = match check_free(&backend, &server.name).await {
        Ok(()) => match StoredSecrets::keep(&data_dir, &server.secrets) {
            Ok(kept) => {
                let progress = TerminalProgress::start("starting the server");
                let added = tokio::select! {
                    added = backend.add_server(&server.name, &server.entry, force) => Some(added),
                    () = interrupted() => None,
                };
                progress.end();
                match added {
                    Some(Ok(added)) => Ok(added),
                    Some(Err(error)) => {
                        kept.restore();
                        Err(error)
                    }
                    None => return given_up(common, server, backend, kept).await,
                }
            }
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    backend.finish().await;
    let added = added.inspect_err(|error| {
        for line in elements(&error.error()["details"]["stderr"]) {
            note(&printable(&format!("{}: {}", server.name, text(line))));
        }
    })?;
    tell_of_plain_secrets(server);
    let code = common
        .output
        .result(&added, |report| pages::changed("added", report));
    for (name, _) in &server.secrets {
        note(&format!("the secret {name} is kept in the data directory"));
    }
    Ok(code)
}

/// Ends a command that somebody interrupted. A running gateway goes on without it and needs the secrets; one of our own
/// is ended first, so that it is known whether it had added the server.
async fn given_up(
    common: &Common,
    server: &WantedServer,
    backend: Backend,
    kept: StoredSecrets<'_>,
) -> CommandResult {
    let name = &server.name;
    let goes_on = matches!(backend, Backend::Daemon(_));
    backend.finish().await;
    if goes_on {
        for (secret, _) in &server.secrets {
            note(&format!(
                "its secret is kept: `mcpproxy secrets remove {secret}` if the server is not added"
            ));
        }
        return Err(CliError::refused(format!(
            "interrupted; the gateway goes on adding '{name}': `mcpproxy upstream list` shows how it went, `mcpproxy upstream remove {name}` takes it out again"
        )));
    }
    let settings = settings::load(&common.sources());
    if settings.is_ok_and(|settings| settings.servers.iter().any(|one| *one.name == **name)) {
        return Err(CliError::refused(format!(
            "interrupted, but '{name}' was added already: `mcpproxy upstream remove {name}` takes it out again"
        )));
    }
    kept.restore();
    Err(CliError::refused(format!(
        "interrupted; '{name}' was not added"
    )))
}

/// Refuses a name that is taken before its secrets are replaced.
async fn check_free(backend: &Backend, name: &str) -> Result<(), CliError> {
    let listed = backend.list_servers().await?;
    let listed: Value = serde_json::from_str(&listed).unwrap_or_default();
    let mut servers = elements(&listed["servers"]).iter();
    if servers.any(|server| server["name"] == name) {
        return Err(of_edit(EditError::NameTaken(name.to_owned())));
    }
    Ok(())
}

fn of_edit(error: EditError) -> CliError {
    CliError::from(Failure::from(error)).by_code()
}

/// Secrets that were kept for a server, with those that they took the place of.
struct StoredSecrets<'a> {
    data_dir: &'a Path,
    before: Vec<(&'a str, Option<String>)>,
}

impl<'a> StoredSecrets<'a> {
    fn keep(data_dir: &'a Path, secrets: &'a [(String, String)]) -> Result<Self, CliError> {
        let before = Vec::new();
        let mut kept = Self { data_dir, before };
        for (name, value) in secrets {
            let before = secret_files::current(data_dir, name);
            if let Err(error) = secret_files::set(data_dir, name, value) {
                kept.restore();
                return Err(of_secret(error));
            }
            kept.before.push((name, before));
        }
        Ok(kept)
    }

    fn restore(self) {
        for (name, before) in self.before {
            let restored = match before {
                Some(value) => secret_files::set(self.data_dir, name, &value),
                None => secret_files::remove(self.data_dir, name),
            };
            if let Err(error) = restored {
                note(&format!("the secret {name} stays as it was given: {error}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a running gateway and without one an error has the same exit code, because there is one table.
    #[test]
    fn errors_of_an_edit_have_the_exit_code_of_their_kind() {
        let failed = || std::io::Error::other("the disk is full");
        for (error, kind) in [
            (EditError::Busy, "Refused"),
            (EditError::Io("/etc/x".into(), failed()), "Refused"),
            (EditError::NameTaken("a".to_owned()), "Refused"),
            (EditError::UnknownServer("a".to_owned()), "Refused"),
            (EditError::Changed("a".to_owned()), "Refused"),
            (EditError::Entry("wrong".to_owned()), "Usage"),
            (EditError::NotSafe("a".to_owned()), "Configuration"),
        ] {
            let told = format!("{error:?}");
            let shown = format!("{:?}", of_edit(error));
            assert!(shown.contains(&format!("kind: {kind}")), "{told}: {shown}");
        }
    }
}
