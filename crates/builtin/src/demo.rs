//! The sample server, so that everything can be tried with nothing else installed.
//!
//! It is the service of the package `mcpproxy-cards`, kept in memory and gone with the gateway.

use mcpproxy_cards::Store;
use mcpproxy_contract::Grants;

use crate::{ContractServer, DemoError};

/// The name the sample server goes by.
pub(crate) const NAME: &str = "cards";

/// The sample server with its first decks and cards. It is there to be tried: everybody may do
/// everything.
pub(crate) fn server() -> Result<ContractServer, DemoError> {
    let store = Store::in_memory().map_err(|error| {
        DemoError(format!(
            "the sample server has no memory for cards: {error}"
        ))
    })?;
    let service = mcpproxy_cards::service(store)
        .expect("every tool of the sample keeps the contract, and a test registers them all");
    Ok(ContractServer::new(service, |_| Grants::Everything))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpproxy_upstream::BuiltIn;

    #[test]
    fn every_tool_of_the_sample_is_registered() {
        assert!(server().unwrap().tools().len() >= 10);
    }
}
