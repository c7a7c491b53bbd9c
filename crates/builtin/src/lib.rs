//! Contract services inside the gateway's process: its admin tools, and the sample to try it with.
//!
//! They are upstreams like any other: the gateway takes what [`services`] makes as input, and needs
//! nothing of this crate. A service is hosted by a [`ContractServer`].

pub mod admin_tools;
mod contract_server;

use mcpproxy_gateway::{BuiltInFactory, BuiltInServer};

pub use contract_server::ContractServer;

/// Error of a sample service that cannot be offered.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DemoError(String);

/// Makes the built-in services of a gateway: the admin tools, and the sample if it is wanted.
pub fn services(demo: bool) -> Result<BuiltInFactory, DemoError> {
    let sample = if demo { Some(sample()?) } else { None };
    Ok(Box::new(|parts| {
        // First, so that nobody can take their name.
        let admin_tools = admin_tools::server(parts);
        let admin_tools = admin_tools.named(admin_tools::NAME);
        std::iter::once(admin_tools).chain(sample).collect()
    }))
}

/// Sample server `cards`, so that everything can be tried with nothing else installed. It is kept in
/// memory and gone with the gateway. What a caller may do there, its rights tell.
#[cfg(feature = "demo")]
fn sample() -> Result<BuiltInServer, DemoError> {
    let store = mcpproxy_cards::Store::in_memory().map_err(|error| {
        DemoError(format!(
            "the sample server has no memory for cards: {error}"
        ))
    })?;
    let service = mcpproxy_cards::service(store)
        .expect("every tool of the sample keeps the contract, and a test registers them all");
    Ok(ContractServer::new(service).named("cards"))
}

#[cfg(not(feature = "demo"))]
fn sample() -> Result<BuiltInServer, DemoError> {
    Err(DemoError(
        "this program was built without the sample server; start it without the demo, or build it with the cargo feature `demo`"
            .to_owned(),
    ))
}

#[cfg(all(test, feature = "demo"))]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_the_sample_is_registered() {
        assert!(sample().unwrap().server.tools().len() >= 10);
    }
}
