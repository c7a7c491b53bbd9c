//! `mcpproxy secrets`

use std::path::Path;
use std::process::ExitCode;

use mcpproxy_gateway::settings;
use mcpproxy_gateway::settings::secret_files::{self, SecretError};
use serde_json::{Value, json};

use crate::CommandResult;
use crate::arguments::{Common, SecretsCommand};
use crate::error::CliError;
use crate::output::{elements, note, printable, table, text};
use crate::secret_input;

pub(crate) fn run(common: &Common, command: SecretsCommand) -> CommandResult {
    let data_dir = settings::data_dir(&common.sources())?;
    match command {
        SecretsCommand::Set(secret) => {
            secret_files::check_name(&secret.name).map_err(CliError::usage)?;
            let value = secret_input::read_all(&secret.name)?;
            secret_files::set(&data_dir, &secret.name, &value).map_err(of_secret)?;
            Ok(done(common, &secret.name, "kept"))
        }
        SecretsCommand::Remove(secret) => {
            secret_files::remove(&data_dir, &secret.name).map_err(of_secret)?;
            Ok(done(common, &secret.name, "removed"))
        }
        SecretsCommand::List => list(common, &data_dir),
    }
}

fn done(common: &Common, name: &str, word: &str) -> ExitCode {
    let done = json!({ "name": name, word: true });
    let page = |_: &Value| printable(&format!("the secret '{name}' is {word}")) + "\n";
    common.output.result(&done.to_string(), page)
}

pub(crate) fn of_secret(error: SecretError) -> CliError {
    match error {
        SecretError::Invalid(message) => CliError::usage(message),
        SecretError::DataDir(error) => CliError::configuration(error.to_string()),
        error => CliError::refused(error.to_string()),
    }
}

/// Secrets that are kept, and those that the configuration refers to. One that cannot be read refers to none.
fn list(common: &Common, data_dir: &Path) -> CommandResult {
    let kept = secret_files::list(data_dir).map_err(of_secret)?;
    let used = match settings::load(&common.sources()) {
        Ok(settings) => settings.secret_names().clone(),
        Err(error) => {
            note(&format!(
                "the configuration cannot be read, so nothing is known of what it uses: {error}"
            ));
            std::collections::BTreeSet::new()
        }
    };
    let missing = used.iter().filter(|name| !kept.contains(name));
    let mut names: Vec<&String> = kept.iter().chain(missing).collect();
    names.sort_unstable();
    let secrets = names.iter().map(
        |name| json!({ "name": name, "kept": kept.contains(name), "used": used.contains(*name) }),
    );
    let listed = json!({ "secrets": secrets.collect::<Vec<_>>() });
    Ok(common.output.result(&listed.to_string(), page))
}

fn page(listed: &Value) -> String {
    let secrets = elements(&listed["secrets"]);
    if secrets.is_empty() {
        return "No secrets yet. Keep one with `mcpproxy secrets set NAME`.\n".to_owned();
    }
    let rows = secrets.iter().map(|secret| {
        let kept = if secret["kept"] == true {
            "yes"
        } else {
            "missing"
        };
        let used = if secret["used"] == true { "yes" } else { "no" };
        vec![text(&secret["name"]), kept.to_owned(), used.to_owned()]
    });
    table(&["NAME", "KEPT", "USED"], rows)
}
