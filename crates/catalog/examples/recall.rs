//! Measures how well search finds tools.
//!
//! Usage: `cargo run --release -p mcpproxy-catalog --example recall -- CORPUS QUERIES`, where the corpus
//! is JSON with `tools` (`server`, `tool`, `description`, `inputSchema`) and the queries are
//! JSON with `queries` (`query`, `style`, `labels` with `tool_id` and `relevance`).

#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::collections::{BTreeMap, HashMap};
use std::error::Error;

use mcpproxy_catalog::{Catalog, Operator, SearchQuery};
use mcpproxy_wire::{Json, ListedKind, Offerings, ToolDefinition};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Corpus {
    tools: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    server: String,
    tool: String,
    #[serde(default)]
    description: String,
    #[serde(default, rename = "inputSchema")]
    input_schema: Value,
}

#[derive(Deserialize)]
struct Questions {
    queries: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    query: String,
    #[serde(default)]
    style: String,
    labels: Vec<Label>,
}

#[derive(Deserialize)]
struct Label {
    tool_id: String,
    relevance: u8,
}

/// Sums over the queries of one style.
#[derive(Default)]
struct Sums {
    queries: f64,
    recall: f64,
    reciprocal_rank: f64,
    gain: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = std::env::args().skip(1);
    let (Some(corpus), Some(questions)) = (paths.next(), paths.next()) else {
        return Err("two files are needed: the corpus and the queries".into());
    };
    let catalog = load(serde_json::from_str(&std::fs::read_to_string(corpus)?)?)?;
    let questions: Questions = serde_json::from_str(&std::fs::read_to_string(questions)?)?;
    let show_misses = paths.next().is_some();
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for question in &questions.queries {
        let hits = catalog
            .snapshot()
            .search(&SearchQuery::new(&question.query, 10));
        let found: Vec<&str> = hits.hits.iter().map(|hit| hit.tool.qualified()).collect();
        for style in ["all", question.style.as_str()] {
            sums.entry(style.to_owned())
                .or_default()
                .add(question, &found);
        }
        if show_misses && question.recall(&found) < 1.0 {
            println!(
                "{:.2} {:?} {found:?}",
                question.recall(&found),
                question.query
            );
        }
    }
    for (style, sums) in sums {
        println!(
            "{style:>10}: {:3} queries, Recall@5 {:.3}, MRR {:.3}, nDCG@10 {:.3}",
            sums.queries,
            sums.recall / sums.queries,
            sums.reciprocal_rank / sums.queries,
            sums.gain / sums.queries
        );
    }
    Ok(())
}

fn load(corpus: Corpus) -> Result<Catalog, Box<dyn Error>> {
    let mut servers: HashMap<String, Vec<ToolDefinition>> = HashMap::new();
    for row in corpus.tools {
        let schema = if row.input_schema.is_object() {
            row.input_schema
        } else {
            json!({})
        };
        let tool = ToolDefinition::parse(&Json::of(&json!({
            "name": row.tool, "description": row.description, "inputSchema": schema
        })))?;
        servers.entry(row.server).or_default().push(tool);
    }
    let catalog = Catalog::new();
    let names = servers.keys().cloned();
    catalog.configure(names.map(|name| (name, Operator::default())).collect());
    for (server, tools) in servers {
        catalog.replace(&server, Offerings::default().with(ListedKind::Tool, tools));
    }
    Ok(catalog)
}

impl Sums {
    fn add(&mut self, question: &Question, found: &[&str]) {
        self.queries += 1.0;
        self.recall += question.recall(found);
        let first = found.iter().position(|name| question.relevance(name) > 0);
        self.reciprocal_rank += first.map_or(0.0, |position| discount(position, |rank| rank));
        let gains = found.iter().map(|name| question.relevance(name)).collect();
        let mut ideal: Vec<u8> = question
            .labels
            .iter()
            .map(|label| label.relevance)
            .collect();
        ideal.sort_unstable_by(|one, other| other.cmp(one));
        ideal.truncate(10);
        self.gain += gain(gains) / gain(ideal);
    }
}

impl Question {
    fn relevance(&self, name: &str) -> u8 {
        let label = self.labels.iter().find(|label| label.tool_id == name);
        label.map_or(0, |label| label.relevance)
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful of labels")]
    fn recall(&self, found: &[&str]) -> f64 {
        let good = |name: &&&str| self.relevance(name) > 0;
        found.iter().take(5).filter(good).count() as f64 / self.labels.len() as f64
    }
}

fn gain(relevances: Vec<u8>) -> f64 {
    relevances
        .into_iter()
        .enumerate()
        .map(|(position, relevance)| {
            (f64::from(relevance).exp2() - 1.0) * discount(position, |rank| (rank + 1.0).log2())
        })
        .sum()
}

#[expect(clippy::cast_precision_loss, reason = "at most ten hits")]
fn discount(position: usize, by: impl Fn(f64) -> f64) -> f64 {
    1.0 / by(position as f64 + 1.0)
}
