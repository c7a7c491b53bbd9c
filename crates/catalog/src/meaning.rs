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
use serde_json::Value;

use crate::sentence::first_sentence;
use crate::tokens::words;

/// Number of texts of a tool.
pub const TEXTS: usize = 3;

/// Characters of a description's first sentence, of a whole description and of one of a parameter that are read.
const SENTENCE_LIMIT: usize = 300;
const DESCRIPTION_LIMIT: usize = 600;
const PARAMETER_LIMIT: usize = 100;

/// Parameters that are read.
const PARAMETERS: usize = 8;

/// Vectors of a tool's texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    vectors: [Vector; TEXTS],
}

// === impl Meaning ===

impl Meaning {
    /// Meaning of a tool whose [`texts`] have these vectors.
    pub fn new(vectors: [Vector; TEXTS]) -> Self {
        Self { vectors }
    }

    /// Vectors of the texts.
    pub fn vectors(&self) -> &[Vector; TEXTS] {
        &self.vectors
    }

    /// Similarity of a request to the tool: half of it to all of its texts, half to the nearest.
    pub(crate) fn similarity(&self, request: &Vector) -> f32 {
        let similarities = request.similarities(&self.vectors);
        #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
        let mean = similarities.iter().sum::<f32>() / TEXTS as f32;
        let nearest = similarities.into_iter().fold(f32::MIN, f32::max);
        0.5 * mean + 0.5 * nearest
    }
}

/// Texts of a tool: the first sentence of its description; its server, its name and the description; its name and
/// parameters.
pub fn texts(server: &str, tool: &ToolDefinition) -> [String; TEXTS] {
    let name = words(&tool.name).join(" ");
    let server = words(server).join(" ");
    let description = &*tool.description;
    let sentence = one_line(first_sentence(description.trim()), SENTENCE_LIMIT);
    let sentence = if sentence.is_empty() {
        &name
    } else {
        &sentence
    };
    let description = one_line(description, DESCRIPTION_LIMIT);
    [
        sentence.clone(),
        format!("{server}. {name}. {description}"),
        one_line(&format!("{name}. {}", parameters(tool)), DESCRIPTION_LIMIT),
    ]
}

/// Parameters of a tool with their descriptions.
fn parameters(tool: &ToolDefinition) -> String {
    let schema = tool.input_schema.to_value();
    let parameters = schema.get("properties").and_then(Value::as_object);
    let parameters = parameters.into_iter().flatten().take(PARAMETERS);
    let told = parameters.map(|(name, parameter)| {
        let description = parameter.get("description").and_then(Value::as_str);
        let description = one_line(description.unwrap_or_default(), PARAMETER_LIMIT);
        format!("{}: {description}", words(name).join(" "))
    });
    told.collect::<Vec<_>>().join(". ")
}
