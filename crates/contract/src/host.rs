//! Services inside another program, which does a part of their work itself.

use crate::Service;

impl Service {
    /// Leaves the limits on calls to the host of the service, which counts the calls itself and refuses those that are
    /// too many before they come here.
    #[must_use]
    pub fn without_limits(mut self) -> Self {
        self.end_limits();
        self
    }
}
