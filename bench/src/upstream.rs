//! The two yardsticks: which echo upstream a call goes to.
//!
//! Both offer the same tools with the same answers; only how they are built differs. Must never let one of them be
//! measured in another way than the other.

use std::net::{SocketAddr, TcpListener};

use clap::ValueEnum;

use crate::protocol::Protocol;
use crate::{echo, sdk};

/// How the echo upstream is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Upstream {
    /// As lean as a server can be: the worst case for a gateway
    Bare,
    /// With the official Rust SDK: what a server built with it sees
    Sdk,
}

impl Upstream {
    /// The name used in options and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Sdk => "sdk",
        }
    }

    /// Serves `listener` from `workers` threads until the process ends, and says where.
    ///
    /// The bare one then speaks this protocol and no other. The SDK's speaks both, as it does by default: who asks it
    /// decides.
    pub(crate) fn start(
        self,
        protocol: Protocol,
        listener: TcpListener,
        workers: usize,
    ) -> anyhow::Result<SocketAddr> {
        match self {
            Self::Bare => echo::start(protocol, listener, workers),
            Self::Sdk => sdk::start(listener, workers),
        }
    }
}
