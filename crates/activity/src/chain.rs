//! The hash chain: what each link covers.
//!
//! A link's hash is SHA-256 over, in this order: the label below; one byte, `o` for a link from
//! before a call was sent and `c` for a link with the outcome; the chain's id; the link's number,
//! eight bytes, most significant first; the hash of the link before it; the cells of the request;
//! and for `c` the cells of the outcome and the number and hash of the `o` link, if there is one.
//! A cell is one byte for its type, then for a number eight bytes, for text and bytes their length
//! in eight bytes and themselves. The types are 0 for nothing, 1 for a number, 2 for text and 3 for bytes.
//!
//! The last cell of a request, the id of the token, is left out where there is nothing in it, so that records from
//! before there were tokens have the form that they always had. Where there is something, the byte 4 comes before it.
//! No cell begins with that byte, and nothing but a cell or the end can stand in its place. So no two different rows
//! have the same form.

pub(crate) mod files;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::record::{ChainLink, Hash};
use crate::row::{Cell, OutcomeColumns, RequestColumns};

const LABEL: &[u8] = b"mcpproxy activity 1\n";

/// Byte before the id of a token.
const TOKEN_MARK: [u8; 1] = [4];

/// Last link of a chain, from which the next one follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// Number of the link; 0 for an empty chain.
    pub seq: i64,
    /// Hash of the link; zeros for an empty chain.
    pub hash: Hash,
}

impl ChainHead {
    /// Head of a chain without links.
    pub const EMPTY: Self = Self {
        seq: 0,
        hash: Hash([0; 32]),
    };

    /// Next link, for a record that is written before its call is sent.
    pub fn open(&mut self, chain: Uuid, request: &RequestColumns) -> ChainLink {
        self.advance(chain, request, None)
    }

    /// Next link, for a record with its outcome.
    pub fn close(
        &mut self,
        chain: Uuid,
        request: &RequestColumns,
        outcome: &OutcomeColumns,
        opened: Option<&ChainLink>,
    ) -> ChainLink {
        self.advance(chain, request, Some((outcome, opened)))
    }

    fn advance(
        &mut self,
        chain: Uuid,
        request: &RequestColumns,
        outcome: Option<LinkedOutcome<'_>>,
    ) -> ChainLink {
        let (seq, prev_hash) = (self.seq + 1, self.hash);
        let hash = link_hash(chain, seq, prev_hash, request, outcome);
        *self = Self { seq, hash };
        ChainLink {
            seq,
            prev_hash,
            hash,
        }
    }
}

/// Outcome that a link covers, with the link from before the call, if there is one.
pub(crate) type LinkedOutcome<'a> = (&'a OutcomeColumns, Option<&'a ChainLink>);

/// Hash that a link has to have. One without an outcome is from before the call.
pub(crate) fn link_hash(
    chain: Uuid,
    seq: i64,
    prev_hash: Hash,
    request: &RequestColumns,
    outcome: Option<LinkedOutcome<'_>>,
) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(LABEL);
    hasher.update(if outcome.is_some() { b"c" } else { b"o" });
    hasher.update(chain.as_bytes());
    hasher.update(seq.to_be_bytes());
    hasher.update(prev_hash.0);
    let [cells @ .., token] = request.cells();
    for cell in cells {
        feed(&mut hasher, cell);
    }
    if *token != Cell::Null {
        hasher.update(TOKEN_MARK);
        feed(&mut hasher, token);
    }
    if let Some((outcome, opened)) = outcome {
        for cell in outcome.cells() {
            feed(&mut hasher, cell);
        }
        if let Some(opened) = opened {
            hasher.update(opened.seq.to_be_bytes());
            hasher.update(opened.hash.0);
        }
    }
    Hash(hasher.finalize().into())
}

fn feed(hasher: &mut Sha256, cell: &Cell) {
    let mut long = |tag: u8, bytes: &[u8]| {
        hasher.update([tag]);
        hasher.update((bytes.len() as u64).to_be_bytes());
        hasher.update(bytes);
    };
    match cell {
        Cell::Null => hasher.update([0]),
        Cell::Int(number) => {
            hasher.update([1]);
            hasher.update(number.to_be_bytes());
        }
        Cell::Text(text) => long(2, text.as_bytes()),
        Cell::Bytes(bytes) => long(3, bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The hashes were computed from the description above by another program: records of earlier
    /// versions have to stay provable.
    #[test]
    fn hashes_are_those_that_the_description_says() {
        let id = Uuid::try_parse("01900000-0000-7000-8000-000000000007").unwrap();
        let request = RequestColumns {
            id: id.into(),
            request_id: id.into(),
            parent_id: Cell::Null,
            session_id: "session".into(),
            trace_id: "trace".into(),
            kind: "tool_call".into(),
            timestamp: Cell::Int(1_718_000_000_000),
            server_name: "files".into(),
            tool_name: "write".into(),
            tool_variant: "call_tool_write".into(),
            intent_type: "write".into(),
            sensitivity: "unknown".into(),
            agent: "claude".into(),
            arguments: r#"{"path":"a"}"#.into(),
            arguments_size: Cell::Int(12),
            arguments_cut: false.into(),
            metadata: "{}".into(),
            token_id: Cell::Null,
        };
        let outcome = OutcomeColumns {
            status: "error".into(),
            duration_us: Cell::Int(1_500),
            error_code: "UPSTREAM_ERROR".into(),
            error_message: "gone".into(),
            ..OutcomeColumns::EMPTY
        };
        let mut head = ChainHead::EMPTY;
        let opened = head.open(id, &request);
        assert_eq!(
            opened.hash.to_string(),
            "c55cabbf3c3bc6de4368053b2efba53277c57548fce5d88dbd5b253ca857c30d"
        );
        let closed = head.close(id, &request, &outcome, Some(&opened));
        assert_eq!(
            closed.hash.to_string(),
            "075a4facd485cd456541531ccf00c7987405462fbe9b521365c80b98d9ce696d"
        );

        let request = RequestColumns {
            token_id: "01900000-0000-7000-8000-00000000000a".into(),
            ..request
        };
        let mut head = ChainHead::EMPTY;
        let opened = head.open(id, &request);
        assert_eq!(
            opened.hash.to_string(),
            "1931ac37042ae94056c356604d357d876e07b5cb8816e1693a995395b577e15c"
        );
        let closed = head.close(id, &request, &outcome, Some(&opened));
        assert_eq!(
            closed.hash.to_string(),
            "f580def38a9420d1ac16e0f612d92164054d60e5c453fa685dab67d746f8d72a"
        );
    }

    #[test]
    fn whatever_is_put_in_the_place_of_a_token_has_a_form_of_its_own() {
        let tokens = [
            Cell::Null,
            "".into(),
            "a".into(),
            Cell::Bytes(Vec::new()),
            Cell::Bytes(b"a".to_vec()),
            Cell::Int(0),
        ];
        for outcome in [None, Some((&OutcomeColumns::EMPTY, None))] {
            let hash = |token: &Cell| {
                let request = RequestColumns {
                    token_id: token.clone(),
                    ..RequestColumns::EMPTY
                };
                link_hash(Uuid::nil(), 1, Hash::default(), &request, outcome).to_string()
            };
            let hashes: BTreeSet<String> = tokens.iter().map(hash).collect();
            assert_eq!(hashes.len(), tokens.len());
        }
    }
}
