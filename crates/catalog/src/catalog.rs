//! Catalog: one current snapshot, swapped as a whole.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::{ArcSwap, ArcSwapOption};
use jiff::civil::Date;
use mcpproxy_wire::Offerings;
use tokio::sync::watch;

use crate::directory::Directory;
use crate::operator::Operator;
use crate::snapshot::{ServerState, ServerStates, Snapshot};

/// Catalog of what the servers offer now.
///
/// Readers take [`Catalog::snapshot`] without a lock. Writers take turns, so no change is lost,
/// and each change becomes visible as a whole.
#[derive(Debug)]
pub struct Catalog {
    current: ArcSwap<Snapshot>,
    /// Directory over the newest snapshot that somebody asked it for.
    directory: ArcSwapOption<Directory>,
    /// Day that the snapshot is made for. Held while the next one is built, so that writers take turns.
    today: Mutex<Date>,
    /// Counts the snapshots, for those who wait for the next one.
    changes: watch::Sender<u64>,
}

impl Catalog {
    /// A catalog without servers, before every day on which a tool is removed: see [`Catalog::begin_day`].
    pub fn new() -> Self {
        Self {
            current: ArcSwap::default(),
            directory: ArcSwapOption::default(),
            today: Mutex::new(Date::MIN),
            changes: watch::Sender::default(),
        }
    }

    /// Snapshot of what is known now. What it shows does not change while it is held.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Directory of the names, addresses and lists that direct endpoints have of what is known now.
    pub fn directory(&self) -> Arc<Directory> {
        let snapshot = self.snapshot();
        let known = self.directory.load_full();
        if let Some(directory) = known.filter(|known| Arc::ptr_eq(known.snapshot(), &snapshot)) {
            return directory;
        }
        let directory = Arc::new(Directory::over(snapshot));
        self.directory.store(Some(Arc::clone(&directory)));
        directory
    }

    /// Changes whenever there is another snapshot, whether or not it shows anything new.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Makes the catalog hold exactly these servers, in one step: new ones are added, those not
    /// named are removed, and the listings of the others stay.
    pub fn configure(&self, operators: HashMap<String, Operator>) {
        self.change(|servers, today| {
            servers.retain(|name, _| operators.contains_key(&**name));
            for (server, operator) in operators {
                let next = match servers.get(&*server) {
                    Some(state) if *state.operator() == operator => continue,
                    Some(state) => state.configured(operator, today),
                    None => ServerState::new(server.into(), operator, today),
                };
                servers.insert(Arc::clone(next.name()), Arc::new(next));
            }
        });
    }

    /// Takes the offerings of a server; a list that it has not given yet stays as it is known. It
    /// returns whether the server is configured: an answer that arrives after its server was removed
    /// must not bring it back.
    pub fn replace(&self, server: &str, offerings: Offerings) -> bool {
        let mut configured = false;
        self.change(|servers, today| {
            if let Some(state) = servers.get_mut(server) {
                *state = Arc::new(state.offered(offerings, today));
                configured = true;
            }
        });
        configured
    }

    /// Makes the catalog one of this day: tools whose removal has come are not shown any more.
    pub fn begin_day(&self, today: Date) {
        let mut day = self.turn();
        let before = std::mem::replace(&mut *day, today);
        let mut servers = self.current.load().servers.clone();
        let mut is_changed = false;
        for state in servers.values_mut() {
            if let Some(next) = state.on_day(before, today) {
                *state = Arc::new(next);
                is_changed = true;
            }
        }
        if is_changed {
            self.publish(servers);
        }
    }

    fn change(&self, edit: impl FnOnce(&mut ServerStates, Date)) {
        let today = self.turn();
        let mut servers = self.current.load().servers.clone();
        edit(&mut servers, *today);
        self.publish(servers);
    }

    /// Turn of a writer. One that panicked left the old snapshot in place, so the order is all that a poisoned lock
    /// could have harmed.
    fn turn(&self) -> MutexGuard<'_, Date> {
        self.today.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes another snapshot the current one.
    fn publish(&self, servers: ServerStates) {
        self.current.store(Arc::new(Snapshot::new(servers)));
        self.changes
            .send_modify(|count| *count = count.wrapping_add(1));
    }
}

impl Default for Catalog {
    fn default() -> Self {
        Self::new()
    }
}
