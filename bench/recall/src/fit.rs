//! Fitting of the matrix that moves requests towards the tools they are about.
//!
//! Of each set of tools and sentences, those sentences are held out in turn that are about a fifth of the servers, with
//! these servers' tools: how well they are found with a matrix that knows neither is what to expect of other servers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use mcpproxy_catalog::meaning::Meaning;
use mcpproxy_embed::{DIMENSIONS, RequestMatrix, Vector};

use crate::corpus::{self, LabelledQueries, LabelledQuery, Loaded};
use crate::descent::{Examples, Fit};
use crate::quality::{HEAD, Sums};

/// Parts of the servers, each of which is held out once.
const FOLDS: usize = 5;

/// Tools, and sentences that are about them.
struct Set {
    loaded: Loaded,
    queries: Vec<Query>,
    /// Mean vector of each tool's texts.
    tools: BTreeMap<String, [f32; DIMENSIONS]>,
    /// Whether the matrix is fitted to it.
    is_learned: bool,
}

/// Query with the vector of its text, if it has a meaning.
struct Query {
    labelled: LabelledQuery,
    vector: Option<Vector>,
}

/// Fits the matrix to pairs of a corpus and its queries, and asks those it was not fitted to.
pub(crate) fn run(
    learned: &[PathBuf],
    checked: &[PathBuf],
    output: Option<&Path>,
) -> anyhow::Result<()> {
    let mut sets = Vec::new();
    for (files, is_learned) in [(learned, true), (checked, false)] {
        for pair in files.chunks(2) {
            sets.push(Set::load(&pair[0], &pair[1], is_learned)?);
        }
    }
    let servers: BTreeSet<&str> = sets.iter().flat_map(Set::servers).collect();
    let fold = |server: &str| servers.range(..server).count() % FOLDS;
    let matrices: Vec<RequestMatrix> = (0..FOLDS)
        .map(|held_out| fitted(&sets, |server| fold(server) != held_out))
        .collect();
    for set in &sets {
        println!("\nservers that were held out");
        set.report(|query| Some(matrices[fold(query.server())].apply(query.vector.as_ref()?)));
    }
    if let Some(output) = output {
        let matrix = fitted(&sets, |_| true);
        std::fs::write(output, matrix.as_bytes())
            .with_context(|| format!("{} cannot be written", output.display()))?;
    }
    Ok(())
}

/// Matrix fitted to the sentences about some servers, told from the tools of these servers alone.
fn fitted(sets: &[Set], is_used: impl Fn(&str) -> bool) -> RequestMatrix {
    let learned = sets.iter().filter(|set| set.is_learned);
    let examples = learned.map(|set| set.examples(&is_used)).collect();
    RequestMatrix::of(&Fit::new(examples).run())
}

// === impl Set ===

impl Set {
    fn load(corpus: &Path, queries: &Path, is_learned: bool) -> anyhow::Result<Self> {
        let loaded = corpus::load(corpus)?;
        let queries: LabelledQueries = corpus::read(queries)?;
        let queries = queries.queries.into_iter().map(|labelled| {
            let text = &labelled.query;
            let is_meant = loaded.encoder.embed_request(text).is_some();
            Query {
                vector: is_meant.then(|| loaded.encoder.embed(text)),
                labelled,
            }
        });
        let snapshot = loaded.catalog.snapshot();
        let tools = snapshot.tools().map(|tool| {
            let mut sum = [0.0; DIMENSIONS];
            for vector in tool.meaning().into_iter().flat_map(Meaning::vectors) {
                for (sum, number) in sum.iter_mut().zip(vector.numbers()) {
                    *sum += number;
                }
            }
            (tool.qualified().to_owned(), Vector::of(&sum).numbers())
        });
        Ok(Self {
            tools: tools.collect(),
            queries: queries.collect(),
            loaded,
            is_learned,
        })
    }

    fn servers(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(|name| server_of(name))
    }

    fn examples(&self, is_used: impl Fn(&str) -> bool) -> Examples {
        let asked: BTreeSet<&str> = self.queries.iter().map(Query::server).collect();
        let is_used = |server: &str| asked.contains(server) && is_used(server);
        let tools = self
            .tools
            .iter()
            .filter(|(name, _)| is_used(server_of(name)));
        let (names, tools): (Vec<&String>, Vec<_>) = tools.unzip();
        let pairs = self.queries.iter().filter_map(|query| {
            let tool = names.binary_search(&&query.best().to_owned()).ok()?;
            Some((query.vector.as_ref()?.numbers(), tool))
        });
        Examples {
            pairs: pairs.collect(),
            tools: tools.into_iter().copied().collect(),
        }
    }

    /// Asks all queries and prints how well they find their tools.
    fn report(&self, vector_of: impl Fn(&Query) -> Option<Vector>) {
        println!("{:>12}  {HEAD}", "style");
        let mut by_style: BTreeMap<&str, Sums> = BTreeMap::new();
        for query in &self.queries {
            let text = &query.labelled.query;
            let found = self.loaded.search(text, vector_of(query).as_ref());
            for style in ["all", &query.labelled.style] {
                let sums = by_style.entry(style).or_default();
                sums.add(&query.labelled, &found);
            }
        }
        for (style, sums) in by_style {
            println!("{style:>12}  {}", sums.line());
        }
    }
}

// === impl Query ===

impl Query {
    /// The tool that it is about most.
    fn best(&self) -> &str {
        let best = self.labelled.labels.iter().rev();
        let best = best.max_by_key(|label| label.relevance);
        best.map_or("", |label| &label.tool_id)
    }

    fn server(&self) -> &str {
        server_of(self.best())
    }
}

fn server_of(name: &str) -> &str {
    name.split_once(':').map_or(name, |(server, _)| server)
}
