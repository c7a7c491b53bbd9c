//! The lexical index: postings of words, one segment for each server.
//!
//! A segment is built once from a server's callable tools and shared by all snapshots in which
//! that server is the same, so a change costs what the changed server costs. What depends on
//! all tools together (how rare a word is, how long a field usually is) is summed up over the
//! segments; for a caller that may not use all of them, over those that it may use.

mod spelling;
mod term;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::sync::Arc;

use mcpproxy_policy::Effect;
use mcpproxy_wire::json::decode_for_display;
use mcpproxy_wire::meta::CONTRACT_DEFINITION;
use mcpproxy_wire::{Json, ToolDefinition};
use serde_json::Value;

pub(crate) use self::spelling::{KnownWords, may_be_misspelt};
pub(crate) use self::term::Term;
use self::term::TermHasher;
use crate::tokens::{stem, words};
use crate::tool::CatalogTool;

/// Number of fields that a document has: see [`FIELDS`].
pub(crate) const FIELD_COUNT: usize = 6;

/// Field of a tool's description: what a match in it counts.
pub(crate) struct Field {
    /// Name of the field, for people who ask why a tool was found.
    pub(crate) name: &'static str,
    /// The weight of one occurrence.
    pub(crate) weight: f32,
    /// Share by which a long field dilutes an occurrence, from 0 (not at all) to 1.
    pub(crate) dilution: f32,
}

/// The fields, in the order in which [`TermCounts`] counts them. The values are what a parameter's description
/// and its `enum` say, and the tags of a contract tool.
///
/// A name says most and a parameter's description least. The numbers are round on purpose: on
/// labelled queries the quality hardly moves when any of them is changed by half, so finer
/// ones would only fit the queries they were taken from.
pub(crate) const FIELDS: [Field; FIELD_COUNT] = [
    field("name", 2.0, 0.5),
    field("server", 1.0, 0.3),
    field("title", 1.5, 0.5),
    field("description", 1.0, 0.6),
    field("parameters", 0.5, 0.7),
    field("values", 0.3, 0.8),
];

/// Fields whose words may be meant by one that is misspelt: name, server, title and description.
const SPELLED: Range<usize> = 0..4;

/// Most words of one server that may be meant by one that is misspelt.
const MISSPELLABLE: usize = 2_000;

/// Server name of the gateway's own tools.
const GATEWAY: &str = "mcpproxy";

/// The most parameters, and the deepest, of which names and descriptions are read.
const PARAMETER_LIMIT: usize = 200;
const PARAMETER_DEPTH: usize = 3;

/// Most values of an `enum` that are read.
const VALUES: usize = 50;

/// Most tags of a tool that are read.
const TAGS: usize = 20;

/// The most replacements of replacements that are followed.
const REPLACEMENTS: usize = 8;

/// All segments and what is true of them together.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Segments in the order of their servers; none is empty.
    pub(crate) segments: Vec<Arc<Segment>>,
    /// Figures of all tools.
    pub(crate) figures: Figures,
}

/// Figures of many tools together, which the worth of a match depends on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    /// Number of tools.
    pub(crate) documents: usize,
    /// Average number of words of each field, at least one.
    pub(crate) average_lengths: [f32; FIELD_COUNT],
}

/// Segment of the index: the callable tools of one server.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) server: Arc<str>,
    /// Tools in the order of their names.
    pub(crate) tools: Vec<Arc<CatalogTool>>,
    /// Effects of the tools, beside each other: filters look at every match, and following a
    /// pointer for each would take most of a search's time.
    pub(crate) effects: Vec<Effect>,
    /// Whether each tool is going to be removed, likewise.
    pub(crate) deprecated: Vec<bool>,
    /// Paths of replacements, as places: from a tool that is going to be removed to the one that takes over in the end.
    pub(crate) replaced: Vec<Vec<usize>>,
    lengths: Vec<[u16; FIELD_COUNT]>,
    total_lengths: [u64; FIELD_COUNT],
    postings: HashMap<Term, Vec<Posting>, BuildHasherDefault<TermHasher>>,
    /// Tools by the words of their name, for queries that give the name itself.
    names: HashMap<String, Vec<usize>>,
    /// Words that occur, for those that are misspelt in a query.
    pub(crate) known_words: KnownWords,
}

/// Counts of a word in each field of one document.
#[derive(Debug)]
pub(crate) struct Posting {
    pub(crate) document: u32,
    pub(crate) counts: [u8; FIELD_COUNT],
}

// === impl Index ===

impl Index {
    pub(crate) fn new(segments: Vec<Arc<Segment>>) -> Self {
        let documents = segments.iter().map(|segment| segment.tools.len()).sum();
        let totals = segments.iter().map(|segment| segment.total_lengths);
        Self {
            figures: Figures::new(documents, totals),
            segments,
        }
    }
}

// === impl Figures ===

impl Figures {
    /// Figures of so many tools, of sums of their lengths.
    pub(crate) fn new(documents: usize, sums: impl Iterator<Item = [u64; FIELD_COUNT]>) -> Self {
        let totals = sums.fold([0; FIELD_COUNT], |mut totals, sum| {
            add_lengths(&mut totals, sum);
            totals
        });
        #[expect(
            clippy::cast_precision_loss,
            reason = "an average needs no more precision"
        )]
        let average_lengths = totals.map(|total| (total as f32 / documents.max(1) as f32).max(1.0));
        Self {
            documents,
            average_lengths,
        }
    }
}

fn add_lengths(totals: &mut [u64; FIELD_COUNT], lengths: [u64; FIELD_COUNT]) {
    for (total, length) in totals.iter_mut().zip(lengths) {
        *total += length;
    }
}

// === impl Segment ===

impl Segment {
    /// A segment of these tools, which come in the order of their names.
    pub(crate) fn new(server: Arc<str>, tools: Vec<Arc<CatalogTool>>) -> Self {
        let mut segment = Self {
            server,
            lengths: Vec::with_capacity(tools.len()),
            total_lengths: [0; FIELD_COUNT],
            postings: HashMap::default(),
            names: HashMap::new(),
            known_words: KnownWords::default(),
            effects: tools.iter().map(|entry| entry.effect()).collect(),
            deprecated: tools
                .iter()
                .map(|entry| entry.deprecation().is_some())
                .collect(),
            replaced: replaced(&tools),
            tools: Vec::new(),
        };
        let server_words = words(&segment.server);
        let mut stems = Stems::default();
        for (position, entry) in tools.iter().enumerate() {
            let name_words = words(entry.name());
            stems.document = u32::try_from(position).unwrap_or(u32::MAX);
            let document = TermCounts::of(&name_words, &server_words, entry.tool(), &mut stems);
            segment.add(position, document);
            let names = segment.names.entry(name_words.join(" "));
            names.or_default().push(position);
        }
        segment.known_words = KnownWords::new(stems.misspellable.into_iter());
        segment.tools = tools;
        segment
    }

    fn add(&mut self, position: usize, document: TermCounts) {
        let number = u32::try_from(position).unwrap_or(u32::MAX);
        for (term, counts) in document.counts {
            self.postings.entry(term).or_default().push(Posting {
                document: number,
                counts,
            });
        }
        add_lengths(&mut self.total_lengths, document.lengths.map(u64::from));
        self.lengths.push(document.lengths);
    }

    /// Whether its tools are the gateway's own.
    pub(crate) fn is_gateway(&self) -> bool {
        *self.server == *GATEWAY
    }

    /// Postings of a word: where it occurs.
    pub(crate) fn postings(&self, term: Term) -> &[Posting] {
        self.postings.get(&term).map_or(&[], Vec::as_slice)
    }

    /// Number of words in each field of a document.
    pub(crate) fn lengths(&self, document: u32) -> &[u16; FIELD_COUNT] {
        &self.lengths[document as usize]
    }

    /// Sums of the lengths of some of its tools.
    pub(crate) fn lengths_of(&self, is_counted: &[bool]) -> [u64; FIELD_COUNT] {
        let mut totals = [0; FIELD_COUNT];
        for (lengths, _) in self.lengths.iter().zip(is_counted).filter(|(_, is)| **is) {
            add_lengths(&mut totals, lengths.map(u64::from));
        }
        totals
    }

    /// The tools whose name consists of exactly these words, joined by spaces.
    pub(crate) fn named(&self, joined_words: &str) -> &[usize] {
        self.names.get(joined_words).map_or(&[], Vec::as_slice)
    }
}

/// Paths from each deprecated tool to the tool that takes over: the replacement, or its replacement. The tools come in
/// the order of their names.
fn replaced(tools: &[Arc<CatalogTool>]) -> Vec<Vec<usize>> {
    let next = |place: usize| {
        let (server, announced) = (tools[place].server(), tools[place].deprecation()?);
        let replacement = announced.replacement_at(server)?;
        let (named, replacement) = replacement.split_once(':')?;
        if *named != **server {
            return None;
        }
        let found = tools.binary_search_by(|entry| (**entry.name()).cmp(replacement));
        found.ok()
    };
    let path = |place: usize| -> Vec<usize> {
        let steps = std::iter::successors(Some(place), |place| next(*place));
        steps.take(REPLACEMENTS + 2).collect()
    };
    // Tools that replace each other have no end.
    let has_end = |path: &Vec<usize>| {
        let end = path.last().filter(|_| path.len() > 1);
        end.is_some_and(|end| tools[*end].deprecation().is_none())
    };
    (0..tools.len()).map(path).filter(has_end).collect()
}

/// The stems of the words seen so far: finding one takes longer than remembering it, and the
/// tools of a server share most of their words.
#[derive(Default)]
struct Stems {
    known: HashMap<String, Term>,
    /// Words that may be meant by one that is misspelt, with the tools that have them: of names, titles and descriptions,
    /// and not too many.
    misspellable: BTreeMap<String, (Term, Vec<u32>)>,
    /// Place of the tool that is read.
    document: u32,
}

impl Stems {
    fn of(&mut self, word: String) -> Term {
        *self
            .known
            .entry(word)
            .or_insert_with_key(|word| Term::of(&stem(word)))
    }

    /// Remembers a word as one that may be meant.
    fn remember(&mut self, word: &str, term: Term) {
        if let Some((_, documents)) = self.misspellable.get_mut(word) {
            if documents.last() != Some(&self.document) {
                documents.push(self.document);
            }
        } else if may_be_misspelt(word) && self.misspellable.len() < MISSPELLABLE {
            let found = (term, vec![self.document]);
            self.misspellable.insert(word.to_owned(), found);
        }
    }
}

/// Counts of the words of one tool.
#[derive(Default)]
struct TermCounts {
    counts: HashMap<Term, [u8; FIELD_COUNT], BuildHasherDefault<TermHasher>>,
    lengths: [u16; FIELD_COUNT],
}

impl TermCounts {
    fn of(name: &[String], server: &[String], tool: &ToolDefinition, stems: &mut Stems) -> Self {
        let mut document = Self::default();
        document.count(0, name.to_vec(), stems);
        document.count(1, server.to_vec(), stems);
        document.count(2, words(&title(tool)), stems);
        document.count(3, words(&tool.description), stems);
        let mut parameters = Parameters::default();
        parameters.read(&tool.input_schema.to_value(), PARAMETER_DEPTH);
        document.count(4, parameters.names, stems);
        document.count(5, parameters.values, stems);
        document.count(5, tags(tool), stems);
        document
    }

    fn count(&mut self, field: usize, words: Vec<String>, stems: &mut Stems) {
        for word in words {
            let term = stems.of(word.clone());
            if SPELLED.contains(&field) {
                stems.remember(&word, term);
            }
            let count = &mut self.counts.entry(term).or_default()[field];
            *count = count.saturating_add(1);
            self.lengths[field] = self.lengths[field].saturating_add(1);
        }
    }
}

/// The words of a schema's parameters.
#[derive(Default)]
struct Parameters {
    read: usize,
    names: Vec<String>,
    values: Vec<String>,
}

impl Parameters {
    fn read(&mut self, schema: &Value, depth: usize) {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, parameter) in properties.into_iter().flatten() {
            self.read += 1;
            if self.read > PARAMETER_LIMIT {
                return;
            }
            self.names.extend(words(name));
            if let Some(description) = parameter.get("description").and_then(Value::as_str) {
                self.values.extend(words(description));
            }
            let values = parameter.get("enum").and_then(Value::as_array);
            let values = values.into_iter().flatten().take(VALUES);
            for value in values.filter_map(Value::as_str) {
                self.values.extend(words(value));
            }
            if depth > 1 {
                self.read(parameter, depth - 1);
                if let Some(items) = parameter.get("items") {
                    self.read(items, depth - 1);
                }
            }
        }
    }
}

/// Title that people call the tool by, where its server says: `title`, or the older `annotations.title`.
fn title(tool: &ToolDefinition) -> String {
    let text = |json: &Json| json.fields()?.text("title").map(Cow::into_owned);
    let title = text(&tool.raw).or_else(|| text(tool.raw_annotations.as_ref()?));
    title.unwrap_or_default()
}

/// Words of the tags that a tool's definition by the contract has.
fn tags(tool: &ToolDefinition) -> Vec<String> {
    let definition = tool.meta.as_ref().and_then(|meta| {
        let definition = meta.fields()?.get(CONTRACT_DEFINITION)?.get();
        Some(decode_for_display(definition))
    });
    let tags = definition
        .as_ref()
        .and_then(|definition| definition.get("tags")?.as_array());
    let tags = tags
        .into_iter()
        .flatten()
        .take(TAGS)
        .filter_map(Value::as_str);
    tags.flat_map(words).collect()
}

const fn field(name: &'static str, weight: f32, dilution: f32) -> Field {
    Field {
        name,
        weight,
        dilution,
    }
}
