//! Corpus and queries, read from files.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use mcpproxy_catalog::meaning::{Meaning, texts};
use mcpproxy_catalog::{Catalog, Operator, SearchQuery};
use mcpproxy_embed::{Encoder, Vector};
use mcpproxy_wire::{Json, ListedKind, Offerings, ToolDefinition};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Tools of many servers.
#[derive(Deserialize)]
struct Corpus {
    tools: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    server: String,
    tool: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default, rename = "inputSchema")]
    input_schema: Value,
}

/// Labelled queries.
#[derive(Deserialize)]
pub(crate) struct LabelledQueries {
    pub(crate) queries: Vec<LabelledQuery>,
}

/// A query, and the tools that it should find.
#[derive(Deserialize)]
pub(crate) struct LabelledQuery {
    pub(crate) query: String,
    #[serde(default)]
    pub(crate) style: String,
    pub(crate) labels: Vec<Label>,
}

#[derive(Deserialize)]
pub(crate) struct Label {
    pub(crate) tool_id: String,
    pub(crate) relevance: u8,
}

/// Catalog of a corpus, and what is needed to ask it by meaning.
pub(crate) struct Loaded {
    pub(crate) catalog: Catalog,
    pub(crate) encoder: Encoder,
}

/// What a file holds.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| format!("{} cannot be read", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is something else", path.display()))
}

/// Catalog of a corpus, each tool with its meaning.
pub(crate) fn load(path: &Path) -> anyhow::Result<Loaded> {
    let corpus: Corpus = read(path)?;
    let mut servers: HashMap<String, Vec<ToolDefinition>> = HashMap::new();
    for row in corpus.tools {
        let is_schema = row.input_schema.is_object();
        let mut tool = json!({
            "name": row.tool,
            "description": row.description.unwrap_or_default(),
            "inputSchema": if is_schema { row.input_schema } else { json!({}) },
        });
        if let Some(title) = row.title {
            tool["title"] = json!(title);
        }
        let tool = ToolDefinition::parse(&Json::of(&tool)).map_err(anyhow::Error::msg)?;
        servers.entry(row.server).or_default().push(tool);
    }
    let catalog = Catalog::new();
    let names = servers.keys().cloned();
    catalog.configure(names.map(|name| (name, Operator::default())).collect());
    let started = Instant::now();
    for (server, tools) in servers {
        catalog.replace(&server, Offerings::default().with(ListedKind::Tool, tools));
    }
    let tools = catalog.snapshot().tools().count();
    println!("{tools} tools indexed in {:.0?}", started.elapsed());
    let encoder = Encoder::load().context("the model is part of this program")?;
    give_meanings(&catalog, &encoder);
    Ok(Loaded { catalog, encoder })
}

impl Loaded {
    /// The first ten tools that a query finds, by its words and by what it means, if that is given.
    pub(crate) fn search(&self, query: &str, meaning: Option<&Vector>) -> Vec<String> {
        let query = SearchQuery {
            meaning,
            ..SearchQuery::new(query, 10)
        };
        let hits = self.catalog.snapshot().search(&query).hits;
        let names = hits.iter().map(|hit| hit.tool.qualified().to_owned());
        names.collect()
    }
}

/// Gives each tool its meaning, as the gateway does in the background.
fn give_meanings(catalog: &Catalog, encoder: &Encoder) {
    let started = Instant::now();
    let mut count = 0;
    for tool in catalog.snapshot().tools() {
        let vectors = texts(tool.server(), tool.tool()).map(|text| encoder.embed(&text));
        tool.set_meaning(Meaning::new(vectors));
        count += 1;
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("{count} tools have their vectors after {seconds:.1} s on one core");
}
