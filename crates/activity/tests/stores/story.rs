//! What every store has to do, told once and run on each of them.
//!
//! A store is compared with a list in memory that the same filters are applied to. A file of tests
//! names a [`Place`] and gets all the tests by `story!`.

mod published_tools;
mod reading;
pub(crate) mod sketch;
mod tokens;
mod writing;

use std::sync::{Arc, Mutex};

use mcpproxy_activity::record::Record;
use mcpproxy_activity::row::Row;
use mcpproxy_activity::store::{Journal, OpenStore, RecordPage, Store, StoreError};
use mcpproxy_activity::{Filter, chain::ChainHead};
use uuid::Uuid;

pub(crate) use published_tools::{
    no_more_than_so_many_published_tools_are_read, published_tools_keep_when_they_were_first_seen,
};
pub(crate) use reading::{
    counts_are_those_of_the_list, every_cell_comes_back_as_it_was_written,
    large_records_end_a_page_early, links_come_in_the_order_of_their_numbers,
    pages_are_those_of_the_list, pairs_of_filters_find_what_both_admit,
    records_of_others_are_in_no_page_count_summary_or_search, words_are_found_by_how_they_begin,
};
pub(crate) use tokens::{
    a_token_that_cannot_be_read_admits_nobody, many_are_touched_at_once,
    no_more_than_so_many_tokens_are_stored, tokens_are_stored_rotated_touched_and_removed,
    two_processes_want_the_same_name,
};
pub(crate) use writing::{
    a_batch_that_cannot_be_kept_changes_nothing, a_call_has_two_links_and_one_record,
    a_removed_record_is_written_anew, a_row_without_a_place_is_a_stray,
    an_unreadable_record_is_left_out_of_pages, heads_are_the_last_links_of_both_kinds,
    pruning_removes_what_lies_before, two_processes_write_at_once,
};

/// Where a store keeps its records.
pub(crate) trait Place: Sized + Send + Sync {
    /// An empty one; where this machine has none of that sort, the test is not run.
    async fn fresh() -> Self;

    /// Opens it, as a process would.
    fn open(&self) -> OpenStore;

    /// Changes the table behind the store's back.
    async fn tamper(&self, statement: &str);
}

/// A store with its journal on another thread, as it has in the product.
pub(crate) struct Desk {
    journal: Arc<Mutex<Box<dyn Journal>>>,
    pub(crate) store: Store,
}

impl Desk {
    pub(crate) fn open(place: &impl Place) -> Self {
        let opened = place.open();
        Self {
            journal: Arc::new(Mutex::new(opened.journal)),
            store: opened.store,
        }
    }

    /// Uses the journal where it may wait.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Journal) -> T + Send + 'static,
    ) -> T {
        let journal = Arc::clone(&self.journal);
        tokio::task::spawn_blocking(move || work(&mut **journal.lock().unwrap()))
            .await
            .unwrap()
    }

    pub(crate) async fn append(&self, rows: Vec<Row>) -> Result<(), StoreError> {
        self.write(move |journal| journal.append(&rows)).await
    }

    pub(crate) async fn head(&self, chain: Uuid) -> ChainHead {
        self.write(move |journal| journal.head(chain))
            .await
            .unwrap()
    }

    pub(crate) async fn page(
        &self,
        filter: &Filter,
        before: Option<Uuid>,
        limit: usize,
    ) -> RecordPage {
        self.store.page(filter, before, limit).await.unwrap()
    }

    /// All records of a filter, page by page.
    pub(crate) async fn all(&self, filter: &Filter, limit: usize) -> Vec<Record> {
        let mut records = Vec::new();
        let mut before = None;
        loop {
            let page = self.page(filter, before, limit).await;
            assert!(
                page.records.len() <= limit,
                "a page is not longer than asked for"
            );
            assert!(
                page.next.is_none() || !page.records.is_empty(),
                "a page that is not the last has a record"
            );
            records.extend(page.records);
            before = page.next;
            if before.is_none() {
                return records;
            }
        }
    }
}

/// A filter of these names and values.
pub(crate) fn filter(parts: &[(&str, &str)]) -> Filter {
    let mut filter = Filter::default();
    for (name, value) in parts {
        filter.set(name, value, sketch::beginning()).unwrap();
    }
    filter
}

/// What a filter has to find, newest first.
pub(crate) fn admitted(records: &[Record], filter: &Filter) -> Vec<Record> {
    let mut found: Vec<Record> = records
        .iter()
        .filter(|record| filter.admits(record))
        .cloned()
        .collect();
    found.sort_by_key(|record| std::cmp::Reverse(record.id));
    found
}

/// The tests of a place: every part of the story.
macro_rules! story {
    ($place:ty: $($name:ident),+ $(,)?) => {
        pub(crate) fn trials() -> Vec<mcpproxy_tests::Trial> {
            vec![$(
                mcpproxy_tests::trial(module_path!(), stringify!($name), async || {
                    let place = <$place as $crate::story::Place>::fresh().await;
                    $crate::story::$name(&place).await;
                }),
            )+]
        }
    };
    ($place:ty) => {
        story!(
            $place:
            a_batch_that_cannot_be_kept_changes_nothing,
            a_call_has_two_links_and_one_record,
            a_removed_record_is_written_anew,
            a_row_without_a_place_is_a_stray,
            a_token_that_cannot_be_read_admits_nobody,
            an_unreadable_record_is_left_out_of_pages,
            counts_are_those_of_the_list,
            every_cell_comes_back_as_it_was_written,
            heads_are_the_last_links_of_both_kinds,
            large_records_end_a_page_early,
            links_come_in_the_order_of_their_numbers,
            many_are_touched_at_once,
            no_more_than_so_many_published_tools_are_read,
            no_more_than_so_many_tokens_are_stored,
            pages_are_those_of_the_list,
            pairs_of_filters_find_what_both_admit,
            pruning_removes_what_lies_before,
            published_tools_keep_when_they_were_first_seen,
            records_of_others_are_in_no_page_count_summary_or_search,
            tokens_are_stored_rotated_touched_and_removed,
            two_processes_want_the_same_name,
            two_processes_write_at_once,
            words_are_found_by_how_they_begin,
        );
    };
}
