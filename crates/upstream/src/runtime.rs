//! Parts that all upstreams share.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcpproxy_wire::Offerings;

use crate::UpstreamState;
use crate::protocol::remembered::RememberedProtocols;
use crate::transport::http::{self, Connector};

/// Time that a server may be silent on a request that those with sessions do not know, before it is
/// greeted as one of them. Servers that answer at all do so as soon as they run.
const PROBE_SILENCE: Duration = Duration::from_secs(2);

/// Observer of what happens to upstreams.
///
/// The upstream's own task calls it and waits meanwhile, so it must not block.
pub trait Observer: Send + Sync {
    /// Takes the offerings of a server, different from those before.
    fn offered(&self, server: &str, offerings: Offerings);

    /// Takes note that a server entered a state.
    fn state_changed(&self, server: &str, state: &UpstreamState);
}

/// Parts that all upstreams share. Cloning shares them further.
#[derive(Clone)]
pub struct Runtime {
    /// Our own program, started as a guard for each server's process (Linux).
    pub guard: Option<PathBuf>,
    /// Our version, as servers are told.
    pub version: Arc<str>,
    /// Time that a server that is probed for its protocol may be silent.
    pub probe_silence: Duration,
    pub(crate) remembered: Arc<RememberedProtocols>,
    pub(crate) observer: Arc<dyn Observer>,
    connector: Arc<OnceLock<Connector>>,
}

impl Runtime {
    /// Runtime for upstreams that have their own configuration besides.
    pub fn new(
        guard: Option<PathBuf>,
        version: impl Into<Arc<str>>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        Self {
            guard,
            version: version.into(),
            probe_silence: PROBE_SILENCE,
            remembered: Arc::default(),
            observer,
            connector: Arc::default(),
        }
    }

    /// Remembers in a file what each server speaks, and reads what it remembered.
    #[must_use]
    pub fn remember_protocols_in(mut self, file: PathBuf) -> Self {
        self.remembered = Arc::new(RememberedProtocols::in_file(file));
        self
    }

    /// Maker of HTTP connections, made itself when the first server needs it.
    pub(crate) fn connector(&self) -> Connector {
        self.connector.get_or_init(http::connector).clone()
    }
}
