//! What servers offer besides tools: prompts, resources, completion and subscriptions.
//!
//! Lists are answered from what is known, so that no server keeps anybody waiting, but for the endpoint
//! of that very server. Getting a prompt and reading a resource are reads by the protocol's own word:
//! nothing is decided here, and all of it is on the record.

mod address;
mod book;
mod refusal;
mod subscriptions;
mod template;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use futures_util::future::join_all;
use mcpproxy_activity::{OpenRecord, RecordKind, RecordOutcome, Status};
use mcpproxy_policy::Operation;
use mcpproxy_upstream::{Origin, ReadRequest, State};
use mcpproxy_wire::Json;
pub use mcpproxy_wire::item::Kind;
use tokio::sync::watch;

use self::address::with_text;
use self::book::Book;
pub use self::refusal::Refusal;
pub use self::subscriptions::Subscriptions;
use crate::call::origin;
use crate::failure::{Code, Failure};
use crate::offer::Scope;
use crate::offer::listing::Listing;
use crate::offer::name::Target;
use crate::on_record::{not_recorded, on_record};
use crate::request::cut;
use crate::servers::{Reachable, Running};
use crate::{Gateway, Party};

/// How long a server that is starting is waited for, where only its list can tell whose an address
/// is.
const STARTING: Duration = Duration::from_secs(5);

/// The answer to a completion that no server can give.
const NOTHING_TO_COMPLETE: &str = r#"{"completion":{"values":[],"total":0,"hasMore":false}}"#;

/// What was put together of the newest lists.
#[derive(Default)]
pub(crate) struct Library {
    changes: Arc<watch::Sender<u64>>,
    book: ArcSwapOption<Book>,
}

/// Stands for what is listed: a part changes when that list does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digest {
    /// The prompts.
    pub prompts: u64,
    /// The resources and their templates.
    pub resources: u64,
}

/// What is asked for, as the caller named it.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Prompt(&'a str, Option<&'a Json>),
    Resource(&'a str),
}

impl Library {
    /// Says that there may be other lists.
    pub(crate) fn changes(&self) -> Arc<watch::Sender<u64>> {
        Arc::clone(&self.changes)
    }
}

// === impl Gateway: lists ===

impl Gateway {
    /// Answers a list. Where one server is offered, it is waited for; of all servers, that is
    /// listed which is known.
    pub async fn list_library(
        &self,
        scope: &Scope,
        kind: Kind,
        cursor: Option<&str>,
    ) -> Result<String, Failure> {
        if let Scope::Server(server) = scope {
            self.wait_for_stock(server).await?;
        }
        let listing = self.library_listing(scope, kind).await;
        listing.page(cursor).ok_or_else(|| {
            let method = kind.method();
            let message = format!(
                "Invalid cursor: send nextCursor as {method} returned it, or none to begin"
            );
            Failure::new(Code::InvalidArguments, message)
        })
    }

    /// Stands for everything that is listed now.
    pub async fn library_digest(&self, scope: &Scope) -> Digest {
        let digest = async |kind| self.library_listing(scope, kind).await.digest();
        Digest {
            prompts: digest(Kind::Prompt).await,
            resources: digest(Kind::Resource).await ^ digest(Kind::Template).await.rotate_left(1),
        }
    }

    /// Changes when there may be other lists.
    pub fn library_changes(&self) -> watch::Receiver<u64> {
        self.library.changes.subscribe()
    }

    async fn library_listing(&self, scope: &Scope, kind: Kind) -> Arc<Listing> {
        let book = self.book().await;
        if let Some(listing) = book.made(scope, kind) {
            return listing;
        }
        let (making, wanted) = (Arc::clone(&book), scope.clone());
        let made = self
            .general
            .spawn_blocking(move || making.listing(&wanted, kind));
        match made.await {
            Ok(listing) => listing,
            Err(_) => book.listing(scope, kind),
        }
    }

    /// What is known now, put together. Lists that have become old are renewed meanwhile.
    async fn book(&self) -> Arc<Book> {
        let servers = self.servers.load_full();
        let stocks: Vec<_> = servers
            .iter()
            .filter_map(|(name, server)| match &server.running {
                Running::Yes(upstream) => Some((Arc::clone(name), upstream.stock())),
                _ => None,
            })
            .collect();
        let before = self.library.book.load_full();
        if let Some(book) = &before
            && book.is_of(&stocks)
        {
            return Arc::clone(book);
        }
        // Thousands of items take a while, which others on this thread need not wait for.
        let made = self
            .general
            .spawn_blocking(move || Arc::new(Book::after(before.as_deref(), stocks)));
        let Ok(book) = made.await else {
            return Arc::new(Book::after(None, Vec::new()));
        };
        self.library.book.store(Some(Arc::clone(&book)));
        book
    }

    /// Waits until a server that can be called has said what it lists, within its deadline.
    async fn wait_for_stock(&self, server: &str) -> Result<(), Failure> {
        let Reachable { upstream, settings } = match self.server(server) {
            Ok(reachable) => reachable,
            // Nothing of it may be used, so nothing of it is listed.
            Err(failure)
                if matches!(failure.code, Code::ToolDisabled | Code::ServerQuarantined) =>
            {
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        let stocked = upstream.stocked(Instant::now() + settings.timeout).await;
        stocked.map(drop).map_err(|error| {
            Failure::of_upstream(server, Operation::Read, error, &self.mask.load())
        })
    }
}

// === impl Gateway: what is got and read ===

impl Gateway {
    /// Answers `prompts/get`.
    pub async fn get_prompt(
        &self,
        scope: &Scope,
        name: &str,
        arguments: Option<&Json>,
        party: Party<'_>,
    ) -> Result<Json, Refusal> {
        self.fetch(scope, Wanted::Prompt(name, arguments), party)
            .await
    }

    /// Answers `resources/read`.
    pub async fn read_resource(
        &self,
        scope: &Scope,
        uri: &str,
        party: Party<'_>,
    ) -> Result<Json, Refusal> {
        self.fetch(scope, Wanted::Resource(uri), party).await
    }

    /// Answers `completion/complete`; it is asked at every key that somebody presses, and not recorded.
    pub async fn complete(
        &self,
        scope: &Scope,
        (reference, argument, context): (&Json, &Json, Option<&Json>),
        party: Party<'_>,
    ) -> Result<Json, Refusal> {
        let (member, named) = refusal::referred(reference)?;
        let (server, own) = match member {
            "name" => self.prompt_target(scope, &named).await,
            _ => self.resource_target(scope, &named, Book::template).await,
        }
        .map_err(Refusal::of_parameters)?;
        let Reachable { upstream, settings } = self.server(&server)?;
        let deadline = Instant::now() + settings.timeout;
        let known = upstream.stock();
        if known.is_known && !known.capabilities.has_completions {
            let nothing = Json::parse(NOTHING_TO_COMPLETE);
            return nothing.map_err(|error| Failure::new(Code::Internal, error.to_string()).into());
        }
        let reference = with_text(reference, member, &own);
        let inquiry = ReadRequest::Completion {
            reference: &reference,
            argument,
            context,
        };
        let origin = Origin {
            client: party.client,
            ..Origin::default()
        };
        let answer = upstream.read(&inquiry, origin, deadline).await;
        answer.map_err(|error| Refusal::of_upstream(&server, error, &self.mask.load()))
    }

    async fn fetch(
        &self,
        scope: &Scope,
        wanted: Wanted<'_>,
        party: Party<'_>,
    ) -> Result<Json, Refusal> {
        let mut record = self
            .log
            .open(RecordKind::ToolCall, party.caller, Some(Operation::Read));
        let request_id = record.request_id();
        let named = wanted.read_request(wanted.named());
        record.set_tool_name(named.method());
        record.set_arguments(&named.params());
        let result = self.attempt_fetch(scope, wanted, party, &mut record).await;
        let result = result.map_err(|refusal| refusal.with_request_id(request_id));
        let end = match &result {
            Ok(json) => RecordOutcome {
                status: Status::Success,
                error: None,
                response: Some(json.text()),
            },
            Err(refusal) => refusal.end(),
        };
        // A read that could not be recorded is counted by the log, and stays a read.
        let _ = record.close(end).await;
        result
    }

    async fn attempt_fetch(
        &self,
        scope: &Scope,
        wanted: Wanted<'_>,
        party: Party<'_>,
        record: &mut OpenRecord,
    ) -> Result<Json, Refusal> {
        let (server, own) = match wanted {
            Wanted::Prompt(name, _) => self.prompt_target(scope, name).await,
            Wanted::Resource(uri) => self.resource_target(scope, uri, Book::resource).await,
        }?;
        let inquiry = wanted.read_request(&own);
        record.set_tool(&server, inquiry.method());
        let Reachable { upstream, settings } = self.server(&server)?;
        let deadline = Instant::now() + settings.timeout;
        let recorded = record.begin_sending(deadline).await;
        recorded.map_err(|problem| not_recorded(&problem))?;
        let asked = pin!(upstream.read(&inquiry, origin(party, record), deadline));
        let answer = on_record(record, asked).await;
        answer.map_err(|error| {
            let refusal = Refusal::of_upstream(&server, error, &self.mask.load());
            match wanted {
                Wanted::Prompt(..) => refusal,
                Wanted::Resource(uri) => refusal.about(uri),
            }
        })
    }

    /// The prompt that a name stands for, or why there is none.
    async fn prompt_target(&self, scope: &Scope, name: &str) -> Result<Target, Refusal> {
        let mut book = self.book().await;
        let mut target = book.prompt(scope, name);
        if target.is_none() && self.wait_for_starting(&book).await {
            book = self.book().await;
            target = book.prompt(scope, name);
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
        find: impl Fn(&Book, &Scope, &str) -> Option<Target>,
    ) -> Result<Target, Refusal> {
        let mut book = self.book().await;
        let mut target = find(&book, scope, uri);
        if target.is_none() && self.wait_for_starting(&book).await {
            book = self.book().await;
            target = find(&book, scope, uri);
        }
        target.ok_or_else(|| Refusal::no_resource(uri, &book.with_resources()))
    }

    /// Waits a moment for servers that are just starting to say what they list; false if there
    /// are none.
    async fn wait_for_starting(&self, book: &Book) -> bool {
        let starting: Vec<Reachable> = book
            .unknown()
            .into_iter()
            .filter_map(|server| self.server(server).ok())
            .filter(|server| {
                let state = server.upstream.state();
                matches!(state, State::Starting | State::Ready { .. })
            })
            .collect();
        let deadline = Instant::now() + STARTING;
        let waiting = starting
            .iter()
            .map(|server| server.upstream.stocked(deadline));
        join_all(waiting).await;
        !starting.is_empty()
    }
}

// === impl Wanted ===

impl<'a> Wanted<'a> {
    fn named(self) -> &'a str {
        match self {
            Self::Prompt(name, _) => name,
            Self::Resource(uri) => uri,
        }
    }

    /// What the server is asked that knows it by this name.
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
