//! Work that outlives the call it is for.

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Tasks of one gateway, ended and waited for when it stops.
///
/// Calls may run on threads of their own; what is started here runs on the runtime that the gateway
/// was started on, so that it does not end with the thread of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Background {
    tasks: TaskTracker,
    /// Runtime that the gateway was started on.
    pub(crate) runtime: Handle,
    /// Cancelled when the gateway stops; tasks that run until then end.
    pub(crate) stopping: CancellationToken,
}

impl Background {
    /// Tasks on the current runtime. Must be called inside one.
    pub(crate) fn new() -> Self {
        Self {
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            stopping: CancellationToken::new(),
        }
    }

    /// Starts a task that a stop waits for.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.tasks.spawn_on(task, &self.runtime)
    }

    /// Starts a task that a stop ends wherever it is; `None` if that happened.
    pub(crate) fn spawn_until_stop<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        let stopping = self.stopping.clone();
        self.spawn(async move { stopping.run_until_cancelled(task).await })
    }

    /// Does work that takes a while off the threads of calls; `None` if it panicked.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.runtime.spawn_blocking(work).await.ok()
    }

    /// Waits until every task has ended.
    pub(crate) async fn finished(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}
