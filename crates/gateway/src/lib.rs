//! The gateway: settings, one call in a straight line, search, and the direct endpoints.
//!
//! [`Gateway`] assembles the parts and is what every face (HTTP, stdio, command line) talks
//! to. It knows no HTTP. Start reading at [`Gateway::call`], the straight line.

mod agent_hints;
mod background;
mod call;
mod contract_check;
pub mod direct;
pub mod failure;
mod management;
pub mod menu;
pub mod prompts_resources;
pub mod records;
pub mod request;
pub mod search;
pub mod servers;
pub mod settings;
pub mod status;
pub mod tokens;

use std::sync::{Arc, Mutex};
use std::time::Instant;

use mcpproxy_activity::StoreError;
use mcpproxy_support::rate::RateLimiter;

use crate::agent_hints::ObservedHints;
use crate::background::Background;
pub use crate::call::CallOutcome;
#[cfg(feature = "bench")]
pub use crate::contract_check::AnswerChecks;
pub use crate::contract_check::{AcceptedTools, BrokenRule, ContractStatus};
use crate::direct::DirectEndpoints;
pub use crate::failure::{Code, Failure};
pub use crate::management::{OfferedTool, ServerReport};
use crate::prompts_resources::PromptsResources;
use crate::records::Records;
pub use crate::request::{CallRequest, UnreadableCall};
use crate::search::Search;
use crate::servers::Servers;
pub use crate::servers::{
    BuiltInFactory, BuiltInParts, BuiltInServer, ServerStatus, ServersToStart,
};
pub use crate::settings::redaction;
use crate::settings::{LiveSettings, Settings, Sources};
use crate::tokens::Tokens;
pub use mcpproxy_activity::LogRole;
pub use mcpproxy_policy::Caller;
use mcpproxy_policy::LimitKey;
pub use mcpproxy_upstream::{client, log_files};

/// Parts of one running gateway, and the one way that every call takes through them.
pub struct Gateway {
    settings: Arc<LiveSettings>,
    records: Arc<Records>,
    servers: Arc<Servers>,
    search: Search,
    direct: DirectEndpoints,
    prompts_resources: Arc<PromptsResources>,
    tokens: Arc<Tokens>,
    hints: Arc<ObservedHints>,
    /// Sources that the settings were loaded from.
    sources: Sources,
    /// Held by whoever reads the configuration and puts it in force, so that an older one never replaces a newer one.
    reloading: Mutex<()>,
    /// Calls of every caller to tools that have a limit, by caller and tool.
    rates: RateLimiter<(LimitKey, String)>,
    background: Background,
    started: Instant,
}

/// Options that a gateway is put together with.
pub struct GatewayOptions {
    /// Our own program, to guard the processes of servers with.
    pub guard: Option<std::path::PathBuf>,
    /// Configured servers to start.
    pub to_start: ServersToStart,
    /// Maker of the servers inside this program.
    pub built_ins: BuiltInFactory,
    /// Writer of the log: a daemon, or a command with a gateway of its own.
    pub role: LogRole,
    /// Sources that the settings were loaded from, for changes of the configuration file.
    pub sources: Sources,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            guard: None,
            to_start: ServersToStart::default(),
            built_ins: Box::new(|_| Vec::new()),
            role: LogRole::default(),
            sources: Sources::default(),
        }
    }
}

impl Gateway {
    /// Opens the log and starts the servers of the settings. Needs a Tokio runtime.
    pub fn start(settings: Settings, options: GatewayOptions) -> Result<Arc<Self>, StoreError> {
        redaction::set_from(&settings);
        settings.log_warnings();
        let background = Background::new();
        let records = Records::open(&settings, options.role, background.clone())?;
        let records = Arc::new(records);
        // The data folder is the one that is used, wherever its name came from.
        let sources = Sources {
            data_dir: Some(settings.data_dir.clone()),
            ..options.sources
        };
        let settings = Arc::new(LiveSettings::new(settings));
        let servers = Servers::new(
            &settings,
            &records,
            &background,
            options.guard,
            options.to_start,
            options.built_ins,
        );
        let tokens = Arc::new(Tokens::new(&servers, &records));
        let prompts_resources = PromptsResources::new(&servers, &records, &tokens, &background);
        let gateway = Arc::new(Self {
            search: Search::new(&settings, &servers, &records, &background),
            direct: DirectEndpoints::new(&servers, &background),
            prompts_resources: Arc::new(prompts_resources),
            tokens,
            hints: Arc::default(),
            sources,
            reloading: Mutex::default(),
            rates: RateLimiter::default(),
            started: Instant::now(),
            settings,
            records,
            servers,
            background,
        });
        gateway.records.gateway_started();
        gateway.servers.reconcile(&gateway.settings.load());
        gateway.records.keep_pruned();
        if gateway.servers.starts_all() {
            gateway.tokens.keep_current(&gateway.background);
            gateway.search.keep_meanings();
        }
        gateway.servers.keep_day();
        // A command that makes a single call has no use for what happened before.
        if gateway.servers.starts_all() {
            let (hints, background) = (&gateway.hints, &gateway.background);
            hints.read_past_calls(&gateway.records, background);
        }
        Ok(gateway)
    }

    /// Stops every server, waits until they are gone, and ends the log.
    pub async fn stop(&self) {
        self.background.stopping.cancel();
        // Waits for a change of the configuration that is under way.
        let servers = Arc::clone(&self.servers);
        self.background.compute(move || servers.stop()).await;
        self.background.finished().await;
        self.records.gateway_stopped();
        self.records.log().stop().await;
    }

    /// Settings in force.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.current()
    }

    /// Settings in force, whenever they are looked at.
    pub fn live_settings(&self) -> &Arc<LiveSettings> {
        &self.settings
    }

    /// Tokens of agents.
    pub fn tokens(&self) -> &Arc<Tokens> {
        &self.tokens
    }

    /// Servers behind the gateway.
    pub fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    /// Log of what was called and what changed.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Search over the tools of all servers.
    pub fn search(&self) -> &Search {
        &self.search
    }

    /// Endpoints that list tools under their own names.
    pub fn direct(&self) -> &DirectEndpoints {
        &self.direct
    }

    /// Prompts and resources of the servers.
    pub fn prompts_resources(&self) -> &Arc<PromptsResources> {
        &self.prompts_resources
    }
}
