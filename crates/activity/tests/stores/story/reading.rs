//! What is read is what was written.

use mcpproxy_activity::Filter;
use mcpproxy_activity::record::Record;
use mcpproxy_activity::row::{Cell, Row};
use mcpproxy_activity::summary::{RecordSummary, Tally};
use mcpproxy_policy::RecordScope;

use super::sketch::{self, Quill, chain, id, many, outcome, request, set};
use super::{Desk, Place, admitted, filter};

/// How many records are compared; not a multiple of the step they are written in.
const COUNT: u64 = 400;

/// Filters that each find some records and leave out others, and some that find none.
fn parts() -> Vec<(&'static str, String)> {
    let moment = |millisecond| sketch::moment(millisecond).to_string();
    let words = [
        ("type", "discovery"),
        ("type", "config_change"),
        ("server", "github"),
        ("server", ""),
        ("server", "nobody"),
        ("tool", "read file"),
        ("status", "error"),
        ("status", "in_doubt"),
        ("intent_type", "destructive"),
        ("intent_type", "read"),
        ("session_id", "s-2"),
        ("sensitivity", "private"),
        ("agent", "café ☕"),
        ("agent", "a\0b"),
        ("text", "conn"),
        ("text", "gr日"),
        ("text", "größe 日本"),
        ("text", "tid github"),
    ];
    let mut parts: Vec<(&'static str, String)> = words
        .into_iter()
        .map(|(name, value)| (name, value.to_owned()))
        .collect();
    parts.push(("request_id", chain(2).to_string()));
    parts.push(("request_id", id(1, 4).to_string()));
    parts.push(("from", moment(100)));
    parts.push(("to", moment(60)));
    parts.push(("from", moment(1_000_000)));
    parts
}

async fn filled(place: &impl Place) -> (Desk, Vec<Row>) {
    let desk = Desk::open(place);
    let rows = many(&mut Quill::new(chain(1)), COUNT);
    for batch in rows.chunks(150) {
        desk.append(batch.to_vec()).await.unwrap();
    }
    (desk, rows)
}

pub(crate) async fn pages_are_those_of_the_list(place: &impl Place) {
    let (desk, rows) = filled(place).await;
    let records = sketch::records(&rows);
    assert_eq!(
        desk.all(&Filter::default(), 33).await,
        admitted(&records, &Filter::default())
    );
    let mut found = 0;
    for (name, value) in parts() {
        let filter = filter(&[(name, &value)]);
        let expected = admitted(&records, &filter);
        assert_eq!(desk.all(&filter, 7).await, expected, "{name} {value}");
        found += usize::from(!expected.is_empty() && expected.len() < records.len());
    }
    assert!(found > 15, "only {found} filters told records apart");
    for record in &records {
        assert_eq!(
            desk.store
                .find(record.id, &RecordScope::All)
                .await
                .unwrap()
                .as_ref(),
            Some(record)
        );
    }
    assert_eq!(
        desk.store
            .find(id(9_999, 1), &RecordScope::All)
            .await
            .unwrap(),
        None
    );
    let (newest, oldest) = (id(399 / 3, 399), id(0, 0));
    for (newer, expected) in [(0, Some(newest)), (COUNT - 1, Some(oldest)), (COUNT, None)] {
        assert_eq!(desk.store.nth_newest(newer).await.unwrap(), expected);
    }
}

pub(crate) async fn pairs_of_filters_find_what_both_admit(place: &impl Place) {
    let (desk, rows) = filled(place).await;
    let records = sketch::records(&rows);
    let parts = parts();
    let mut found = 0;
    for (index, (name, value)) in parts.iter().enumerate() {
        for (other, other_value) in &parts[index + 1..] {
            if name == other {
                continue;
            }
            let filter = filter(&[(name, value), (other, other_value)]);
            let expected = admitted(&records, &filter);
            assert_eq!(desk.all(&filter, 50).await, expected, "{filter:?}");
            found += usize::from(!expected.is_empty());
        }
    }
    assert!(found > 60, "only {found} pairs found anything");
}

pub(crate) async fn counts_are_those_of_the_list(place: &impl Place) {
    let (desk, rows) = filled(place).await;
    let records = sketch::records(&rows);
    let mut filters: Vec<Filter> = parts()
        .iter()
        .map(|(name, value)| filter(&[(name, value)]))
        .collect();
    filters.push(Filter::default());
    filters.push(filter(&[("status", "error"), ("intent_type", "read")]));
    filters.push(filter(&[("status", "error"), ("text", "github")]));
    for filter in filters {
        let expected = admitted(&records, &filter);
        let count = desk.store.count(&filter).await.unwrap();
        assert_eq!(count, expected.len() as u64, "{filter:?}");
        let counted = desk.store.tally(&filter).await.unwrap();
        assert!(counted.len() <= 200, "alike records are counted together");
        assert_eq!(RecordSummary::of(&counted), summary(expected), "{filter:?}");
    }
}

/// The summary of a list.
fn summary(records: Vec<Record>) -> RecordSummary {
    let tallies: Vec<Tally> = records
        .into_iter()
        .map(|record| Tally {
            kind: record.kind.as_str().to_owned(),
            server: record.server_name,
            tool: record.tool_name,
            intent: record.intent_type.map(|intent| intent.as_str().to_owned()),
            status: record.status.as_str().to_owned(),
            count: 1,
        })
        .collect();
    RecordSummary::of(&tallies)
}

/// Whether somebody may see a record, told without the filter.
type MaySee = fn(&Record) -> bool;

fn scopes() -> [(RecordScope, MaySee); 6] {
    [
        (RecordScope::Token("t-1".to_owned()), |record| {
            record.token_id.as_deref() == Some("t-1")
        }),
        (RecordScope::Token("t-2".to_owned()), |record| {
            record.token_id.as_deref() == Some("t-2")
        }),
        (RecordScope::Token("nobody".to_owned()), |_| false),
        (RecordScope::Session("s-1".to_owned()), |record| {
            record.session_id.as_deref() == Some("s-1") && record.token_id.is_none()
        }),
        (RecordScope::Session("a\0b".to_owned()), |_| false),
        (RecordScope::Nothing, |_| false),
    ]
}

pub(crate) async fn records_of_others_are_in_no_page_count_summary_or_search(place: &impl Place) {
    let (desk, rows) = filled(place).await;
    let records = sketch::records(&rows);
    let mut filters = vec![Filter::default()];
    filters.extend(parts().iter().map(|(name, value)| filter(&[(name, value)])));
    filters.push(filter(&[("session_id", "s-1"), ("text", "tid")]));
    filters.push(filter(&[("status", "error"), ("text", "github")]));
    let mut found = 0;
    for (scope, may_see) in scopes() {
        for filter in &filters {
            let scoped = Filter {
                scope: scope.clone(),
                ..filter.clone()
            };
            let mut expected = admitted(&records, filter);
            expected.retain(may_see);
            assert_eq!(admitted(&records, &scoped), expected, "{scoped:?}");
            assert_eq!(desk.all(&scoped, 7).await, expected, "{scoped:?}");
            let count = desk.store.count(&scoped).await.unwrap();
            assert_eq!(count, expected.len() as u64, "{scoped:?}");
            let oldest = expected.last().map(|record| record.id);
            assert_eq!(desk.store.oldest(&scoped).await.unwrap(), oldest);
            found += usize::from(!expected.is_empty());
            let counted = desk.store.tally(&scoped).await.unwrap();
            assert_eq!(RecordSummary::of(&counted), summary(expected), "{scoped:?}");
        }
        // A page may begin after a record that somebody else has.
        for before in [id(70, 211), id(70, 212), id(70, 213)] {
            let scoped = Filter {
                scope: scope.clone(),
                ..Filter::default()
            };
            let page = desk.page(&scoped, Some(before), 50).await;
            let is_own = |record: &Record| may_see(record) && record.id < before;
            assert!(page.records.iter().all(is_own), "{scope:?}");
        }
        for record in &records {
            let seen = desk.store.find(record.id, &scope).await.unwrap();
            assert_eq!(seen.is_some(), may_see(record), "{scope:?}");
        }
    }
    assert!(found > 50, "only {found} filters found anything");
}

pub(crate) async fn words_are_found_by_how_they_begin(place: &impl Place) {
    let desk = Desk::open(place);
    let mut quill = Quill::new(chain(1));
    let texts = [
        "straße Übergröße",
        "STRASSE",
        "日本語 テスト",
        "日本",
        "don't o'clock \"quoted\" back\\slash star* a:b & | ! <->",
        "İstanbul ǅ ﬁne",
        "नमस्ते दुनिया",
        "x1y2z3 0042",
        "not and or near",
    ];
    let rows: Vec<Row> = (0..)
        .zip(texts)
        .map(|(number, text)| {
            let mut request = request(id(number, 1));
            set(&mut request, "arguments", Cell::from(text));
            set(&mut request, "arguments_size", Cell::from(1));
            quill.whole(request, outcome("success"))
        })
        .collect();
    desk.append(rows.clone()).await.unwrap();
    let records = sketch::records(&rows);
    let mut found = 0;
    for text in texts {
        let characters: Vec<char> = text.chars().collect();
        for length in 1..=characters.len() {
            let part: String = characters[..length].iter().collect();
            let mut filter = Filter::default();
            if filter.set("text", &part, sketch::beginning()).is_err() {
                continue;
            }
            let expected = admitted(&records, &filter);
            assert_eq!(desk.all(&filter, 5).await, expected, "{part}");
            found += expected.len();
        }
    }
    assert!(found > 100);
    for text in ["trasse", "本語", "and", "o'c", "slash back"] {
        let filter = filter(&[("text", text)]);
        assert_eq!(desk.all(&filter, 5).await, admitted(&records, &filter));
    }
}

pub(crate) async fn every_cell_comes_back_as_it_was_written(place: &impl Place) {
    let texts = [
        String::new(),
        " \t\r\n ".to_owned(),
        "'; DROP TABLE activity; -- $1 ? %s \\x00 \\u0000".to_owned(),
        "e\u{301} \u{e9} \u{fb01} \u{200b}\u{202e}\u{feff}\u{fffd}\u{10ffff}\u{1}\u{7f}".to_owned(),
        "👩‍👩‍👧‍👦🏳️‍🌈".to_owned(),
        "1".to_owned(),
        "1.50".to_owned(),
        "é".repeat(3_000_000),
    ];
    let numbers = [0, 1, -1, i64::MAX, i64::MIN];
    let desk = Desk::open(place);
    let mut quill = Quill::new(chain(1));
    let mut rows = Vec::new();
    for ((number, text), integer) in (0..).zip(&texts).zip(numbers.into_iter().cycle()) {
        let mut request = request(id(number, 1));
        let mut outcome = outcome(text);
        for name in [
            "session_id",
            "trace_id",
            "type",
            "server_name",
            "tool_name",
            "tool_variant",
        ] {
            let short: String = text.chars().take(500).collect();
            set(&mut request, name, Cell::from(short));
        }
        for name in ["arguments", "metadata"] {
            set(&mut request, name, Cell::from(text.as_str()));
        }
        for name in ["response", "error_code", "error_message", "warnings"] {
            set(&mut outcome, name, Cell::from(text.as_str()));
        }
        set(&mut outcome, "status", Cell::from("success"));
        set(&mut request, "parent_id", Cell::from(id(number, 2)));
        let integer = Cell::from(integer);
        set(&mut request, "arguments_size", integer.clone());
        set(&mut request, "arguments_cut", Cell::from(number % 2 == 0));
        set(&mut outcome, "duration_us", integer);
        rows.push(quill.whole(request, outcome));
    }
    let sparse = request(id(100, 1));
    rows.push(quill.whole(sparse, outcome("blocked")));
    desk.append(rows.clone()).await.unwrap();
    let links = desk.store.links(chain(1), 0, 100).await.unwrap();
    assert_eq!(links.len(), rows.len());
    for (link, row) in links.iter().zip(&rows) {
        assert!(link.row == *row, "link {} differs", link.seq);
    }
}

pub(crate) async fn links_come_in_the_order_of_their_numbers(place: &impl Place) {
    let desk = Desk::open(place);
    let mut quill = Quill::new(chain(1));
    let first = quill.open(request(id(1, 1)));
    let second = quill.whole(request(id(2, 1)), outcome("blocked"));
    let third = quill.open(request(id(3, 1)));
    let done = quill.complete(&first, outcome("success"));
    let mut other = Quill::new(chain(2));
    let foreign = other.whole(request(id(4, 1)), outcome("success"));
    let all = [first, second, third.clone(), foreign, done.clone()];
    desk.append(all.to_vec()).await.unwrap();

    let links = desk.store.links(chain(1), 0, 100).await.unwrap();
    let seen: Vec<_> = links
        .iter()
        .map(|link| (link.seq, link.is_opening, link.row.id().unwrap()))
        .collect();
    assert_eq!(
        seen,
        [
            (1, true, id(1, 1)),
            (2, false, id(2, 1)),
            (3, true, id(3, 1)),
            (4, false, id(1, 1)),
        ]
    );
    assert_eq!(links[0].row, done);
    assert_eq!(links[2].row, third);
    let numbers = async |after: i64, limit: usize| -> Vec<i64> {
        let links = desk.store.links(chain(1), after, limit).await.unwrap();
        links.iter().map(|link| link.seq).collect()
    };
    assert_eq!(numbers(i64::MIN, 1).await, [1]);
    assert_eq!(numbers(1, 2).await, [2, 3]);
    assert_eq!(numbers(4, 10).await, [0; 0]);
    let since = async |millisecond: i64| {
        let id = id(millisecond, 0);
        desk.store.first_since(chain(1), id).await.unwrap()
    };
    assert_eq!(
        (
            since(0).await,
            since(2).await,
            since(3).await,
            since(4).await
        ),
        (Some(1), Some(2), Some(3), None)
    );
    let chains = desk.store.chains().await.unwrap();
    assert_eq!(chains, [(chain(1), quill.head), (chain(2), other.head)]);
}

pub(crate) async fn large_records_end_a_page_early(place: &impl Place) {
    let desk = Desk::open(place);
    let mut quill = Quill::new(chain(1));
    let large = "x".repeat(3 * 1024 * 1024);
    let rows: Vec<Row> = (0..8)
        .map(|number| {
            let mut outcome = outcome("success");
            set(&mut outcome, "response", Cell::from(large.as_str()));
            quill.whole(request(id(number, 1)), outcome)
        })
        .collect();
    desk.append(rows).await.unwrap();
    let page = desk.page(&Filter::default(), None, 100).await;
    assert!(
        (1..8).contains(&page.records.len()),
        "{}",
        page.records.len()
    );
    assert!(page.next.is_some());
    assert_eq!(desk.all(&Filter::default(), 100).await.len(), 8);
}
