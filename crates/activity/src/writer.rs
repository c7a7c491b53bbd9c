//! Writer: the one thread that writes, many records in one commit.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use mcpproxy_policy::Caller;
use serde_json::{Map, json};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::chain::ChainHead;
use crate::chain::files::{ChainFiles, ClaimedChain, LogRole};
use crate::draft::{Draft, DraftOutcome, RecordRedaction};
use crate::queue::{Ack, Room, WriteQueue, WriterCommand};
use crate::record::{ChainLink, RecordKind, Status};
use crate::row::{OutcomeColumns, RequestColumns, Row};
use crate::store::{Journal, StoreError};

/// Pause before trying again what could not be written.
const PAUSE: Duration = Duration::from_millis(250);

/// The most records in one commit.
const MOST_IN_COMMIT: usize = 1_000;

/// Time that the last records may take to be written when the program ends.
const LAST_TRIES: Duration = Duration::from_secs(5);

/// Writes what is in the queue.
pub(crate) struct Writer {
    queue: Arc<WriteQueue>,
    journal: Box<dyn Journal>,
    files: ChainFiles,
    role: LogRole,
    claim: Option<ClaimedChain>,
    /// The end of the chain, once the store has told it.
    head: Option<ChainHead>,
    backlog: VecDeque<PendingRecord>,
    /// Calls that wait for their outcome, by the ids of their records.
    open: HashMap<Uuid, OpenCall>,
    redaction: RecordRedaction,
    retry_at: Option<Instant>,
}

/// Call that was recorded before it was sent and has no outcome yet.
struct OpenCall {
    request: Arc<RequestColumns>,
    /// Its link, once it is written.
    link: Option<ChainLink>,
}

/// Record that is to be written.
struct PendingRecord {
    id: Uuid,
    request: Arc<RequestColumns>,
    /// Outcome; nothing for a call that is about to be sent.
    outcome: Option<OutcomeColumns>,
    ack: Option<Ack>,
    /// Given back when the record is written.
    _room: Option<Room>,
}

impl Writer {
    /// Takes a chain and starts the thread. The receiver hears of its end.
    pub(crate) fn start(
        queue: Arc<WriteQueue>,
        journal: Box<dyn Journal>,
        files: ChainFiles,
        role: LogRole,
        redaction: RecordRedaction,
    ) -> Result<oneshot::Receiver<()>, StoreError> {
        let mut writer = Self {
            queue,
            journal,
            claim: Some(files.claim(role).map_err(|error| chains_unusable(&error))?),
            files,
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
            let mut is_stopping = false;
            for command in self.queue.take(self.retry_at) {
                is_stopping |= matches!(command, WriterCommand::Stop);
                self.accept(command);
            }
            self.queue.backlog.store(self.backlog.len(), Relaxed);
            if is_stopping {
                return self.finish();
            }
            if self.retry_at.is_none_or(|retry| retry <= Instant::now()) {
                self.write();
            } else {
                // Whoever waits is told at once; what is to be recorded waits on.
                self.refuse_waiting();
            }
            self.queue.backlog.store(self.backlog.len(), Relaxed);
        }
    }

    fn accept(&mut self, command: WriterCommand) {
        match command {
            WriterCommand::Record {
                draft,
                outcome,
                ack,
                room,
            } => self.add(&draft, outcome.as_ref(), ack, room),
            WriterCommand::Do(work) => work(&mut *self.journal),
            WriterCommand::Stop => {}
        }
    }

    fn add(
        &mut self,
        draft: &Draft,
        outcome: Option<&DraftOutcome>,
        ack: Option<Ack>,
        room: Option<Room>,
    ) {
        let request = match self.open.get(&draft.id) {
            Some(call) => Arc::clone(&call.request),
            None => Arc::new(draft.columns()),
        };
        if outcome.is_none() {
            let request = Arc::clone(&request);
            self.open.insert(
                draft.id,
                OpenCall {
                    request,
                    link: None,
                },
            );
        }
        self.backlog.push_back(PendingRecord {
            id: draft.id,
            request,
            outcome: outcome.map(|outcome| outcome.columns(&draft.redaction)),
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
        let mut rows = Vec::with_capacity(count);
        for record in self.backlog.iter().take(count) {
            let before = self.open.get(&record.id).and_then(|call| call.link);
            let before = before.or_else(|| opened.get(&record.id).copied());
            let row = record.row(chain, &mut head, before);
            if record.outcome.is_none()
                && let Some(link) = row.opened
            {
                opened.insert(record.id, link);
            }
            rows.push(row);
        }
        self.journal.append(&rows)?;
        self.head = Some(head);
        self.save_head(head);
        for record in self.backlog.drain(..count) {
            match (&record.outcome, self.open.get_mut(&record.id)) {
                (None, Some(call)) => call.link = opened.get(&record.id).copied(),
                (Some(_), Some(_)) => {
                    self.open.remove(&record.id);
                }
                _ => {}
            }
            acknowledge(record.ack, Ok(()));
        }
        self.queue.commits.send_modify(|commits| *commits += 1);
        self.record_unrecorded();
        Ok(())
    }

    /// The chain and its end, as the store has them. A chain that is not what its file says is
    /// left alone, so that `verify` can still tell, and another one begun.
    fn attach(&mut self) -> Result<(Uuid, ChainHead), StoreError> {
        let file = if let Some(claim) = &self.claim {
            claim.content
        } else {
            let claim = self.files.begin(self.role);
            let claim = claim.map_err(|error| chains_unusable(&error))?;
            self.claim.insert(claim).content
        };
        if let Some(head) = self.head {
            return Ok((file.chain, head));
        }
        let head = self.journal.head(file.chain)?;
        let there = self.journal.hash_at(file.chain, file.head.seq)?;
        let is_there = file.head.seq == 0 || there == Some(file.head.hash);
        let is_longer = file.is_closed && head.seq > file.head.seq;
        if file.is_readable && is_there && !is_longer {
            self.head = Some(head);
            self.save_head(head);
            return Ok((file.chain, head));
        }
        tracing::error!(chain = %file.chain, "a chain of the activity log is not what its file says; `mcpproxy activity verify` tells more");
        let aside = self.claim.take().map_or(Ok(()), ClaimedChain::set_aside);
        aside.map_err(|error| chains_unusable(&error))?;
        self.attach()
    }

    /// Saves the end of the chain beside the database.
    fn save_head(&mut self, head: ChainHead) {
        if let Some(claim) = &mut self.claim
            && let Err(error) = claim.save(head)
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
        self.backlog.retain_mut(|record| {
            let ack = record.ack.take();
            let is_refused = ack.is_some() && record.outcome.is_none();
            if is_refused {
                // It will not be sent; its refusal is recorded as one.
                open.remove(&record.id);
            }
            acknowledge(ack, Err(problem.clone()));
            !is_refused
        });
    }

    /// Once it can be told: how many refused calls left no record of their own.
    fn record_unrecorded(&mut self) {
        let count = self.queue.unrecorded.swap(0, Relaxed);
        if count > 0 {
            let (draft, outcome) = refused_unrecorded(count, self.redaction.clone());
            self.add(&draft, Some(&outcome), None, None);
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

impl PendingRecord {
    /// Row as it has to be, with its place at the end of the chain; `before` is its link from
    /// before the call was sent.
    fn row(&self, chain: Uuid, head: &mut ChainHead, before: Option<ChainLink>) -> Row {
        let request = &self.request;
        let (outcome, opened, closed) = match &self.outcome {
            None => {
                let link = head.open(chain, request);
                (OutcomeColumns::in_doubt(), Some(link), None)
            }
            Some(outcome) => {
                let link = head.close(chain, request, outcome, before.as_ref());
                (outcome.clone(), before, Some(link))
            }
        };
        Row {
            request: Arc::clone(request),
            outcome,
            chain,
            opened,
            closed,
        }
    }
}

/// Tells whoever waits.
fn acknowledge(ack: Option<Ack>, result: Result<(), StoreError>) {
    if let Some(ack) = ack {
        // Whoever asked may have gone; the record is there either way.
        let _ = ack.send(result);
    }
}

/// Record of refused calls that there was no room to record one by one.
fn refused_unrecorded(count: u64, redaction: RecordRedaction) -> (Draft, DraftOutcome) {
    let mut details = Map::new();
    details.insert("event".to_owned(), json!("refused_unrecorded"));
    details.insert("count".to_owned(), json!(count));
    let draft = Draft {
        details,
        ..Draft::new(RecordKind::System, Arc::new(Caller::default()), redaction)
    };
    let message = format!(
        "{count} calls were refused while the log could not be written; none of them was made"
    );
    let error = ("STORE_UNAVAILABLE".to_owned(), message);
    (draft, DraftOutcome::immediate(Status::Error, Some(error)))
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

fn chains_unusable(error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!(
        "the folder `chains` of the data directory cannot be used: {error}"
    ))
}
