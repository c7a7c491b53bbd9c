//! Writing is all or nothing, and what is there stays together.

use std::sync::{Arc, Barrier};

use mcpproxy_activity::chain::ChainHead;
use mcpproxy_activity::row::{Cell, RequestColumns, Row};
use mcpproxy_activity::store::StoreError;
use mcpproxy_activity::{Filter, Status};
use mcpproxy_policy::RecordScope;

use super::sketch::{Quill, chain, id, many, outcome, request, set};
use super::{Desk, Place, filter};

pub(crate) async fn a_call_has_two_links_and_one_record(place: &impl Place) {
    let desk = Desk::open(place);
    let mut quill = Quill::new(chain(1));
    let mut sent = request(id(1, 1));
    set(&mut sent, "server_name", Cell::from("github"));
    let opened = quill.open(sent);
    desk.append(vec![opened.clone()]).await.unwrap();

    let waiting = desk
        .store
        .find(id(1, 1), &RecordScope::All)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((waiting.status, waiting.closed), (Status::InDoubt, None));
    assert_eq!(waiting.opened, opened.opened);
    let in_doubt = filter(&[("status", "in_doubt"), ("text", "github")]);
    assert_eq!(desk.store.count(&in_doubt).await.unwrap(), 1);

    let mut failed = outcome("error");
    set(&mut failed, "error_code", Cell::from("UPSTREAM_GONE"));
    let completed = quill.complete(&opened, failed);
    desk.append(vec![completed.clone()]).await.unwrap();
    let done = desk.store.find(id(1, 1), &RecordScope::All).await.unwrap();
    assert_eq!(done, completed.to_record());
    assert_eq!(desk.all(&Filter::default(), 10).await.len(), 1);
    assert_eq!(desk.store.count(&in_doubt).await.unwrap(), 0);
    // The words it was found by at first still find it, and so do those of the outcome.
    for text in ["github", "upstream gone"] {
        let filter = filter(&[("status", "error"), ("text", text)]);
        assert_eq!(desk.store.count(&filter).await.unwrap(), 1, "{text}");
    }

    // An outcome without new words leaves the old ones.
    let second = quill.open(named(2, "files"));
    let end = quill.complete(&second, outcome("success"));
    desk.append(vec![second, end]).await.unwrap();
    let filter = filter(&[("text", "fil")]);
    assert_eq!(desk.store.count(&filter).await.unwrap(), 1);
}

pub(crate) async fn a_batch_that_cannot_be_kept_changes_nothing(place: &impl Place) {
    let desk = Desk::open(place);
    let mut quill = Quill::new(chain(1));
    let opened = quill.open(request(id(1, 1)));
    let kept = quill.whole(named(2, "kept"), outcome("success"));
    desk.append(vec![opened.clone(), kept.clone()])
        .await
        .unwrap();
    let head = quill.head;

    let refused = async |rows: Vec<Row>| {
        let error = desk.append(rows).await.unwrap_err();
        let StoreError::Unusable(message) = &error else {
            panic!("{error:?}");
        };
        assert!(message.contains("somebody else wrote"), "{message}");
        assert_eq!(desk.head(chain(1)).await, head);
        assert_eq!(desk.all(&Filter::default(), 10).await.len(), 2);
        let lost = filter(&[("text", "lost")]);
        assert_eq!(desk.store.count(&lost).await.unwrap(), 0);
        let found = desk
            .store
            .find(id(1, 1), &RecordScope::All)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(found.status, Status::InDoubt);
    };
    let new = quill.whole(named(3, "lost"), outcome("success"));
    let done = quill.complete(&opened, outcome("success"));
    let same_id = quill.whole(named(2, "lost"), outcome("success"));
    refused(vec![new.clone(), done.clone(), same_id]).await;
    let mut other = Quill {
        chain: chain(1),
        head: ChainHead::EMPTY,
    };
    let same_opened_number = other.open(named(4, "lost"));
    let same_number = other.whole(named(5, "lost"), outcome("success"));
    refused(vec![new.clone(), done.clone(), same_number]).await;
    refused(vec![new.clone(), done.clone(), same_opened_number]).await;

    // The journal works on.
    desk.append(vec![new, done]).await.unwrap();
    assert_eq!(desk.all(&Filter::default(), 10).await.len(), 3);
}

pub(crate) async fn a_removed_record_is_written_anew(place: &impl Place) {
    let desk = Desk::open(place);
    let mut quill = Quill::new(chain(1));
    let opened = quill.open(named(1, "github"));
    desk.append(vec![opened.clone()]).await.unwrap();
    place.tamper("DELETE FROM activity").await;
    let done = quill.complete(&opened, outcome("success"));
    desk.append(vec![done.clone()]).await.unwrap();
    let found = desk.all(&filter(&[("text", "git")]), 10).await;
    assert_eq!(found, [done.to_record().unwrap()]);
}

pub(crate) async fn heads_are_the_last_links_of_both_kinds(place: &impl Place) {
    let desk = Desk::open(place);
    assert_eq!(desk.head(chain(1)).await, ChainHead::EMPTY);
    let mut quill = Quill::new(chain(1));
    let mut hashes = Vec::new();
    let first = quill.open(request(id(1, 1)));
    hashes.push(quill.head.hash);
    desk.append(vec![first.clone()]).await.unwrap();
    assert_eq!(desk.head(chain(1)).await, quill.head);
    let done = quill.complete(&first, outcome("success"));
    hashes.push(quill.head.hash);
    desk.append(vec![done]).await.unwrap();
    assert_eq!(desk.head(chain(1)).await, quill.head);
    let second = quill.open(request(id(2, 1)));
    hashes.push(quill.head.hash);
    desk.append(vec![second]).await.unwrap();
    assert_eq!(desk.head(chain(1)).await, quill.head);

    // Another process sees the same.
    let again = Desk::open(place);
    assert_eq!(again.head(chain(1)).await, quill.head);
    assert_eq!(again.head(chain(2)).await, ChainHead::EMPTY);
    for (seq, expected) in (1..).zip(hashes.into_iter().map(Some).chain([None])) {
        let hash = again
            .write(move |journal| journal.hash_at(chain(1), seq))
            .await;
        assert_eq!(hash.unwrap(), expected);
    }
}

pub(crate) async fn pruning_removes_what_lies_before(place: &impl Place) {
    let desk = Desk::open(place);
    let mut quill = Quill::new(chain(1));
    let mut other = Quill::new(chain(2));
    let doubtful = quill.open(named(1, "doubtful"));
    let slow = quill.open(named(2, "slow"));
    let plain: Vec<Row> = (3..13)
        .map(|number| quill.whole(named(number, "plain"), outcome("success")))
        .collect();
    let slow_end = quill.complete(&slow, outcome("success"));
    let last = quill.whole(named(13, "last"), outcome("success"));
    let foreign = other.whole(named(14, "foreign"), outcome("success"));
    let mut all = vec![doubtful, slow];
    all.extend(plain);
    all.extend([slow_end, last, foreign]);
    desk.append(all).await.unwrap();

    let prune = async |through: i64, limit: usize| {
        desk.write(move |journal| journal.prune(chain(1), through, limit))
            .await
            .unwrap()
    };
    let servers = async || -> Vec<String> {
        let records = desk.all(&Filter::default(), 100).await;
        let names = records.into_iter().filter_map(|record| record.server_name);
        names.collect()
    };
    assert_eq!(prune(0, 100).await, 0);
    assert_eq!(prune(7, 3).await, 3);
    // Two more plain ones, and the one nobody saw the outcome of; the slow one ends later.
    assert_eq!(prune(7, 100).await, 3);
    assert_eq!(prune(7, 100).await, 0);
    let left = [
        "foreign", "last", "plain", "plain", "plain", "plain", "plain", "slow",
    ];
    assert_eq!(servers().await, left);
    assert_eq!(
        desk.store
            .count(&filter(&[("text", "plain")]))
            .await
            .unwrap(),
        5
    );
    assert_eq!(
        desk.store
            .count(&filter(&[("text", "doubtful")]))
            .await
            .unwrap(),
        0
    );
    assert_eq!(prune(13, 100).await, 6);
    assert_eq!(servers().await, ["foreign", "last"]);
    assert_eq!(desk.head(chain(1)).await, quill.head);
    // The places of removed records are used again, and nothing is found by their words.
    let next = quill.whole(named(15, "next"), outcome("success"));
    desk.append(vec![next]).await.unwrap();
    assert_eq!(
        desk.store
            .count(&filter(&[("text", "plain")]))
            .await
            .unwrap(),
        0
    );
}

pub(crate) async fn a_row_without_a_place_is_a_stray(place: &impl Place) {
    let desk = Desk::open(place);
    desk.append(many(&mut Quill::new(chain(1)), 50))
        .await
        .unwrap();
    assert_eq!(desk.store.stray().await.unwrap(), None);
    place
        .tamper("UPDATE activity SET seq = NULL, opened_seq = NULL WHERE arguments_size = 7")
        .await;
    let stray = desk.store.stray().await.unwrap().unwrap();
    assert_eq!(stray.id(), Some(id(2, 7)));
    assert_eq!((stray.opened, stray.closed), (None, None));
}

pub(crate) async fn an_unreadable_record_is_left_out_of_pages(place: &impl Place) {
    let desk = Desk::open(place);
    desk.append(many(&mut Quill::new(chain(1)), 50))
        .await
        .unwrap();
    place
        .tamper("UPDATE activity SET type = 'nonsense' WHERE arguments_size < 40")
        .await;
    let records = desk.all(&Filter::default(), 3).await;
    assert_eq!(records.len(), 10);
    let page = desk.page(&Filter::default(), Some(id(12, 38)), 3).await;
    assert!(page.records.is_empty() && page.next.is_none());
    assert_eq!(
        desk.store.find(id(2, 7), &RecordScope::All).await.unwrap(),
        None
    );
    let links = desk.store.links(chain(1), 0, 100).await.unwrap();
    assert_eq!(links.len(), 50, "the check of the chain sees them all");
}

pub(crate) async fn two_processes_write_at_once(place: &impl Place) {
    const ROUNDS: i64 = 40;
    let (one, two) = (Desk::open(place), Desk::open(place));
    let barrier = Arc::new(Barrier::new(2));
    let write = |desk: &Desk, number: u64| {
        let barrier = Arc::clone(&barrier);
        let mut quill = Quill::new(chain(number));
        let journal = Arc::clone(&desk.journal);
        tokio::task::spawn_blocking(move || {
            let mut journal = journal.lock().unwrap();
            barrier.wait();
            for round in 0..ROUNDS {
                let open = quill.open(request(id(round, number)));
                journal.append(std::slice::from_ref(&open)).unwrap();
                assert_eq!(journal.head(quill.chain).unwrap(), quill.head);
                let done = quill.complete(&open, outcome("success"));
                assert!(done.is_completion());
                journal.append(&[done]).unwrap();
            }
            quill.head
        })
    };
    let (first, second) = (write(&one, 1), write(&two, 2));
    let heads = [
        (chain(1), first.await.unwrap()),
        (chain(2), second.await.unwrap()),
    ];
    assert_eq!(one.store.chains().await.unwrap(), heads);
    assert_eq!(
        one.all(&filter(&[("status", "success")]), 30).await,
        two.all(&Filter::default(), 100).await
    );
    for number in [1, 2] {
        let links = two.store.links(chain(number), 0, 1_000).await.unwrap();
        assert_eq!(links.last().map(|link| link.seq), Some(2 * ROUNDS));
        assert_eq!(links.len(), 80);
    }
}

fn named(number: u64, server: &str) -> RequestColumns {
    let mut cells = request(id(i64::try_from(number).unwrap(), 1));
    set(&mut cells, "server_name", Cell::from(server));
    cells
}
