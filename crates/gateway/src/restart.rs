//! Starting a server anew because somebody asked for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpproxy_upstream::{Upstream, UpstreamState};

use crate::Gateway;
use crate::failure::{Code, Failure};
use crate::servers::{Running, STOP_GRACE, Server, Servers};
use crate::settings::Transport;

/// How long to wait for the new process to answer before telling how far it is.
const READY_TIME: Duration = Duration::from_secs(20);

impl Gateway {
    /// Ends a server and starts it again, also if it failed. Returns when it answers, has failed
    /// again, or is still starting after a while; [`Gateway::servers_status`] tells which.
    ///
    /// Calls that are under way there are lost. The new start is seen to even if nobody waits for
    /// it any more: a server that was only ended would be missing.
    pub async fn restart_server(self: &Arc<Self>, name: &str) -> Result<(), Failure> {
        let running = self.server(name)?;
        if running.settings.transport == Transport::BuiltIn {
            return Err(Failure::new(
                Code::InvalidArguments,
                format!(
                    "Server '{name}' is part of the gateway and has no process of its own; name a server of the configuration"
                ),
            ));
        }
        let gateway = Arc::clone(self);
        let restarting = self.tasks.spawn_on(
            async move { gateway.replace(&running.upstream).await },
            &self.general,
        );
        let started = restarting.await.ok().flatten();
        let Some(started) = started else {
            return Err(Failure::new(
                Code::UpstreamUnavailable,
                format!("Server '{name}' was taken out of the configuration meanwhile"),
            ));
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
        let _one_at_a_time = self
            .reconciling
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let server = self.servers.load().get(name)?.clone();
        if is_ended(&server) {
            let fresh = Server {
                running: self.start_server(&server.settings),
                settings: server.settings,
            };
            // A gateway that stops takes all servers away, without waiting for anybody.
            self.servers.rcu(|servers| {
                let mut after = Servers::clone(servers);
                after
                    .entry(Arc::clone(name))
                    .and_modify(|one| *one = fresh.clone());
                after
            });
            self.note_restarted(name);
        }
        match &self.servers.load().get(name)?.running {
            Running::Yes(upstream) => Some(upstream.clone()),
            _ => None,
        }
    }
}

fn is_ended(server: &Server) -> bool {
    matches!(&server.running, Running::Yes(upstream) if upstream.state() == UpstreamState::Stopped)
}
