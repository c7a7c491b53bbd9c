//! The servers behind the gateway: started, replaced and stopped as the settings say.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_catalog::{Availability, CatalogTool, Operator, ToolOverride};
use mcpproxy_upstream::{HttpSpec, Spec, StdioSpec, TransportSpec, Upstream, UpstreamState};

use crate::Gateway;
use crate::failure::{Code, Failure};
use crate::request::{ToolName, cut};
use crate::settings::{ServerSettings, Settings, Transport};

/// How long a server may take to end by itself.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(2);

/// One configured server.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) running: Running,
}

/// Whether a configured server runs, and if not, why.
#[derive(Clone)]
pub(crate) enum Running {
    /// It has its own task.
    Yes(Upstream),
    /// Its settings cannot be used.
    Broken(String),
    /// The operator switched it off.
    Disabled,
    /// It waits for approval.
    Quarantined,
    /// This process was told not to start it.
    NotStarted,
}

/// A server that a call can go to.
pub(crate) struct Reachable {
    pub(crate) upstream: Upstream,
    pub(crate) settings: Arc<ServerSettings>,
}

/// All configured servers by name. Replaced as a whole.
pub(crate) type Servers = HashMap<Arc<str>, Server>;

/// Which of the configured servers this process starts.
#[derive(Debug, Clone, Default)]
pub enum ServersToStart {
    /// All of them.
    #[default]
    All,
    /// The one that a single call needs.
    Only(String),
}

impl Gateway {
    /// Makes the running servers those of the settings: what is gone or changed is
    /// stopped, what is new or changed is started, the rest is left alone.
    pub(crate) fn reconcile(&self, settings: &Settings) {
        let _one_at_a_time = self
            .reconciling
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        // The catalog knows the operator's word before a server can list a tool.
        self.catalog.configure(self.operators(settings));
        let before = self.servers.load_full();
        let mut after = Servers::new();
        let mut untouched: HashSet<Arc<str>> = HashSet::new();
        for wanted in &settings.servers {
            let kept = before
                .get(&wanted.name)
                .filter(|server| !needs_restart(&server.settings, wanted));
            let running = match kept {
                Some(server) => {
                    untouched.insert(Arc::clone(&wanted.name));
                    server.running.clone()
                }
                None => self.start_server(wanted),
            };
            let server = Server {
                settings: Arc::new(wanted.clone()),
                running,
            };
            after.insert(Arc::clone(&wanted.name), server);
        }
        for (name, built_in) in &self.built_ins {
            if after.contains_key(name) {
                tracing::warn!(server = %name, "the configuration has a server of this name, the built-in one is left out");
                continue;
            }
            let server = before
                .get(name)
                .cloned()
                .unwrap_or_else(|| self.start_built_in(name, built_in));
            untouched.insert(Arc::clone(name));
            after.insert(Arc::clone(name), server);
        }
        self.note_servers(&before, &after);
        let gone: Vec<Upstream> = before
            .iter()
            .filter(|(name, _)| !untouched.contains(*name))
            .filter_map(|(_, server)| match &server.running {
                Running::Yes(upstream) => Some(upstream.clone()),
                _ => None,
            })
            .collect();
        self.servers.store(Arc::new(after));
        let changes = self.prompts_resources.changes();
        changes.send_modify(|generation| *generation += 1);
        for upstream in gone {
            self.tasks
                .spawn(async move { upstream.stop(STOP_GRACE).await });
        }
    }

    /// The operator's word on every server there is; one in the file wins over a built-in one.
    fn operators(&self, settings: &Settings) -> HashMap<String, Operator> {
        let built_in = self
            .built_ins
            .iter()
            .map(|(name, _)| (name.to_string(), Operator::default()));
        let configured = settings.servers.iter();
        built_in
            .chain(configured.map(|server| (server.name.to_string(), operator(server))))
            .collect()
    }

    pub(crate) fn start_server(&self, server: &ServerSettings) -> Running {
        if let Some(problem) = &server.problem {
            tracing::warn!(server = %server.name, problem, "server cannot be started");
            return Running::Broken(problem.clone());
        }
        if server.quarantined {
            return Running::Quarantined;
        }
        if !server.enabled {
            return Running::Disabled;
        }
        if let ServersToStart::Only(only) = &self.wanted
            && **only != *server.name
        {
            return Running::NotStarted;
        }
        match spec(server) {
            Some(spec) => Running::Yes(Upstream::start(spec, &self.runtime)),
            None => Running::NotStarted,
        }
    }

    fn start_built_in(
        &self,
        name: &Arc<str>,
        built_in: &Arc<dyn mcpproxy_upstream::BuiltIn>,
    ) -> Server {
        let settings = ServerSettings::built_in(name);
        let spec = Spec {
            name: Arc::clone(name),
            transport: TransportSpec::BuiltIn(Arc::clone(built_in)),
            protocol: settings.protocol,
            timeout: settings.timeout,
            max_concurrent: settings.max_concurrent,
            idle_stop: None,
        };
        Server {
            running: Running::Yes(Upstream::start(spec, &self.runtime)),
            settings: Arc::new(settings),
        }
    }

    /// Stops every server, waits until they are gone, and ends the log.
    pub async fn stop(&self) {
        self.stopping.cancel();
        let servers = self.servers.swap(Arc::default());
        for server in servers.values() {
            if let Running::Yes(upstream) = &server.running {
                let upstream = upstream.clone();
                self.tasks
                    .spawn(async move { upstream.stop(STOP_GRACE).await });
            }
        }
        drop(servers);
        self.tasks.close();
        self.tasks.wait().await;
        self.note_stop();
        self.log.stop().await;
    }

    /// The server a call goes to, if it can be called at all.
    pub(crate) fn server(&self, name: &str) -> Result<Reachable, Failure> {
        self.known_server(name)?;
        let servers = self.servers.load();
        let Some(server) = servers.get(name) else {
            return Err(self.unknown_server(name));
        };
        match &server.running {
            Running::Yes(upstream) => Ok(Reachable {
                upstream: upstream.clone(),
                settings: Arc::clone(&server.settings),
            }),
            Running::Broken(problem) => Err(broken(name, problem)),
            Running::Disabled => Err(Failure::new(
                Code::ToolDisabled,
                format!(
                    "Server '{name}' is disabled; a person has to set \"enabled\": true for it in the configuration"
                ),
            )),
            Running::Quarantined => Err(Failure::new(
                Code::ServerQuarantined,
                format!(
                    "Server '{name}' is quarantined; a person has to look at it and set \"quarantined\": false in the configuration"
                ),
            )),
            Running::NotStarted => Err(Failure::new(
                Code::UpstreamUnavailable,
                format!("Server '{name}' was not started by this command. The call was not sent."),
            )),
        }
    }

    pub(crate) fn known_server(&self, name: &str) -> Result<(), Failure> {
        if self.servers.load().contains_key(name) {
            return Ok(());
        }
        Err(self.unknown_server(name))
    }

    /// A tool that agents may see.
    pub(crate) fn known_tool(&self, server: &str, tool: &str) -> Result<Arc<CatalogTool>, Failure> {
        let snapshot = self.catalog.snapshot();
        let Some(entry) = snapshot.find(server, tool) else {
            let reachable = self.server(server)?;
            let is_listed = snapshot
                .server(server)
                .is_some_and(mcpproxy_catalog::ServerState::is_listed);
            if is_listed {
                return Err(self.unknown_tool(server, tool));
            }
            return Err(not_listed(server, &reachable.upstream.state()));
        };
        match entry.availability() {
            Availability::Callable => Ok(Arc::clone(entry)),
            Availability::ToolDisabled => Err(Failure::new(
                Code::ToolDisabled,
                format!(
                    "Tool '{server}:{tool}' is disabled; a person has to set \"enabled\": true for it in the configuration"
                ),
            )),
            Availability::ServerDisabled | Availability::ServerQuarantined => Err(self
                .server(server)
                .err()
                .unwrap_or_else(|| self.unknown_tool(server, tool))),
        }
    }

    /// Splits `server:tool`; what cannot be split is likely the name of a tool alone.
    pub(crate) fn tool_name(&self, name: &str) -> Result<ToolName, Failure> {
        ToolName::parse(name).map_err(|failure| {
            let near = self.catalog.snapshot().nearest_tools(name);
            if near.is_empty() {
                return failure;
            }
            let message = format!("{}{}", failure.message, did_you_mean(&near));
            Failure { message, ..failure }.with("nearest", near)
        })
    }

    fn unknown_server(&self, name: &str) -> Failure {
        let snapshot = self.catalog.snapshot();
        let near = snapshot.nearest_servers(name);
        let shown = cut(name, 100);
        Failure::new(
            Code::UnknownServer,
            format!("Server '{shown}' does not exist{}", did_you_mean(&near)),
        )
        .with("nearest", near)
    }

    fn unknown_tool(&self, server: &str, tool: &str) -> Failure {
        let snapshot = self.catalog.snapshot();
        let shown = cut(&format!("{server}:{tool}"), 300);
        let near = snapshot.nearest_tools(&shown);
        Failure::new(
            Code::UnknownTool,
            format!("Tool '{shown}' does not exist{}", did_you_mean(&near)),
        )
        .with("nearest", near)
    }
}

/// Whether a server has to be started anew; the operator's word on its tools does not need it.
pub(crate) fn needs_restart(running: &ServerSettings, wanted: &ServerSettings) -> bool {
    let without_tools = |server: &ServerSettings| ServerSettings {
        tools: std::collections::BTreeMap::new(),
        ..server.clone()
    };
    without_tools(running) != without_tools(wanted)
}

/// A server whose settings cannot be used. Agents are not told of files of the host; those are
/// in the log and in `status`.
fn broken(server: &str, problem: &str) -> Failure {
    let why = for_agents(problem);
    Failure::new(
        Code::UpstreamUnavailable,
        format!("Server '{server}' cannot be started: {why}. The call was not sent."),
    )
    .not_retryable()
}

/// Why a server does not run, without files of the host.
pub(crate) fn for_agents(problem: &str) -> &str {
    if problem.contains(['/', '\\']) {
        "a person finds the reason with `mcpproxy status`"
    } else {
        problem
    }
}

/// The tools of a server are not known, so nothing can be said about one of them.
fn not_listed(server: &str, state: &UpstreamState) -> Failure {
    let why = match state {
        UpstreamState::Failed { reason, .. } => format!("failed: {reason}"),
        _ => "is still starting".to_owned(),
    };
    Failure::new(
        Code::UpstreamUnavailable,
        format!("Server '{server}' has not listed its tools, it {why}"),
    )
}

fn did_you_mean(names: &[String]) -> String {
    if names.is_empty() {
        return "; search with retrieve_tools".to_owned();
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    format!(", did you mean {}?", quoted.join(" or "))
}

fn operator(server: &ServerSettings) -> Operator {
    Operator {
        enabled: server.enabled,
        quarantined: server.quarantined,
        tools: server
            .tools
            .iter()
            .map(|(name, tool)| {
                let word = ToolOverride {
                    annotations: tool.annotations.clone(),
                    enabled: tool.enabled,
                };
                (name.clone(), word)
            })
            .collect(),
    }
}

/// What the upstream needs to know; nothing for a server inside this program.
fn spec(server: &ServerSettings) -> Option<Spec> {
    let exposed = |pairs: &[(String, crate::settings::Secret)]| {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), value.expose().to_owned()))
            .collect()
    };
    let transport = match &server.transport {
        Transport::Stdio {
            command,
            args,
            env,
            working_dir,
        } => TransportSpec::Stdio(StdioSpec {
            command: command.expose().to_owned(),
            args: args.iter().map(|one| one.expose().to_owned()).collect(),
            env: exposed(env),
            working_dir: working_dir.as_ref().map(|folder| folder.expose().into()),
        }),
        Transport::Http { url, headers } => TransportSpec::Http(HttpSpec {
            url: url.expose().to_owned(),
            headers: exposed(headers),
        }),
        Transport::BuiltIn => return None,
    };
    Some(Spec {
        name: Arc::clone(&server.name),
        transport,
        protocol: server.protocol,
        timeout: server.timeout,
        max_concurrent: server.max_concurrent,
        idle_stop: server.idle_stop,
    })
}
