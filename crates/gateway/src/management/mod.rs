//! Managing servers: the configuration file is changed, and what it says is put in force.
//!
//! Only administrators come here, by REST or by a command. The running gateway writes the file first and takes back
//! what cannot be started. A command without one starts the new server by itself before it writes anything, so that one
//! that is interrupted leaves nothing.

mod reload;
mod report;

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_policy::Rights;
use mcpproxy_redact::OwnSecrets;
use serde_json::{Map, Value};
use tokio::time::Instant;

pub use self::report::{OfferedTool, ServerReport};
use crate::Gateway;
use crate::failure::{Code, Failure};
use crate::servers::{ServerStatus, unlisted_server};
use crate::settings::edit::{self, EditError, Edited, ServerChange};
use crate::settings::{self, Settings, redaction};

/// Longest wait for a new server: a little longer than it may take to install itself.
const ADDING_TIME: Duration = Duration::from_mins(31);

/// Longest wait for a server that was changed, before it is told how far it is.
const CHANGING_TIME: Duration = Duration::from_secs(20);

impl Gateway {
    /// Adds a server to the configuration and waits until it answers. One that cannot be started is not added, unless
    /// that is wanted. What was begun is brought to its end even if nobody waits for it any more, and taken back if the
    /// gateway stops before.
    pub async fn add_server(
        self: &Arc<Self>,
        name: &str,
        entry: Map<String, Value>,
        even_if_broken: bool,
    ) -> Result<ServerReport, Failure> {
        let (gateway, name) = (Arc::clone(self), name.to_owned());
        // A stop waits for it, because it may have written something that has to go again.
        let adding = async move { gateway.add(&name, entry, even_if_broken).await };
        let added = self.background.spawn(adding).await;
        added.unwrap_or_else(|_| Err(broke()))
    }

    /// Changes a server of the configuration and waits a while until it answers.
    pub async fn change_server(
        self: &Arc<Self>,
        name: &str,
        change: ServerChange,
    ) -> Result<ServerReport, Failure> {
        let (gateway, name) = (Arc::clone(self), name.to_owned());
        self.to_its_end(async move {
            gateway.change(&name, change).await?;
            gateway.settled(&name, CHANGING_TIME).await;
            gateway.server_report(&name)
        })
        .await
    }

    /// Removes a server from the configuration and stops it.
    pub async fn remove_server(self: &Arc<Self>, name: &str) -> Result<(), Failure> {
        let (gateway, name) = (Arc::clone(self), name.to_owned());
        self.to_its_end(async move { gateway.change(&name, ServerChange::Remove).await })
            .await
    }

    /// Starts a server anew, with the configuration and the secrets of now; with the settings in force if the file cannot
    /// be used, which the report then warns of.
    pub async fn restart_server(self: &Arc<Self>, name: &str) -> Result<ServerReport, Failure> {
        self.check_configured(name)?;
        let before = self.settings.current();
        let gateway = Arc::clone(self);
        let taken = self.to_its_end(async move { gateway.take_file().await });
        let unusable = match taken.await {
            Err(failure) if failure.code == Code::InvalidConfiguration => Some(failure.message),
            taken => taken.map(|()| None)?,
        };
        let server = |settings: &Settings| {
            let mut servers = settings.servers.iter();
            servers.find(|server| *server.name == *name).cloned()
        };
        let after = self.settings.current();
        let is_started = match (server(&before), server(&after)) {
            (Some(before), Some(after)) => before.needs_restart(&after),
            _ => true,
        };
        let is_broken = server(&after).is_some_and(|server| server.problem().is_some());
        if !is_started && !is_broken {
            self.servers.restart(name, &Rights::Administrator).await?;
        }
        self.settled(name, CHANGING_TIME).await;
        let mut report = self.server_report(name)?;
        if let Some(problem) = unusable {
            report.status.warnings.push(not_on_disk(&problem));
        }
        Ok(report)
    }

    async fn add(
        self: &Arc<Self>,
        name: &str,
        entry: Map<String, Value>,
        even_if_broken: bool,
    ) -> Result<ServerReport, Failure> {
        edit::check_name(name).map_err(invalid)?;
        if self.servers.is_known(name) {
            return Err(EditError::NameTaken(name.to_owned()).into());
        }
        let change = ServerChange::Add(entry.clone());
        let planned = self.edit(name, &change, Write::No).await?;
        if !even_if_broken {
            check_entry(name, &planned.settings)?;
        }
        let is_daemon = self.records.is_daemon();
        let taken = if is_daemon {
            self.edit(name, &change, Write::Yes).await?;
            self.take_file().await
        } else {
            self.take(planned.settings).await;
            Ok(())
        };
        let started = match taken {
            Ok(()) => self.started(name, even_if_broken).await,
            refused => refused,
        };
        if let Err(failure) = started {
            if is_daemon {
                self.take_back(name, entry).await;
            }
            return Err(failure);
        }
        if !is_daemon {
            self.edit(name, &change, Write::Yes).await?;
            self.records.server_configured(name, "added");
        }
        self.server_report(name)
    }

    /// Waits until a new server answers, and refuses one that does not unless that is wanted. A stop ends the wait.
    async fn started(&self, name: &str, even_if_broken: bool) -> Result<(), Failure> {
        let settled = self.settled(name, ADDING_TIME);
        let stopping = &self.background.stopping;
        let status = stopping.run_until_cancelled(settled).await;
        let refused = status
            .ok_or_else(broke)?
            .and_then(|status| not_started(name, &status));
        refused.filter(|_| !even_if_broken).map_or(Ok(()), Err)
    }

    /// Takes a server out of the configuration again that was not added, unless somebody changed it meanwhile.
    async fn take_back(self: &Arc<Self>, name: &str, entry: Map<String, Value>) {
        let change = ServerChange::TakeBack(entry);
        if let Err(failure) = self.edit(name, &change, Write::Yes).await {
            let problem = failure.message;
            tracing::warn!(
                server = name,
                problem,
                "the entry of a server that was not added stays"
            );
        } else if self.background.stopping.is_cancelled() {
            // Every server ends now, so nothing else tells that this one is gone from the file.
            self.records.server_configured(name, "removed");
        } else if let Err(failure) = self.take_file().await {
            let problem = failure.message;
            tracing::warn!(
                server = name,
                problem,
                "the entry of a server that was not added is gone, but the file cannot be put in force"
            );
        }
    }

    async fn change(self: &Arc<Self>, name: &str, change: ServerChange) -> Result<(), Failure> {
        self.check_configured(name)?;
        if let ServerChange::Merge(_) = change {
            let planned = self.edit(name, &change, Write::No).await?;
            check_written(name, &planned.settings)?;
        }
        let edited = self.edit(name, &change, Write::Yes).await?;
        if self.records.is_daemon() {
            return self.take_file().await;
        }
        let is_changed = edited.before.as_deref() != Some(edited.after.as_str());
        self.take(edited.settings).await;
        if is_changed {
            let word = match change {
                ServerChange::Enable(true) => "enabled",
                ServerChange::Enable(false) => "disabled",
                ServerChange::Remove | ServerChange::TakeBack(_) => "removed",
                ServerChange::Add(_) => "added",
                ServerChange::Merge(_) => "changed",
            };
            self.records.server_configured(name, word);
        }
        Ok(())
    }

    /// Refuses names that no server has.
    fn check_listed(&self, name: &str) -> Result<(), Failure> {
        if self.servers.is_known(name) {
            return Ok(());
        }
        Err(self.unlisted(name))
    }

    /// Failure for a name that no server has, with near ones: also of servers that are switched off, which agents are not
    /// told of.
    fn unlisted(&self, name: &str) -> Failure {
        unlisted_server(name, &self.servers.names())
    }

    /// Refuses names that no server of the file has.
    fn check_configured(&self, name: &str) -> Result<(), Failure> {
        self.check_listed(name)?;
        if self.servers.is_built_in(name) {
            let message = format!(
                "Server '{name}' is part of the gateway; name a server of the configuration"
            );
            return Err(Failure::new(Code::InvalidArguments, message));
        }
        Ok(())
    }

    /// Makes a change of the file, or finds out what it would be, off the threads of calls. A gateway that runs refuses one
    /// after which it could not take the file, but not to take back its own.
    async fn edit(
        &self,
        name: &str,
        change: &ServerChange,
        write: Write,
    ) -> Result<Edited, Failure> {
        let (sources, name, change) = (self.sources.clone(), name.to_owned(), change.clone());
        let is_checked = self.records.is_daemon() && !matches!(change, ServerChange::TakeBack(_));
        let running = is_checked.then(|| self.settings.current());
        let adds_by_itself = !self.records.is_daemon()
            && matches!((&write, &change), (Write::Yes, ServerChange::Add(_)));
        let stopping = self.background.stopping.clone();
        let edit = move || {
            let check = |settings: &Settings| match &running {
                // Somebody gave up meanwhile, and is told that nothing was added.
                None if adds_by_itself && stopping.is_cancelled() => {
                    Err(settings::SettingsError::Refused(
                        "the command was ended before the server was added".to_owned(),
                    ))
                }
                Some(running) => settings::check_start(settings, Some(running)),
                None => Ok(()),
            };
            match write {
                Write::Yes => edit::write(&sources, &name, &change, check),
                Write::No => edit::planned(&sources, &name, &change, check),
            }
        };
        let edited = self.background.compute(edit).await;
        edited.ok_or_else(broke)?.map_err(|error| match error {
            EditError::UnknownServer(name) => self.unlisted(&name),
            error => error.into(),
        })
    }

    /// Puts the file in force as it is now.
    async fn take_file(self: &Arc<Self>) -> Result<(), Failure> {
        let gateway = Arc::clone(self);
        let taken = self.background.compute(move || gateway.reload_now()).await;
        taken
            .ok_or_else(broke)?
            .map_err(|error| Failure::new(Code::InvalidConfiguration, error.to_string()))
    }

    /// Puts settings in force that no file has yet.
    async fn take(self: &Arc<Self>, settings: Settings) {
        let gateway = Arc::clone(self);
        let taking = move || gateway.put_in_force(settings);
        self.background.compute(taking).await;
    }

    /// Status of a server once it has answered or failed, or after a while.
    async fn settled(&self, name: &str, longest: Duration) -> Option<ServerStatus> {
        let end = Instant::now() + longest;
        loop {
            let status = self.servers.server_status(name)?;
            if status.state != "starting" || Instant::now() >= end {
                return Some(status);
            }
            self.servers.until_started(name, end).await;
        }
    }

    async fn to_its_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        let done = self.background.spawn_until_stop(work).await;
        done.ok().flatten().unwrap_or_else(|| Err(broke()))
    }
}

#[derive(Clone, Copy)]
enum Write {
    Yes,
    No,
}

/// Failure for a server that does not run although it should; nothing for one that does, or that nobody starts.
fn not_started(name: &str, status: &ServerStatus) -> Option<Failure> {
    let why = match &*status.state {
        "failed" => status.reason.clone().unwrap_or_default(),
        "starting" => "it is still starting".to_owned(),
        _ => return None,
    };
    let why = why.trim_end_matches('.');
    let message = format!("Server '{name}' was not added, because it cannot be started: {why}");
    let failure = Failure::new(Code::UpstreamUnavailable, message).not_retryable();
    Some(
        failure
            .with("server", name)
            .with("stderr", status.stderr.clone()),
    )
}

/// Refuses an entry that cannot be used: because of how it is written, or because of what it refers to.
fn check_entry(name: &str, settings: &Settings) -> Result<(), Failure> {
    check_written(name, settings)?;
    let mut servers = settings.servers.iter();
    let server = servers.find(|server| *server.name == *name);
    let problems = server.map_or_else(Vec::new, |server| edit::problems(server, settings));
    if problems.is_empty() {
        return Ok(());
    }
    let problems = problems.join("; ");
    let message =
        format!("Server '{name}' was not added, because it cannot be started: {problems}");
    let failure = Failure::new(Code::UpstreamUnavailable, message).not_retryable();
    Err(failure.with("server", name))
}

/// Refuses an entry that has a mistake.
fn check_written(name: &str, settings: &Settings) -> Result<(), Failure> {
    edit::mistake(name, settings).map_or(Ok(()), |mistake| Err(invalid(mistake)))
}

/// Warning of a restart for which the file could not be read anew. It repeats what is wrong with the file, which may be a
/// secret in the wrong place.
fn not_on_disk(problem: &str) -> String {
    let problem = redaction::current()
        .text(problem, &OwnSecrets::none())
        .replace('\n', "; ");
    format!(
        "was started with the settings in force, because the configuration file cannot be used: {problem}"
    )
}

/// The one table of what a change that is not made is for its caller.
impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        let code = match error {
            EditError::NameTaken(_) | EditError::Changed(_) => Code::NameTaken,
            EditError::Entry(_) => Code::InvalidArguments,
            EditError::UnknownServer(_) => Code::UnknownServer,
            EditError::Settings(_) | EditError::NotSafe(_) => Code::InvalidConfiguration,
            // Nothing is wrong with what the file says.
            EditError::Busy | EditError::Io(..) => Code::Internal,
        };
        let message = error.to_string();
        let first = message.chars().next().map(char::to_uppercase);
        let rest = message.chars().skip(1);
        let message: String = first.into_iter().flatten().chain(rest).collect();
        let is_retryable = matches!(error, EditError::Busy);
        let mut failure = Self::new(code, message);
        failure.retryable = is_retryable;
        failure
    }
}

fn invalid(problem: String) -> Failure {
    Failure::new(Code::InvalidArguments, problem)
}

fn broke() -> Failure {
    Failure::new(
        Code::Internal,
        "The change was not brought to its end, because the gateway stops or has a fault; its log has the cause",
    )
}
