//! Handle to one upstream.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpproxy_policy::Caller;
use mcpproxy_wire::ListedKind;
use mcpproxy_wire::rpc::{METHOD_NOT_FOUND, RpcError};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::lifecycle::call_slots::CallSlot;
use crate::lifecycle::change_counters::ChangeMark;
use crate::lifecycle::fair_slots::FairSlots;
use crate::lifecycle::readiness::{Need, Readiness};
use crate::lifecycle::shared::SharedUpstream;
use crate::lifecycle::task;
use crate::offerings::subscriptions::Subscription;
use crate::process::server_log::ServerLog;
use crate::spec::TransportSpec;
use crate::{CallError, Runtime, Spec, UpstreamState};

/// Handle to one upstream. Cloning is cheap; dropping the last one stops the server.
#[derive(Clone)]
pub struct Upstream(Arc<UpstreamHandle>);

struct UpstreamHandle {
    shared: Arc<SharedUpstream>,
    /// Dropped with the last handle, which the task understands as the wish to stop.
    stop: watch::Sender<Option<Duration>>,
}

impl Upstream {
    /// Starts the upstream's task, which connects at once.
    ///
    /// Must be called within a tokio runtime.
    pub fn start(spec: Spec, runtime: &Runtime) -> Self {
        let is_program = matches!(spec.transport, TransportSpec::Stdio(_));
        let data_dir = runtime.data_dir.as_deref().filter(|_| is_program);
        let shared = Arc::new(SharedUpstream {
            readiness: Arc::new(Readiness::new()),
            tail: Mutex::default(),
            log: data_dir
                .and_then(|folder| ServerLog::start(folder, &spec.name, spec.mask.clone())),
            mask: spec.mask.clone(),
            slots: FairSlots::new(spec.max_concurrent),
            last_used: Mutex::new(Instant::now()),
            runtime: runtime.clone(),
            spec,
        });
        // Servers start in the order of the configuration, whichever task comes first.
        let queued = is_program.then(|| runtime.start_slots.enter());
        let (stop, stopping) = watch::channel(None);
        tokio::spawn(task::run(Arc::clone(&shared), queued, stopping));
        Self(Arc::new(UpstreamHandle { shared, stop }))
    }

    /// Stops the server for good: it has the grace to end by itself. Returns when it is gone.
    pub async fn stop(&self, grace: Duration) {
        self.0.stop.send_replace(Some(grace));
        self.0.shared.readiness.stopped().await;
    }

    /// State of the upstream.
    pub fn state(&self) -> UpstreamState {
        self.0.shared.readiness.read().state.clone()
    }

    /// Waits until the server is starting no more: it is ready, has failed, or was stopped. Where it waits for its turn to
    /// start, it goes first, as one that is called does.
    pub async fn started(&self, deadline: impl Into<Instant>) {
        let _ = timeout_at(deadline.into(), self.0.shared.readiness.started()).await;
    }

    /// Last lines that the newest process of the server wrote to its standard error, at most so many, secrets hidden.
    pub fn stderr_tail(&self, most: usize) -> Vec<String> {
        self.0.shared.last_lines(most)
    }

    /// Name in the configuration.
    pub fn name(&self) -> &Arc<str> {
        &self.0.shared.spec.name
    }

    /// Waits until the tools the observer knows are the ones the server has now.
    ///
    /// Starts a server that is idle, waits for one that starts, and tries one that failed
    /// once more unless it failed just now. Dropping the future is safe.
    pub async fn fresh(&self, deadline: impl Into<Instant>) -> Result<(), CallError> {
        self.fresh_list(ListedKind::Tool, deadline).await
    }

    /// Waits like [`Upstream::fresh`] for the list of one kind.
    pub async fn fresh_list(
        &self,
        kind: ListedKind,
        deadline: impl Into<Instant>,
    ) -> Result<(), CallError> {
        let shared = &self.0.shared;
        shared.touch();
        let listing = shared.readiness.wait(Need::Listing(kind), deadline.into());
        listing.await.map(|_| ())
    }

    /// Mark of now among the changes that the server announces.
    pub fn change_mark(&self) -> ChangeMark {
        self.0.shared.readiness.changes.mark()
    }

    /// Waits for a slot among the calls that the server gets at the same time. Callers share them fairly.
    pub async fn call_slot(
        &self,
        caller: &Caller,
        deadline: impl Into<Instant>,
    ) -> Result<CallSlot<'_>, CallError> {
        CallSlot::acquire(&self.0.shared, caller, deadline.into()).await
    }

    /// Has lists renewed that are too old, but for tools, without waiting for it.
    pub fn renew(&self) {
        self.0.shared.readiness.renew();
    }

    /// Subscribes to the changes of a resource.
    pub async fn subscribe(
        &self,
        uri: &str,
        deadline: impl Into<Instant>,
    ) -> Result<Subscription, CallError> {
        let readiness = &self.0.shared.readiness;
        let deadline = deadline.into();
        self.0.shared.touch();
        readiness.wait(Need::Connection, deadline).await?;
        let capabilities = readiness.read().lists.offerings().capabilities;
        if !capabilities.has_subscriptions {
            let message = "The server does not tell of changes of its resources";
            return Err(CallError::Rpc(RpcError::new(METHOD_NOT_FOUND, message)));
        }
        let mut subscription = readiness.subscriptions.subscribe(uri)?;
        subscription.granted(deadline).await?;
        Ok(subscription)
    }
}
