//! Tokens: what the menu, answers and a list of all tools cost an agent, as cl100k counts.

use std::path::Path;

use anyhow::Context as _;
use mcpproxy_catalog::{SearchQuery, present};
use mcpproxy_gateway::menu;
use mcpproxy_policy::{Mode, Rights};
use serde_json::{Value, json};
use tiktoken_rs::CoreBPE;

use crate::corpus::{self, LabelledQueries};

/// Tools on a page.
const PAGE: usize = 5;

pub(crate) fn run(corpus: &Path, queries: &Path, call: Option<&Path>) -> anyhow::Result<()> {
    let queries: LabelledQueries = corpus::read(queries)?;
    let loaded = corpus::load(corpus)?;
    let tokens = tiktoken_rs::cl100k_base().context("the table is part of this program")?;
    let count = |text: &str| tokens.encode_ordinary(text).len();
    let menu = menu::tools_list(Mode::TwoKey, &Rights::Administrator);
    println!("\n{:>8} tokens: the menu", count(&menu));
    let snapshot = loaded.catalog.snapshot();
    let (mut whole, mut short) = (0, 0);
    for query in &queries.queries {
        let meaning = loaded.encoder.embed_request(&query.query);
        let hits = snapshot.search(&SearchQuery {
            meaning: meaning.as_ref(),
            ..SearchQuery::new(&query.query, PAGE)
        });
        let found = &hits.hits;
        let full = found.iter();
        let full = full.map(|hit| json!(present::full(&hit.tool, hit.score, None)));
        let full: Vec<Value> = full.collect();
        whole += count(&answer(&query.query, hits.total, &full));
        let compact = found.iter();
        let compact = compact.map(|hit| json!(present::compact(&hit.tool, hit.score, None)));
        let compact: Vec<Value> = compact.collect();
        short += count(&answer(&query.query, hits.total, &compact));
    }
    let pages = queries.queries.len().max(1);
    println!(
        "{:>8} tokens: an answer with {PAGE} tools, full, on average",
        whole / pages
    );
    println!(
        "{:>8} tokens: an answer with {PAGE} tools, compact, on average",
        short / pages
    );
    if let Some(path) = call {
        let result: Value = corpus::read(path)?;
        let meta = result["_meta"].to_string();
        println!(
            "{:>8} tokens: the result of a call",
            count(&result.to_string())
        );
        println!("{:>8} tokens: of these its `_meta`", count(&meta));
    }
    println!(
        "{:>8} tokens: a list of all tools",
        all_tools(&snapshot, &tokens)
    );
    Ok(())
}

/// Answer of `retrieve_tools` with these entries. A client gets it twice, as text and as structured content, and shows
/// the model one of them.
fn answer(query: &str, total: usize, tools: &[Value]) -> String {
    let usage_instructions = menu::USAGE_INSTRUCTIONS;
    json!({
        "tools": tools, "query": query, "total": total, "search": "hybrid",
        "usage_instructions": usage_instructions,
    })
    .to_string()
}

/// Tokens of all tools, as servers list them.
fn all_tools(snapshot: &mcpproxy_catalog::Snapshot, tokens: &CoreBPE) -> usize {
    let tools = snapshot
        .tools()
        .map(|tool| tool.tool().raw.text().to_owned());
    let list = format!("{{\"tools\":[{}]}}", tools.collect::<Vec<_>>().join(","));
    tokens.encode_ordinary(&list).len()
}
