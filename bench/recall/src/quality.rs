//! Quality of search: how many of the labelled tools are found, and how far up.

use std::collections::BTreeMap;
use std::path::Path;

use crate::corpus::{self, LabelledQueries, LabelledQuery};

/// Places at which the recall is measured.
const PLACES: [usize; 4] = [1, 3, 5, 10];

/// Head of the table of what [`Sums::line`] writes.
pub(crate) const HEAD: &str = "queries   R@1   R@3   R@5  R@10   MRR  nDCG@10";

/// Sums over queries.
#[derive(Default, Clone)]
pub(crate) struct Sums {
    queries: f64,
    recall: [f64; PLACES.len()],
    reciprocal_rank: f64,
    gain: f64,
}

pub(crate) fn run(corpus: &Path, queries: &Path, folds: usize, misses: bool) -> anyhow::Result<()> {
    let queries: LabelledQueries = corpus::read(queries)?;
    let loaded = corpus::load(corpus)?;
    for (mode, by_meaning) in [("lexical", false), ("hybrid", true)] {
        println!("\n{mode}");
        println!("{:>12}  {HEAD}", "style");
        let folds = folds.max(1);
        let mut by_style: BTreeMap<&str, Sums> = BTreeMap::new();
        let mut by_fold = vec![Sums::default(); folds];
        for (number, query) in queries.queries.iter().enumerate() {
            let text = &query.query;
            let meaning = by_meaning
                .then(|| loaded.encoder.embed_request(text))
                .flatten();
            let found = loaded.search(text, meaning.as_ref());
            by_style.entry("all").or_default().add(query, &found);
            by_style.entry(&query.style).or_default().add(query, &found);
            by_fold[number % folds].add(query, &found);
            if misses && by_meaning && query.recall(&found, 5) < 1.0 {
                println!(
                    "  {:.2} {:?} {:?}",
                    query.recall(&found, 5),
                    query.query,
                    &found[..found.len().min(5)]
                );
            }
        }
        for (style, sums) in by_style {
            println!("{style:>12}  {}", sums.line());
        }
        for (fold, sums) in by_fold.iter().enumerate().filter(|_| folds > 1) {
            println!("{:>12}  {}", format!("fold {}", fold + 1), sums.line());
        }
    }
    Ok(())
}

impl Sums {
    pub(crate) fn add(&mut self, query: &LabelledQuery, found: &[String]) {
        self.queries += 1.0;
        for (sum, places) in self.recall.iter_mut().zip(PLACES) {
            *sum += query.recall(found, places);
        }
        let first = found.iter().position(|name| query.relevance(name) > 0);
        self.reciprocal_rank += first.map_or(0.0, |place| 1.0 / rank(place));
        let gains = found.iter().map(|name| query.relevance(name)).collect();
        let mut ideal: Vec<u8> = query.labels.iter().map(|label| label.relevance).collect();
        ideal.sort_unstable_by(|one, other| other.cmp(one));
        ideal.truncate(10);
        self.gain += gain(gains) / gain(ideal);
    }

    pub(crate) fn line(&self) -> String {
        let [one, three, five, ten] = self.recall.map(|sum| sum / self.queries);
        let (reciprocal_rank, gain) = (
            self.reciprocal_rank / self.queries,
            self.gain / self.queries,
        );
        format!(
            "{:7} {one:5.3} {three:5.3} {five:5.3} {ten:5.3} {reciprocal_rank:5.3}    {gain:5.3}",
            self.queries
        )
    }
}

impl LabelledQuery {
    fn relevance(&self, name: &str) -> u8 {
        let label = self.labels.iter().find(|label| label.tool_id == name);
        label.map_or(0, |label| label.relevance)
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful of labels")]
    fn recall(&self, found: &[String], places: usize) -> f64 {
        let found = found.iter().take(places);
        let good = found.filter(|name| self.relevance(name) > 0).count();
        good as f64 / self.labels.len() as f64
    }
}

/// Discounted gain of relevances in the order of their places.
fn gain(relevances: Vec<u8>) -> f64 {
    let relevances = relevances.into_iter().enumerate();
    relevances
        .map(|(place, relevance)| (f64::from(relevance).exp2() - 1.0) / (rank(place) + 1.0).log2())
        .sum()
}

#[expect(clippy::cast_precision_loss, reason = "places are small")]
fn rank(place: usize) -> f64 {
    (place + 1) as f64
}
