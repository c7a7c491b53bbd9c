//! Removing what is older than it has to be kept, in small steps.
//!
//! Before anything is removed, a record of its own says how far each chain will be cut and what
//! the hash was there, so that what is left can still be proven.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, json};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::filter::first_id_at;
use crate::log::{Log, LogEvent};
use crate::queue::WriterCommand;
use crate::record::{Hash, RecordKind, Status};
use crate::store::{Journal, StoreError};
use crate::verify::{CHECKPOINTS, pruned};

/// Records that one step removes; calls are written in between.
const STEP: usize = 200;

/// Cut of a chain: how far retention removes its records.
#[derive(Serialize)]
struct Cut {
    chain: Uuid,
    #[serde(rename = "through_seq")]
    through: i64,
    hash: Hash,
}

impl Log {
    /// Removes records that are older than the settings keep, or more than they keep. Tells how
    /// many it removed.
    pub async fn prune(&self, now: Timestamp) -> Result<u64, StoreError> {
        match self.cutoff(now).await? {
            Some(cutoff) => self.remove_before(cutoff).await,
            None => Ok(0),
        }
    }

    /// Removes records from before a moment, however long the settings keep them. Tells how many
    /// it removed.
    pub async fn prune_before(&self, moment: Timestamp) -> Result<u64, StoreError> {
        self.remove_before(first_id_at(moment)).await
    }

    async fn remove_before(&self, cutoff: Uuid) -> Result<u64, StoreError> {
        let (cuts, is_news) = self.cuts(cutoff).await?;
        if !is_news {
            return Ok(0);
        }
        self.checkpoint(&cuts).await?;
        let mut removed = 0;
        for Cut { chain, through, .. } in cuts {
            loop {
                let remove = move |journal: &mut dyn Journal| journal.prune(chain, through, STEP);
                let step = self.ask_journal(remove).await?;
                removed += step as u64;
                if step < STEP {
                    break;
                }
            }
        }
        Ok(removed)
    }

    /// The first id that is kept.
    async fn cutoff(&self, now: Timestamp) -> Result<Option<Uuid>, StoreError> {
        let policy = self.policy();
        let by_age = now.checked_sub(policy.retention).ok().map(first_id_at);
        let by_count = match policy.max_records {
            Some(most) => self.archive().nth_newest(most).await?,
            None => None,
        };
        Ok(by_age.max(by_count))
    }

    /// Cuts of all chains, those that were cut before included; and whether any goes
    /// further than before. The last link of a chain always stays: the next one follows it.
    async fn cuts(&self, cutoff: Uuid) -> Result<(Vec<Cut>, bool), StoreError> {
        let store = self.archive();
        let mut cuts = Vec::new();
        let mut is_news = false;
        for (chain, head) in store.chains().await? {
            let before = pruned(store, chain).await?;
            let kept = store.first_since(chain, cutoff).await?;
            let through = kept.unwrap_or(head.seq).min(head.seq) - 1;
            let hash = if through > before.seq {
                let ask = move |journal: &mut dyn Journal| journal.hash_at(chain, through);
                self.ask_journal(ask).await?
            } else {
                None
            };
            is_news |= hash.is_some();
            let (through, hash) = hash.map_or((before.seq, before.hash), |hash| (through, hash));
            if through > 0 {
                cuts.push(Cut {
                    chain,
                    through,
                    hash,
                });
            }
        }
        Ok((cuts, is_news))
    }

    /// Puts on record what will be removed, and waits until that is on disk.
    async fn checkpoint(&self, cuts: &[Cut]) -> Result<(), StoreError> {
        let mut details = Map::new();
        details.insert("event".to_owned(), json!("checkpoint"));
        details.insert(CHECKPOINTS.to_owned(), json!(cuts));
        self.record_durably(LogEvent {
            kind: RecordKind::System,
            server: None,
            tool: None,
            status: Status::Success,
            error: None,
            details,
        })
        .await
    }

    /// Asks the journal something, in turn with what is written.
    async fn ask_journal<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut dyn Journal) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (ack, answer) = oneshot::channel();
        // Whoever asked may have gone.
        let work = move |journal: &mut dyn Journal| drop(ack.send(ask(journal)));
        self.queue().push(WriterCommand::Do(Box::new(work)));
        let stopped = || StoreError::Unavailable("the log has stopped".to_owned());
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}
