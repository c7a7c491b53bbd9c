//! The gateway: settings, one call in a straight line, and the tools of its menu.
//!
//! [`Gateway`] assembles the parts and is what every face (HTTP, stdio, command line) talks
//! to. It knows no HTTP. Start reading at [`call`], the straight line.

pub mod call;
pub mod demo;
pub mod discover;
pub mod failure;
pub mod menu;
mod nearest;
mod rate;
mod reload;
pub mod request;
mod servers;
pub mod settings;
mod status;
pub mod tools;

use std::sync::{Arc, Mutex};
use std::time::Instant;

use arc_swap::ArcSwap;
use mcpproxy_activity::Log;
use mcpproxy_catalog::Catalog;
use mcpproxy_policy::Mask;
use mcpproxy_upstream::{BuiltIn, Runtime};
use tokio_util::task::TaskTracker;

pub use call::Outcome;
pub use failure::{Code, Failure};
pub use mcpproxy_activity::Caller;
pub use request::CallRequest;
pub use servers::Wanted;
use servers::{CatalogObserver, Servers};
use settings::Settings;

/// Everything one call needs, shared by all faces.
pub struct Gateway {
    settings: ArcSwap<Settings>,
    mask: ArcSwap<Mask>,
    catalog: Arc<Catalog>,
    servers: ArcSwap<Servers>,
    log: Log,
    rates: rate::RateLimits,
    runtime: Runtime,
    built_ins: Vec<(Arc<str>, Arc<dyn BuiltIn>)>,
    wanted: Wanted,
    /// Why the file on disk is not what runs, after a change that could not be used.
    problem: Mutex<Option<String>>,
    reconciling: Mutex<()>,
    tasks: TaskTracker,
    started: Instant,
}

/// How a gateway is put together.
#[derive(Default)]
pub struct Options {
    /// Our own program, to guard the processes of servers with.
    pub guard: Option<std::path::PathBuf>,
    /// Which of the configured servers to start.
    pub wanted: Wanted,
    /// Servers inside this program, by their names.
    pub built_ins: Vec<(Arc<str>, Arc<dyn BuiltIn>)>,
}

impl Gateway {
    /// Starts the servers of the settings. Needs a Tokio runtime.
    pub fn start(settings: Settings, options: Options) -> Arc<Self> {
        let catalog = Arc::new(Catalog::default());
        let runtime = Runtime::new(
            options.guard,
            env!("CARGO_PKG_VERSION"),
            Arc::new(CatalogObserver(Arc::clone(&catalog))),
        );
        let mut built_ins = options.built_ins;
        if settings.demo {
            built_ins.push((demo::NAME.into(), Arc::new(demo::Cards::default())));
        }
        let gateway = Arc::new(Self {
            mask: ArcSwap::from_pointee(Mask::new(settings.secrets())),
            catalog,
            servers: ArcSwap::default(),
            log: Log::default(),
            rates: rate::RateLimits::default(),
            runtime,
            built_ins,
            wanted: options.wanted,
            problem: Mutex::default(),
            reconciling: Mutex::default(),
            tasks: TaskTracker::new(),
            started: Instant::now(),
            settings: ArcSwap::from_pointee(settings),
        });
        gateway.reconcile(&gateway.settings.load());
        gateway
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.load_full()
    }
}
