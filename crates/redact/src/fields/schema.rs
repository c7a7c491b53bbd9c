//! A schema, reduced to where its secret fields are.

use std::collections::{BTreeSet, HashMap};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// The most subschemas that are read.
const MOST_SUBSCHEMAS: usize = 10_000;

/// The subschemas from which a secret field can be reached.
#[derive(Debug)]
pub(super) struct Graph {
    nodes: Vec<Node>,
}

/// One subschema, by what it says of secrets. Numbers are positions in the graph.
#[derive(Debug, Default)]
struct Node {
    is_secret: bool,
    properties: HashMap<String, usize>,
    /// The first items, one by one.
    first_items: Vec<usize>,
    others: Vec<(SubschemaScope, usize)>,
}

/// Values that a subschema inside of another one applies to.
#[derive(Debug)]
enum SubschemaScope {
    SameValue,
    MembersLike(Pattern),
    /// Members that neither `properties` nor `patternProperties` speaks of.
    OtherMembers,
    AllMembers,
    /// Items after the first ones.
    OtherItems,
    AllItems,
}

/// A regular expression over the names of members, as far as it is understood. One that is not
/// counts as if it fitted every name.
#[derive(Debug, Default)]
struct Pattern {
    literal: String,
    is_start: bool,
    is_end: bool,
}

// === impl Graph ===

impl Graph {
    /// Number of the schema itself.
    pub(super) const ROOT: usize = 0;

    /// Reads a schema; `None` if it marks no field.
    pub(super) fn read(schema: &Value) -> Option<Self> {
        let Some(nodes) = SubschemaReader::read(schema) else {
            return Some(Self::everything());
        };
        let mut graph = Self { nodes };
        let leads = graph.leading_to_secrets();
        if !leads[Self::ROOT] {
            return None;
        }
        for node in &mut graph.nodes {
            node.keep(&leads);
        }
        Some(graph)
    }

    /// A graph that says that the whole value is secret.
    pub(super) fn everything() -> Self {
        let root = Node {
            is_secret: true,
            ..Node::default()
        };
        Self { nodes: vec![root] }
    }

    /// Adds the subschemas that apply to the same value as these.
    pub(super) fn unfold(&self, nodes: &mut BTreeSet<usize>) {
        let mut open: Vec<usize> = nodes.iter().copied().collect();
        while let Some(node) = open.pop() {
            for (applies_to, other) in &self.nodes[node].others {
                if matches!(applies_to, SubschemaScope::SameValue) && nodes.insert(*other) {
                    open.push(*other);
                }
            }
        }
    }

    pub(super) fn has_secret(&self, nodes: &BTreeSet<usize>) -> bool {
        nodes.iter().any(|node| self.nodes[*node].is_secret)
    }

    /// About how many comparisons it takes to find those that apply to one member or item.
    pub(super) fn cost(&self, nodes: &BTreeSet<usize>) -> usize {
        let costs = |(applies_to, _): &&(SubschemaScope, usize)| {
            !matches!(
                applies_to,
                SubschemaScope::SameValue | SubschemaScope::OtherMembers
            )
        };
        let nodes = nodes.iter().map(|node| &self.nodes[*node]);
        nodes
            .map(|node| 1 + node.others.iter().filter(costs).count())
            .sum()
    }

    /// The subschemas that apply to a member of an object to which these apply.
    pub(super) fn of_member(&self, nodes: &BTreeSet<usize>, name: &str) -> BTreeSet<usize> {
        let mut below = BTreeSet::new();
        for node in nodes.iter().map(|node| &self.nodes[*node]) {
            let own = node.properties.get(name);
            let mut is_named = own.is_some();
            let mut remaining = None;
            below.extend(own);
            for (applies_to, schema) in &node.others {
                match applies_to {
                    SubschemaScope::AllMembers => below.extend([schema]),
                    SubschemaScope::MembersLike(pattern) if pattern.fits(name) => {
                        below.extend([schema]);
                        is_named |= pattern.is_understood();
                    }
                    SubschemaScope::OtherMembers => remaining = Some(schema),
                    _ => {}
                }
            }
            below.extend(remaining.filter(|_| !is_named));
        }
        below
    }

    /// The subschemas that apply to an item of a list to which these apply.
    pub(super) fn of_item(&self, nodes: &BTreeSet<usize>, index: usize) -> BTreeSet<usize> {
        let mut below = BTreeSet::new();
        for node in nodes.iter().map(|node| &self.nodes[*node]) {
            let own = node.first_items.get(index);
            below.extend(own);
            for (applies_to, schema) in &node.others {
                match applies_to {
                    SubschemaScope::AllItems => below.extend([schema]),
                    SubschemaScope::OtherItems if own.is_none() => below.extend([schema]),
                    _ => {}
                }
            }
        }
        below
    }

    /// Nodes from which a secret can be reached, by their places.
    fn leading_to_secrets(&self) -> Vec<bool> {
        let mut before = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for next in node.next() {
                before[next].push(index);
            }
        }
        let mut leads = vec![false; self.nodes.len()];
        let mut open: Vec<usize> = (0..self.nodes.len())
            .filter(|node| self.nodes[*node].is_secret)
            .collect();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut leads[node], true) {
                open.extend(&before[node]);
            }
        }
        leads
    }
}

// === impl Node ===

impl Node {
    fn next(&self) -> impl Iterator<Item = usize> {
        let others = self.others.iter().map(|(_, node)| node);
        let named = self.properties.values().chain(&self.first_items);
        named.chain(others).copied()
    }

    /// Drops what leads nowhere, but not names and places that keep something else from applying.
    fn keep(&mut self, leads: &[bool]) {
        let has_other_members = self.others.iter().any(|(applies_to, node)| {
            matches!(applies_to, SubschemaScope::OtherMembers) && leads[*node]
        });
        self.others.retain(|(applies_to, node)| {
            let is_name = matches!(applies_to, SubschemaScope::MembersLike(_));
            leads[*node] || (is_name && has_other_members)
        });
        self.properties
            .retain(|_, node| leads[*node] || has_other_members);
    }
}

// === impl Pattern ===

impl Pattern {
    fn parse(pattern: &str) -> Self {
        let rest = pattern.strip_prefix('^').unwrap_or(pattern);
        let literal = rest.strip_suffix('$').unwrap_or(rest);
        let is_literal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_ ".contains(&byte);
        if !literal.bytes().all(is_literal) {
            return Self::default();
        }
        Self {
            literal: literal.to_owned(),
            is_start: pattern.starts_with('^'),
            is_end: rest.ends_with('$'),
        }
    }

    fn fits(&self, name: &str) -> bool {
        let literal = self.literal.as_str();
        match (self.is_start, self.is_end) {
            (true, true) => name == literal,
            (true, false) => name.starts_with(literal),
            (false, true) => name.ends_with(literal),
            (false, false) => name.contains(literal),
        }
    }

    /// Whether it fits a name because it says so, rather than because nobody knows.
    fn is_understood(&self) -> bool {
        !self.literal.is_empty()
    }
}

/// Reads subschemas, each one once.
struct SubschemaReader<'a> {
    root: &'a Value,
    /// Subschemas by name; found when the first reference asks for one.
    anchors: Option<HashMap<&'a str, &'a Value>>,
    /// The place in memory of each subschema that was met, and its number.
    numbers: HashMap<*const Value, usize>,
    open: Vec<(usize, &'a Value)>,
    nodes: Vec<Node>,
}

impl<'a> SubschemaReader<'a> {
    /// Reads everything that can be reached; `None` if it is too much.
    fn read(root: &'a Value) -> Option<Vec<Node>> {
        let mut reader = Self {
            root,
            anchors: None,
            numbers: HashMap::new(),
            open: Vec::new(),
            nodes: Vec::new(),
        };
        reader.number(root);
        while let Some((number, schema)) = reader.open.pop() {
            if reader.nodes.len() > MOST_SUBSCHEMAS {
                return None;
            }
            // A schema may also be `true` or `false`, which marks nothing.
            if let Value::Object(keywords) = schema {
                reader.nodes[number] = reader.node(keywords);
            }
        }
        Some(reader.nodes)
    }

    fn node(&mut self, keywords: &'a Map<String, Value>) -> Node {
        let mut node = Node {
            is_secret: keywords.get("writeOnly") == Some(&Value::Bool(true))
                || keywords.get("format").and_then(Value::as_str) == Some("password"),
            ..Node::default()
        };
        for (keyword, value) in keywords {
            let mut add = |applies_to, schema| node.others.push((applies_to, self.number(schema)));
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    if let Some(schema) = self.target(reference) {
                        node.others
                            .push((SubschemaScope::SameValue, self.number(schema)));
                    }
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => {
                    for one in list {
                        add(SubschemaScope::SameValue, one);
                    }
                }
                ("if" | "then" | "else", schema) => add(SubschemaScope::SameValue, schema),
                ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                    for one in schemas.values() {
                        add(SubschemaScope::SameValue, one);
                    }
                }
                ("properties", Value::Object(schemas)) => {
                    let fields = schemas.iter();
                    node.properties = fields
                        .map(|(name, schema)| (name.clone(), self.number(schema)))
                        .collect();
                }
                ("patternProperties", Value::Object(schemas)) => {
                    for (name, schema) in schemas {
                        add(SubschemaScope::MembersLike(Pattern::parse(name)), schema);
                    }
                }
                ("additionalProperties", schema) => add(SubschemaScope::OtherMembers, schema),
                ("unevaluatedProperties", schema) => add(SubschemaScope::AllMembers, schema),
                ("prefixItems" | "items", Value::Array(list)) => {
                    node.first_items = list.iter().map(|one| self.number(one)).collect();
                }
                ("items" | "additionalItems", schema) => add(SubschemaScope::OtherItems, schema),
                ("contains" | "unevaluatedItems", schema) => add(SubschemaScope::AllItems, schema),
                _ => {}
            }
        }
        node
    }

    /// The number of a subschema, which is read later if it was not met before.
    fn number(&mut self, schema: &'a Value) -> usize {
        *self.numbers.entry(schema).or_insert_with(|| {
            self.nodes.push(Node::default());
            self.open.push((self.nodes.len() - 1, schema));
            self.nodes.len() - 1
        })
    }

    /// Subschema that a reference points to, if it is inside this schema.
    fn target(&mut self, reference: &str) -> Option<&'a Value> {
        let fragment = percent_decode_str(reference.strip_prefix('#')?).decode_utf8_lossy();
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&fragment);
        }
        let root = self.root;
        let anchors = self.anchors.get_or_insert_with(|| anchors(root));
        anchors.get(&*fragment).copied()
    }
}

/// The subschemas that have a name.
fn anchors(root: &Value) -> HashMap<&str, &Value> {
    let mut found = HashMap::new();
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                let keys = ["$anchor", "$dynamicAnchor", "$id"];
                for name in keys.iter().filter_map(|key| fields.get(*key)?.as_str()) {
                    found.insert(name.strip_prefix('#').unwrap_or(name), value);
                }
                open.extend(fields.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}
