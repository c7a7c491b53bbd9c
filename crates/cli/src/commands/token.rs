//! `mcpproxy token`

use std::process::ExitCode;

use bytes::Bytes;
use mcpproxy_gateway::ServersToStart;
use mcpproxy_wire::json::to_text;
use serde_json::{Value, json};

use crate::CommandResult;
use crate::arguments::{Common, CreateTokenArguments, TokenCommand};
use crate::backend::Backend;
use crate::daemon::encode;
use crate::error::CliError;
use crate::output::{elements, note, printable, table, text};

pub(crate) async fn run(common: &Common, command: TokenCommand) -> CommandResult {
    // A gateway of its own has no server to start: it only changes the store.
    let nothing = ServersToStart::Only(String::new());
    let backend = Backend::find(&common.sources(), nothing).await?;
    let done = answer(common, &backend, command).await;
    backend.finish().await;
    done
}

async fn answer(common: &Common, backend: &Backend, command: TokenCommand) -> CommandResult {
    let code = match command {
        TokenCommand::Create(arguments) => {
            let wanted = wanted(&arguments);
            let is_idle = arguments.unannotated && !writes(&arguments.operations);
            let made = backend.create_token(&wanted).await;
            let made = made.map_err(CliError::wrong_if_invalid)?;
            let code = common.output.result(&made, shown_secret);
            note(
                "The token is shown this once; an agent sends it as `Authorization: Bearer TOKEN`",
            );
            if is_idle {
                note(
                    "--unannotated has no effect without the operation write: tools without annotations are called \
                     with call_tool_write; add --operations read,write",
                );
            }
            code
        }
        TokenCommand::List => common.output.result(&backend.tokens().await?, list),
        TokenCommand::Show { name } => {
            let shown = backend.token(&name).await?;
            common
                .output
                .result(&shown, |token| shown_token(token, &[]))
        }
        TokenCommand::Rotate { name, expires } => {
            let made = backend.rotate_token(&name, expires.as_deref()).await;
            let made = made.map_err(CliError::wrong_if_invalid)?;
            let code = common.output.result(&made, shown_secret);
            note("The old secret is refused from now on; the new one is shown this once");
            code
        }
        TokenCommand::Revoke { name } => {
            backend.revoke_token(&name).await?;
            note(&printable(&format!("the token '{name}' is revoked")));
            ExitCode::SUCCESS
        }
    };
    Ok(code)
}

/// Request for a token, as the REST interface takes it.
fn wanted(arguments: &CreateTokenArguments) -> Value {
    let mut wanted = json!({ "name": arguments.name });
    let lists = [
        ("servers", &arguments.servers),
        ("operations", &arguments.operations),
        ("tools", &arguments.tools),
        ("permissions", &arguments.permissions),
    ];
    for (name, values) in lists.into_iter().filter(|(_, values)| !values.is_empty()) {
        wanted[name] = json!(values);
    }
    if let Some(activity) = &arguments.activity {
        wanted["activity"] = json!(activity);
    }
    if let Some(expires) = &arguments.expires {
        wanted["expires"] = json!(expires);
    }
    if arguments.unannotated {
        wanted["unannotated"] = json!(true);
    }
    wanted
}

fn writes(operations: &[String]) -> bool {
    operations.iter().any(|one| one == "write")
}

fn shown_secret(token: &Value) -> String {
    shown_token(token, &["token"])
}

/// Token, a line for each thing there is to know of it.
fn shown_token(token: &Value, first: &[&str]) -> String {
    let names = [
        "name",
        "servers",
        "operations",
        "tools",
        "permissions",
        "activity",
        "unannotated",
        "created",
        "last_used",
        "expires_at",
    ];
    let lines = first.iter().chain(&names).map(|name| {
        let value = printable(&words(name, &token[*name]));
        format!("{:<12} {value}\n", name.replace('_', " "))
    });
    lines.collect()
}

fn list(tokens: &Value) -> String {
    let tokens = elements(&tokens["tokens"]);
    if tokens.is_empty() {
        return "No tokens yet. Make one with `mcpproxy token create NAME`.\n".to_owned();
    }
    let columns = ["name", "operations", "servers", "last_used", "expires_at"];
    let rows = tokens.iter().map(|token| {
        let cells = columns.iter().map(|name| words(name, &token[*name]));
        cells.collect::<Vec<_>>()
    });
    table(
        &["NAME", "OPERATIONS", "SERVERS", "LAST USED", "EXPIRES"],
        rows,
    )
}

/// Value in words: lists joined, and what nothing means under this name.
fn words(name: &str, value: &Value) -> String {
    match value {
        Value::Null => match name {
            "servers" => "all configured",
            "expires_at" => "never",
            _ => "-",
        }
        .to_owned(),
        Value::Array(items) if items.is_empty() => match name {
            "tools" => "all",
            _ => "none",
        }
        .to_owned(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        other => text(other),
    }
}

impl Backend {
    async fn create_token(&self, wanted: &Value) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => {
                let body = Bytes::from(wanted.to_string());
                daemon.post("/api/v1/tokens", body).await
            }
            Self::Own(gateway) => {
                let wanted = serde_json::from_value(wanted.clone())
                    .map_err(|error| CliError::refused(error.to_string()))?;
                Ok(to_text(&gateway.tokens().create(&wanted).await?))
            }
        }
    }

    async fn tokens(&self) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get("/api/v1/tokens").await,
            Self::Own(gateway) => Ok(to_text(&gateway.tokens().list().await?)),
        }
    }

    async fn token(&self, name: &str) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&path(name, "")).await,
            Self::Own(gateway) => Ok(to_text(&gateway.tokens().show(name).await?)),
        }
    }

    async fn rotate_token(&self, name: &str, expires: Option<&str>) -> Result<String, CliError> {
        match self {
            Self::Daemon(daemon) => {
                let body = Bytes::from(json!({ "expires": expires }).to_string());
                daemon.post(&path(name, "/rotate"), body).await
            }
            Self::Own(gateway) => Ok(to_text(&gateway.tokens().rotate(name, expires).await?)),
        }
    }

    async fn revoke_token(&self, name: &str) -> Result<(), CliError> {
        match self {
            Self::Daemon(daemon) => daemon.delete(&path(name, "")).await.map(drop),
            Self::Own(gateway) => Ok(gateway.tokens().revoke(name).await?),
        }
    }
}

fn path(name: &str, behind: &str) -> String {
    format!("/api/v1/tokens/{}{behind}", encode(name))
}
