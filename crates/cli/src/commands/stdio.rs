//! `mcpproxy stdio`

use std::process::ExitCode;
use std::sync::Arc;

use mcpproxy_gateway::{LogRole, ServersToStart, settings};
use mcpproxy_server::stdio::{serve, serve_through};
use tokio::io::BufReader;

use crate::CommandResult;
use crate::arguments::Common;
use crate::backend;
use crate::daemon::Daemon;
use crate::daemon_connection::DaemonConnection;
use crate::error::CliError;

pub(crate) async fn run(common: &Common) -> CommandResult {
    let sources = common.sources();
    let served = if let Some(daemon) = Daemon::find(&sources).await? {
        let input = BufReader::new(tokio::io::stdin());
        serve_through(input, tokio::io::stdout(), |lines, _, closing| {
            DaemonConnection::new(daemon, lines, closing)
        })
        .await
    } else {
        let settings = settings::load(&sources)?;
        let gateway = backend::own(settings, ServersToStart::All, LogRole::Command)?;
        let (input, output) = (BufReader::new(tokio::io::stdin()), tokio::io::stdout());
        let served = tokio::select! {
            served = serve(Arc::clone(&gateway), input, output) => served,
            () = super::serve::interrupted() => Ok(()),
        };
        gateway.stop().await;
        served
    };
    served.map_err(|error| CliError::refused(format!("the client's stream broke: {error}")))?;
    Ok(ExitCode::SUCCESS)
}
