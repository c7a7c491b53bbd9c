//! Verification: proof that nothing was altered.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use uuid::Uuid;

use crate::chain::files::{ChainFileContent, ChainFiles};
use crate::chain::{ChainHead, link_hash};
use crate::filter::Filter;
use crate::record::{ChainLink, Hash, Record, RecordKind};
use crate::row::{OutcomeColumns, Row};
use crate::store::{Store, StoreError, StoredLink, counted};

/// Links that are read at a time: few enough to be held, and to be hashed without keeping
/// others waiting.
const STEP: usize = 100;

/// The key in the metadata of a record that says what retention removed.
pub(crate) const CHECKPOINTS: &str = "checkpoints";

/// Verdict on all chains.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Verdict))]
pub struct LogVerdict {
    /// Whether everything is as it was written.
    pub ok: bool,
    /// How many records were checked.
    pub records: u64,
    /// How many links were checked: two for a call that was recorded before it was sent.
    pub links: u64,
    /// Every chain.
    pub chains: Vec<ChainVerdict>,
    /// First problem of all.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub problem: Option<ChainProblem>,
    /// First problem of each chain.
    pub problems: Vec<ChainProblem>,
}

/// Verdict on one chain.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChainVerdict {
    /// The chain.
    pub chain: Uuid,
    /// How many records it has.
    pub records: u64,
    /// The last link that retention removed; 0 if it removed none.
    pub pruned_through: i64,
    /// Number of its last link.
    pub last_seq: i64,
    /// The hash of its last link, in hexadecimal.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub head: Hash,
}

/// Problem of a chain: something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Problem))]
pub struct ChainProblem {
    /// Kind of tampering.
    pub kind: Tampering,
    /// The chain.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub chain: Option<Uuid>,
    /// The place in the chain.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub seq: Option<i64>,
    /// The record, where it is there.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub id: Option<Uuid>,
    /// All of that in a sentence.
    pub message: String,
}

/// Kind of tampering with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Tampering {
    /// The record says something else.
    Changed,
    /// The record is gone.
    Removed,
    /// The record was never written by the log.
    Inserted,
}

/// Checks every chain of a store.
pub(crate) async fn verify(
    store: &Store,
    files: &ChainFiles,
    has_all_files: bool,
    mut progress: impl FnMut(u64, u64),
) -> Result<LogVerdict, StoreError> {
    // Read before the records, so that no file can be ahead of what is then found.
    let saved = files.read_all().map_err(|error| {
        StoreError::Unavailable(format!(
            "the files that tell how far the chains go cannot be read: {error}"
        ))
    })?;
    let chains = store.chains().await?;
    let total = chains.iter().map(|(_, head)| counted(head.seq)).sum();
    let mut verdict = LogVerdict::default();
    if let Some(row) = store.stray().await? {
        verdict.problems.push(stray(&row));
    }
    let known = saved.iter().filter(|file| file.head.seq > 0);
    let all = chains.iter().map(|(chain, _)| *chain);
    let all: BTreeSet<Uuid> = all.chain(known.map(|file| file.chain)).collect();
    for chain in all {
        let file = saved.iter().find(|file| file.chain == chain);
        let checked = verdict.links;
        let mut walk = ChainWalk::start(store, chain).await?;
        let mut progress = |links| progress(checked + links, total);
        let mut problem = walk.run(store, &mut progress).await?;
        if problem.is_none() {
            problem = walk.against_file(store, file, has_all_files).await?;
        }
        verdict.records += walk.records;
        verdict.links += walk.links;
        verdict.problems.extend(problem);
        let end = walk.end();
        verdict.chains.push(ChainVerdict {
            chain,
            records: walk.records,
            pruned_through: walk.pruned.seq,
            last_seq: end.seq,
            head: end.hash,
        });
    }
    verdict.ok = verdict.problems.is_empty();
    verdict.problem = verdict.problems.first().cloned();
    Ok(verdict)
}

/// Walk through one chain.
struct ChainWalk {
    chain: Uuid,
    /// Up to here retention has removed records.
    pruned: ChainHead,
    /// The last link that was checked and fits; nothing yet among what retention is removing.
    at: Option<ChainHead>,
    /// The hashes of the links since the start that a file may point at.
    passed: BTreeMap<i64, (Hash, Option<Uuid>)>,
    records: u64,
    links: u64,
}

impl ChainWalk {
    async fn start(store: &Store, chain: Uuid) -> Result<Self, StoreError> {
        Ok(Self {
            chain,
            pruned: pruned(store, chain).await?,
            at: None,
            passed: BTreeMap::new(),
            records: 0,
            links: 0,
        })
    }

    /// Checks link after link; the first that does not fit ends it.
    async fn run(
        &mut self,
        store: &Store,
        progress: &mut impl FnMut(u64),
    ) -> Result<Option<ChainProblem>, StoreError> {
        // Below the first number too: nothing of ours is there.
        let mut after = i64::MIN;
        loop {
            let links = store.links(self.chain, after, STEP).await?;
            let Some(last) = links.last() else {
                return Ok(None);
            };
            after = last.seq;
            for link in &links {
                if let Some(problem) = self.check(link) {
                    // Retention may have gone on while we read.
                    let pruned = pruned(store, self.chain).await?;
                    let is_overtaken = pruned.seq > self.pruned.seq
                        && problem.kind == Tampering::Removed
                        && problem.seq.is_some_and(|seq| seq <= pruned.seq);
                    if !is_overtaken {
                        return Ok(Some(problem));
                    }
                    *self = Self {
                        pruned,
                        ..Self::start(store, self.chain).await?
                    };
                    after = i64::MIN;
                    break;
                }
            }
            progress(self.links);
            tokio::task::yield_now().await;
        }
    }

    fn check(&mut self, found: &StoredLink) -> Option<ChainProblem> {
        self.links += 1;
        let row = &found.row;
        let is_last = row.closed.is_none() || !found.is_opening;
        self.records += u64::from(is_last);
        let Some(link) = intact(self.chain, found) else {
            return Some(self.problem(Tampering::Changed, found.seq, row.id()));
        };
        if found.seq <= self.pruned.seq && self.at.is_none() && !is_last {
            // It opened a call whose outcome came after what was removed.
            return None;
        }
        let at = match self.at {
            Some(at) => at,
            // Retention removes from the beginning on, so the first that is left can only be
            // checked by what follows it.
            None if found.seq <= self.pruned.seq => ChainHead {
                seq: found.seq - 1,
                hash: link.prev_hash,
            },
            None => self.pruned,
        };
        if link.seq == at.seq {
            return Some(self.problem(Tampering::Inserted, link.seq, row.id()));
        }
        if link.seq != at.seq + 1 {
            return Some(self.problem(Tampering::Removed, at.seq + 1, None));
        }
        let is_cut_off = link.seq == self.pruned.seq && link.hash != self.pruned.hash;
        if link.prev_hash != at.hash || is_cut_off {
            return Some(self.problem(Tampering::Changed, link.seq, row.id()));
        }
        let (seq, hash) = (link.seq, link.hash);
        self.at = Some(ChainHead { seq, hash });
        self.passed.insert(seq, (hash, row.id()));
        if self.passed.len() > 100_000 {
            // A file is at most one commit behind, which is far fewer than are kept.
            self.passed.pop_first();
        }
        None
    }

    /// Checks how the chain ends against what its file says.
    async fn against_file(
        &self,
        store: &Store,
        file: Option<&ChainFileContent>,
        has_all_files: bool,
    ) -> Result<Option<ChainProblem>, StoreError> {
        let end = self.end();
        let Some(file) = file else {
            if !has_all_files {
                return Ok(None);
            }
            let first = store.links(self.chain, i64::MIN, 1).await?;
            return Ok(first.first().map(|link| ChainProblem {
                message: format!(
                    "The chain {} has no file in the folder `chains`: the file was removed, or the whole chain was inserted",
                    self.chain
                ),
                ..self.problem(Tampering::Inserted, link.seq, link.row.id())
            }));
        };
        if !file.is_readable {
            return Ok(Some(ChainProblem {
                seq: None,
                message: format!(
                    "The file in the folder `chains` that tells how far the chain {} goes cannot be read",
                    self.chain
                ),
                ..self.problem(Tampering::Changed, 0, None)
            }));
        }
        if file.head.seq > end.seq {
            return Ok(Some(self.problem(Tampering::Removed, end.seq + 1, None)));
        }
        if let Some((hash, id)) = self.passed.get(&file.head.seq)
            && *hash != file.head.hash
        {
            return Ok(Some(self.problem(Tampering::Changed, file.head.seq, *id)));
        }
        if file.is_closed && end.seq > file.head.seq {
            let first = file.head.seq + 1;
            let id = self.passed.get(&first).and_then(|(_, id)| *id);
            return Ok(Some(self.problem(Tampering::Inserted, first, id)));
        }
        Ok(None)
    }

    fn problem(&self, kind: Tampering, seq: i64, id: Option<Uuid>) -> ChainProblem {
        let record = id.map_or_else(String::new, |id| format!(" (id {id})"));
        let place = format!("Record {seq} of chain {}{record}", self.chain);
        let message = match kind {
            Tampering::Changed => format!("{place} is not as it was written"),
            Tampering::Removed => format!("{place} is missing"),
            Tampering::Inserted => format!("{place} was not written by the log"),
        };
        ChainProblem {
            kind,
            chain: Some(self.chain),
            seq: Some(seq),
            id,
            message,
        }
    }

    /// Last link that was checked, or removed if none is left.
    fn end(&self) -> ChainHead {
        self.at.unwrap_or(self.pruned)
    }
}

/// Link of a row, if its hash is the one of its content.
fn intact(chain: Uuid, found: &StoredLink) -> Option<ChainLink> {
    let row = &found.row;
    let (link, outcome) = if found.is_opening {
        let is_untouched = row.closed.is_some() || row.outcome == OutcomeColumns::in_doubt();
        (row.opened.filter(|_| is_untouched)?, None)
    } else {
        (row.closed?, Some((&row.outcome, row.opened.as_ref())))
    };
    let expected = link_hash(chain, link.seq, link.prev_hash, &row.request, outcome);
    (link.hash == expected).then_some(link)
}

fn stray(row: &Row) -> ChainProblem {
    let id = row.id();
    let name = id.map_or_else(|| "without an id".to_owned(), |id| id.to_string());
    ChainProblem {
        kind: Tampering::Inserted,
        chain: None,
        seq: None,
        id,
        message: format!("Record {name} has no place in any chain, so the log did not write it"),
    }
}

/// Last link of a chain that retention removed, as the log itself recorded it.
pub(crate) async fn pruned(store: &Store, chain: Uuid) -> Result<ChainHead, StoreError> {
    let system = Filter {
        kind: Some(RecordKind::System),
        ..Filter::default()
    };
    let mut furthest = ChainHead::EMPTY;
    let mut before = None;
    loop {
        let page = store.page(&system, before, STEP).await?;
        for head in page.records.iter().filter_map(|one| checkpoint(one, chain)) {
            if head.seq > furthest.seq {
                furthest = head;
            }
        }
        before = page.next;
        if before.is_none() {
            return Ok(furthest);
        }
    }
}

/// Checkpoint of a chain that a record tells of: what retention removed up to there.
fn checkpoint(record: &Record, chain: Uuid) -> Option<ChainHead> {
    let listed = record.metadata.get(CHECKPOINTS)?.as_array()?;
    let of_chain = listed
        .iter()
        .find(|one| one["chain"].as_str() == Some(&chain.to_string()))?;
    Some(ChainHead {
        seq: of_chain["through_seq"].as_i64()?,
        hash: Hash::from_hex(of_chain["hash"].as_str()?)?,
    })
}
