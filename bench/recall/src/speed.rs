//! Speed of search over tools that are made up: servers
//! of 20 tools each, with names, descriptions and parameters drawn from word lists whose words
//! are as unevenly frequent as those of real descriptions.
//!
//! The vectors of the tools are made up as well: how long a search takes does not depend on what they say. Those of the
//! queries are computed.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use mcpproxy_catalog::meaning::{Meaning, TEXTS};
use mcpproxy_catalog::{Catalog, Operator, SearchQuery};
use mcpproxy_embed::{DIMENSIONS, Encoder, Vector};
use mcpproxy_wire::{Json, ListedKind, Offerings, ToolDefinition};
use serde_json::{Map, Value, json};

const TOOLS_PER_SERVER: usize = 20;
const SEARCHES: usize = 2_000;

/// Tools of the server that is added to the others.
const ADDED: usize = 50;

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
    "somedolo ranigilo",
];

/// Queries none of whose words any tool has, so that each is taken for the nearest one that some tool has.
const MISSPELT: &[&str] = &[
    "craete isue",
    "calender envoice",
    "databse tabel docment",
    "sohuugi",
];

pub(crate) fn run(sizes: &[usize]) -> anyhow::Result<()> {
    let encoder = Encoder::load().context("the model is part of this program")?;
    for tools in sizes {
        measure(*tools, &encoder)?;
    }
    Ok(())
}

fn measure(tools: usize, encoder: &Encoder) -> anyhow::Result<()> {
    let before = anonymous_memory();
    let catalog = Catalog::new();
    let listings: Vec<Offerings> = (0..tools / TOOLS_PER_SERVER)
        .map(|server| listing(server, TOOLS_PER_SERVER))
        .collect::<anyhow::Result<_>>()?;
    let added = listing(tools, ADDED)?;
    let servers = (0..=listings.len()).map(|number| format!("server{number}"));
    let started = Instant::now();
    catalog.configure(
        servers
            .map(|server| (server, Operator::default()))
            .collect(),
    );
    let last = listings.len();
    for (number, listing) in listings.into_iter().enumerate() {
        catalog.replace(&format!("server{number}"), listing);
    }
    println!(
        "{tools} tools: indexed server by server in {:.1?}",
        started.elapsed()
    );
    let started = Instant::now();
    catalog.replace(&format!("server{last}"), added);
    println!(
        "{tools} tools: a server of {ADDED} added in {:.1?}",
        started.elapsed()
    );
    let snapshot = catalog.snapshot();
    let mut random = Random(7);
    for tool in snapshot.tools() {
        let vectors = [(); TEXTS].map(|()| random.vector());
        tool.set_meaning(Meaning::new(vectors));
    }
    println!(
        "{tools} tools: {} KiB of memory",
        anonymous_memory().saturating_sub(before)
    );
    for (mode, queries) in [
        ("lexical", QUERIES),
        ("misspelt lexical", MISSPELT),
        ("hybrid", QUERIES),
    ] {
        let by_meaning = mode == "hybrid";
        let rounds = if by_meaning { SEARCHES / 5 } else { SEARCHES };
        let mut times = Vec::with_capacity(rounds);
        let mut matches = 0;
        for round in 0..rounds {
            let text = queries[round % queries.len()];
            let started = Instant::now();
            let meaning = by_meaning.then(|| encoder.embed_request(text)).flatten();
            let query = SearchQuery {
                meaning: meaning.as_ref(),
                ..SearchQuery::new(text, 5)
            };
            matches += snapshot.search(&query).total;
            times.push(started.elapsed());
        }
        report(mode, tools, &mut times, matches / rounds);
    }
    Ok(())
}

/// Memory of this process that no file is behind, in KiB.
fn anonymous_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn report(mode: &str, tools: usize, times: &mut [Duration], matches: usize) {
    times.sort_unstable();
    let share = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!(
        "{tools} tools: {mode} search p50 {:?}, p90 {:?}, p99 {:?}; {matches} matches on average",
        share(50),
        share(90),
        share(99)
    );
}

fn listing(server: usize, count: usize) -> anyhow::Result<Offerings> {
    let mut random = Random(server as u64 + 1);
    let tools = (0..count)
        .map(|number| tool(number, &mut random))
        .collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Offerings::default().with(ListedKind::Tool, tools))
}

fn tool(number: usize, random: &mut Random) -> anyhow::Result<ToolDefinition> {
    let (verb, noun) = (random.pick(VERBS), random.pick(NOUNS));
    let description = format!("{verb} a {noun}. {}", random.sentence(40));
    let properties: Map<String, Value> = (0..5)
        .map(|_| {
            let name = format!("{}_{}", random.pick(NOUNS), random.word());
            let description = random.sentence(8);
            (name, json!({"type": "string", "description": description}))
        })
        .collect();
    let definition = json!({
        "name": format!("{verb}_{noun}_{number}"),
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
    });
    ToolDefinition::parse(&Json::of(&definition)).map_err(anyhow::Error::msg)
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

    fn vector(&mut self) -> Vector {
        let mut numbers = [0.0; DIMENSIONS];
        for number in &mut numbers {
            #[expect(clippy::cast_precision_loss, reason = "a made up number")]
            let value = self.below(2_001) as f32;
            *number = value - 1_000.0;
        }
        Vector::of(&numbers)
    }

    /// One of 2,000 words, of which some are much more frequent than others.
    fn word(&mut self) -> String {
        let limit = self.below(2_000) + 1;
        word(self.below(limit))
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

/// Word of this number, of syllables: misspelt words are compared with letters.
fn word(number: usize) -> String {
    const SYLLABLES: [&str; 13] = [
        "ka", "lo", "me", "ni", "pu", "ra", "so", "te", "vi", "do", "fe", "gi", "hu",
    ];
    let (mut word, mut rest) = (String::new(), number * 7 + 2_000);
    while rest > 0 {
        word.push_str(SYLLABLES[rest % SYLLABLES.len()]);
        rest /= SYLLABLES.len();
    }
    word
}
