//! The gateway: settings, one call in a straight line, and the tools of its menu.
//!
//! [`Gateway`] assembles the parts and is what every face (HTTP, stdio, command line) talks
//! to. It knows no HTTP. Start reading at [`call`], the straight line.

pub mod admin_tools;
mod agent_hints;
pub mod call;
mod call_record;
mod change_records;
mod contract_check;
mod contract_server;
mod demo;
pub mod direct;
pub mod failure;
pub mod menu;
mod nearest;
pub mod prompts_resources;
mod rate;
pub mod records;
pub mod redaction;
mod reload;
pub mod request;
mod restart;
pub mod search;
mod servers;
pub mod settings;
mod status;
pub mod tools;

use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use arc_swap::ArcSwap;
use mcpproxy_activity::{Archive, Log, Role, StoreError};
use mcpproxy_catalog::Catalog;
use mcpproxy_redact::Mask;
use mcpproxy_upstream::{BuiltIn, Runtime};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use call::Outcome;
pub use contract_server::ContractServer;
pub use failure::{Code, Failure};
pub use mcpproxy_activity::Role as LogRole;
pub use mcpproxy_upstream::client;
pub use request::CallRequest;
use servers::Servers;
pub use servers::ServersToStart;
use settings::Settings;
pub use status::ServerStatus;

/// Everything one call needs, shared by all faces.
pub struct Gateway {
    settings: ArcSwap<Settings>,
    mask: ArcSwap<Mask>,
    catalog: Arc<Catalog>,
    servers: ArcSwap<Servers>,
    log: Log,
    role: Role,
    rates: rate::RateLimits,
    observed_hints: Arc<agent_hints::ObservedHints>,
    direct: direct::DirectEndpoints,
    prompts_resources: prompts_resources::PromptsResources,
    runtime: Runtime,
    built_ins: Vec<NamedBuiltIn>,
    wanted: ServersToStart,
    /// Why the file on disk is not what runs, after a change that could not be used.
    problem: Mutex<Option<String>>,
    reconciling: Mutex<()>,
    tasks: TaskTracker,
    /// Where everything runs that outlives the call it is for.
    general: tokio::runtime::Handle,
    /// Ends what runs beside the calls.
    stopping: CancellationToken,
    started: Instant,
}

/// A server inside this program, with its name.
pub type NamedBuiltIn = (Arc<str>, Arc<dyn BuiltIn>);

/// How a gateway is put together.
#[derive(Default)]
pub struct GatewayOptions {
    /// Our own program, to guard the processes of servers with.
    pub guard: Option<std::path::PathBuf>,
    /// Which of the configured servers to start.
    pub wanted: ServersToStart,
    /// Servers inside this program, by their names.
    pub built_ins: Vec<NamedBuiltIn>,
    /// Who writes the log: a daemon, or a command with a gateway of its own.
    pub role: Role,
}

impl Gateway {
    /// Opens the log and starts the servers of the settings. Needs a Tokio runtime.
    pub fn start(settings: Settings, options: GatewayOptions) -> Result<Arc<Self>, StoreError> {
        redaction::set_from(&settings);
        let log = change_records::open_log(&settings, options.role)?;
        let catalog = Arc::new(Catalog::default());
        let prompts_resources = prompts_resources::PromptsResources::default();
        let observer = change_records::UpstreamObserver {
            catalog: Arc::clone(&catalog),
            offerings_changed: prompts_resources.changes(),
            // A command lives for one call; what its servers do is no change of anything.
            log: (options.role == Role::Daemon).then(|| log.clone()),
        };
        let runtime = Runtime::new(options.guard, env!("CARGO_PKG_VERSION"), Arc::new(observer))
            .remember_protocols_in(settings.data_dir.join("protocols.json"));
        let mut built_ins = options.built_ins;
        if settings.demo {
            built_ins.push((demo::NAME.into(), Arc::new(demo::server()?)));
        }
        let gateway = Arc::new_cyclic(|gateway: &Weak<Self>| Self {
            mask: ArcSwap::from_pointee(Mask::new(settings.secrets())),
            catalog,
            servers: ArcSwap::default(),
            log,
            role: options.role,
            rates: rate::RateLimits::default(),
            observed_hints: Arc::default(),
            direct: direct::DirectEndpoints::default(),
            prompts_resources,
            runtime,
            built_ins: with_admin_tools(built_ins, gateway),
            wanted: options.wanted,
            problem: Mutex::default(),
            reconciling: Mutex::default(),
            tasks: TaskTracker::new(),
            general: tokio::runtime::Handle::current(),
            stopping: CancellationToken::new(),
            started: Instant::now(),
            settings: ArcSwap::from_pointee(settings),
        });
        gateway.note_start();
        gateway.reconcile(&gateway.settings.load());
        gateway.keep_pruned();
        gateway.prime_hints();
        Ok(gateway)
    }

    /// Everything that was recorded.
    pub fn archive(&self) -> &Archive {
        self.log.archive()
    }

    /// Changes after each commit of the log.
    pub fn recorded(&self) -> tokio::sync::watch::Receiver<u64> {
        self.log.recorded()
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.load_full()
    }
}

/// The built-in servers, and our own tools first of all: nobody can take their name.
fn with_admin_tools(others: Vec<NamedBuiltIn>, gateway: &Weak<Gateway>) -> Vec<NamedBuiltIn> {
    let admin: Arc<dyn BuiltIn> = Arc::new(admin_tools::server(Weak::clone(gateway)));
    let others = others
        .into_iter()
        .filter(|(name, _)| **name != *admin_tools::NAME);
    std::iter::once((admin_tools::NAME.into(), admin))
        .chain(others)
        .collect()
}
