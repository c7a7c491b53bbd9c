//! Parts that all upstreams share.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcpproxy_wire::Offerings;

use crate::UpstreamState;
use crate::process::life_signs::LifeSampler;
use crate::process::start_slots::StartSlots;
use crate::protocol::remembered::RememberedProtocols;
use crate::transport::http::{self, Connector};

/// Time that a server may be silent on a request that those with sessions do not know, before it is
/// greeted as one of them. Servers that answer at all do so as soon as they run. For a program it is time without a
/// sign of life: one that is busy has not read the request yet.
const PROBE_SILENCE: Duration = Duration::from_secs(2);

/// Longest that signs of life put the greeting off: a program may write a line every second and never answer what it
/// does not know. Most programs that run by themselves have read the question by then.
const LONGEST_PROBE: Duration = Duration::from_secs(10);

/// The same for a program that installs a package first, whose signs of life are those of the installation at the
/// beginning. Most installations take less.
const LONGEST_INSTALLING_PROBE: Duration = Duration::from_secs(30);

/// Time without a sign of life after which the start of a program gives its slot to another, and goes on without. One
/// that hangs would hold up all others otherwise, and one that waits for the network does not need the processor.
const SLOT_SILENCE: Duration = Duration::from_secs(5);

/// Time after which the start of a program gives its slot to one that waits, and goes on without: most have what they
/// need the processor for behind them by then, and some are busy for ever.
const SLOT_TIME: Duration = Duration::from_secs(15);

/// Time that somebody waits for a server which waits for a slot until it gets one beyond the limit: a small part of the
/// usual deadline of a call.
const CALL_PATIENCE: Duration = Duration::from_secs(3);

/// Longest that a program may take to start however busy it is: the longest installations take some minutes.
const LONGEST_START: Duration = Duration::from_mins(30);

/// Observer of what happens to upstreams.
///
/// The upstream's own task calls it and waits meanwhile, so it must not block.
pub trait Observer: Send + Sync {
    /// Takes the offerings of a server, different from those before.
    fn offered(&self, server: &str, offerings: Offerings);

    /// Takes note that a server entered a state. A failure that follows another one is told only if the server was
    /// ready in between.
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
    /// Longest that a program that is probed may be busy, before it is greeted beside the probe.
    pub longest_probe: Duration,
    /// The same for a program that installs a package first.
    pub longest_installing_probe: Duration,
    /// Time without a sign of life after which the start of a program gives its slot to another.
    pub slot_silence: Duration,
    /// Time after which the start of a program gives its slot to one that waits, however busy it is.
    pub slot_time: Duration,
    /// Time that somebody waits for a server without a slot until it gets one beyond the limit.
    pub call_patience: Duration,
    /// Longest that a program may take to start, however busy it is.
    pub longest_start: Duration,
    /// Folder of the state, in which the logs of servers are.
    pub(crate) data_dir: Option<PathBuf>,
    pub(crate) start_slots: Arc<StartSlots>,
    pub(crate) life_sampler: LifeSampler,
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
            longest_probe: LONGEST_PROBE,
            longest_installing_probe: LONGEST_INSTALLING_PROBE,
            slot_silence: SLOT_SILENCE,
            slot_time: SLOT_TIME,
            call_patience: CALL_PATIENCE,
            longest_start: LONGEST_START,
            data_dir: None,
            start_slots: Arc::new(StartSlots::new()),
            life_sampler: LifeSampler::default(),
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

    /// Keeps what each server prints in a file of its own in `logs` of the folder of the state, see
    /// [`log_files`](crate::log_files).
    #[must_use]
    pub fn keep_logs_in(mut self, data_dir: PathBuf) -> Self {
        self.data_dir = Some(data_dir);
        self
    }

    /// Sets how many programs may start at the same time, also of those that wait now; nothing for twice as many as
    /// there are cores, at least 4 and at most 16.
    pub fn set_starts_at_once(&self, limit: Option<usize>) {
        self.start_slots.set_limit(limit);
    }

    /// Maker of HTTP connections, made itself when the first server needs it.
    pub(crate) fn connector(&self) -> Connector {
        self.connector.get_or_init(http::connector).clone()
    }
}
