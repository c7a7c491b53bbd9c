//! Servers behind the gateway: started, replaced and stopped as the settings say.

mod contract_accept;
mod contract_metrics;
mod lookup;
mod observer;
mod restart;
mod result_cache;
mod spec;
mod status;
mod warnings;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use mcpproxy_catalog::{Catalog, Operator, ServerState};
use mcpproxy_contract::Service;
use mcpproxy_policy::{AccessTo, Operation, Rights};
use mcpproxy_upstream::{BuiltIn, CallError, Runtime, TransportSpec, Upstream};

pub use self::contract_metrics::METRICS_FORMAT;
pub use self::lookup::unlisted_server;
pub(crate) use self::lookup::{
    MISSING_PERMISSIONS, ReachableServer, check_permissions, did_you_mean,
};
use self::observer::CatalogObserver;
use self::result_cache::ResultCache;
use self::spec::{operator, spec, transport};
pub use self::status::{FailedServer, ServerStatus};
pub use self::warnings::warnings;
use crate::background::Background;
use crate::contract_check::{ContractStatus, ContractWatch};
use crate::failure::Failure;
pub use crate::failure::starting::without_host_files;
use crate::records::Records;
use crate::settings::{LiveSettings, ServerSettings, Settings};

/// Time that a server has to end by itself.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// Pause before the catalog is asked again which day it is: a machine may sleep through midnight.
const DAY_STEP: Duration = Duration::from_mins(1);

/// Servers behind the gateway, and the catalog of what they offer.
pub struct Servers {
    catalog: Arc<Catalog>,
    /// Every configured server by name. Replaced as a whole.
    configured: ArcSwap<ServerMap>,
    settings: Arc<LiveSettings>,
    records: Arc<Records>,
    contract: Arc<ContractWatch>,
    runtime: Runtime,
    built_ins: Vec<BuiltInServer>,
    to_start: ServersToStart,
    /// Held by whoever starts or replaces servers, so that it is one at a time.
    reconciling: Mutex<()>,
    background: Background,
}

/// Server inside this program.
pub struct BuiltInServer {
    /// Name that agents know it by.
    pub name: Arc<str>,
    /// Tools of it.
    pub server: Arc<dyn BuiltIn>,
    /// Service of the tool contract that it hosts, where it does. The service counts its calls.
    pub service: Option<Arc<Service>>,
}

/// Maker of the built-in servers of a gateway while it is assembled. The first of several that have the
/// same name is taken.
pub type BuiltInFactory = Box<dyn FnOnce(BuiltInParts) -> Vec<BuiltInServer> + Send>;

/// Parts of a gateway that its built-in servers may use. The gateway owns its built-in servers, so
/// the way back is weak: a tool never keeps a stopped gateway alive.
#[derive(Debug, Clone, Default)]
pub struct BuiltInParts {
    /// Servers behind the gateway.
    pub servers: Weak<Servers>,
    /// Log of the gateway.
    pub records: Weak<Records>,
}

/// One configured server.
#[derive(Clone)]
struct ConfiguredServer {
    settings: Arc<ServerSettings>,
    run: RunState,
    /// Results that may be given again. They end with the server that gave them.
    results: Arc<ResultCache>,
}

/// Whether a configured server runs, and if not, why.
#[derive(Clone)]
enum RunState {
    /// Running, with a task of its own.
    Running(Upstream),
    /// Its settings cannot be used.
    Broken(String),
    /// The operator switched it off.
    Disabled,
    /// Waiting for approval.
    Quarantined,
    /// Left alone: this process was not to start it.
    NotStarted,
}

type ServerMap = HashMap<Arc<str>, ConfiguredServer>;

/// Configured servers that this process starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ServersToStart {
    /// All of them.
    #[default]
    All,
    /// The one that a single call needs.
    Only(String),
}

impl Servers {
    /// No servers yet; [`Servers::reconcile`] starts them.
    pub(crate) fn new(
        settings: &Arc<LiveSettings>,
        records: &Arc<Records>,
        background: &Background,
        guard: Option<PathBuf>,
        to_start: ServersToStart,
        built_ins: BuiltInFactory,
    ) -> Arc<Self> {
        let catalog = Arc::new(Catalog::default());
        catalog.begin_day(today());
        let contract = Arc::new(ContractWatch::new(settings, records, background));
        let observer = CatalogObserver {
            catalog: Arc::clone(&catalog),
            records: Arc::clone(records),
            contract: Arc::clone(&contract),
        };
        let data_dir = settings.load().data_dir.clone();
        let runtime = Runtime::new(guard, env!("CARGO_PKG_VERSION"), Arc::new(observer))
            .remember_protocols_in(data_dir.join("protocols.json"))
            .keep_logs_in(data_dir);
        Arc::new_cyclic(|servers: &Weak<Self>| Self {
            catalog,
            contract,
            configured: ArcSwap::default(),
            runtime,
            built_ins: built_ins(BuiltInParts {
                servers: Weak::clone(servers),
                records: Arc::downgrade(records),
            }),
            to_start,
            reconciling: Mutex::default(),
            settings: Arc::clone(settings),
            records: Arc::clone(records),
            background: background.clone(),
        })
    }

    /// Catalog of what all servers offer.
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Watch over the servers that announce the tool contract.
    pub(crate) fn contract(&self) -> &ContractWatch {
        &self.contract
    }

    /// Status of how a server keeps the tool contract; nothing if it announces none.
    pub fn contract_status(&self, server: &str) -> Option<ContractStatus> {
        self.contract.status(server)
    }

    /// How a server keeps the tool contract, with all that is remembered of what it broke; an empty answer if it announces
    /// none.
    pub fn contract_report(&self, server: &str) -> Result<ContractStatus, Failure> {
        self.check_known(server, &Rights::Administrator)?;
        Ok(self.contract.everything(server).unwrap_or_default())
    }

    /// Settings in force.
    pub(crate) fn settings(&self) -> &LiveSettings {
        &self.settings
    }

    /// Whether this process starts every configured server, and not one for a single call.
    pub(crate) fn starts_all(&self) -> bool {
        self.to_start == ServersToStart::All
    }

    /// Keeps the catalog one of the present day, so that tools go when the day of their removal comes.
    pub(crate) fn keep_day(self: &Arc<Self>) {
        let servers = Arc::downgrade(self);
        let mut day = today();
        self.background.spawn_until_stop(async move {
            loop {
                tokio::time::sleep(DAY_STEP).await;
                let Some(servers) = servers.upgrade() else {
                    return;
                };
                let now = today();
                servers.catalog.begin_day(now);
                if std::mem::replace(&mut day, now) != now {
                    servers.compare_anew();
                }
            }
        });
    }

    /// Has what servers of the contract offer compared with the calendar: a removal date passes while no list changes.
    fn compare_anew(&self) {
        let snapshot = self.catalog.snapshot();
        for server in self.contract.watched() {
            self.contract.listed(&server, &snapshot);
        }
    }

    /// Has the lists of prompts and resources renewed that are too old, without waiting for it.
    pub(crate) fn renew(&self) {
        for server in self.configured.load().values() {
            if let RunState::Running(upstream) = &server.run {
                upstream.renew();
            }
        }
    }

    /// Names of all servers, in order.
    pub fn names(&self) -> Vec<String> {
        let configured = self.configured.load();
        let mut names: Vec<String> = configured.keys().map(ToString::to_string).collect();
        names.sort_unstable();
        names
    }

    /// Whether there is a server of this name.
    pub(crate) fn is_known(&self, name: &str) -> bool {
        self.configured.load().contains_key(name)
    }

    /// Whether a server is one inside this program.
    pub(crate) fn is_built_in(&self, name: &str) -> bool {
        let configured = self.configured.load();
        configured
            .get(name)
            .is_some_and(|server| server.settings.is_built_in())
    }

    /// Names of all tools by server, also of servers that have listed none, of those that a caller with these rights may
    /// use.
    pub fn tools_by_server(&self, rights: &Rights) -> BTreeMap<String, Vec<String>> {
        let snapshot = self.catalog.snapshot();
        let configured = self.configured.load();
        let servers = configured.keys();
        let servers = servers.filter(|name| rights.allow(AccessTo::Server(name)));
        let servers = servers.map(|name| {
            let state = snapshot.server(name);
            let tools = state.into_iter().flat_map(ServerState::tools);
            let tools = tools.filter(|tool| tool.is_within(rights));
            let tools = tools.map(|tool| tool.name().to_string());
            (name.to_string(), tools.collect())
        });
        servers.collect()
    }

    /// Failure that a server which did not do its part means for the caller.
    pub(crate) fn failure_of(
        &self,
        server: &str,
        operation: Operation,
        error: CallError,
    ) -> Failure {
        Failure::of_upstream(server, operation, error, &self.settings.mask())
    }

    /// Makes the running servers those of the settings: what is gone or changed is
    /// stopped, what is new or changed is started, the rest is left alone.
    pub(crate) fn reconcile(&self, settings: &Settings) {
        let _one_at_a_time = self.one_at_a_time();
        // A change may be on its way while the gateway stops.
        let is_stopping = || self.background.stopping.is_cancelled();
        if is_stopping() {
            return;
        }
        // The catalog knows the operator's word before a server can list a tool.
        self.catalog.configure(self.operators(settings));
        self.runtime.set_starts_at_once(settings.starts_at_once);
        let before = self.configured.load_full();
        let mut after = ServerMap::new();
        let mut untouched: HashSet<Arc<str>> = HashSet::new();
        for wanted in &settings.servers {
            let same = before
                .get(&wanted.name)
                .filter(|server| !server.settings.needs_restart(wanted));
            let settings = Arc::new(wanted.clone());
            let server = match same.cloned() {
                Some(same) => {
                    untouched.insert(Arc::clone(&wanted.name));
                    ConfiguredServer { settings, ..same }
                }
                None => ConfiguredServer {
                    settings,
                    run: self.start(wanted),
                    results: Arc::default(),
                },
            };
            after.insert(Arc::clone(&wanted.name), server);
        }
        for BuiltInServer { name, server, .. } in &self.built_ins {
            if after.contains_key(name) {
                tracing::warn!(server = %name, "the configuration has a server of this name, the built-in one is left out");
                continue;
            }
            let server = before
                .get(name)
                .cloned()
                .unwrap_or_else(|| self.start_built_in(name, server));
            untouched.insert(Arc::clone(name));
            after.insert(Arc::clone(name), server);
        }
        for name in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            let settings_in = |servers: &ServerMap| Some(Arc::clone(&servers.get(name)?.settings));
            let (old, new) = (settings_in(&before), settings_in(&after));
            self.records
                .server_changed(name, old.as_deref(), new.as_deref());
        }
        self.configured.store(Arc::new(after));
        let gone = before.iter().filter(|(name, _)| !untouched.contains(*name));
        gone.for_each(|(_, server)| self.end(server));
        if is_stopping() {
            self.end_all();
        }
    }

    /// Has every server stopped; [`Background::finished`] waits until they are gone.
    pub(crate) fn stop(&self) {
        let _one_at_a_time = self.one_at_a_time();
        self.end_all();
    }

    /// Ends every server. Whoever calls it is the one that changes them.
    fn end_all(&self) {
        let servers = self.configured.swap(Arc::default());
        servers.values().for_each(|server| self.end(server));
    }

    fn end(&self, server: &ConfiguredServer) {
        if let RunState::Running(upstream) = &server.run {
            let upstream = upstream.clone();
            self.background
                .spawn(async move { upstream.stop(STOP_GRACE).await });
        }
    }

    fn one_at_a_time(&self) -> MutexGuard<'_, ()> {
        self.reconciling
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Operator's settings of every server there is; one in the file wins over a built-in one.
    fn operators(&self, settings: &Settings) -> HashMap<String, Operator> {
        let built_in = self.built_ins.iter();
        let built_in = built_in.map(|server| (server.name.to_string(), Operator::default()));
        let configured = settings.servers.iter();
        let configured = configured.map(|server| (server.name.to_string(), operator(server)));
        built_in.chain(configured).collect()
    }

    fn start(&self, server: &ServerSettings) -> RunState {
        if server.quarantined {
            return RunState::Quarantined;
        }
        // Who switches a server off need not mend its entry first.
        if !server.enabled {
            return RunState::Disabled;
        }
        if let Some(problem) = server.problem() {
            tracing::warn!(server = %server.name, problem, "server cannot be started");
            return RunState::Broken(problem);
        }
        if let ServersToStart::Only(only) = &self.to_start
            && **only != *server.name
        {
            return RunState::NotStarted;
        }
        for warning in warnings(server) {
            tracing::warn!(server = %server.name, "the server {warning}");
        }
        match transport(server, &self.settings.load().config_file) {
            Some(transport) => self.run(server, transport),
            None => RunState::NotStarted,
        }
    }

    fn run(&self, server: &ServerSettings, transport: TransportSpec) -> RunState {
        RunState::Running(Upstream::start(spec(server, transport), &self.runtime))
    }

    fn start_built_in(&self, name: &Arc<str>, built_in: &Arc<dyn BuiltIn>) -> ConfiguredServer {
        let settings = ServerSettings::built_in(name);
        let transport = TransportSpec::BuiltIn(Arc::clone(built_in));
        ConfiguredServer {
            run: self.run(&settings, transport),
            settings: Arc::new(settings),
            results: Arc::default(),
        }
    }
}

/// Day of now, in UTC as dates of removal are.
fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}
