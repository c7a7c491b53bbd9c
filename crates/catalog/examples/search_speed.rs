//! Measures how long a search takes over 1,000 and 10,000 tools.
//!
//! Usage: `cargo run --release -p mcpproxy-catalog --example search_speed`. The corpus is made up: servers
//! of 20 tools each, with names, descriptions and parameters drawn from word lists whose words
//! are as unevenly frequent as those of real descriptions.

#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::error::Error;
use std::time::{Duration, Instant};

use mcpproxy_catalog::{Catalog, Operator, SearchQuery};
use mcpproxy_wire::{Json, ListedKind, Offerings, ToolDefinition};
use serde_json::{Map, Value, json};

const TOOLS_PER_SERVER: usize = 20;
const SEARCHES: usize = 2_000;

const VERBS: &[&str] = &[
    "get", "list", "search", "create", "update", "delete", "read", "write", "fetch", "send",
    "convert", "analyze",
];
const NOUNS: &[&str] = &[
    "file",
    "issue",
    "user",
    "page",
    "record",
    "message",
    "image",
    "query",
    "document",
    "event",
    "branch",
    "invoice",
    "calendar",
    "container",
    "ticket",
    "chart",
    "database",
    "table",
];
const QUERIES: &[&str] = &[
    "create issue",
    "list all files in a folder and read the newest document",
    "send message to user",
    "I want to convert an image and write the record to the database table",
    "server7 calendar event",
    "word250 word300",
];

fn main() -> Result<(), Box<dyn Error>> {
    for tools in [1_000, 10_000] {
        let catalog = Catalog::new();
        let listings = (0..tools / TOOLS_PER_SERVER)
            .map(listing)
            .collect::<Result<Vec<_>, _>>()?;
        let changed = listing(tools)?;
        let start = Instant::now();
        let servers = (0..listings.len()).map(|number| format!("server{number}"));
        catalog.configure(
            servers
                .map(|server| (server, Operator::default()))
                .collect(),
        );
        for (number, listing) in listings.into_iter().enumerate() {
            catalog.replace(&format!("server{number}"), listing);
        }
        println!(
            "{tools} tools: built server by server in {:?}",
            start.elapsed()
        );
        let start = Instant::now();
        catalog.replace("server1", changed);
        println!(
            "{tools} tools: one server replaced in {:?}",
            start.elapsed()
        );
        let snapshot = catalog.snapshot();
        let mut times = Vec::with_capacity(SEARCHES);
        let mut matches = 0;
        for round in 0..SEARCHES {
            let query = SearchQuery::new(QUERIES[round % QUERIES.len()], 5);
            let start = Instant::now();
            matches += snapshot.search(&query).total;
            times.push(start.elapsed());
        }
        report(tools, &mut times, matches / SEARCHES);
    }
    Ok(())
}

fn report(tools: usize, times: &mut [Duration], matches: usize) {
    times.sort_unstable();
    let share = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!(
        "{tools} tools: search p50 {:?}, p90 {:?}, p99 {:?}; {matches} matches on average",
        share(50),
        share(90),
        share(99)
    );
}

fn listing(server: usize) -> Result<Offerings, String> {
    let mut random = Random(server as u64 + 1);
    let tools = (0..TOOLS_PER_SERVER)
        .map(|number| tool(number, &mut random))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Offerings::default().with(ListedKind::Tool, tools))
}

fn tool(number: usize, random: &mut Random) -> Result<ToolDefinition, String> {
    let (verb, noun) = (random.pick(VERBS), random.pick(NOUNS));
    let description = format!("{verb} a {noun}. {}", random.sentence(40));
    let properties: Map<String, Value> = (0..5)
        .map(|_| {
            let name = format!("{}_{}", random.pick(NOUNS), random.word());
            let description = random.sentence(8);
            (name, json!({"type": "string", "description": description}))
        })
        .collect();
    ToolDefinition::parse(&Json::of(&json!({
        "name": format!("{verb}_{noun}_{number}"),
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
    })))
}

/// A sequence that is the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    /// A word of which small numbers are much more frequent than large ones.
    fn word(&mut self) -> String {
        let limit = self.below(2_000) + 1;
        format!("word{}", self.below(limit))
    }

    fn sentence(&mut self, length: usize) -> String {
        let words: Vec<String> = (0..length)
            .map(|position| match position % 4 {
                0 => self.pick(NOUNS).to_owned(),
                _ => self.word(),
            })
            .collect();
        words.join(" ")
    }
}
