//! One connection to one server, whatever it runs over.

mod errand;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use mcpproxy_wire::Method;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::capabilities::{Capabilities, Changes};
use mcpproxy_wire::initialize::{self, ServerHello};
use mcpproxy_wire::method;
use mcpproxy_wire::tool::ToolPage;
use mcpproxy_wire::{Json, Revision};
use tokio::task::AbortHandle;
use tokio::time::Instant;

pub(crate) use self::errand::Errand;
use crate::board::Board;
use crate::client::LogLevel;
use crate::modern::{self, Modern, Round};
use crate::pending::Answer;
use crate::request::OutgoingRequest;
use crate::shared::Shared;
use crate::spec::Transport;
use crate::{BuiltIn, CallError, Origin, builtin, http as http_link, stdio};

/// A connection that requests can be made on, by any number of callers at once.
pub(crate) struct Connection {
    link: Arc<Link>,
    /// What requests carry where there are no sessions; nothing where there are.
    modern: Option<Arc<Modern>>,
    /// Hears of changes where there are no sessions.
    listener: Mutex<Option<AbortHandle>>,
    /// From which level on a server with sessions sends log messages; nothing if it sends none.
    logging: OnceLock<Mutex<LogLevel>>,
}

/// What a connection runs over.
pub(crate) enum Link {
    Stdio(stdio::Connection),
    Http(http_link::Connection),
    BuiltIn(Arc<dyn BuiltIn>),
}

/// One page of a server's tools, and how long the server says it holds.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) tools: ToolPage,
    pub(crate) time_to_live: Option<Duration>,
}

/// The end of a connection that nobody here asked for.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) reason: Arc<str>,
    /// The server is well and only wants to be greeted again.
    pub(crate) is_expired: bool,
}

/// What a server said of itself when the connection was opened.
#[derive(Debug)]
pub(crate) struct Greeting {
    pub(crate) server_info: Option<Json>,
    pub(crate) revision: Option<Revision>,
    pub(crate) has_tools: bool,
    /// Whether every change of its tools will reach us from now on.
    pub(crate) announces: bool,
    /// Whether it offers to tell of them to those who listen.
    pub(crate) announces_to_listeners: bool,
    /// What it has besides tools.
    pub(crate) capabilities: Capabilities,
}

/// Reads the answer to the greeting and checks that we speak its revision.
pub(crate) fn read_hello(answer: &Json) -> Result<(ServerHello, Revision), CallError> {
    let hello = ServerHello::parse(answer).map_err(CallError::malformed)?;
    let revision = Revision::parse(&hello.protocol_version)
        .filter(|revision| revision.protocol() == Protocol::Session)
        .ok_or_else(|| {
            let named: String = hello.protocol_version.chars().take(40).collect();
            CallError::unavailable(format!(
                "it answers initialize with revision '{named}', which has no sessions we know"
            ))
        })?;
    Ok((hello, revision))
}

// === impl Greeting ===

impl Greeting {
    /// What those can ask to be told of who listen, as a server without sessions names it.
    pub(crate) fn announced_lists(&self) -> Vec<&'static str> {
        let announces = |changes| changes == Some(Changes::Announced);
        let lists = [
            ("toolsListChanged", self.announces_to_listeners),
            ("promptsListChanged", announces(self.capabilities.prompts)),
            (
                "resourcesListChanged",
                announces(self.capabilities.resources),
            ),
        ];
        let told = lists.into_iter().filter(|(_, is_announced)| *is_announced);
        told.map(|(list, _)| list).collect()
    }
}

// === impl Connection ===

impl Connection {
    /// Starts what the connection needs, without waiting; the error is for people.
    pub(crate) fn new(shared: &Shared, protocol: Protocol) -> Result<Self, String> {
        let Shared {
            spec, board, tail, ..
        } = shared;
        let link = match &spec.transport {
            Transport::Stdio(stdio) => {
                let guard = shared.runtime.guard.as_deref();
                Link::Stdio(stdio::Connection::start(
                    &spec.name,
                    stdio,
                    guard,
                    shared.mask.clone(),
                    board,
                    tail,
                )?)
            }
            Transport::Http(http) => {
                let connector = shared.runtime.connector();
                Link::Http(http_link::Connection::new(
                    http, protocol, connector, board,
                )?)
            }
            Transport::BuiltIn(built_in) => Link::BuiltIn(Arc::clone(built_in)),
        };
        let modern =
            (protocol == Protocol::Stateless).then(|| Modern::new(&shared.runtime.version).into());
        Ok(Self::over(Arc::new(link), modern))
    }

    /// The same connection with a session, for a server that turned out to want one.
    pub(crate) fn in_session(&self) -> Self {
        Self::over(Arc::clone(&self.link), None)
    }

    /// Tools of this program, for tests of what holds connections.
    #[cfg(test)]
    pub(crate) fn built_in(built_in: Arc<dyn BuiltIn>) -> Self {
        Self::over(Arc::new(Link::BuiltIn(built_in)), None)
    }

    fn over(link: Arc<Link>, modern: Option<Arc<Modern>>) -> Self {
        Self {
            link,
            modern,
            listener: Mutex::default(),
            logging: OnceLock::new(),
        }
    }

    /// The wire protocol spoken on it.
    pub(crate) fn protocol(&self) -> Protocol {
        match self.modern {
            Some(_) => Protocol::Stateless,
            None => Protocol::Session,
        }
    }

    /// Asks who the server is, and opens a session where there are any.
    pub(crate) async fn greet(
        &self,
        version: &str,
        deadline: Instant,
    ) -> Result<Greeting, CallError> {
        if self.modern.is_some() {
            return modern::read_discovery(&self.discover(deadline).await?);
        }
        let params = || initialize::params(Revision::LATEST_WITH_SESSION, version).to_string();
        let (hello, revision, announces) = match &*self.link {
            Link::Stdio(stdio) => {
                let params = params();
                let initialize =
                    OutgoingRequest::own(Method::Initialize.as_str(), &params, deadline);
                let answer = stdio.request(initialize).await?;
                let (hello, revision) = read_hello(&answer)?;
                stdio.notify(method::INITIALIZED, "{}", deadline).await?;
                let announces = hello.announces_tool_changes;
                (hello, revision, announces)
            }
            Link::Http(http) => {
                let greeted = http.greet(&params(), deadline).await?;
                (greeted.hello, greeted.revision, greeted.announces)
            }
            Link::BuiltIn(_) => {
                return Ok(Greeting {
                    server_info: None,
                    revision: None,
                    has_tools: true,
                    announces: false,
                    announces_to_listeners: false,
                    capabilities: Capabilities::default(),
                });
            }
        };
        if hello.has_logging {
            // What servers send of themselves is not known. It is taken for what most need.
            let _ = self.logging.set(Mutex::new(LogLevel::Info));
        }
        Ok(Greeting {
            server_info: hello.server_info,
            revision: Some(revision),
            has_tools: hello.has_tools,
            announces,
            announces_to_listeners: false,
            capabilities: hello.capabilities,
        })
    }

    /// Asks in the way without sessions who the server is.
    pub(crate) async fn discover(&self, deadline: Instant) -> Answer {
        self.request(Method::ServerDiscover.as_str(), "{}", deadline)
            .await
    }

    /// Keeps hearing of changes of these lists until the connection is stopped.
    pub(crate) fn listen(&self, board: &Arc<Board>, lists: Vec<&'static str>) {
        let Some(modern) = &self.modern else { return };
        let (link, modern) = (Arc::clone(&self.link), Arc::clone(modern));
        let listener = tokio::spawn(modern::listen(link, modern, Arc::clone(board), lists));
        self.replace_listener(Some(listener.abort_handle()));
    }

    /// One page of the server's tools.
    pub(crate) async fn list(&self, params: &str, deadline: Instant) -> Result<Page, CallError> {
        if let Link::BuiltIn(built_in) = &*self.link {
            return Ok(Page {
                tools: builtin::list(built_in.as_ref()),
                time_to_live: None,
            });
        }
        let answer = self
            .request(Method::ToolsList.as_str(), params, deadline)
            .await?;
        let mut page = Page {
            tools: ToolPage::parse(&answer).map_err(CallError::malformed)?,
            time_to_live: None,
        };
        if let Some(modern) = &self.modern {
            page.time_to_live = modern::time_to_live(&answer);
            if let Link::Http(_) = *self.link {
                modern.learn_params(&mut page.tools);
            }
        }
        Ok(page)
    }

    /// Calls a tool. `arguments` is the text of one JSON object.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &str,
        origin: Origin<'_>,
        deadline: Instant,
    ) -> Answer {
        if let Link::BuiltIn(built_in) = &*self.link {
            return builtin::call(built_in.as_ref(), tool, arguments, origin, deadline).await;
        }
        let mut params = String::with_capacity(arguments.len() + tool.len() + 32);
        params.push_str(r#"{"name":"#);
        params.push_str(&serde_json::Value::from(tool).to_string());
        params.push_str(r#","arguments":"#);
        params.push_str(arguments);
        params.push('}');
        let errand = Errand {
            method: Method::ToolsCall.as_str(),
            params: &params,
            name: tool,
            arguments,
        };
        self.run(&errand, origin, deadline).await
    }

    /// Whether one call can break off without the connection being over.
    pub(crate) fn outlives_a_call(&self) -> bool {
        matches!(*self.link, Link::Http(_))
    }

    /// Whether what it runs over is a program of ours, to which one connection can be made.
    pub(crate) fn is_program(&self) -> bool {
        matches!(*self.link, Link::Stdio(_))
    }

    /// Waits for an end that nobody here asked for.
    pub(crate) async fn lost(&self) -> Lost {
        match &*self.link {
            Link::Stdio(stdio) => Lost {
                reason: stdio.closed().await,
                is_expired: false,
            },
            Link::Http(http) => http.lost().await,
            Link::BuiltIn(_) => std::future::pending().await,
        }
    }

    /// Ends the connection and what runs behind it.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.replace_listener(None);
        match &*self.link {
            Link::Stdio(stdio) => stdio.stop(grace).await,
            Link::Http(http) => http.stop(grace).await,
            Link::BuiltIn(_) => {}
        }
    }

    /// The process behind it.
    pub(crate) fn pid(&self) -> Option<u32> {
        match &*self.link {
            Link::Stdio(stdio) => stdio.pid,
            Link::Http(_) | Link::BuiltIn(_) => None,
        }
    }

    /// Makes a request of our own as the protocol wants it. `params` is the text of a JSON object.
    pub(crate) async fn request(
        &self,
        method: &'static str,
        params: &str,
        deadline: Instant,
    ) -> Answer {
        let mut request = OutgoingRequest::own(method, params, deadline);
        let Some(modern) = &self.modern else {
            return self.link.request(request).await;
        };
        let meta = modern.meta(None);
        request.meta = &meta;
        if let Link::Http(_) = &*self.link {
            request.headers = modern.headers(method, None, "{}");
        }
        match modern::round(self.link.request(request).await?)? {
            Round::Complete(result) => Ok(result),
            Round::InputRequired(_) => Err(CallError::malformed(
                "it asks for input where nothing can be asked for",
            )),
        }
    }

    fn replace_listener(&self, next: Option<AbortHandle>) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = std::mem::replace(&mut *listener, next) {
            before.abort();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.replace_listener(None);
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match &*self.link {
            Link::Stdio(_) => "Stdio",
            Link::Http(_) => "Http",
            Link::BuiltIn(_) => "BuiltIn",
        })
    }
}

// === impl Link ===

impl Link {
    /// Sends a request and waits for its answer.
    pub(crate) async fn request(&self, request: OutgoingRequest<'_>) -> Answer {
        match self {
            Self::Stdio(stdio) => stdio.request(request).await,
            Self::Http(http) => http.request(request).await,
            Self::BuiltIn(_) => Err(CallError::unavailable("the tool is built in")),
        }
    }
}
