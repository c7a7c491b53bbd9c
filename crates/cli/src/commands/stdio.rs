//! `mcpproxy stdio`

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, header};
use mcpproxy_gateway::settings::Sources;
use mcpproxy_gateway::tokens::{Admission, TokenSecret};
use mcpproxy_gateway::{Code, Failure, Gateway, LogRole, ServersToStart, settings};
use mcpproxy_policy::Rights;
use mcpproxy_server::stdio::{AdmitClient, serve, serve_through};
use tokio::io::BufReader;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::CommandResult;
use crate::arguments::{Common, StdioArguments};
use crate::backend;
use crate::daemon::{Daemon, RESTART_TIME, STEP};
use crate::daemon_connection::DaemonConnection;
use crate::error::CliError;
use crate::output::note;
use crate::serve_lock;

/// Variable that holds the token of the client.
const TOKEN_VARIABLE: &str = "MCPPROXY_TOKEN";

/// Most bytes of a token file: far above any token.
const LONGEST_FILE: u64 = 4096;

pub(crate) async fn run(common: &Common, arguments: &StdioArguments) -> CommandResult {
    let sources = common.sources();
    let token = token(arguments.token_file.as_deref())?;
    let served = if let Some(daemon) = running(&sources).await? {
        let input = BufReader::new(tokio::io::stdin());
        let credential = credential(token.as_ref())?;
        serve_through(input, tokio::io::stdout(), |lines, _, closing| {
            DaemonConnection::new(daemon, credential, lines, closing)
        })
        .await
    } else {
        let settings = settings::load(&sources)?;
        let gateway = backend::own(
            settings,
            &common.sources(),
            ServersToStart::All,
            LogRole::Command,
        )?;
        if token.is_some() {
            gateway.tokens().load().await?;
        }
        let admit = admission(&gateway, token);
        let (input, output) = (BufReader::new(tokio::io::stdin()), tokio::io::stdout());
        let served = match admit() {
            Err(failure) => Err(failure),
            Ok(_) => Ok(tokio::select! {
                served = serve(Arc::clone(&gateway), admit, input, output) => served,
                () = super::serve::interrupted() => Ok(()),
            }),
        };
        gateway.stop().await;
        served?
    };
    served.map_err(|error| CliError::refused(format!("the client's stream broke: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// The running gateway, if one runs. One that is being started again is waited for.
async fn running(sources: &Sources) -> Result<Option<Daemon>, CliError> {
    let data_dir = settings::data_dir(sources)?;
    let deadline = Instant::now() + RESTART_TIME;
    loop {
        let found = Daemon::find(sources).await?;
        let is_coming = || serve_lock::is_held(&data_dir) && Instant::now() < deadline;
        if found.is_some() || !is_coming() {
            return Ok(found);
        }
        tokio::time::sleep(STEP).await;
    }
}

/// Token of the client, from the file or the variable, if there is one.
fn token(file: Option<&Path>) -> Result<Option<TokenSecret>, CliError> {
    let (text, place) = if let Some(file) = file {
        let shown = file.display().to_string();
        if let Some(warning) = settings::open_secret_warning(file) {
            note(&format!("the token file {warning}"));
        }
        let mut text = String::new();
        let opened = std::fs::File::open(file);
        let read = opened.and_then(|opened| opened.take(LONGEST_FILE).read_to_string(&mut text));
        read.map_err(|error| {
            CliError::configuration(format!("the token file {shown} cannot be read: {error}"))
        })?;
        (text, format!("the file {shown}"))
    } else {
        match std::env::var(TOKEN_VARIABLE) {
            Err(std::env::VarError::NotPresent) => return Ok(None),
            value => (
                value.unwrap_or_default(),
                format!("the variable {TOKEN_VARIABLE}"),
            ),
        }
    };
    let token = TokenSecret::parse(text.trim().as_bytes());
    token.map(Some).ok_or_else(|| {
        CliError::configuration(format!(
            "{place} holds no token: one begins with mcpp_, and `mcpproxy token create` makes one"
        ))
    })
}

/// Header that shows a token to the running gateway.
fn credential(token: Option<&TokenSecret>) -> Result<HeaderMap, CliError> {
    let mut headers = HeaderMap::new();
    if let Some(token) = token {
        let bearer = HeaderValue::try_from(format!("Bearer {}", token.expose()));
        let mut bearer = bearer.map_err(|error| CliError::refused(error.to_string()))?;
        bearer.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, bearer);
    }
    Ok(headers)
}

/// Admission of the client of a gateway in this process: by its token, else as an agent without one.
fn admission(gateway: &Arc<Gateway>, token: Option<TokenSecret>) -> AdmitClient {
    let gateway = Arc::clone(gateway);
    Box::new(move || {
        let Some(token) = &token else {
            let role = gateway.settings().anonymous.role().ok_or_else(|| {
                let message = "A token is required (\"anonymous\": \"none\"): give one with --token-file; a person makes \
                               one with `mcpproxy token create`";
                Failure::new(Code::Unauthorized, message)
            })?;
            return Ok(Admission {
                rights: Rights::Anonymous(role),
                ended: CancellationToken::new(),
            });
        };
        let admitted = gateway.tokens().admit(token.expose().as_bytes())?;
        admitted.ok_or_else(|| {
            let message = "The token is not valid: it has expired or was revoked, or it is of another data directory";
            Failure::new(Code::Unauthorized, message)
        })
    })
}
