//! The fields that a schema marks as secret.
//!
//! Schemas come from servers nobody here wrote. Every subschema is read once, wherever references
//! lead, so a schema that refers to itself is no trouble; and where a bound is reached, everything
//! beyond it counts as secret.

mod schema;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::mask::MASKED;
use crate::own_secrets::{Collection, OwnSecrets};
use schema::Graph;

/// The most steps that hiding fields in one value may take.
const MOST_STEPS: usize = 200_000;

/// Depth to which values are followed. The reader of JSON takes no more than 128 levels.
const DEEPEST_VALUE: usize = 160;

/// Fields of a tool's arguments or results that are marked `writeOnly` or `format: password`.
/// A clone shares them.
#[derive(Debug, Clone, Default)]
pub struct SecretFields {
    /// `None` if there are none, which is the rule.
    graph: Option<Arc<Graph>>,
}

impl SecretFields {
    /// No fields.
    pub const fn none() -> Self {
        Self { graph: None }
    }

    /// Every field: for a schema that cannot be read.
    pub fn all() -> Self {
        Self {
            graph: Some(Arc::new(Graph::everything())),
        }
    }

    /// The fields that a JSON Schema marks, at any depth and through references inside of it.
    /// Of alternatives each counts, because it is not known which one is meant.
    pub fn of_schema(schema: &Value) -> Self {
        Self {
            graph: Graph::read(schema).map(Arc::new),
        }
    }

    /// Whether no field is secret.
    pub fn is_empty(&self) -> bool {
        self.graph.is_none()
    }

    /// The value with every secret field replaced by `***`, whatever it is; and what stood there,
    /// so that it can be hidden where it comes back.
    pub fn hide(&self, value: &Value) -> (Value, OwnSecrets) {
        let Some(graph) = self.graph.as_deref() else {
            return (value.clone(), OwnSecrets::none());
        };
        let mut hiding = FieldRedaction {
            graph,
            steps: 0,
            found: Collection::default(),
        };
        let hidden = hiding.value(value, [Graph::ROOT].into(), 0);
        (hidden, hiding.found.into())
    }

    /// Secrets that stand in the secret fields of a value.
    pub fn collect(&self, value: &Value) -> OwnSecrets {
        self.hide(value).1
    }
}

/// One value on its way through a graph of subschemas.
struct FieldRedaction<'a> {
    graph: &'a Graph,
    steps: usize,
    found: Collection,
}

impl FieldRedaction<'_> {
    /// The value without its secrets; `nodes` are the subschemas that apply to it.
    fn value(&mut self, value: &Value, mut nodes: BTreeSet<usize>, depth: usize) -> Value {
        if nodes.is_empty() {
            return value.clone();
        }
        self.graph.unfold(&mut nodes);
        self.steps += nodes.len();
        if self.graph.has_secret(&nodes) || depth > DEEPEST_VALUE {
            return self.secret(value);
        }
        let cost = self.graph.cost(&nodes);
        match value {
            Value::Object(fields) => fields
                .iter()
                .map(|(name, field)| {
                    let find = |graph: &Graph| graph.of_member(&nodes, name);
                    (name.clone(), self.part(field, cost, find, depth))
                })
                .collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| {
                    let find = |graph: &Graph| graph.of_item(&nodes, index);
                    self.part(item, cost, find, depth)
                })
                .collect(),
            _ => value.clone(),
        }
    }

    /// A member or item. It is not known what is secret in it when the steps are used up.
    fn part(
        &mut self,
        value: &Value,
        cost: usize,
        find: impl Fn(&Graph) -> BTreeSet<usize>,
        depth: usize,
    ) -> Value {
        self.steps += cost;
        if self.steps > MOST_STEPS {
            return self.secret(value);
        }
        self.value(value, find(self.graph), depth + 1)
    }

    fn secret(&mut self, value: &Value) -> Value {
        self.found.add_scalars(value);
        Value::from(MASKED)
    }
}
