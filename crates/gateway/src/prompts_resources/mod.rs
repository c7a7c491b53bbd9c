//! Prompts that are got, resources that are read and subscribed to, and completion. Their lists are those of
//! [`DirectEndpoints`].
//!
//! Getting a prompt and reading a resource are reads by the protocol's own word:
//! nothing is decided here, and all of it is on the record.

mod fetch_error;
mod subscriptions;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mcpproxy_activity::{OpenRecord, RecordKind, RecordOutcome, Status};
use mcpproxy_catalog::Directory;
use mcpproxy_catalog::directory::names::Target;
use mcpproxy_catalog::directory::with_text;
use mcpproxy_policy::Caller;
use mcpproxy_policy::Operation;
use mcpproxy_upstream::client::ClientLink;
use mcpproxy_upstream::{ReadRequest, UpstreamState};
use mcpproxy_wire::{Json, ListedKind};

pub use self::fetch_error::FetchError;
pub use self::subscriptions::Subscriptions;
use crate::background::Background;
use crate::call::{not_recorded, record_if_slow};
use crate::direct::{DirectEndpoints, Scope};
use crate::failure::{Code, Failure};
use crate::records::Records;
use crate::request::cut;
use crate::servers::{ReachableServer, Servers};
use crate::settings::LiveSettings;

/// Time that a server that is starting is waited for, where only its list can tell whose an address
/// is.
const STARTING: Duration = Duration::from_secs(5);

/// The answer to a completion that no server can give.
const NOTHING_TO_COMPLETE: &str = r#"{"completion":{"values":[],"total":0,"hasMore":false}}"#;

/// Prompts and resources of all servers, their completion and subscriptions to them.
pub struct PromptsResources {
    servers: Arc<Servers>,
    settings: Arc<LiveSettings>,
    records: Arc<Records>,
    endpoints: DirectEndpoints,
    background: Background,
}

/// Prompt or resource as the caller named it.
#[derive(Clone, Copy)]
enum Fetch<'a> {
    Prompt(&'a str, Option<&'a Json>),
    Resource(&'a str),
}

// === impl PromptsResources ===

impl PromptsResources {
    pub(crate) fn new(
        servers: &Arc<Servers>,
        settings: &Arc<LiveSettings>,
        records: &Arc<Records>,
        background: &Background,
    ) -> Self {
        Self {
            servers: Arc::clone(servers),
            settings: Arc::clone(settings),
            records: Arc::clone(records),
            endpoints: DirectEndpoints::new(servers, background),
            background: background.clone(),
        }
    }

    /// Answers `prompts/get`.
    pub async fn get_prompt(
        &self,
        scope: &Scope,
        name: &str,
        arguments: Option<&Json>,
        caller: &Arc<Caller>,
        client: Option<&Arc<ClientLink>>,
    ) -> Result<Json, FetchError> {
        self.fetch(scope, Fetch::Prompt(name, arguments), caller, client)
            .await
    }

    /// Answers `resources/read`.
    pub async fn read_resource(
        &self,
        scope: &Scope,
        uri: &str,
        caller: &Arc<Caller>,
        client: Option<&Arc<ClientLink>>,
    ) -> Result<Json, FetchError> {
        self.fetch(scope, Fetch::Resource(uri), caller, client)
            .await
    }

    /// Answers `completion/complete`; it is asked at every key that somebody presses, and not recorded.
    pub async fn complete(
        &self,
        scope: &Scope,
        (reference, argument, context): (&Json, &Json, Option<&Json>),
    ) -> Result<Json, FetchError> {
        let (member, named) = fetch_error::referred(reference)?;
        let kind = match member {
            "name" => ListedKind::Prompt,
            _ => ListedKind::Template,
        };
        let target = self.target(scope, kind, &named).await;
        let (server, own) = target.map_err(FetchError::of_parameters)?;
        let ReachableServer { upstream, settings } = self.servers.reachable(&server)?;
        let deadline = Instant::now() + settings.timeout;
        let snapshot = self.servers.catalog().snapshot();
        let has_none = snapshot.server(&server).is_some_and(|known| {
            known.is_known() && !known.offerings().capabilities.has_completions
        });
        if has_none {
            let nothing = Json::parse(NOTHING_TO_COMPLETE);
            return nothing.map_err(|error| Failure::new(Code::Internal, error.to_string()).into());
        }
        let reference = with_text(reference, member, &own);
        let request = ReadRequest::Completion {
            reference: &reference,
            argument,
            context,
        };
        // Nobody is told of a completion's caller: it comes with every key that is pressed.
        let answer = upstream.read(&request, None, deadline).await;
        answer.map_err(|error| FetchError::of_upstream(&server, error, &self.settings.mask()))
    }

    async fn fetch(
        &self,
        scope: &Scope,
        fetch: Fetch<'_>,
        caller: &Arc<Caller>,
        client: Option<&Arc<ClientLink>>,
    ) -> Result<Json, FetchError> {
        let mut record = self
            .records
            .begin(RecordKind::ToolCall, caller, Some(Operation::Read));
        let request_id = record.request_id();
        let named = fetch.read_request(fetch.named());
        record.set_tool_name(named.method().as_str());
        record.set_arguments(&named.params());
        let result = self.attempt_fetch(scope, fetch, client, &mut record).await;
        let result = result.map_err(|fetch_error| fetch_error.with_request_id(request_id));
        let end = match &result {
            Ok(json) => RecordOutcome {
                status: Status::Success,
                error: None,
                response: Some(json.text()),
            },
            Err(fetch_error) => fetch_error.record_outcome(),
        };
        // A read that could not be recorded is counted by the log, and stays a read.
        let _ = record.close(end).await;
        result
    }

    async fn attempt_fetch(
        &self,
        scope: &Scope,
        fetch: Fetch<'_>,
        client: Option<&Arc<ClientLink>>,
        record: &mut OpenRecord,
    ) -> Result<Json, FetchError> {
        let (server, own) = match fetch {
            Fetch::Prompt(name, _) => self.target(scope, ListedKind::Prompt, name).await,
            Fetch::Resource(uri) => self.target(scope, ListedKind::Resource, uri).await,
        }?;
        let request = fetch.read_request(&own);
        record.set_tool(&server, request.method().as_str());
        let ReachableServer { upstream, settings } = self.servers.reachable(&server)?;
        let deadline = Instant::now() + settings.timeout;
        let recorded = record.begin_sending(deadline).await;
        recorded.map_err(|problem| not_recorded(&problem))?;
        let answer = pin!(upstream.read(&request, client, deadline));
        let answer = record_if_slow(record, answer).await;
        answer.map_err(|error| {
            let fetch_error = FetchError::of_upstream(&server, error, &self.settings.mask());
            match fetch {
                Fetch::Prompt(..) => fetch_error,
                Fetch::Resource(uri) => fetch_error.about(uri),
            }
        })
    }

    /// Item that a name or an address stands for, or why there is none.
    async fn target(
        &self,
        scope: &Scope,
        kind: ListedKind,
        named: &str,
    ) -> Result<Target, FetchError> {
        let mut directory = self.endpoints.directory().await;
        let mut target = directory.target(scope, kind, named);
        if target.is_none() && self.wait_for_starting(&directory).await {
            directory = self.endpoints.directory().await;
            target = directory.target(scope, kind, named);
        }
        target.ok_or_else(|| match kind {
            ListedKind::Tool | ListedKind::Prompt => {
                let shown = cut(named, 200);
                let message =
                    format!("Prompt '{shown}' not found; prompts/list names those there are");
                Failure::new(Code::NotFound, message).into()
            }
            ListedKind::Resource | ListedKind::Template => {
                FetchError::no_resource(named, &directory.with_resources())
            }
        })
    }

    /// Waits a moment for servers that are just starting to say what they list; false if there
    /// are none.
    async fn wait_for_starting(&self, directory: &Directory) -> bool {
        let starting: Vec<ReachableServer> = directory
            .unknown()
            .into_iter()
            .filter_map(|server| self.servers.reachable(server).ok())
            .filter(|server| {
                let state = server.upstream.state();
                matches!(state, UpstreamState::Starting | UpstreamState::Ready { .. })
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

// === impl Fetch ===

impl<'a> Fetch<'a> {
    fn named(self) -> &'a str {
        match self {
            Self::Prompt(name, _) => name,
            Self::Resource(uri) => uri,
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
