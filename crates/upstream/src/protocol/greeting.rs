//! Greeting of a server, the same for both protocols.

use mcpproxy_wire::capabilities::{Capabilities, ListChanges};
use mcpproxy_wire::{Json, Revision};

use crate::transport::request::WantedNotifications;

/// Greeting of a server: what it said of itself when the connection was opened.
#[derive(Debug)]
pub(crate) struct Greeting {
    pub(crate) server_info: Option<Json>,
    pub(crate) revision: Option<Revision>,
    /// Whether every change of its tools will reach us from now on.
    pub(crate) announces: bool,
    /// Capabilities that it declared.
    pub(crate) capabilities: Capabilities,
}

impl Greeting {
    /// Changes of lists that a server without sessions announces to those who listen.
    pub(crate) fn announced_lists(&self) -> WantedNotifications {
        let announces = |changes| changes == Some(ListChanges::Announced);
        WantedNotifications {
            tools_list_changed: announces(self.capabilities.tools),
            prompts_list_changed: announces(self.capabilities.prompts),
            resources_list_changed: announces(self.capabilities.resources),
            resource_subscriptions: Vec::new(),
        }
    }
}
