//! The tools of servers themselves, offered beside the menu: all together, or those of one server.
//!
//! What is offered is what the catalog shows as callable, with the bytes its server sent. A call
//! goes the way of every other call; only the variant is not chosen by the caller but follows
//! from what the tool does. Nothing here decides anything, and nothing is shown that search would not show.

pub(crate) mod listing;
pub(crate) mod name;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use mcpproxy_catalog::{ServerState, Snapshot};
use mcpproxy_policy::{Caller, DeclaredIntent, Operation};
use mcpproxy_upstream::client::ClientLink;
use mcpproxy_wire::json::ObjectError;
use mcpproxy_wire::param_headers::{self, ParamHeader};
use mcpproxy_wire::rpc::INVALID_PARAMS;
use mcpproxy_wire::{Json, JsonObject, Protocol, ResultText, RpcError};

use self::listing::PagedListing;
use self::name::{Names, Target, may_be_of};
use crate::Gateway;
use crate::background::Background;
use crate::call::{CallOutcome, CallRecord};
use crate::failure::{Code, Failure};
use crate::request::{CallRequest, cut, is_bounded, violation};
use crate::servers::Servers;

/// How long a server may take to list its tools again before it is shown as it is known.
const RENEWED_WITHIN: Duration = Duration::from_secs(2);

/// Whose tools are offered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Those of all servers, as `server__tool`.
    All,
    /// Those of one server, by their own names.
    Server(Arc<str>),
}

/// One page of the offered tools.
#[derive(Debug)]
pub struct DirectPage {
    /// The result of `tools/list`.
    pub text: String,
    /// Digest of the whole list, as [`DirectEndpoints::digest`] gives it.
    pub digest: u64,
}

/// Direct endpoints: what they list, and which tool a name of theirs stands for.
pub struct DirectEndpoints {
    servers: Arc<Servers>,
    background: Background,
    /// Made of the newest snapshot that somebody asked for.
    newest: ArcSwapOption<DirectTools>,
}

/// What is offered of one snapshot; the parts are made when they are first wanted.
struct DirectTools {
    snapshot: Arc<Snapshot>,
    names: OnceLock<Names>,
    all: OnceLock<Arc<PagedListing>>,
    servers: Mutex<HashMap<Arc<str>, Arc<PagedListing>>>,
}

impl DirectEndpoints {
    pub(crate) fn new(servers: &Arc<Servers>, background: &Background) -> Self {
        Self {
            servers: Arc::clone(servers),
            background: background.clone(),
            newest: ArcSwapOption::default(),
        }
    }

    /// Answers `tools/list`. Where one server is offered, it is waited for until it has said which
    /// tools it has; of all servers, those are listed that are known.
    pub async fn list(&self, scope: &Scope, cursor: Option<&str>) -> Result<DirectPage, Failure> {
        if let Scope::Server(server) = scope {
            self.wait_for_listing(server).await?;
            self.renew_listing(server).await;
        }
        let listing = self.listing(scope).await;
        let text = listing.page(cursor).ok_or_else(|| {
            let message =
                "Invalid cursor: send nextCursor as tools/list returned it, or none to begin";
            Failure::new(Code::InvalidArguments, message)
        })?;
        Ok(DirectPage {
            text,
            digest: listing.digest(),
        })
    }

    /// Digest of everything that is listed now: it changes when the list does.
    pub async fn digest(&self, scope: &Scope) -> u64 {
        self.listing(scope).await.digest()
    }

    /// Refuses a scope that names no server.
    pub fn check_scope(&self, scope: &Scope) -> Result<(), Failure> {
        match scope {
            Scope::All => Ok(()),
            Scope::Server(server) => self.servers.check_known(server),
        }
    }

    /// The arguments of an offered tool that a client has to repeat in headers.
    pub async fn param_headers(&self, scope: &Scope, name: &str) -> Vec<ParamHeader> {
        let Some((server, tool)) = self.target(scope, name).await else {
            return Vec::new();
        };
        let snapshot = self.servers.catalog().snapshot();
        let entry = snapshot.find(&server, &tool);
        // Nobody can follow an annotation that is not valid, so nobody is held to it.
        let read = entry.map(|entry| param_headers::of_schema(&entry.tool().input_schema));
        read.and_then(Result::ok).unwrap_or_default()
    }

    /// The tool that a name stands for. A server that has not listed its tools yet is waited for,
    /// where only its list can tell.
    async fn target(&self, scope: &Scope, name: &str) -> Option<Target> {
        if !is_bounded(name) || name.is_empty() {
            return None;
        }
        if let Scope::Server(server) = scope {
            return Some((Arc::clone(server), name.into()));
        }
        let tools = self.tools();
        if let Some(target) = tools.names().target(name) {
            return self
                .servers
                .check_known(&target.0)
                .is_ok()
                .then_some(target);
        }
        let unlisted = tools
            .snapshot
            .configured()
            .filter(|server| !server.is_listed() && may_be_of(name, server.name()));
        for server in unlisted {
            // If it cannot be reached, there is no such tool for now.
            let _ = self.wait_for_listing(server.name()).await;
        }
        self.tools().names().target(name)
    }

    /// Waits until a server that can be called has listed its tools, within its deadline.
    async fn wait_for_listing(&self, server: &str) -> Result<(), Failure> {
        let snapshot = self.servers.catalog().snapshot();
        if snapshot.server(server).is_some_and(ServerState::is_listed) {
            return Ok(());
        }
        let reachable = match self.servers.reachable(server) {
            Ok(reachable) => reachable,
            // Nothing of it may be called, so nothing of it is listed.
            Err(failure)
                if matches!(failure.code, Code::ToolDisabled | Code::ServerQuarantined) =>
            {
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        let deadline = Instant::now() + reachable.settings.timeout;
        let listed = reachable.upstream.fresh(deadline).await;
        listed.map_err(|error| self.servers.failure_of(server, Operation::Read, error))
    }

    /// Has a server that does not tell of changes list its tools again. One that cannot do so now is
    /// shown as it is known.
    async fn renew_listing(&self, server: &str) {
        if let Ok(reachable) = self.servers.reachable(server) {
            let _ = reachable
                .upstream
                .fresh(Instant::now() + RENEWED_WITHIN)
                .await;
        }
    }

    fn bad_arguments(&self, server: &str, tool: &str, error: &ObjectError) -> Failure {
        let name = format!("{server}:{tool}");
        let violations = [violation("", &error.to_string())];
        let failure = Failure::invalid_arguments(&name, &violations);
        let failure = failure.with("tool", name);
        match self.servers.tool(server, tool) {
            Ok(entry) => failure.with("input_schema", entry.tool().input_schema.to_value()),
            Err(_) => failure,
        }
    }

    /// There is no such tool here; the nearest ones are named as this endpoint names them.
    fn not_found(&self, scope: &Scope, name: &str, code: Code) -> Failure {
        let shown = cut(name, 200);
        let near: Vec<String> = self.tools().nearest(scope, &shown);
        let quoted: Vec<String> = near.iter().map(|name| format!("'{name}'")).collect();
        let hint = if quoted.is_empty() {
            "; tools/list names those there are".to_owned()
        } else {
            format!(", did you mean {}?", quoted.join(" or "))
        };
        Failure::new(code, format!("Tool '{shown}' not found{hint}"))
            .with("tool", shown)
            .with("nearest", near)
    }

    async fn listing(&self, scope: &Scope) -> Arc<PagedListing> {
        let tools = self.tools();
        if let Some(listing) = tools.made(scope) {
            return listing;
        }
        // Thousands of tools take a while, which others on this thread need not wait for.
        let (making, wanted) = (Arc::clone(&tools), scope.clone());
        let made = self.background.compute(move || making.listing(&wanted));
        made.await.unwrap_or_else(|| tools.listing(scope))
    }

    fn tools(&self) -> Arc<DirectTools> {
        let snapshot = self.servers.catalog().snapshot();
        let known = self.newest.load_full();
        if let Some(tools) = known.filter(|tools| Arc::ptr_eq(&tools.snapshot, &snapshot)) {
            return tools;
        }
        let tools = Arc::new(DirectTools {
            snapshot,
            names: OnceLock::new(),
            all: OnceLock::new(),
            servers: Mutex::default(),
        });
        self.newest.store(Some(Arc::clone(&tools)));
        tools
    }
}

impl Gateway {
    /// Calls a tool of a direct endpoint with the text of its arguments; see
    /// [`CallOutcome::to_direct_result`].
    pub async fn call_direct(
        &self,
        scope: &Scope,
        name: &str,
        arguments: &Json,
        caller: &Arc<Caller>,
        client: Option<&Arc<ClientLink>>,
    ) -> CallOutcome {
        let refuse = async |server: Option<&str>, tool: &str, failure| {
            let record = CallRecord::of_refusal(&self.records, None, caller);
            record
                .about(server, tool)
                .close(Err(failure), Vec::new())
                .await
        };
        let Some((server, tool)) = self.direct.target(scope, name).await else {
            let failure = self.direct.not_found(scope, name, Code::UnknownTool);
            return refuse(None, &cut(name, 300), failure).await;
        };
        let arguments = match JsonObject::of(arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                let failure = self.direct.bad_arguments(&server, &tool, &error);
                return refuse(Some(&server), &tool, failure).await;
            }
        };
        let request = CallRequest {
            variant: None,
            name: format!("{server}:{tool}"),
            arguments,
            declared: DeclaredIntent::default(),
        };
        let mut outcome = self.call(request, caller, client).await;
        if let Err(failure) = &outcome.result
            && is_unknown(failure.code)
        {
            // The record has the names of the catalog; the caller knows those of its endpoint.
            outcome.result = Err(self.direct.not_found(scope, name, failure.code));
        }
        outcome
    }
}

/// Whether the name stands for nothing, rather than for something that cannot be called.
fn is_unknown(code: Code) -> bool {
    matches!(
        code,
        Code::UnknownTool | Code::UnknownServer | Code::InvalidToolName
    )
}

// === impl DirectTools ===

impl DirectTools {
    /// The names of all tools, also of those that cannot be called: a caller is told why.
    fn names(&self) -> &Names {
        self.names.get_or_init(|| {
            let entries = self.snapshot.tools();
            Names::of(entries.map(|entry| (entry.server(), entry.name())))
        })
    }

    fn made(&self, scope: &Scope) -> Option<Arc<PagedListing>> {
        match scope {
            Scope::All => self.all.get().cloned(),
            Scope::Server(server) => self.servers().get(server).cloned(),
        }
    }

    fn listing(&self, scope: &Scope) -> Arc<PagedListing> {
        match scope {
            Scope::All => Arc::clone(self.all.get_or_init(|| {
                let name = |entry: &_| Some(self.name_of(entry));
                Arc::new(PagedListing::of(self.snapshot.tools(), name))
            })),
            Scope::Server(server) => {
                let state = self.snapshot.server(server).into_iter();
                let entries = state.flat_map(ServerState::tools);
                let listing = Arc::new(PagedListing::of(entries, |_| None));
                // A name that is no server's must not fill the memory.
                if self.snapshot.server(server).is_some() {
                    let mut servers = self.servers();
                    servers.insert(Arc::clone(server), Arc::clone(&listing));
                }
                listing
            }
        }
    }

    fn name_of(&self, entry: &mcpproxy_catalog::CatalogTool) -> String {
        self.names().name(entry.server(), entry.name())
    }

    fn nearest(&self, scope: &Scope, name: &str) -> Vec<String> {
        let wanted = match scope {
            Scope::All => name.replacen("__", ":", 1),
            Scope::Server(server) => format!("{server}:{name}"),
        };
        let near = self.snapshot.nearest_tools(&wanted);
        let near = near.iter().filter_map(|name| {
            let (server, tool) = name.split_once(':')?;
            let entry = self.snapshot.find(server, tool)?;
            match scope {
                Scope::All => Some(self.name_of(entry)),
                Scope::Server(only) => (**only == *server).then(|| tool.to_owned()),
            }
        });
        near.collect()
    }

    fn servers(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<str>, Arc<PagedListing>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl CallOutcome ===

impl CallOutcome {
    /// What answers a client that called an offered tool: the text of a `CallToolResult`, or an
    /// error of the protocol if there is no such tool. A server that is offered alone has its own
    /// errors of the protocol passed on as well, because its clients may know what to do about them.
    pub fn to_direct_result(
        &self,
        scope: &Scope,
        protocol: Protocol,
    ) -> Result<ResultText, RpcError> {
        match &self.result {
            Err(failure)
                if *scope != Scope::All
                    && let Some(error) = failure.rpc_error() =>
            {
                Err(error.clone())
            }
            Err(failure) if is_unknown(failure.code) => Err(RpcError {
                code: INVALID_PARAMS,
                message: failure.message.clone(),
                data: Some(serde_json::json!({ "error": failure.to_json(self.request_id) })),
            }),
            _ => Ok(self.to_client_result(protocol)),
        }
    }
}
