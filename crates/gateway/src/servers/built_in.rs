//! Servers inside this program, which whoever assembles the gateway gives to it.

use std::sync::{Arc, Weak};

use mcpproxy_upstream::BuiltIn;

use super::Servers;
use crate::records::Records;

/// Server inside this program, with its name.
pub type NamedBuiltIn = (Arc<str>, Arc<dyn BuiltIn>);

/// Maker of the built-in servers of a gateway while it is assembled. The first of several that have the
/// same name is taken.
pub type BuiltInFactory = Box<dyn FnOnce(BuiltInParts) -> Vec<NamedBuiltIn> + Send>;

/// Parts of a gateway that its built-in servers may use. The gateway owns its built-in servers, so
/// the way back is weak: a tool never keeps a stopped gateway alive.
#[derive(Debug, Clone, Default)]
pub struct BuiltInParts {
    /// Servers behind the gateway.
    pub servers: Weak<Servers>,
    /// Log of the gateway.
    pub records: Weak<Records>,
}
