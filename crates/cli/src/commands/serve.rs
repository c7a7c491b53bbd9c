//! `mcpproxy serve`

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use mcpproxy_gateway::settings::{self, Settings, Sources};
use mcpproxy_gateway::{Gateway, LogRole, ServersToStart};
use mcpproxy_server::{App, serve_socket, serve_tcp};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::CommandResult;
use crate::arguments::{Common, ServeArguments};
use crate::backend;
use crate::error::CliError;
use crate::output::text;
use crate::own_socket::OwnSocket;
use crate::serve_lock::ServeLock;

pub(crate) async fn run(common: &Common, serve: ServeArguments) -> CommandResult {
    let sources = Sources {
        listen: serve.listen,
        demo: serve.demo,
        ..common.sources()
    };
    let settings = settings::load(&sources)?;
    settings::check_start(&settings, None)?;
    backend::create_data_dir(&settings)?;
    // Held until the process ends, and so beyond the end of the servers.
    let _lock = ServeLock::take(&settings.data_dir).await?;
    let api_key =
        settings::api_key(&settings).map_err(|error| CliError::configuration(error.to_string()))?;
    let listener = TcpListener::bind(settings.listen).await.map_err(|error| {
        CliError::refused(format!(
            "cannot listen on {}: {error}; choose another address with --listen, port 0 takes a free one",
            settings.listen
        ))
    })?;
    let address = listener.local_addr().unwrap_or(settings.listen);
    // After the address: a start that fails there has touched no socket. One that fails later removes its own.
    let (socket, own_socket) = OwnSocket::bind(&settings.data_dir).await?;

    // Before anything is on record: a stop is to be on record too.
    let interrupted = interrupted();
    let gateway = backend::own(
        settings.clone(),
        &sources,
        ServersToStart::All,
        LogRole::Daemon,
    )?;
    // Read once before anybody can come; a store that does not answer yet is read as soon as it does.
    if let Err(failure) = gateway.tokens().load().await {
        tracing::warn!(problem = failure.message, "the tokens cannot be read yet");
    }
    let shutdown = CancellationToken::new();
    let app = App::new(Arc::clone(&gateway), api_key, address, shutdown.clone());
    let announcement = announcement(&settings, address);
    common.output.result(&announcement.to_string(), welcome);
    let following = Arc::clone(&app);
    let following = Arc::clone(&gateway).follow(sources, move |key| {
        following.set_api_key(key);
        following.end_closed_endpoints();
    });
    let following = tokio::spawn(following);
    let noticing = tokio::spawn(tell_of_unannotated_tools(Arc::clone(&gateway)));
    let faces = async {
        tokio::join!(
            serve_tcp(listener, Arc::clone(&app)),
            serve_socket(socket, Arc::clone(&app)),
        );
    };
    let stop = async move {
        interrupted.await;
        tracing::info!("stopping");
        // Nobody is to connect to one who does not accept any more. Commands and clients see that it is gone.
        drop(own_socket);
        shutdown.cancel();
    };
    tokio::join!(faces, stop);
    following.abort();
    noticing.abort();
    gateway.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// Says what may call the tools without annotations, once the servers have listed theirs.
async fn tell_of_unannotated_tools(gateway: Arc<Gateway>) {
    backend::settle(&gateway).await;
    if let Some(notice) = gateway.unannotated_notice() {
        tracing::info!("{notice}");
    }
}

/// Listens from now on for somebody who wants the program to end, and waits for it.
pub(crate) fn interrupted() -> impl Future<Output = ()> {
    let signals = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    );
    async {
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
            // Without signals the program ends when it is killed.
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

/// Facts that a person needs to use the gateway that just started.
fn announcement(settings: &Settings, address: SocketAddr) -> Value {
    let scheme = if settings.certificate.is_some() {
        "https"
    } else {
        "http"
    };
    json!({
        "endpoint": format!("{scheme}://{address}/mcp"),
        "rest": format!("{scheme}://{address}/api/v1"),
        "api_key": match settings.api_key {
            Some(_) => "the configuration".to_owned(),
            None => settings.data_dir.join("api_key").display().to_string(),
        },
        "configuration": settings.config_file.display().to_string(),
        "servers": settings.servers.len(),
        "demo": settings.demo,
    })
}

fn welcome(announcement: &Value) -> String {
    let demo = if announcement["demo"] == true {
        "
Try the sample server, in another terminal:
  mcpproxy tools search 'review a card'
  mcpproxy call tool-read cards:review-next-card
  mcpproxy call tool-read cards:delete-card --args '{\"cardId\":\"card_1\"}'    (refused: it deletes)
"
    } else {
        ""
    };
    let empty = if announcement["servers"] == 0 && demo.is_empty() {
        "\nNo servers yet: add one with `mcpproxy upstream add`, or under \"mcpServers\" in the configuration.\n"
    } else {
        ""
    };
    format!(
        "mcpproxy is running

  MCP endpoint   {endpoint}
  REST           {rest}
  API key        in {key} (REST needs it; agents on this machine do not)
  Configuration  {configuration}

Connect a client:
  Claude Code    claude mcp add --transport http mcpproxy {endpoint}
  Cursor         \"mcpproxy\": {{ \"url\": \"{endpoint}\" }} under \"mcpServers\" in ~/.cursor/mcp.json
  VS Code        \"mcpproxy\": {{ \"type\": \"http\", \"url\": \"{endpoint}\" }} under \"servers\" in .vscode/mcp.json
  Others, stdio  the command `mcpproxy stdio`
{demo}{empty}
Stop with Ctrl-C.
",
        endpoint = text(&announcement["endpoint"]),
        rest = text(&announcement["rest"]),
        key = text(&announcement["api_key"]),
        configuration = text(&announcement["configuration"]),
    )
}
