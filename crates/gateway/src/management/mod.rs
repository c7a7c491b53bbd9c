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
use mcpproxy_support::nearest::{likeness, nearest};
use serde_json::{Map, Value};
use tokio::time::Instant;

pub use self::report::{OfferedTool, ServerReport};
use crate::Gateway;
use crate::failure::{Code, Failure};
use crate::request::{SHOWN_NAME, cut};
use crate::servers::{ServerStatus, did_you_mean};
use crate::settings::Settings;
use crate::settings::edit::{self, EditError, Edited, ServerChange};

/// Longest wait for a new server: a little longer than it may take to install itself.
const ADDING_TIME: Duration = Duration::from_mins(31);

/// Longest wait for a server that was changed, before it is told how far it is.
const CHANGING_TIME: Duration = Duration::from_secs(20);

/// Likeness of names from which on one may be meant, and most that are told.
const ALIKE: f64 = 0.7;
const MOST_NEAR: usize = 3;

impl Gateway {
    /// Adds a server to the configuration and waits until it answers. One that cannot be started is not added, unless
    /// that is wanted. What was begun is brought to its end even if nobody waits for it any more.
    pub async fn add_server(
        self: &Arc<Self>,
        name: &str,
        entry: Map<String, Value>,
        even_if_broken: bool,
    ) -> Result<ServerReport, Failure> {
        let (gateway, name) = (Arc::clone(self), name.to_owned());
        self.to_its_end(async move { gateway.add(&name, entry, even_if_broken).await })
            .await
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

    /// Starts a server anew, with the configuration, the variables and the secrets of now.
    pub async fn restart_server(self: &Arc<Self>, name: &str) -> Result<ServerReport, Failure> {
        self.check_configured(name)?;
        let before = self.settings.current();
        let gateway = Arc::clone(self);
        self.to_its_end(async move { gateway.take_file().await })
            .await?;
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
        self.server_report(name)
    }

    async fn add(
        self: &Arc<Self>,
        name: &str,
        entry: Map<String, Value>,
        even_if_broken: bool,
    ) -> Result<ServerReport, Failure> {
        edit::check_name(name).map_err(invalid)?;
        if self.servers.is_known(name) {
            return Err(failure_of(&EditError::NameTaken(name.to_owned())));
        }
        let change = ServerChange::Add(entry.clone());
        let planned = self.edit(name, &change, Write::No).await?;
        if !even_if_broken {
            check_entry(name, &planned.settings)?;
        }
        let is_daemon = self.records.is_daemon();
        if is_daemon {
            self.edit(name, &change, Write::Yes).await?;
            self.take_file().await?;
        } else {
            self.take(planned.settings).await;
        }
        let status = self.settled(name, ADDING_TIME).await;
        let refused = status.and_then(|status| not_started(name, &status));
        if let Some(refused) = refused.filter(|_| !even_if_broken) {
            if is_daemon {
                self.take_back(name, entry).await;
            }
            return Err(refused);
        }
        if !is_daemon {
            self.edit(name, &change, Write::Yes).await?;
            self.records.server_configured(name, "added");
        }
        self.server_report(name)
    }

    /// Takes a server out of the configuration again that could not be started, unless somebody changed it meanwhile.
    async fn take_back(self: &Arc<Self>, name: &str, entry: Map<String, Value>) {
        let taken = self
            .edit(name, &ServerChange::TakeBack(entry), Write::Yes)
            .await;
        let taken = match taken {
            Ok(_) => self.take_file().await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = taken {
            let problem = failure.message;
            tracing::warn!(
                server = name,
                problem,
                "the entry of a server that cannot be started stays"
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
        let names = self.servers.names();
        let alike = names.iter().map(|one| (likeness(name, one), one));
        let near = nearest(alike, ALIKE, MOST_NEAR);
        let near: Vec<String> = near.into_iter().cloned().collect();
        let shown = cut(name, SHOWN_NAME);
        let hint = did_you_mean(&near, "; `mcpproxy upstream list` shows those there are");
        let message = format!("Server '{shown}' does not exist{hint}");
        Failure::new(Code::UnknownServer, message).with("nearest", near)
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

    /// Makes a change of the file, or finds out what it would be, off the threads of calls.
    async fn edit(
        &self,
        name: &str,
        change: &ServerChange,
        write: Write,
    ) -> Result<Edited, Failure> {
        let (sources, name, change) = (self.sources.clone(), name.to_owned(), change.clone());
        let edit = move || match write {
            Write::Yes => edit::write(&sources, &name, &change),
            Write::No => edit::planned(&sources, &name, &change),
        };
        let edited = self.background.compute(edit).await;
        edited.ok_or_else(broke)?.map_err(|error| match error {
            EditError::UnknownServer(name) => self.unlisted(&name),
            error => failure_of(&error),
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

fn failure_of(error: &EditError) -> Failure {
    let code = match error {
        EditError::NameTaken(_) | EditError::Changed(_) => Code::NameTaken,
        EditError::Entry(_) => Code::InvalidArguments,
        EditError::UnknownServer(_) => Code::UnknownServer,
        EditError::Settings(_) | EditError::NotSafe(_) | EditError::Busy | EditError::Io(..) => {
            Code::InvalidConfiguration
        }
    };
    let message = error.to_string();
    let first = message.chars().next().map(char::to_uppercase);
    let rest = message.chars().skip(1);
    Failure::new(
        code,
        first.into_iter().flatten().chain(rest).collect::<String>(),
    )
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
