use mcpproxy_activity::search_terms;

use super::*;

fn records(count: u64) -> Vec<Row> {
    Maker::new(Extent::until_now(count)).batch(u64::MAX)
}

#[test]
fn every_record_can_be_read_and_ids_rise() {
    let rows = records(500);
    assert_eq!(rows.len(), 500);
    let ids: Vec<Uuid> = rows.iter().map(|row| row.to_record().unwrap().id).collect();
    assert!(ids.is_sorted_by(|one, next| one < next));
    let extent = Extent::until_now(500);
    assert!(extent.moment(0) < extent.moment(499));
}

#[test]
fn the_mix_is_what_it_should_be() {
    let rows = records(20_000);
    let of = |status: &str| {
        let cell = Cell::from(status);
        let found = rows.iter().filter(|row| row.outcome.status == cell);
        found.count()
    };
    assert_eq!(of("in_doubt"), 20);
    assert!((300..500).contains(&of("blocked")), "{}", of("blocked"));
    assert!((150..250).contains(&of("error")), "{}", of("error"));
    let having = |word: &str| {
        let has = |row: &&Row| search_terms::of_row(row).split(' ').any(|one| one == word);
        rows.iter().filter(has).count()
    };
    assert_eq!(having(RARE_WORD), 20);
    assert!((5_000..8_000).contains(&having(COMMON_WORD)));
}

#[test]
fn payloads_have_the_sizes_they_should_have() {
    for row in records(2_000) {
        let record = row.to_record().unwrap();
        let size = record.arguments.unwrap().size;
        assert!((50..=2_100).contains(&size), "{size}");
    }
}

#[test]
fn links_follow_one_another() {
    let mut last = ChainHead::EMPTY;
    for row in records(1_000) {
        for link in [row.opened, row.closed].into_iter().flatten() {
            assert_eq!((link.seq, link.prev_hash), (last.seq + 1, last.hash));
            last = ChainHead {
                seq: link.seq,
                hash: link.hash,
            };
        }
    }
}
