//! State that the tools of a service share.
//!
//! A tool has access to it through its own type, and so through its category: whoever only reads gets it shared, and a
//! query that changes it does not compile. The lock is never held over an `.await`; what lives elsewhere, as in a
//! database, is better given to queries as a type that can only read.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::Tool;
use super::category::Mutation;

/// State that the tools of a service share: `ServiceState::from(notes)`. Clones are the same state.
#[derive(Debug, Default)]
pub struct ServiceState<S>(Arc<RwLock<S>>);

/// Access of one tool to the state of its service: `struct ListNotes(StateAccess<Self, Notes>)`.
pub struct StateAccess<T, S> {
    state: Arc<RwLock<S>>,
    tool: PhantomData<fn() -> T>,
}

// === impl ServiceState ===

impl<S> ServiceState<S> {
    /// Access for a tool: `ListNotes(state.access())`.
    pub fn access<T: Tool>(&self) -> StateAccess<T, S> {
        StateAccess {
            state: Arc::clone(&self.0),
            tool: PhantomData,
        }
    }
}

impl<S> From<S> for ServiceState<S> {
    fn from(state: S) -> Self {
        Self(Arc::new(RwLock::new(state)))
    }
}

impl<S> Clone for ServiceState<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

// === impl StateAccess ===

impl<T: Tool, S> StateAccess<T, S> {
    /// The state, to be looked at.
    pub fn read(&self) -> RwLockReadGuard<'_, S> {
        // A panic costs one call: the state is as that call left it.
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Tool<Category = Mutation<E>>, E, S> StateAccess<T, S> {
    /// The state, to be changed. Only mutations have it.
    pub fn write(&self) -> RwLockWriteGuard<'_, S> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T, S> fmt::Debug for StateAccess<T, S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StateAccess")
            .finish_non_exhaustive()
    }
}
