//! The settings the program uses: everything merged, replaced and checked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_policy::Rules;
use mcpproxy_upstream::ProtocolSetting;
use mcpproxy_wire::ToolAnnotations;
use serde::{Deserialize, Serialize};

use super::secret::{Secret, SettingText};

/// How long a call may take when nothing else is said.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client may take to answer a server when nothing else is said: somebody has to read
/// the question, and may have to look something up.
pub(super) const DEFAULT_INPUT_TIMEOUT: Duration = Duration::from_mins(5);

/// How many calls may be under way at one server when nothing else is said.
pub(super) const DEFAULT_MAX_CONCURRENT: usize = 64;

/// Whether changed tools wait for approval when nothing else is said.
pub(super) const DEFAULT_TRUST: Trust = Trust::Manual;

/// The settings of one gateway. They never change; a reload makes new ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The folder of all state.
    pub data_dir: PathBuf,
    /// The configuration file, whether or not it exists.
    pub config_file: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The key of the REST interface, if one was given; see [`api_key`](super::api_key()).
    pub api_key: Option<Secret>,
    /// Whether plain HTTP may be served beyond loopback.
    pub allow_plain_http: bool,
    /// Whether the built-in sample server is added.
    pub demo: bool,
    /// The servers, in the order of the file.
    pub servers: Vec<ServerSettings>,
    /// How long a client may take to answer what a server asks it during a call.
    pub input_timeout: Duration,
    /// How declared intent is checked.
    pub rules: Rules,
    /// What a search answers.
    pub discovery: DiscoverySettings,
    /// The record of calls.
    pub activity: ActivitySettings,
    /// Where state is kept.
    pub store: StoreSettings,
    /// Place of agent hints for results of other servers.
    pub hints: ProxiedHints,
}

/// One server. Two that are equal need no restart on reload.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSettings {
    /// Its name, unique among the servers.
    pub name: Arc<str>,
    /// How it is reached. Not to be used while there is a `problem`.
    pub transport: ServerTransport,
    /// Which revisions of MCP are spoken with it.
    pub protocol: ProtocolSetting,
    /// Whether it is used at all.
    pub enabled: bool,
    /// Whether it is held back.
    pub quarantined: bool,
    /// Whether its new and changed tools wait for approval.
    pub trust: Trust,
    /// How long one call may take.
    pub timeout: Duration,
    /// How many calls may be under way at once.
    pub max_concurrent: usize,
    /// How long it may be unused before it is stopped.
    pub idle_stop: Option<Duration>,
    /// What the operator says about single tools.
    pub tools: BTreeMap<String, ToolSettings>,
    /// Why it cannot be used, for example a reference that is not set. Holds no secret.
    pub problem: Option<String>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerTransport {
    /// A process that speaks on its standard streams.
    Stdio {
        /// The program.
        command: SettingText,
        /// Its arguments.
        args: Vec<SettingText>,
        /// Variables added to its environment.
        env: Vec<(String, Secret)>,
        /// The folder it starts in, absolute.
        working_dir: Option<SettingText>,
    },
    /// Streamable HTTP.
    Http {
        /// The endpoint.
        url: SettingText,
        /// Headers of every request.
        headers: Vec<(String, Secret)>,
    },
    /// Inside this program. No file can say this.
    BuiltIn,
}

/// What the operator says about one tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSettings {
    /// Annotations that win over the server's.
    pub hints: ToolAnnotations,
    /// The annotations that win over the server's, as MCP writes them; only what was given.
    pub annotations: serde_json::Map<String, serde_json::Value>,
    /// Whether the tool can be found and called.
    pub enabled: bool,
    /// How often it may be called.
    pub rate_limit: Option<ToolRateLimit>,
}

/// How often a tool may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolRateLimit {
    /// How many calls a window admits.
    pub max_calls: u32,
    /// The length of the window.
    pub window: Duration,
}

/// What a search answers when the agent does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscoverySettings {
    /// How many tools.
    pub limit: usize,
    /// How much of each.
    pub detail: Detail,
    /// Whether meaning counts beside words. Without effect in this version.
    pub semantic: bool,
}

/// How much a search says of each tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// The whole definition.
    Full,
    /// A signature and a summary.
    Compact,
}

/// The record of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActivitySettings {
    /// How many days a record is kept.
    pub retention_days: u32,
    /// How many records are kept, where there is a limit.
    pub max_records: Option<u64>,
    /// How many bytes of arguments and of a response are kept.
    pub max_payload_bytes: usize,
    /// What a writing call waits for.
    pub durability: Durability,
}

/// What a writing call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Its record is on disk.
    Strict,
    /// Nothing; its record is written soon after.
    Balanced,
}

/// Where state is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreSettings {
    /// In a file of the data folder.
    Sqlite,
    /// In a database; the address may hold a password.
    Postgres(Secret),
}

/// Place of the agent hints that the gateway makes for tools whose servers send none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxiedHints {
    /// Nowhere.
    Off,
    /// Into `_meta` of the result.
    Meta,
    /// Into a text block at the end.
    Content,
}

/// Whether new and changed tools of a server wait for approval. Without effect in this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// They are used at once.
    Auto,
    /// They wait.
    Manual,
}

// === impl Settings ===

impl Settings {
    /// Every text that would give a secret away, for masking.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        let store = match &self.store {
            StoreSettings::Postgres(address) => Some(address),
            StoreSettings::Sqlite => None,
        };
        let servers = self.servers.iter().flat_map(|server| server.secrets());
        self.api_key
            .iter()
            .chain(store)
            .chain(servers)
            .flat_map(Secret::exposing_texts)
    }
}

// === impl ServerSettings ===

impl ServerSettings {
    /// A server inside this program, with the defaults of the file.
    pub fn built_in(name: &Arc<str>) -> Self {
        Self {
            name: Arc::clone(name),
            transport: ServerTransport::BuiltIn,
            protocol: ProtocolSetting::default(),
            enabled: true,
            quarantined: false,
            trust: DEFAULT_TRUST,
            timeout: DEFAULT_TIMEOUT,
            max_concurrent: DEFAULT_MAX_CONCURRENT,
            idle_stop: None,
            tools: BTreeMap::new(),
            problem: None,
        }
    }

    /// Rate limit of one of its tools, where there is one.
    pub(crate) fn rate_limit(&self, tool: &str) -> Option<ToolRateLimit> {
        self.tools.get(tool)?.rate_limit
    }

    /// Whether a running server has to be started anew to become the one that is wanted; what the
    /// operator says about its tools does not need it.
    pub(crate) fn needs_restart(&self, wanted: &Self) -> bool {
        let without_tools = |server: &Self| Self {
            tools: BTreeMap::new(),
            ..server.clone()
        };
        without_tools(self) != without_tools(wanted)
    }

    fn secrets(&self) -> Vec<&Secret> {
        match &self.transport {
            ServerTransport::Stdio {
                command,
                args,
                env,
                working_dir,
            } => std::iter::once(command)
                .chain(args)
                .chain(working_dir)
                .filter_map(SettingText::secret)
                .chain(hidden(env))
                .collect(),
            ServerTransport::Http { url, headers } => {
                url.secret().into_iter().chain(hidden(headers)).collect()
            }
            ServerTransport::BuiltIn => Vec::new(),
        }
    }
}

/// The values of headers or variables that would give something away: all but those of headers
/// that only describe the message. Hiding `application/json` wherever it turns up would make
/// messages unreadable.
fn hidden(pairs: &[(String, Secret)]) -> impl Iterator<Item = &Secret> {
    const DESCRIBING: [&str; 4] = ["accept", "accept-language", "content-type", "user-agent"];
    pairs
        .iter()
        .filter(|(name, _)| !DESCRIBING.contains(&name.to_lowercase().as_str()))
        .map(|(_, value)| value)
}
