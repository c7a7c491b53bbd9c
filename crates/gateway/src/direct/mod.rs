//! Offerings of servers themselves, listed beside the menu: all together, or those of one server.
//!
//! What is listed is what the catalog's directory has, with the bytes its server sent. A call
//! goes the way of every other call; only the variant is not chosen by the caller but follows
//! from what the tool does. Nothing here decides anything, and nothing is shown that search would not show.

use std::sync::Arc;
use std::time::{Duration, Instant};

pub use mcpproxy_catalog::Scope;
use mcpproxy_catalog::directory::names::Target;
use mcpproxy_catalog::directory::pages::PagedListing;
use mcpproxy_catalog::{Directory, ServerState};
use mcpproxy_policy::{Caller, DeclaredIntent, Operation, Rights};
use mcpproxy_upstream::client::ClientLink;
use mcpproxy_wire::json::ObjectError;
use mcpproxy_wire::meta::ServerIdentity;
use mcpproxy_wire::param_headers::{self, ParamHeader};
use mcpproxy_wire::rpc::INVALID_PARAMS;
use mcpproxy_wire::{Json, JsonObject, ListedKind, Protocol, ResultText, RpcError};
use tokio::sync::watch;

use crate::Gateway;
use crate::background::Background;
use crate::call::{CallOutcome, CallRecord};
use crate::failure::{Code, Failure, violation};
use crate::menu;
use crate::request::{CallRequest, SHOWN_NAME, arguments_in_text, cut, is_bounded, split_name};
use crate::servers::{Servers, did_you_mean};

/// Time that a server may take to list its tools again before it is shown as it is known.
const RENEWED_WITHIN: Duration = Duration::from_secs(2);

/// Direct endpoints: what they list, and which tool a name of theirs stands for.
pub struct DirectEndpoints {
    servers: Arc<Servers>,
    background: Background,
}

impl DirectEndpoints {
    pub(crate) fn new(servers: &Arc<Servers>, background: &Background) -> Self {
        Self {
            servers: Arc::clone(servers),
            background: background.clone(),
        }
    }

    /// Page of a list, as the text of the result, with what a caller with these rights may use. Where one server is
    /// offered, it is waited for until it has said what it lists; of all servers, that is listed which is known.
    pub async fn list(
        &self,
        scope: &Scope,
        kind: ListedKind,
        cursor: Option<&str>,
        rights: &Rights,
    ) -> Result<String, Failure> {
        if let Scope::Server(server) = scope {
            self.wait_for_listing(server, kind, rights).await?;
        }
        let listing = self.listing(scope, kind, rights).await;
        listing.page(cursor).ok_or_else(|| {
            let method = kind.method().as_str();
            let message = format!(
                "Invalid cursor: send nextCursor as {method} returned it, or none to begin"
            );
            Failure::new(Code::InvalidArguments, message)
        })
    }

    /// Digest of everything that is listed of a kind now for a caller with these rights: it changes when the list does.
    pub async fn digest(&self, scope: &Scope, kind: ListedKind, rights: &Rights) -> u64 {
        self.listing(scope, kind, rights).await.digest()
    }

    /// Changes when there may be other lists, of whichever kind.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.servers.catalog().changes()
    }

    /// Refuses a scope whose endpoint the operator switched off.
    pub fn check_offered(&self, scope: &Scope) -> Result<(), Failure> {
        let settings = self.servers.settings().load();
        let (is_offered, path, key) = match scope {
            Scope::All => (settings.endpoints.all, "/mcp/all", "all"),
            Scope::Server(_) => (settings.endpoints.server, "/mcp/s/{server}", "server"),
        };
        if is_offered {
            return Ok(());
        }
        let message = format!(
            "The endpoint {path} is switched off: use /mcp, or have a person set \"endpoints\": {{ \"{key}\": true }} in the configuration"
        );
        Err(Failure::new(Code::NotFound, message))
    }

    /// Refuses a scope that is not offered, or names no server that a caller with these rights may use.
    pub fn check_scope(&self, scope: &Scope, rights: &Rights) -> Result<(), Failure> {
        self.check_offered(scope)?;
        match scope {
            Scope::All => Ok(()),
            Scope::Server(server) => self.servers.check_known(server, rights),
        }
    }

    /// The arguments of an offered tool that a client has to repeat in headers.
    pub async fn param_headers(
        &self,
        scope: &Scope,
        name: &str,
        rights: &Rights,
    ) -> Vec<ParamHeader> {
        let Some((server, tool)) = self.target(scope, name, rights).await else {
            return Vec::new();
        };
        let snapshot = self.servers.catalog().snapshot();
        let entry = snapshot.find(&server, &tool);
        let entry = entry.filter(|entry| entry.is_within(rights));
        // Nobody can follow an annotation that is not valid, so nobody is held to it.
        let read = entry.map(|entry| param_headers::of_schema(&entry.tool().input_schema));
        read.and_then(Result::ok).unwrap_or_default()
    }

    /// Directory of what is known now, with the names of prompts and resources for a caller with these rights. Lists
    /// that are too old are renewed meanwhile.
    pub(crate) async fn directory(&self, rights: &Rights) -> Arc<Directory> {
        self.servers.renew();
        self.named_directory(rights).await
    }

    /// Directory of what is known now, with the names of prompts and resources for a caller with these rights.
    pub(crate) async fn named_directory(&self, rights: &Rights) -> Arc<Directory> {
        let directory = self.servers.catalog().directory();
        if !directory.has_names(rights) {
            // Thousands of items take a while, which others on this thread need not wait for.
            let (making, rights) = (Arc::clone(&directory), rights.clone());
            let make = move || making.make_names(&rights);
            self.background.compute(make).await;
        }
        directory
    }

    /// The tool that a name stands for. A server that has not listed its tools yet is waited for,
    /// where only its list can tell.
    async fn target(&self, scope: &Scope, name: &str, rights: &Rights) -> Option<Target> {
        if !is_bounded(name) || name.is_empty() {
            return None;
        }
        let directory = self.servers.catalog().directory();
        if let Some(target) = directory.target(scope, ListedKind::Tool, name, rights) {
            let is_known =
                *scope != Scope::All || self.servers.check_known(&target.0, rights).is_ok();
            return is_known.then_some(target);
        }
        for server in directory.unlisted_owners(name) {
            // If it cannot be reached, there is no such tool for now.
            let _ = self
                .wait_for_listing(server.name(), ListedKind::Tool, rights)
                .await;
        }
        let directory = self.servers.catalog().directory();
        directory.target(scope, ListedKind::Tool, name, rights)
    }

    /// Waits until a server that can be called has a list that is current, within its deadline. One that
    /// has listed its tools before and cannot do so now is shown as it is known.
    async fn wait_for_listing(
        &self,
        server: &str,
        kind: ListedKind,
        rights: &Rights,
    ) -> Result<(), Failure> {
        let snapshot = self.servers.catalog().snapshot();
        let is_known =
            kind == ListedKind::Tool && snapshot.server(server).is_some_and(ServerState::is_listed);
        let listed = async {
            let reachable = self.servers.reachable(server, rights)?;
            let timeout = reachable.settings.timeout;
            let deadline = Instant::now() + if is_known { RENEWED_WITHIN } else { timeout };
            let listed = reachable.upstream.fresh_list(kind, deadline).await;
            listed.map_err(|error| self.servers.failure_of(server, Operation::Read, error))
        };
        // Nothing of it may be used, so nothing of it is listed.
        let is_withheld = |code| matches!(code, Code::ToolDisabled | Code::ServerQuarantined);
        match listed.await {
            Err(failure) if !is_known && !is_withheld(failure.code) => Err(failure),
            _ => Ok(()),
        }
    }

    /// Operation of a tool, as far as a caller with these rights may know it.
    fn operation(&self, server: &str, tool: &str, rights: &Rights) -> Option<Operation> {
        let snapshot = self.servers.catalog().snapshot();
        let tool = snapshot.find(server, tool);
        let tool = tool.filter(|tool| tool.is_within(rights));
        tool.map(|tool| tool.call_with())
    }

    fn bad_arguments(
        &self,
        server: &str,
        tool: &str,
        error: &ObjectError,
        rights: &Rights,
    ) -> Failure {
        let name = format!("{server}:{tool}");
        let violations = [violation("", error.to_string())];
        let failure = Failure::invalid_arguments(&name, &violations).with("tool", name);
        match self.servers.tool(server, tool, rights) {
            Ok(entry) => failure.with("input_schema", entry.tool().input_schema.to_value()),
            Err(_) => failure,
        }
    }

    /// Failure about a tool that is not here; the nearest ones are named as this endpoint names them.
    fn not_found(&self, scope: &Scope, name: &str, code: Code, rights: &Rights) -> Failure {
        let shown = cut(name, 200);
        let directory = self.servers.catalog().directory();
        let near = directory.nearest_tools(scope, &shown, rights);
        let message = if name == menu::REMOVED_TOOL {
            menu::unknown_tool(name, rights)
        } else {
            let hint = did_you_mean(&near, "; tools/list names those there are");
            format!("Tool '{shown}' not found{hint}")
        };
        Failure::new(code, message)
            .with("tool", shown)
            .with("nearest", near)
    }

    async fn listing(&self, scope: &Scope, kind: ListedKind, rights: &Rights) -> Arc<PagedListing> {
        if kind != ListedKind::Tool {
            self.servers.renew();
        }
        let directory = self.servers.catalog().directory();
        if rights.allow_all_tools()
            && let Some(listing) = directory.made(scope, kind)
        {
            return listing;
        }
        // Thousands of items take a while, which others on this thread need not wait for.
        let (scope, rights) = (scope.clone(), rights.clone());
        let make = move || {
            if rights.allow_all_tools() {
                return directory.listing(&scope, kind);
            }
            Arc::new(directory.listing_within(&scope, kind, &rights))
        };
        let listing = self.background.compute(make.clone()).await;
        listing.unwrap_or_else(make)
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
        let size = arguments.text().len();
        let refuse = async |server: Option<&str>, tool: &str, failure| {
            let operation =
                server.and_then(|server| self.direct.operation(server, tool, &caller.rights));
            let record = CallRecord::begin(&self.records, operation, caller);
            let record = record.about(server, tool).with_arguments_size(size);
            // A name that stands for nothing may still begin with a server.
            let owner = || self.servers.catalog().directory().owner(scope, name);
            let name = match server {
                Some(server) => format!("{server}:{tool}"),
                None => owner().unwrap_or_default(),
            };
            let (refused, mut warnings) = (Err(failure), Vec::new());
            if let Ok((server, tool)) = split_name(&name) {
                self.warn_of_lost(server, tool, &caller.rights, &mut warnings);
                self.servers.count_refusal(Some((server, tool)), &refused);
            }
            let outcome = record.close(refused, warnings).await;
            self.completed(outcome, &name, caller).await
        };
        let rights = &caller.rights;
        let Some((server, tool)) = self.direct.target(scope, name, rights).await else {
            let failure = self
                .direct
                .not_found(scope, name, Code::UnknownTool, rights);
            return refuse(None, &cut(name, SHOWN_NAME), failure).await;
        };
        let in_text = arguments_in_text(arguments.text()).filter(|_| self.coerces_for(&server));
        let from_text = Vec::from_iter(in_text.as_ref().map(|_| "arguments"));
        let arguments = match in_text.map_or_else(|| JsonObject::of(arguments), Ok) {
            Ok(arguments) => arguments,
            Err(error) => {
                let failure = self.direct.bad_arguments(&server, &tool, &error, rights);
                return refuse(Some(&server), &tool, failure).await;
            }
        };
        let request = CallRequest {
            variant: None,
            name: format!("{server}:{tool}"),
            arguments,
            declared: DeclaredIntent::default(),
            is_at_own_endpoint: *scope != Scope::All,
            from_text,
        };
        let mut outcome = self.call(request, caller, client).await;
        if let Err(failure) = &mut outcome.result
            && is_unknown(failure.code)
        {
            // The record has the names of the catalog; the caller knows those of its endpoint.
            let parts = failure.take_contract_parts();
            let not_found = self.direct.not_found(scope, name, failure.code, rights);
            *failure = not_found.with_contract_parts(parts);
        }
        outcome
    }
}

/// Identity of servers that clients of a scope see.
pub(crate) fn identity(scope: &Scope) -> ServerIdentity {
    match scope {
        Scope::All => ServerIdentity::Hidden,
        Scope::Server(_) => ServerIdentity::Shown,
    }
}

/// Whether the name stands for nothing, rather than for something that cannot be called.
fn is_unknown(code: Code) -> bool {
    matches!(
        code,
        Code::UnknownTool | Code::UnknownServer | Code::InvalidToolName
    )
}

// === impl CallOutcome ===

impl CallOutcome {
    /// Answer to a client that called an offered tool: the text of a `CallToolResult`, or an
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
                Err(RpcError {
                    data: failure.data_beside(error.data.as_ref(), self.request_id, &self.warnings),
                    ..error.clone()
                })
            }
            Err(failure) if is_unknown(failure.code) => Err(RpcError {
                code: INVALID_PARAMS,
                message: failure.message.clone(),
                data: Some(serde_json::json!(self.error_answer(failure))),
            }),
            _ => Ok(self.to_client_result(protocol, identity(scope))),
        }
    }
}
