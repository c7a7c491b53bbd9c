//! Tail of the log: following what is recorded.
//!
//! A follower is a position in every chain, so it misses nothing, however long it was away, and
//! nothing has to be kept for it.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::record::Record;
use crate::store::{Store, StoreError};

/// Position in the log: how far every chain has been followed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogPosition(BTreeMap<Uuid, i64>);

/// Tail of the log, which gives out what is recorded.
pub struct LogTail {
    store: Store,
    position: LogPosition,
}

/// A record, and the position after it.
#[derive(Debug, Clone)]
pub struct Followed {
    /// The record.
    pub record: Record,
    /// Position to go on from after it.
    pub position: LogPosition,
}

impl LogTail {
    /// Goes on where another follower stopped, or follows what is recorded from now on.
    pub(crate) async fn open(
        store: Store,
        position: Option<LogPosition>,
    ) -> Result<Self, StoreError> {
        let position = if let Some(position) = position {
            position
        } else {
            let chains = store.chains().await?.into_iter();
            LogPosition(chains.map(|(chain, head)| (chain, head.seq)).collect())
        };
        Ok(Self { store, position })
    }

    /// The position everything up to which has been given out.
    pub fn position(&self) -> &LogPosition {
        &self.position
    }

    /// The next records with an outcome, about `limit` of them; none if there are no new ones.
    pub async fn next(&mut self, limit: usize) -> Result<Vec<Followed>, StoreError> {
        let mut followed = Vec::new();
        for (chain, head) in self.store.chains().await? {
            let mut at = self.position.0.get(&chain).copied().unwrap_or(0);
            while at < head.seq && followed.len() < limit {
                let links = self.store.links(chain, at, limit).await?;
                let Some(last) = links.last() else {
                    break;
                };
                at = last.seq;
                for link in links {
                    self.position.0.insert(chain, link.seq);
                    let record = (!link.is_opening).then(|| link.row.to_record()).flatten();
                    if let Some(record) = record {
                        let position = self.position.clone();
                        followed.push(Followed { record, position });
                    }
                }
            }
        }
        Ok(followed)
    }
}

// === impl LogPosition ===

impl LogPosition {
    /// Reads the written form; nothing if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let mut position = BTreeMap::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (chain, seq) = part.split_once('.')?;
            let seq: i64 = seq.parse().ok().filter(|seq| *seq >= 0)?;
            position.insert(Uuid::try_parse(chain).ok()?, seq);
        }
        Some(Self(position))
    }
}

impl std::fmt::Display for LogPosition {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (chain, seq)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(formatter, "{comma}{}.", chain.simple())?;
            // The longer form has every number in the width of the greatest.
            let width = if formatter.alternate() { 19 } else { 0 };
            write!(formatter, "{seq:0width$}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_was_written() {
        let position = LogPosition([(Uuid::now_v7(), 7), (Uuid::now_v7(), 0)].into());
        assert_eq!(LogPosition::parse(&position.to_string()), Some(position));
        assert_eq!(LogPosition::parse(""), Some(LogPosition::default()));
        for wrong in ["x", "1.2", "0190.-1", &format!("{}.-1", Uuid::nil())] {
            assert_eq!(LogPosition::parse(wrong), None, "{wrong}");
        }
    }
}
