//! `mcpproxy upstream`

mod add;
mod backend;
mod logs;
mod pages;
mod wanted;

use std::collections::BTreeSet;

use mcpproxy_gateway::ServersToStart;
use mcpproxy_gateway::settings::{self, secret_files};
use mcpproxy_wire::json::decode_for_display;
use serde_json::{Value, json};

use self::backend::Action;
use super::tools;
use crate::CommandResult;
use crate::arguments::{Common, ToolsCommand, UpstreamCommand};
use crate::backend::Backend;
use crate::daemon::Daemon;
use crate::error::CliError;
use crate::output::{note, printable, text};

pub(crate) async fn run(common: &Common, command: UpstreamCommand) -> CommandResult {
    match command {
        UpstreamCommand::List => list(common).await,
        UpstreamCommand::Add(arguments) => add::run(common, &arguments).await,
        UpstreamCommand::Remove(one) => remove(common, &one.server).await,
        UpstreamCommand::Enable(one) => change(common, &one.server, Action::Enable).await,
        UpstreamCommand::Disable(one) => change(common, &one.server, Action::Disable).await,
        UpstreamCommand::Restart(one) => {
            Daemon::require(&common.sources()).await?;
            change(common, &one.server, Action::Restart).await
        }
        UpstreamCommand::Tools(one) => {
            let server = Some(one.server);
            tools::run(common, ToolsCommand::List { server }).await
        }
        UpstreamCommand::Logs(arguments) => logs::run(common, &arguments).await,
        UpstreamCommand::Inspect(one) => inspect(common, &one.server).await,
    }
}

/// A gateway of its own that starts no server.
fn nothing() -> ServersToStart {
    ServersToStart::Only(String::new())
}

async fn list(common: &Common) -> CommandResult {
    let backend = Backend::find(&common.sources(), nothing()).await?;
    let is_own = matches!(backend, Backend::Own(_));
    let listed = backend.list_servers().await;
    backend.finish().await;
    let code = common.output.result(&listed?, pages::list);
    if is_own {
        note(
            "no gateway runs on this data directory, so no server is started: `mcpproxy serve` starts them",
        );
    }
    Ok(code)
}

async fn inspect(common: &Common, server: &str) -> CommandResult {
    let wanted = ServersToStart::Only(server.to_owned());
    let backend = Backend::find(&common.sources(), wanted).await?;
    let shown = backend.inspect_server(server).await;
    backend.finish().await;
    Ok(common.output.result(&shown?, pages::inspect))
}

async fn change(common: &Common, server: &str, change: Action) -> CommandResult {
    let backend = Backend::find(&common.sources(), nothing()).await?;
    let changed = backend.change_server(server, change).await;
    backend.finish().await;
    let changed = changed?;
    let report = decode_for_display(&changed);
    if report["state"] == "failed" {
        let why = text(&report["reason"]);
        let message = format!(
            "server '{server}' is {}, but it cannot be started: {why}",
            change.word()
        );
        return Err(CliError::refused(message));
    }
    let page = |report: &Value| pages::changed(change.word(), report);
    Ok(common.output.result(&changed, page))
}

async fn remove(common: &Common, server: &str) -> CommandResult {
    let sources = common.sources();
    let used = || match settings::load(&sources) {
        Ok(settings) => settings.secret_names().clone(),
        Err(_) => BTreeSet::new(),
    };
    let used_before = used();
    let backend = Backend::find(&sources, nothing()).await?;
    let removed = backend.remove_server(server).await;
    backend.finish().await;
    removed?;
    let page = |_: &Value| printable(&format!("server '{server}' is removed")) + "\n";
    let done = json!({ "name": server, "removed": true });
    let code = common.output.result(&done.to_string(), page);
    let kept = secret_files::list(&settings::data_dir(&sources)?).unwrap_or_default();
    let used_after = used();
    let is_left = |name: &&String| used_before.contains(*name) && !used_after.contains(*name);
    for name in kept.iter().filter(is_left) {
        note(&format!(
            "its secret is still kept: `mcpproxy secrets remove {name}`"
        ));
    }
    Ok(code)
}
