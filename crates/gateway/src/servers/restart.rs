//! Starting a server anew because somebody asked for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpproxy_policy::Rights;
use mcpproxy_upstream::{Upstream, UpstreamState};

use super::{ConfiguredServer, RunState, STOP_GRACE, ServerMap, Servers};
use crate::failure::{Code, Failure};

/// Time to wait for the new process to answer before telling how far it is.
const READY_TIME: Duration = Duration::from_secs(20);

impl Servers {
    /// Ends a server that a caller with these rights may use and starts it again, also if it failed. Returns when it answers, has failed
    /// again, or is still starting after a while; [`Servers::status`] tells which.
    ///
    /// Calls that are under way there are lost. The new start is seen to even if nobody waits for
    /// it any more: a server that was only ended would be missing.
    pub async fn restart(self: &Arc<Self>, name: &str, rights: &Rights) -> Result<(), Failure> {
        let running = self.reachable(name, rights)?;
        if running.settings.is_built_in() {
            let message = format!(
                "Server '{name}' is part of the gateway and has no process of its own; name a server of the configuration"
            );
            return Err(Failure::new(Code::InvalidArguments, message));
        }
        let servers = Arc::clone(self);
        let restarting = async move { servers.replace(&running.upstream).await };
        let restarting = self.background.spawn(restarting);
        let Ok(Some(started)) = restarting.await else {
            let message = format!("Server '{name}' was taken out of the configuration meanwhile");
            return Err(Failure::new(Code::UpstreamUnavailable, message));
        };
        // How it went is read from its state, whatever this wait says.
        let _ = started.fresh(Instant::now() + READY_TIME).await;
        Ok(())
    }

    /// Ends an upstream and puts a new one in its place, unless somebody else did so first. Nothing
    /// if there is no such server any more.
    async fn replace(&self, ended: &Upstream) -> Option<Upstream> {
        let name = ended.name();
        ended.stop(STOP_GRACE).await;
        let _one_at_a_time = self.one_at_a_time();
        let server = self.configured.load().get(name)?.clone();
        if matches!(&server.run, RunState::Running(one) if one.state() == UpstreamState::Stopped) {
            let fresh = ConfiguredServer {
                run: self.start(&server.settings),
                settings: server.settings,
                results: Arc::default(),
            };
            // A gateway that stops takes all servers away, without waiting for anybody.
            self.configured.rcu(|servers| {
                let mut after = ServerMap::clone(servers);
                if let Some(server) = after.get_mut(name) {
                    *server = fresh.clone();
                }
                after
            });
            self.records.server_restarted(name);
        }
        match &self.configured.load().get(name)?.run {
            RunState::Running(upstream) => Some(upstream.clone()),
            _ => None,
        }
    }
}
