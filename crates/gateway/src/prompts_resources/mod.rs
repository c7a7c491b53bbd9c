//! Offerings besides tools: prompts, resources, completion and subscriptions.
//!
//! Lists are answered from what is known, so that no server keeps anybody waiting, but for the endpoint
//! of that very server. Getting a prompt and reading a resource are reads by the protocol's own word:
//! nothing is decided here, and all of it is on the record.

mod address;
mod directory;
mod fetch_error;
mod subscriptions;
mod template;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use futures_util::future::join_all;
use mcpproxy_activity::{OpenRecord, RecordKind, RecordOutcome, Status};
use mcpproxy_policy::Caller;
use mcpproxy_policy::Operation;
use mcpproxy_upstream::client::ClientLink;
use mcpproxy_upstream::{ReadRequest, UpstreamState};
use mcpproxy_wire::Json;
pub use mcpproxy_wire::listed_item::ListedKind;
use tokio::sync::watch;

use self::address::with_text;
use self::directory::Directory;
pub use self::fetch_error::FetchError;
pub use self::subscriptions::Subscriptions;
use crate::background::Background;
use crate::call::{not_recorded, record_if_slow};
use crate::direct::Scope;
use crate::direct::listing::PagedListing;
use crate::direct::name::Target;
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
    background: Background,
    /// Made of the newest lists that somebody asked for.
    directory: ArcSwapOption<Directory>,
}

/// Digests of what is listed: each changes when its list does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digest {
    /// The prompts.
    pub prompts: u64,
    /// The resources and their templates.
    pub resources: u64,
}

/// Prompt or resource as the caller named it.
#[derive(Clone, Copy)]
enum Fetch<'a> {
    Prompt(&'a str, Option<&'a Json>),
    Resource(&'a str),
}

// === impl PromptsResources: lists ===

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
            background: background.clone(),
            directory: ArcSwapOption::default(),
        }
    }

    /// Answers a list. Where one server is offered, it is waited for; of all servers, that is
    /// listed which is known.
    pub async fn list(
        &self,
        scope: &Scope,
        kind: ListedKind,
        cursor: Option<&str>,
    ) -> Result<String, Failure> {
        if let Scope::Server(server) = scope {
            self.wait_for_offerings(server).await?;
        }
        let listing = self.listing(scope, kind).await;
        listing.page(cursor).ok_or_else(|| {
            let method = kind.method();
            let message = format!(
                "Invalid cursor: send nextCursor as {method} returned it, or none to begin"
            );
            Failure::new(Code::InvalidArguments, message)
        })
    }

    /// Digests of everything that is listed now.
    pub async fn digest(&self, scope: &Scope) -> Digest {
        let digest = async |kind| self.listing(scope, kind).await.digest();
        Digest {
            prompts: digest(ListedKind::Prompt).await,
            resources: digest(ListedKind::Resource).await
                ^ digest(ListedKind::Template).await.rotate_left(1),
        }
    }

    /// Changes when there may be other lists.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.servers.offering_changes()
    }

    async fn listing(&self, scope: &Scope, kind: ListedKind) -> Arc<PagedListing> {
        let directory = self.directory().await;
        if let Some(listing) = directory.made(scope, kind) {
            return listing;
        }
        let (making, wanted) = (Arc::clone(&directory), scope.clone());
        let made = self
            .background
            .compute(move || making.listing(&wanted, kind));
        made.await.unwrap_or_else(|| directory.listing(scope, kind))
    }

    /// Directory of what is known now. Lists that have become old are renewed meanwhile.
    async fn directory(&self) -> Arc<Directory> {
        let running = self.servers.running().into_iter();
        let listed: Vec<_> = running
            .map(|(name, upstream)| (name, upstream.offerings()))
            .collect();
        let before = self.directory.load_full();
        if let Some(directory) = &before
            && directory.is_of(&listed)
        {
            return Arc::clone(directory);
        }
        // Thousands of items take a while, which others on this thread need not wait for.
        let make = move || Arc::new(Directory::after(before.as_deref(), listed));
        let Some(directory) = self.background.compute(make).await else {
            return Arc::new(Directory::after(None, Vec::new()));
        };
        self.directory.store(Some(Arc::clone(&directory)));
        directory
    }

    /// Waits until a server that can be called has said what it lists, within its deadline.
    async fn wait_for_offerings(&self, server: &str) -> Result<(), Failure> {
        let ReachableServer { upstream, settings } = match self.servers.reachable(server) {
            Ok(reachable) => reachable,
            // Nothing of it may be used, so nothing of it is listed.
            Err(failure)
                if matches!(failure.code, Code::ToolDisabled | Code::ServerQuarantined) =>
            {
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        let listed = upstream
            .fresh_offerings(Instant::now() + settings.timeout)
            .await;
        listed
            .map(drop)
            .map_err(|error| self.servers.failure_of(server, Operation::Read, error))
    }
}

// === impl PromptsResources: what is got and read ===

impl PromptsResources {
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
        let (server, own) = match member {
            "name" => self.prompt_target(scope, &named).await,
            _ => {
                self.resource_target(scope, &named, Directory::template)
                    .await
            }
        }
        .map_err(FetchError::of_parameters)?;
        let ReachableServer { upstream, settings } = self.servers.reachable(&server)?;
        let deadline = Instant::now() + settings.timeout;
        let known = upstream.offerings();
        if known.is_known && !known.capabilities.has_completions {
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
            Fetch::Prompt(name, _) => self.prompt_target(scope, name).await,
            Fetch::Resource(uri) => self.resource_target(scope, uri, Directory::resource).await,
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

    /// The prompt that a name stands for, or why there is none.
    async fn prompt_target(&self, scope: &Scope, name: &str) -> Result<Target, FetchError> {
        let mut directory = self.directory().await;
        let mut target = directory.prompt(scope, name);
        if target.is_none() && self.wait_for_starting(&directory).await {
            directory = self.directory().await;
            target = directory.prompt(scope, name);
        }
        target.ok_or_else(|| {
            let shown = cut(name, 200);
            let message = format!("Prompt '{shown}' not found; prompts/list names those there are");
            Failure::new(Code::NotFound, message).into()
        })
    }

    /// The resource that an address stands for, or why there is none.
    async fn resource_target(
        &self,
        scope: &Scope,
        uri: &str,
        find: impl Fn(&Directory, &Scope, &str) -> Option<Target>,
    ) -> Result<Target, FetchError> {
        let mut directory = self.directory().await;
        let mut target = find(&directory, scope, uri);
        if target.is_none() && self.wait_for_starting(&directory).await {
            directory = self.directory().await;
            target = find(&directory, scope, uri);
        }
        target.ok_or_else(|| FetchError::no_resource(uri, &directory.with_resources()))
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
        let waiting = starting
            .iter()
            .map(|server| server.upstream.fresh_offerings(deadline));
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
