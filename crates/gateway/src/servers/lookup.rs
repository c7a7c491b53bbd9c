//! Names of servers and tools, looked up; what cannot be found is answered with what is near. What a caller may not use
//! cannot be found, and is not near either.

use std::sync::Arc;
use std::time::Instant;

use mcpproxy_catalog::{Availability, CatalogTool, ServerState};
use mcpproxy_policy::{AccessTo, AnnouncedDeprecation, Caller, Effect, Rights};
use mcpproxy_support::nearest::{likeness, nearest};
use mcpproxy_support::printable::printable_line;
use mcpproxy_upstream::{CallError, CallSlot, Upstream, UpstreamState};
use mcpproxy_wire::JsonObject;

use super::result_cache::{CachePlace, ChangingCall, ResultCache};
use super::{RunState, Servers};
use crate::failure::starting::without_host_files;
use crate::failure::{Code, Failure};
use crate::request::{SHOWN_NAME, cut, split_name};
use crate::settings::{ServerSettings, ToolRateLimit};

/// Most missing permissions that a refusal names, and most characters of each: a server writes them.
const MOST_NAMED: usize = 10;
const LONGEST_PERMISSION: usize = 100;

/// Likeness of names from which on one may be meant by a person, and most that are told.
const ALIKE: f64 = 0.7;
const MOST_NEAR: usize = 3;

/// Detail of a refusal that names the permissions which the caller lacks.
pub(crate) const MISSING_PERMISSIONS: &str = "missing_permissions";

/// Server that a call can go to.
pub(crate) struct ReachableServer {
    pub(crate) upstream: Upstream,
    pub(crate) settings: Arc<ServerSettings>,
    results: Arc<ResultCache>,
}

impl ReachableServer {
    /// Waits for a place among the calls that the server gets at the same time, and until its tools
    /// are known. What the server says of a tool now counts, not what the agent saw earlier, nor what
    /// held when the call began to wait for its slot.
    pub(crate) async fn call_slot(
        &self,
        caller: &Caller,
        deadline: Instant,
    ) -> Result<CallSlot<'_>, CallError> {
        let slot = self.upstream.call_slot(caller, deadline).await?;
        self.upstream.fresh(deadline).await?;
        Ok(slot)
    }

    /// Rate limit of one of its tools: the operator's, else the announced one.
    pub(crate) fn rate_limit(&self, tool: &CatalogTool) -> Option<ToolRateLimit> {
        let announced = || {
            let limit = tool.terms()?.rate_limit?;
            let (max_calls, window) = (limit.max_calls, limit.window);
            Some(ToolRateLimit { max_calls, window })
        };
        self.settings.rate_limit(tool.name()).or_else(announced)
    }

    /// Place in the cache for the result of a call, where one of its tools may be cached. A service inside this program
    /// has a cache of its own.
    pub(crate) fn cache_place<'a>(
        &'a self,
        tool: &'a Arc<CatalogTool>,
        caller: &Caller,
        arguments: &JsonObject,
    ) -> Option<CachePlace<'a>> {
        if self.settings.is_built_in() {
            return None;
        }
        self.results.place(tool, caller, arguments)
    }

    /// Mark of a call of one of its tools, if it may change something.
    pub(crate) fn changing(&self, tool: &CatalogTool) -> Option<ChangingCall<'_>> {
        let is_mutation = tool.terms().is_some_and(|terms| terms.is_mutation);
        self.results.changing(match tool.effect() {
            Effect::Read if is_mutation => Effect::Write,
            effect => effect,
        })
    }
}

impl Servers {
    /// Server that a call goes to, if it can be called at all.
    pub(crate) fn reachable(
        &self,
        name: &str,
        rights: &Rights,
    ) -> Result<ReachableServer, Failure> {
        let servers = self.configured.load();
        let server = servers.get(name);
        let Some(server) = server.filter(|_| rights.allow(AccessTo::Server(name))) else {
            return Err(self.unknown_server(name, rights));
        };
        let refused = |code, why: &str| Err(Failure::new(code, format!("Server '{name}' {why}")));
        match &server.run {
            RunState::Running(upstream) => Ok(ReachableServer {
                upstream: upstream.clone(),
                settings: Arc::clone(&server.settings),
                results: Arc::clone(&server.results),
            }),
            // Agents are not told of files of the host; those are in the log and in `status`.
            RunState::Broken(problem) => {
                let why = without_host_files(problem);
                let why = format!("cannot be started: {why}. The call was not sent.");
                refused(Code::UpstreamUnavailable, &why).map_err(Failure::not_retryable)
            }
            RunState::Disabled => refused(
                Code::ToolDisabled,
                "is disabled; a person has to enable it, with `mcpproxy upstream enable NAME` or in the configuration",
            ),
            RunState::Quarantined => refused(
                Code::ServerQuarantined,
                "is quarantined; a person has to look at it and set \"quarantined\": false in the configuration",
            ),
            RunState::NotStarted => refused(
                Code::UpstreamUnavailable,
                "was not started by this command. The call was not sent.",
            ),
        }
    }

    /// Refuses a name that no server has.
    pub fn check_known(&self, name: &str, rights: &Rights) -> Result<(), Failure> {
        if self.configured.load().contains_key(name) && rights.allow(AccessTo::Server(name)) {
            return Ok(());
        }
        Err(self.unknown_server(name, rights))
    }

    /// Tool that a caller with these rights may use, as the catalog has it now.
    pub(crate) fn tool(
        &self,
        server: &str,
        tool: &str,
        rights: &Rights,
    ) -> Result<Arc<CatalogTool>, Failure> {
        self.tool_or_near(server, tool, rights, |_| true)
    }

    /// Tool that a caller with these rights may use, as the catalog has it now. Where there is none of that name, only tools
    /// that `may_be_meant` lets through are proposed.
    pub(crate) fn tool_or_near(
        &self,
        server: &str,
        tool: &str,
        rights: &Rights,
        may_be_meant: impl Fn(&CatalogTool) -> bool,
    ) -> Result<Arc<CatalogTool>, Failure> {
        let snapshot = self.catalog.snapshot();
        let entry = snapshot.find(server, tool);
        let Some(entry) = entry.filter(|entry| entry.is_within(rights)) else {
            let reachable = self.reachable(server, rights)?;
            if snapshot.server(server).is_some_and(ServerState::is_listed) {
                return Err(self.unknown_tool(server, tool, rights, may_be_meant));
            }
            let why = match reachable.upstream.state() {
                UpstreamState::Failed { reason, .. } => {
                    let reason = self.settings.mask().apply(&reason).into_owned();
                    format!("failed: {}", without_host_files(&reason))
                }
                UpstreamState::Starting(start) => self.told(&start),
                _ => "is still starting".to_owned(),
            };
            let message = format!("Server '{server}' has not listed its tools, it {why}");
            return Err(Failure::new(Code::UpstreamUnavailable, message));
        };
        match entry.availability() {
            Availability::Callable => Ok(Arc::clone(entry)),
            Availability::ToolDisabled => {
                let configured = self.configured.load();
                let settings = configured.get(server).map(|server| &server.settings);
                let how = settings.map_or("enable it", |settings| settings.how_to_enable(tool));
                let message = format!(
                    "Tool '{server}:{tool}' is disabled; a person has to {how} in the configuration"
                );
                Err(Failure::new(Code::ToolDisabled, message))
            }
            Availability::ToolRemoved => {
                let deprecation = snapshot.deprecation_for(entry, rights);
                Err(removed(entry, deprecation.as_ref()))
            }
            Availability::ServerDisabled
            | Availability::ServerBroken
            | Availability::ServerQuarantined => {
                self.reachable(server, rights)?;
                Err(self.unknown_tool(server, tool, rights, may_be_meant))
            }
        }
    }

    /// Splits `server:tool`.
    pub(crate) fn split_name<'a>(
        &self,
        name: &'a str,
        rights: &Rights,
    ) -> Result<(&'a str, &'a str), Failure> {
        split_name(name).map_err(|failure| self.with_nearest_tools(failure, name, rights, |_| true))
    }

    /// Adds tools that are near: a name that cannot be split is likely that of a tool alone.
    pub(crate) fn with_nearest_tools(
        &self,
        mut failure: Failure,
        name: &str,
        rights: &Rights,
        may_be_meant: impl Fn(&CatalogTool) -> bool,
    ) -> Failure {
        let snapshot = self.catalog.snapshot();
        let near = snapshot.nearest_tools(name, rights, may_be_meant);
        if near.is_empty() {
            return failure;
        }
        failure.message.push_str(&did_you_mean(&near, ""));
        failure.with("nearest", near)
    }

    fn unknown_server(&self, name: &str, rights: &Rights) -> Failure {
        let near = self.catalog.snapshot().nearest_servers(name, rights);
        unknown(Code::UnknownServer, "Server", &cut(name, 100), near)
    }

    fn unknown_tool(
        &self,
        server: &str,
        tool: &str,
        rights: &Rights,
        may_be_meant: impl Fn(&CatalogTool) -> bool,
    ) -> Failure {
        let shown = cut(&format!("{server}:{tool}"), 300);
        let snapshot = self.catalog.snapshot();
        let near = snapshot.nearest_tools(&shown, rights, may_be_meant);
        unknown(Code::UnknownTool, "Tool", &shown, near)
    }
}

/// Refusal of a tool whose removal its server announced, with what the caller may know of that.
fn removed(tool: &CatalogTool, deprecation: Option<&AnnouncedDeprecation>) -> Failure {
    let since = deprecation.and_then(|one| one.removal_date);
    let since = since.map_or_else(String::new, |date| format!(" on {date}"));
    let message = format!("Tool '{}' was removed{since}", tool.qualified());
    match deprecation.and_then(|one| one.replacement_at(tool.server())) {
        Some(name) => Failure::new(Code::ToolRemoved, format!("{message}, use {name}"))
            .with("replacement", name),
        None => Failure::new(Code::ToolRemoved, message),
    }
}

/// Refuses a caller who lacks permissions that a tool announces.
pub(crate) fn check_permissions(tool: &CatalogTool, rights: &Rights) -> Result<(), Failure> {
    let terms = tool.terms();
    let missing = terms.map_or_else(Vec::new, |terms| terms.missing_permissions(rights));
    if missing.is_empty() {
        return Ok(());
    }
    Err(missing_permissions(tool.qualified(), &missing))
}

/// Refusal of a caller who lacks permissions for a tool.
fn missing_permissions(tool: &str, missing: &[&str]) -> Failure {
    let missing = missing.iter().take(MOST_NAMED);
    let shown = |one: &&str| cut(&printable_line(one), LONGEST_PERMISSION);
    let missing: Vec<String> = missing.map(shown).collect();
    let message = format!(
        "Tool '{tool}' needs the permission {}; a token has the permissions that it was made with (`mcpproxy token create --permissions`), and the administrator has all",
        missing.join(", ")
    );
    Failure::new(Code::Forbidden, message).with(MISSING_PERMISSIONS, missing)
}

fn unknown(code: Code, kind: &str, shown: &str, near: Vec<String>) -> Failure {
    let hint = did_you_mean(&near, "; search with retrieve_tools");
    Failure::new(code, format!("{kind} '{shown}' does not exist{hint}")).with("nearest", near)
}

/// Failure for a name that none of these servers has, for people: near ones are told also of those that are switched off.
pub fn unlisted_server(name: &str, servers: &[String]) -> Failure {
    let alike = servers.iter().map(|one| (likeness(name, one), one));
    let near: Vec<String> = nearest(alike, ALIKE, MOST_NEAR)
        .into_iter()
        .cloned()
        .collect();
    let shown = cut(name, SHOWN_NAME);
    let hint = did_you_mean(&near, "; `mcpproxy upstream list` shows those there are");
    let message = format!("Server '{shown}' does not exist{hint}");
    Failure::new(Code::UnknownServer, message).with("nearest", near)
}

/// Question whether one of the nearest names is meant; something else where there are none.
pub(crate) fn did_you_mean(near: &[String], otherwise: &str) -> String {
    if near.is_empty() {
        return otherwise.to_owned();
    }
    let quoted: Vec<String> = near.iter().map(|name| format!("'{name}'")).collect();
    format!(", did you mean {}?", quoted.join(" or "))
}
