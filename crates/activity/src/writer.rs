//! The one thread that writes: many records, one commit.

mod pending;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use uuid::Uuid;

use crate::chain::Head;
use crate::chain_files::{ChainFiles, ClaimedChain, Role};
use crate::draft::{Draft, Ending, Prepared, Redaction};
use crate::queue::{Ack, Room, Work, WriteQueue};
use crate::record::ChainLink;
use crate::store::{Journal, StoreError};

use pending::{PendingRecord, answer, refused_unrecorded};

/// How long to wait before trying again what could not be written.
const PAUSE: Duration = Duration::from_millis(250);

/// The most records in one commit.
const MOST_IN_COMMIT: usize = 1_000;

/// How long the last records may take to be written when the program ends.
const LAST_TRIES: Duration = Duration::from_secs(5);

/// Writes what is in the queue.
pub(crate) struct Writer {
    queue: Arc<WriteQueue>,
    journal: Box<dyn Journal>,
    heads: ChainFiles,
    role: Role,
    claim: Option<ClaimedChain>,
    /// The end of the chain, once the store has told it.
    head: Option<Head>,
    backlog: VecDeque<PendingRecord>,
    /// Calls that were recorded before they were sent and have no outcome yet.
    open: HashMap<Uuid, OpenCall>,
    redaction: Redaction,
    retry_at: Option<Instant>,
}

struct OpenCall {
    prepared: Arc<Prepared>,
    /// Its place, once it is written.
    link: Option<ChainLink>,
}

impl Writer {
    /// Takes a chain and starts the thread. The receiver hears of its end.
    pub(crate) fn start(
        queue: Arc<WriteQueue>,
        journal: Box<dyn Journal>,
        heads: ChainFiles,
        role: Role,
        redaction: Redaction,
    ) -> Result<oneshot::Receiver<()>, StoreError> {
        let mut writer = Self {
            queue,
            journal,
            claim: Some(heads.claim(role).map_err(|error| cannot_note(&error))?),
            heads,
            role,
            head: None,
            backlog: VecDeque::new(),
            open: HashMap::new(),
            redaction,
            retry_at: None,
        };
        // What needs a person stops the start; what may pass by itself does not.
        match writer.attach() {
            Err(problem @ StoreError::Unusable(_)) => return Err(problem),
            Err(problem) => writer.failed(&problem),
            Ok(_) => {}
        }
        let (ended, end) = oneshot::channel();
        std::thread::Builder::new()
            .name("activity".to_owned())
            .spawn(move || {
                let _alarm = Alarm(Arc::clone(&writer.queue));
                writer.run();
                // Whoever started us may no longer care.
                let _ = ended.send(());
            })
            .map_err(|error| {
                StoreError::Unavailable(format!("the log's thread cannot be started: {error}"))
            })?;
        Ok(end)
    }

    fn run(mut self) {
        loop {
            let batch = self.queue.take(self.retry_at);
            for work in batch.work {
                self.accept(work);
            }
            self.queue.set_backlog(self.backlog.len());
            if batch.is_last {
                return self.finish();
            }
            if self.retry_at.is_none_or(|retry| retry <= Instant::now()) {
                self.write();
            } else {
                // Whoever waits is told at once; what is to be kept is kept.
                self.refuse_waiting();
            }
            self.queue.set_backlog(self.backlog.len());
        }
    }

    fn accept(&mut self, work: Work) {
        match work {
            Work::Open { draft, ack } => {
                let prepared = Arc::new(draft.prepare());
                let call = OpenCall {
                    prepared: Arc::clone(&prepared),
                    link: None,
                };
                self.open.insert(prepared.id, call);
                self.backlog.push_back(PendingRecord {
                    prepared,
                    outcome: None,
                    ack,
                    _room: None,
                });
            }
            Work::Close {
                draft,
                ending,
                ack,
                room,
            } => self.close(&draft, &ending, ack, room),
            Work::Prune {
                chain,
                through,
                limit,
                ack,
            } => {
                let removed = self.journal.prune(chain, through, limit);
                let _ = ack.send(removed);
            }
            Work::HashAt { chain, seq, ack } => {
                let _ = ack.send(self.journal.hash_at(chain, seq));
            }
        }
    }

    fn close(&mut self, draft: &Draft, ending: &Ending, ack: Option<Ack>, room: Option<Room>) {
        let prepared = match self.open.get(&draft.id) {
            Some(call) => Arc::clone(&call.prepared),
            None => Arc::new(draft.prepare()),
        };
        let outcome = prepared.outcome(ending);
        self.backlog.push_back(PendingRecord {
            prepared,
            outcome: Some(outcome),
            ack,
            _room: room,
        });
    }

    /// Writes what is there, in as few commits as the bound allows.
    fn write(&mut self) {
        self.retry_at = None;
        while !self.backlog.is_empty() {
            if let Err(problem) = self.commit() {
                return self.failed(&problem);
            }
        }
        if self.queue.set_problem(None) {
            tracing::info!("the activity log can be written again");
        }
    }

    /// One commit, and everything that has to follow it.
    fn commit(&mut self) -> Result<(), StoreError> {
        let (chain, mut head) = self.attach()?;
        let count = self.backlog.len().min(MOST_IN_COMMIT);
        let mut opened: HashMap<Uuid, ChainLink> = HashMap::new();
        let mut changes = Vec::with_capacity(count);
        for item in self.backlog.iter().take(count) {
            let id = item.prepared.id;
            let before = self.open.get(&id).and_then(|call| call.link);
            let before = before.or_else(|| opened.get(&id).copied());
            let change = item.change(chain, &mut head, before);
            if item.outcome.is_none()
                && let Some(link) = change.row.opened
            {
                opened.insert(id, link);
            }
            changes.push(change);
        }
        self.journal.append(&changes)?;
        self.head = Some(head);
        self.note(head);
        for item in self.backlog.drain(..count) {
            let id = item.prepared.id;
            match (&item.outcome, self.open.get_mut(&id)) {
                (None, Some(call)) => call.link = opened.get(&id).copied(),
                (Some(_), Some(_)) => {
                    self.open.remove(&id);
                }
                _ => {}
            }
            answer(item.ack, Ok(()));
        }
        self.queue.committed();
        self.tell_unrecorded();
        Ok(())
    }

    /// The chain and its end, as the store has them. A chain that is not what its file says is
    /// left alone, so that `verify` can still tell, and another one begun.
    fn attach(&mut self) -> Result<(Uuid, Head), StoreError> {
        let claim = match self.claim.take() {
            Some(claim) => claim,
            None => self
                .heads
                .begin(self.role)
                .map_err(|error| cannot_note(&error))?,
        };
        let noted = claim.noted();
        if let Some(head) = self.head {
            self.claim = Some(claim);
            return Ok((noted.chain, head));
        }
        let checked = (|| {
            let head = self.journal.head(noted.chain)?;
            let there = self.journal.hash_at(noted.chain, noted.head.seq)?;
            Ok((head, there))
        })();
        let (head, there) = match checked {
            Ok(checked) => checked,
            Err(problem) => {
                self.claim = Some(claim);
                return Err(problem);
            }
        };
        let is_there = noted.head.seq == 0 || there == Some(noted.head.hash);
        let is_longer = noted.is_closed && head.seq > noted.head.seq;
        if noted.is_readable && is_there && !is_longer {
            self.head = Some(head);
            self.claim = Some(claim);
            self.note(head);
            return Ok((noted.chain, head));
        }
        tracing::error!(chain = %noted.chain, "a chain of the activity log is not what its file says; `mcpproxy activity verify` tells more");
        claim.set_aside().map_err(|error| cannot_note(&error))?;
        self.attach()
    }

    /// Notes the end of the chain beside the database.
    fn note(&mut self, head: Head) {
        if let Some(claim) = &mut self.claim
            && let Err(error) = claim.note(head)
        {
            // The records are safe; only the removal of the newest would not show.
            tracing::error!(%error, "the end of the activity log's chain cannot be noted");
        }
    }

    /// Nothing could be written: whoever waits hears of it, what is to be kept waits on.
    fn failed(&mut self, problem: &StoreError) {
        if self.queue.set_problem(Some(problem.clone())) {
            tracing::error!(%problem, "the activity log cannot be written; calls that write are refused until it can");
        }
        self.retry_at = Some(Instant::now() + PAUSE);
        self.refuse_waiting();
        if self.backlog.is_empty() {
            // Nothing is left to try again with, so the next call will show.
            self.retry_at = None;
            self.queue.set_problem(None);
        }
    }

    fn refuse_waiting(&mut self) {
        let problem = self.queue.problem().unwrap_or_else(crate::queue::too_slow);
        let open = &mut self.open;
        self.backlog.retain_mut(|item| {
            let ack = item.ack.take();
            let is_refused = ack.is_some() && item.outcome.is_none();
            if is_refused {
                // It will not be sent; its refusal is recorded as one.
                open.remove(&item.prepared.id);
            }
            answer(ack, Err(problem.clone()));
            !is_refused
        });
    }

    /// Once it can be told: how many refused calls left no record of their own.
    fn tell_unrecorded(&mut self) {
        let count = self.queue.take_unrecorded();
        if count > 0 {
            let (draft, ending) = refused_unrecorded(count, self.redaction.clone());
            self.close(&draft, &ending, None, None);
        }
    }

    /// Writes what is left. Only a chain that is complete is closed.
    fn finish(mut self) {
        let until = Instant::now() + LAST_TRIES;
        self.write();
        while !self.backlog.is_empty() && Instant::now() < until {
            std::thread::sleep(PAUSE);
            self.write();
        }
        if !self.backlog.is_empty() {
            let count = self.backlog.len();
            tracing::error!(count, "records could not be written before the end");
            return;
        }
        let closed = self
            .claim
            .filter(|_| self.head.is_some())
            .map(ClaimedChain::close);
        if let Some(Err(error)) = closed {
            tracing::error!(%error, "the end of the activity log's chain cannot be noted");
        }
    }
}

/// Tells everybody, should the thread ever end by a fault of ours: from then on nothing that
/// writes may be sent.
struct Alarm(Arc<WriteQueue>);

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let problem = "the log's writer failed inside; restart the gateway";
            self.0
                .set_problem(Some(StoreError::Unusable(problem.to_owned())));
        }
    }
}

fn cannot_note(error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!(
        "the folder `chains` of the data directory cannot be used: {error}"
    ))
}
