//! Meaning of a tool: what it is about, as a few short texts and their vectors.
//!
//! One long text would have one vector, in which everything is a little of everything. So a tool has several short ones,
//! and what is near to any of them counts as well as what is near to all. The vectors are computed elsewhere, because
//! that takes a while: a tool has its meaning from the moment on when [`CatalogTool::set_meaning`] gives it one.
//!
//! [`CatalogTool::set_meaning`]: crate::CatalogTool::set_meaning

use mcpproxy_embed::Vector;
use mcpproxy_support::one_line::one_line;
use mcpproxy_wire::ToolDefinition;

use crate::sentence::first_sentence;
use crate::tokens::words;

/// Number of texts of a tool.
pub const TEXTS: usize = 4;

/// Characters of a description's first sentence, and of a whole description, that are read.
const SENTENCE_LIMIT: usize = 300;
const DESCRIPTION_LIMIT: usize = 600;

/// Share of a tool's similarity to everyday requests that is taken from its similarity to a query.
///
/// Some tools are near to everything: "run", "get value". How near says little about them.
const COMMONNESS_SHARE: f32 = 0.5;

/// Requests that have nothing to do with each other, one on a line: what the commonness of a tool is measured with.
static EVERYDAY: &str = include_str!("everyday.txt");

/// Vectors of a tool's texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    vectors: [Vector; TEXTS],
    /// Similarity to everyday requests, on average.
    commonness: f32,
}

/// Everyday requests, whose vectors [`Meaning::new`] wants.
pub fn everyday() -> impl Iterator<Item = &'static str> {
    EVERYDAY.lines()
}

// === impl Meaning ===

impl Meaning {
    /// Meaning of a tool whose [`texts`] have these vectors. `everyday` are vectors of requests that have nothing to do
    /// with each other.
    pub fn new(vectors: [Vector; TEXTS], everyday: &[Vector]) -> Self {
        let similarities = everyday.iter().map(|one| nearness(one, &vectors));
        #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
        let count = everyday.len().max(1) as f32;
        Self {
            commonness: similarities.sum::<f32>() / count,
            vectors,
        }
    }

    /// Similarity of a query to the tool, less what it is near to everything. For most queries it is around 0.03.
    pub(crate) fn similarity(&self, query: &Vector) -> f32 {
        nearness(query, &self.vectors) - COMMONNESS_SHARE * self.commonness
    }
}

/// Similarity of a query to the texts of a tool: half of it to all of them, half to the nearest.
fn nearness(query: &Vector, texts: &[Vector; TEXTS]) -> f32 {
    let similarities = query.similarities(texts);
    #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
    let mean = similarities.iter().sum::<f32>() / TEXTS as f32;
    let nearest = similarities.into_iter().fold(f32::MIN, f32::max);
    0.5 * mean + 0.5 * nearest
}

/// Texts of a tool: its name; the name and the first sentence of its description; that sentence; its server, its name
/// and the description.
pub fn texts(server: &str, tool: &ToolDefinition) -> [String; TEXTS] {
    let name = words(&tool.name).join(" ");
    let server = words(server).join(" ");
    let description = &*tool.description;
    let sentence = one_line(first_sentence(description.trim()), SENTENCE_LIMIT);
    let description = one_line(description, DESCRIPTION_LIMIT);
    let alone = if sentence.is_empty() {
        &name
    } else {
        &sentence
    };
    [
        name.clone(),
        format!("{name}. {sentence}"),
        alone.clone(),
        format!("{server}. {name}. {description}"),
    ]
}
