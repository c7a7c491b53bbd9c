//! Catalog: one current snapshot, swapped as a whole.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use mcpproxy_wire::ToolDefinition;
use tokio::sync::watch;

use crate::operator::Operator;
use crate::snapshot::{ServerState, ServerStates, Snapshot};
use crate::tool::ListedTool;

/// Catalog of the tools that are known now.
///
/// Readers take [`Catalog::snapshot`] without a lock. Writers take turns, so no change is lost,
/// and each change becomes visible as a whole.
#[derive(Debug, Default)]
pub struct Catalog {
    current: ArcSwap<Snapshot>,
    /// Held while the next snapshot is built; it guards nothing but the order of writers.
    turn: Mutex<()>,
    /// Counts the snapshots, for those who wait for the next one.
    changes: watch::Sender<u64>,
}

/// Listing of a server: its answer to `tools/list`, all pages together.
#[derive(Debug, Clone, Default)]
pub struct ServerListing {
    /// Tools of the server. Of two with the same name the first counts.
    pub tools: Vec<ToolDefinition>,
}

impl Catalog {
    /// A catalog without servers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Snapshot of the tools known now. What it shows does not change while it is held.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Changes whenever there is another snapshot, whether or not it shows anything new.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Makes the catalog hold exactly these servers, in one step: new ones are added, those not
    /// named are removed, and the listings of the others stay.
    pub fn configure(&self, operators: HashMap<String, Operator>) {
        self.change(|servers| {
            servers.retain(|name, _| operators.contains_key(&**name));
            for (server, operator) in operators {
                put(servers, &server, operator);
            }
        });
    }

    /// Replaces what is known of a server's tools. It returns whether the server is configured:
    /// an answer that arrives after its server was removed must not bring it back.
    pub fn replace(&self, server: &str, listing: ServerListing) -> bool {
        let mut configured = false;
        self.change(|servers| {
            if let Some(state) = servers.get_mut(server) {
                *state = Arc::new(state.listed(definitions(state, listing)));
                configured = true;
            }
        });
        configured
    }

    fn change(&self, edit: impl FnOnce(&mut ServerStates)) {
        // A writer that panicked left the old snapshot in place, so the order is all that a
        // poisoned lock could have harmed.
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut servers = self.current.load().servers().clone();
        edit(&mut servers);
        self.current.store(Arc::new(Snapshot::new(servers)));
        self.changes
            .send_modify(|count| *count = count.wrapping_add(1));
    }
}

fn put(servers: &mut ServerStates, server: &str, operator: Operator) {
    let next = match servers.get(server) {
        Some(state) if *state.operator() == operator => return,
        Some(state) => state.configured(operator),
        None => ServerState::new(server.into(), operator),
    };
    servers.insert(Arc::clone(next.name()), Arc::new(next));
}

/// The listed tools in the order of their names. A tool that was listed before with the same
/// bytes keeps its definition, and with it the compiled check of its arguments.
fn definitions(state: &ServerState, listing: ServerListing) -> Vec<Arc<ListedTool>> {
    let mut tools = listing.tools;
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools.dedup_by(|later, earlier| later.name == earlier.name);
    tools
        .into_iter()
        .map(|tool| {
            state
                .find(&tool.name)
                .map(|entry| entry.definition())
                .filter(|known| known.tool().raw == tool.raw)
                .cloned()
                .unwrap_or_else(|| Arc::new(ListedTool::new(tool)))
        })
        .collect()
}
