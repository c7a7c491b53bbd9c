//! Prompts that are got, resources that are read and subscribed to, and completion. Their lists are those of
//! [`DirectEndpoints`].
//!
//! All of them are reads by the protocol's own word: nothing is decided here, and all of it is on the record.

mod fetch_error;
mod subscriptions;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mcpproxy_activity::{OpenRecord, RecordKind};
use mcpproxy_catalog::Directory;
use mcpproxy_catalog::directory::names::Target;
use mcpproxy_catalog::directory::with_text;
use mcpproxy_policy::{Caller, Operation, Rights};
use mcpproxy_upstream::client::ClientLink;
use mcpproxy_upstream::{CallError, CallSlot, ReadRequest, Upstream, UpstreamState};
use mcpproxy_wire::result::without_dropped_keys;
use mcpproxy_wire::{Json, ListedKind, Method};

pub use self::fetch_error::FetchError;
pub use self::subscriptions::Subscriptions;
use crate::background::Background;
use crate::call::{not_recorded, record_if_slow};
use crate::direct::{DirectEndpoints, Scope, identity};
use crate::failure::{Code, Failure, record_outcome};
use crate::records::Records;
use crate::request::cut;
use crate::servers::{ReachableServer, Servers};
use crate::tokens::Tokens;

/// Time that a server that is starting is waited for, where only its list can tell whose an address
/// is.
const STARTING: Duration = Duration::from_secs(5);

/// The answer to a completion that no server can give.
const NOTHING_TO_COMPLETE: &str = r#"{"completion":{"values":[],"total":0,"hasMore":false}}"#;

/// Prompts and resources of all servers, their completion and subscriptions to them.
pub struct PromptsResources {
    servers: Arc<Servers>,
    records: Arc<Records>,
    tokens: Arc<Tokens>,
    endpoints: DirectEndpoints,
    background: Background,
}

/// Prompt or resource as the caller named it.
#[derive(Debug, Clone, Copy)]
pub enum Fetch<'a> {
    /// Prompt of this name, with its arguments.
    Prompt(&'a str, Option<&'a Json>),
    /// Resource at this address.
    Resource(&'a str),
}

// === impl PromptsResources ===

impl PromptsResources {
    pub(crate) fn new(
        servers: &Arc<Servers>,
        records: &Arc<Records>,
        tokens: &Arc<Tokens>,
        background: &Background,
    ) -> Self {
        Self {
            servers: Arc::clone(servers),
            records: Arc::clone(records),
            tokens: Arc::clone(tokens),
            endpoints: DirectEndpoints::new(servers, background),
            background: background.clone(),
        }
    }

    /// Answers `completion/complete`. It is asked at every key that somebody presses, and what is pressed reaches a
    /// server, so each is on record.
    pub async fn complete(
        &self,
        scope: &Scope,
        (reference, argument, context): (&Json, &Json, Option<&Json>),
        caller: &Arc<Caller>,
    ) -> Result<Json, FetchError> {
        let request = ReadRequest::Completion {
            reference,
            argument,
            context,
        };
        let mut record = self.open_record(request.method(), &request.params(), caller);
        let wanted = (reference, argument, context);
        let result = self
            .attempt_completion(scope, wanted, caller, &mut record)
            .await;
        // What is not found is only part of the request.
        let result = result.map_err(|error| FetchError { uri: None, ..error });
        let result = close_record(record, result, Json::text).await;
        result.map(|result| without_dropped_keys(result, identity(scope)))
    }

    async fn attempt_completion(
        &self,
        scope: &Scope,
        (reference, argument, context): (&Json, &Json, Option<&Json>),
        caller: &Caller,
        record: &mut OpenRecord,
    ) -> Result<Json, FetchError> {
        let (kind, member, named) = fetch_error::referred(reference)?;
        let (server, own) = self.target(scope, kind, &named, &caller.rights).await?;
        record.set_tool(&server, Method::CompletionComplete.as_str());
        let rights = &caller.rights;
        let ReachableServer {
            upstream, settings, ..
        } = self.servers.reachable(&server, rights)?;
        let deadline = Instant::now() + settings.timeout;
        let snapshot = self.servers.catalog().snapshot();
        let has_none = snapshot.server(&server).is_some_and(|known| {
            known.is_known() && !known.offerings().capabilities.has_completions
        });
        if has_none {
            let nothing = Json::parse(NOTHING_TO_COMPLETE);
            return nothing.map_err(|error| Failure::new(Code::Internal, error.to_string()).into());
        }
        let slot = self.slot(&upstream, &server, caller, deadline).await?;
        let recorded = record.begin_sending(deadline).await;
        recorded.map_err(|problem| not_recorded(&problem))?;
        let reference = with_text(reference, member, &own);
        let request = ReadRequest::Completion {
            reference: &reference,
            argument,
            context,
        };
        // Nobody is told of a completion's caller: it comes with every key that is pressed.
        let answer = slot.read(&request, None, deadline).await;
        answer.map_err(|error| self.not_read(&server, error))
    }

    /// Answers `prompts/get` and `resources/read`.
    pub async fn fetch(
        &self,
        scope: &Scope,
        fetch: Fetch<'_>,
        caller: &Arc<Caller>,
        client: Option<&Arc<ClientLink>>,
    ) -> Result<Json, FetchError> {
        let named = fetch.read_request(fetch.named().1);
        let mut record = self.open_record(named.method(), &named.params(), caller);
        let result = self
            .attempt_fetch(scope, fetch, caller, client, &mut record)
            .await;
        let result = close_record(record, result, Json::text).await;
        result.map(|result| without_dropped_keys(result, identity(scope)))
    }

    /// Opens the record of a request, with its parameters as they were sent.
    fn open_record(&self, method: Method, params: &str, caller: &Arc<Caller>) -> OpenRecord {
        let log = self.records.log();
        let mut record = log.open(RecordKind::ToolCall, caller, Some(Operation::Read));
        record.set_tool_name(method.as_str());
        record.set_arguments(params);
        record
    }

    async fn attempt_fetch(
        &self,
        scope: &Scope,
        fetch: Fetch<'_>,
        caller: &Arc<Caller>,
        client: Option<&Arc<ClientLink>>,
        record: &mut OpenRecord,
    ) -> Result<Json, FetchError> {
        let rights = &caller.rights;
        let (kind, named) = fetch.named();
        let (server, own) = self.target(scope, kind, named, rights).await?;
        let request = fetch.read_request(&own);
        record.set_tool(&server, request.method().as_str());
        let ReachableServer {
            upstream, settings, ..
        } = self.servers.reachable(&server, rights)?;
        let deadline = Instant::now() + settings.timeout;
        let slot = self.slot(&upstream, &server, caller, deadline).await?;
        let recorded = record.begin_sending(deadline).await;
        recorded.map_err(|problem| not_recorded(&problem))?;
        if let Some(client) = client {
            let (name, id) = (upstream.name(), record.id());
            self.records.begin_call(client, name, caller, id).await;
        }
        let answer = pin!(slot.read(&request, client, deadline));
        let answer = record_if_slow(record, answer).await;
        answer.map_err(|error| match fetch {
            Fetch::Prompt(..) => self.not_read(&server, error),
            Fetch::Resource(uri) => self.not_read(&server, error).about(uri),
        })
    }

    /// Waits for a slot of a server. The caller's token may have ended by then.
    async fn slot<'a>(
        &self,
        upstream: &'a Upstream,
        server: &str,
        caller: &Caller,
        deadline: Instant,
    ) -> Result<CallSlot<'a>, FetchError> {
        let slot = upstream.call_slot(caller, deadline).await;
        let slot = slot.map_err(|error| self.not_read(server, error))?;
        self.tokens.check(&caller.rights)?;
        Ok(slot)
    }

    /// Error of a server that did not do its part.
    fn not_read(&self, server: &str, error: CallError) -> FetchError {
        let failure = self.servers.failure_of(server, Operation::Read, error);
        failure.into()
    }

    /// Item that a name or an address stands for, or why there is none.
    async fn target(
        &self,
        scope: &Scope,
        kind: ListedKind,
        named: &str,
        rights: &Rights,
    ) -> Result<Target, FetchError> {
        let mut directory = self.endpoints.directory(rights).await;
        let mut target = directory.target(scope, kind, named, rights);
        if target.is_none() && self.wait_for_starting(&directory, rights).await {
            directory = self.endpoints.directory(rights).await;
            target = directory.target(scope, kind, named, rights);
        }
        target.ok_or_else(|| match kind {
            ListedKind::Tool | ListedKind::Prompt => {
                let shown = cut(named, 200);
                let message =
                    format!("Prompt '{shown}' not found; prompts/list names those there are");
                Failure::new(Code::NotFound, message).into()
            }
            ListedKind::Resource | ListedKind::Template => {
                let fitting = directory.fitting(named, rights);
                FetchError::no_resource(named, &fitting, &directory.with_resources(rights))
            }
        })
    }

    /// Waits a moment for servers that are just starting to say what they list; false if there
    /// are none.
    async fn wait_for_starting(&self, directory: &Directory, rights: &Rights) -> bool {
        let starting: Vec<ReachableServer> = directory
            .unknown()
            .into_iter()
            .filter_map(|server| self.servers.reachable(server, rights).ok())
            .filter(|server| {
                let state = server.upstream.state();
                matches!(
                    state,
                    UpstreamState::Starting(_) | UpstreamState::Ready { .. }
                )
            })
            .collect();
        let deadline = Instant::now() + STARTING;
        let waiting = starting.iter().flat_map(|server| {
            let upstream = &server.upstream;
            ListedKind::ALL.map(|kind| upstream.fresh_list(kind, deadline))
        });
        join_all(waiting).await;
        !starting.is_empty()
    }
}

/// Puts the outcome of a request on record. What could not be recorded is counted by the log, and stays a read.
async fn close_record<T>(
    record: OpenRecord,
    result: Result<T, FetchError>,
    text: fn(&T) -> &str,
) -> Result<T, FetchError> {
    let request_id = record.request_id();
    let result = result.map_err(|error| FetchError {
        request_id,
        ..error
    });
    let outcome = result.as_ref().map(text);
    let outcome = record_outcome(outcome.map_err(|error| &error.failure));
    let _ = record.close(outcome).await;
    result
}

// === impl Fetch ===

impl<'a> Fetch<'a> {
    fn named(self) -> (ListedKind, &'a str) {
        match self {
            Self::Prompt(name, _) => (ListedKind::Prompt, name),
            Self::Resource(uri) => (ListedKind::Resource, uri),
        }
    }

    /// Request to the server that knows it by this name.
    fn read_request(self, own: &'a str) -> ReadRequest<'a> {
        match self {
            Self::Prompt(_, arguments) => ReadRequest::Prompt {
                name: own,
                arguments,
            },
            Self::Resource(_) => ReadRequest::Resource { uri: own },
        }
    }
}
