//! Queue of what waits to be written: bounded, in order, and never dropped.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

use crate::draft::{Draft, DraftOutcome};
use crate::store::{Journal, StoreError};

/// Time that a record may wait for others before it is written. Half of what is promised, so that
/// the write itself has the other half.
const WINDOW: Duration = Duration::from_millis(50);

/// Number of waiting records from which on they are written without waiting for more.
const FULL_BATCH: usize = 500;

/// Size of one piece of room, in bytes.
const PIECE: usize = 4 * 1024;

/// Pieces that there are for all that is open or waits: 32 MiB.
const PIECES: usize = 8 * 1024;

/// Sender that tells whoever waits what came of the write.
pub(crate) type Ack = oneshot::Sender<Result<(), StoreError>>;

/// Share of the queue that something takes until it is written.
pub(crate) type Room = OwnedSemaphorePermit;

/// Work with the journal that is no record.
type JournalWork = dyn FnOnce(&mut dyn Journal) + Send;

/// Command to the writer.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every command is `Record`"
)]
pub(crate) enum WriterCommand {
    /// Record a call that is about to be sent, or with its outcome what came of it; then all of it
    /// if nothing was recorded before.
    Record {
        draft: Arc<Draft>,
        outcome: Option<DraftOutcome>,
        ack: Option<Ack>,
        room: Option<Room>,
    },
    /// Do something else with the journal, between two commits.
    Do(Box<JournalWork>),
    /// Write what is there and end.
    Stop,
}

/// Queue that the writer and everybody who records something share.
pub(crate) struct WriteQueue {
    waiting: Mutex<QueuedWork>,
    wake: Condvar,
    room: Arc<Semaphore>,
    is_failing: AtomicBool,
    problem: Mutex<Option<StoreError>>,
    /// Number of refused calls that could not be recorded, because there was no room left.
    pub(crate) unrecorded: AtomicU64,
    /// Number of records that the writer has taken and not yet written.
    pub(crate) backlog: AtomicUsize,
    /// Counts commits, for those who follow the log.
    pub(crate) commits: watch::Sender<u64>,
}

#[derive(Default)]
struct QueuedWork {
    commands: VecDeque<WriterCommand>,
    since: Option<Instant>,
    is_urgent: bool,
}

impl WriteQueue {
    pub(crate) fn new() -> Self {
        Self {
            waiting: Mutex::default(),
            wake: Condvar::new(),
            room: Arc::new(Semaphore::new(PIECES)),
            is_failing: AtomicBool::new(false),
            problem: Mutex::default(),
            unrecorded: AtomicU64::new(0),
            backlog: AtomicUsize::new(0),
            commits: watch::Sender::new(0),
        }
    }

    /// Takes room for so many bytes. While the store works, waits for it; while it does not,
    /// there is room or there is none.
    pub(crate) async fn room(&self, bytes: usize, deadline: Instant) -> Result<Room, StoreError> {
        if let Some(room) = self.room_now(bytes) {
            return Ok(room);
        }
        if let Some(problem) = self.problem() {
            return Err(problem);
        }
        let taken = Arc::clone(&self.room).acquire_many_owned(pieces(bytes));
        match tokio::time::timeout_at(deadline.into(), taken).await {
            Ok(Ok(room)) => Ok(room),
            _ => Err(self.problem().unwrap_or_else(too_slow)),
        }
    }

    /// Room for so many bytes, if there is some now.
    pub(crate) fn room_now(&self, bytes: usize) -> Option<Room> {
        let room = Arc::clone(&self.room);
        room.try_acquire_many_owned(pieces(bytes)).ok()
    }

    /// Hands a command to the writer. What somebody waits for is done at once.
    pub(crate) fn push(&self, command: WriterCommand) {
        let is_urgent = match &command {
            WriterCommand::Record { ack, .. } => ack.is_some(),
            WriterCommand::Do(_) | WriterCommand::Stop => true,
        };
        let mut waiting = self.lock();
        let was_empty = waiting.commands.is_empty();
        waiting.commands.push_back(command);
        if was_empty {
            waiting.since = Some(Instant::now());
        }
        waiting.is_urgent |= is_urgent;
        // Between the first and the last of a batch the writer need not be woken.
        if was_empty || is_urgent || waiting.commands.len() == FULL_BATCH {
            drop(waiting);
            self.wake.notify_one();
        }
    }

    /// Number of records that wait to be written.
    pub(crate) fn len(&self) -> usize {
        self.lock().commands.len() + self.backlog.load(Ordering::Relaxed)
    }

    /// Waits until there is something to do, but not beyond `until`.
    pub(crate) fn take(&self, until: Option<Instant>) -> VecDeque<WriterCommand> {
        let mut waiting = self.lock();
        loop {
            let now = Instant::now();
            let due = waiting.since.map(|since| since + WINDOW);
            let is_due = due.is_some_and(|due| due <= now)
                || waiting.is_urgent
                || waiting.commands.len() >= FULL_BATCH;
            if is_due || until.is_some_and(|until| until <= now) {
                waiting.is_urgent = false;
                waiting.since = None;
                return std::mem::take(&mut waiting.commands);
            }
            let next = [due, until].into_iter().flatten().min();
            let pause = next.map_or(Duration::MAX, |next| next - now);
            let waited = self.wake.wait_timeout(waiting, pause);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Reason that nothing can be written, while that is so.
    pub(crate) fn problem(&self) -> Option<StoreError> {
        if !self.is_failing.load(Ordering::Acquire) {
            return None;
        }
        let problem = self.problem.lock();
        problem.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes whether records can be written; tells whether that is news.
    pub(crate) fn set_problem(&self, problem: Option<StoreError>) -> bool {
        let is_failing = problem.is_some();
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
        self.is_failing.swap(is_failing, Ordering::AcqRel) != is_failing
    }

    pub(crate) fn count_unrecorded(&self) {
        self.unrecorded.fetch_add(1, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, QueuedWork> {
        // Nobody leaves the list half changed, so a poisoned lock is still good.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pieces(bytes: usize) -> u32 {
    // One for the record itself; nothing may ask for more than there is.
    u32::try_from(1 + bytes.div_ceil(PIECE).min(PIECES / 2)).unwrap_or(1)
}

/// Waits until the writer tells what came of a write.
pub(crate) async fn written(
    told: oneshot::Receiver<Result<(), StoreError>>,
    deadline: Instant,
) -> Result<(), StoreError> {
    match tokio::time::timeout_at(deadline.into(), told).await {
        Ok(Ok(written)) => written,
        _ => Err(too_slow()),
    }
}

/// The disk takes so long that it is as good as gone.
pub(crate) fn too_slow() -> StoreError {
    StoreError::Unavailable("the log was not written in time".to_owned())
}
