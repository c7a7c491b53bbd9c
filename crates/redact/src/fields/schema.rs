//! A schema, reduced to where its secret fields are.

use std::collections::{BTreeSet, HashMap};

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
    /// Those that apply to the same value.
    same: Vec<usize>,
    properties: HashMap<String, usize>,
    patterns: Vec<(Pattern, usize)>,
    /// Applies to members that neither `properties` nor `patternProperties` speaks of.
    additional: Option<usize>,
    /// Apply to all members.
    members: Vec<usize>,
    /// The first items, one by one.
    first_items: Vec<usize>,
    /// Apply to the items after those.
    other_items: Vec<usize>,
    /// Apply to all items.
    items: Vec<usize>,
}

/// A regular expression over the names of members, as far as it is understood. One that is not
/// counts as if it fitted every name.
#[derive(Debug)]
struct Pattern {
    literal: String,
    is_start: bool,
    is_end: bool,
}

// === impl Graph ===

impl Graph {
    /// Where the schema itself is.
    pub(super) const ROOT: usize = 0;

    /// Reads a schema; `None` if it marks no field.
    pub(super) fn read(schema: &Value) -> Option<Self> {
        let mut reader = SubschemaReader::new(schema);
        if !reader.read() {
            return Some(Self::everything());
        }
        let mut graph = Self {
            nodes: reader.nodes,
        };
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
            open.extend(
                self.nodes[node]
                    .same
                    .iter()
                    .filter(|one| nodes.insert(**one)),
            );
        }
    }

    pub(super) fn has_secret(&self, nodes: &BTreeSet<usize>) -> bool {
        nodes.iter().any(|node| self.nodes[*node].is_secret)
    }

    /// About how many comparisons it takes to find those that apply to one member or item.
    pub(super) fn cost(&self, nodes: &BTreeSet<usize>) -> usize {
        let nodes = nodes.iter().map(|node| &self.nodes[*node]);
        nodes
            .map(|node| {
                let items = node.items.len() + node.other_items.len();
                1 + node.patterns.len() + node.members.len() + items
            })
            .sum()
    }

    /// The subschemas that apply to a member of an object to which these apply.
    pub(super) fn of_member(&self, nodes: &BTreeSet<usize>, name: &str) -> BTreeSet<usize> {
        let mut below = BTreeSet::new();
        for node in nodes.iter().map(|node| &self.nodes[*node]) {
            below.extend(&node.members);
            let own = node.properties.get(name);
            let mut is_named = own.is_some();
            below.extend(own);
            for (pattern, schema) in &node.patterns {
                if pattern.fits(name) {
                    below.insert(*schema);
                    is_named |= pattern.is_understood();
                }
            }
            if !is_named {
                below.extend(node.additional);
            }
        }
        below
    }

    /// The subschemas that apply to an item of a list to which these apply.
    pub(super) fn of_item(&self, nodes: &BTreeSet<usize>, index: usize) -> BTreeSet<usize> {
        let mut below = BTreeSet::new();
        for node in nodes.iter().map(|node| &self.nodes[*node]) {
            below.extend(&node.items);
            match node.first_items.get(index) {
                Some(one) => below.extend([one]),
                None => below.extend(&node.other_items),
            }
        }
        below
    }

    /// For each node, whether a secret can be reached from it.
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
        let lists = [
            &self.same,
            &self.members,
            &self.first_items,
            &self.other_items,
            &self.items,
        ];
        lists
            .into_iter()
            .flatten()
            .chain(self.properties.values())
            .chain(self.patterns.iter().map(|(_, node)| node))
            .chain(&self.additional)
            .copied()
    }

    /// Drops what leads nowhere, but not names and places that keep something else from applying.
    fn keep(&mut self, leads: &[bool]) {
        for list in [
            &mut self.same,
            &mut self.members,
            &mut self.other_items,
            &mut self.items,
        ] {
            list.retain(|node| leads[*node]);
        }
        self.additional = self.additional.filter(|node| leads[*node]);
        if self.additional.is_none() {
            self.properties.retain(|_, node| leads[*node]);
            self.patterns.retain(|(_, node)| leads[*node]);
        }
    }
}

// === impl Pattern ===

impl Pattern {
    fn parse(pattern: &str) -> Self {
        let (is_start, rest) = match pattern.strip_prefix('^') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let (is_end, rest) = match rest.strip_suffix('$') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let is_literal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_ ".contains(&byte);
        if rest.bytes().all(is_literal) {
            Self {
                literal: rest.to_owned(),
                is_start,
                is_end,
            }
        } else {
            Self {
                literal: String::new(),
                is_start: false,
                is_end: false,
            }
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
    fn new(root: &'a Value) -> Self {
        let mut reader = Self {
            root,
            anchors: None,
            numbers: HashMap::new(),
            open: Vec::new(),
            nodes: Vec::new(),
        };
        reader.number(root);
        reader
    }

    /// Reads everything that can be reached; `false` if it is too much.
    fn read(&mut self) -> bool {
        while let Some((number, schema)) = self.open.pop() {
            if self.nodes.len() > MOST_SUBSCHEMAS {
                return false;
            }
            // A schema may also be `true` or `false`, which marks nothing.
            if let Value::Object(keywords) = schema {
                self.nodes[number] = self.node(keywords);
            }
        }
        true
    }

    fn node(&mut self, keywords: &'a Map<String, Value>) -> Node {
        let mut node = Node {
            is_secret: keywords.get("writeOnly") == Some(&Value::Bool(true))
                || keywords.get("format").and_then(Value::as_str) == Some("password"),
            ..Node::default()
        };
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    let target = self.target(reference);
                    node.same.extend(target.map(|schema| self.number(schema)));
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => {
                    node.same.extend(self.numbers_of(list));
                }
                ("if" | "then" | "else", schema) => node.same.push(self.number(schema)),
                ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                    node.same.extend(self.numbers_of(schemas.values()));
                }
                ("properties", Value::Object(schemas)) => {
                    let fields = schemas.iter();
                    node.properties = fields
                        .map(|(name, schema)| (name.clone(), self.number(schema)))
                        .collect();
                }
                ("patternProperties", Value::Object(schemas)) => {
                    let fields = schemas.iter();
                    node.patterns = fields
                        .map(|(name, schema)| (Pattern::parse(name), self.number(schema)))
                        .collect();
                }
                ("additionalProperties", schema) => node.additional = Some(self.number(schema)),
                ("unevaluatedProperties", schema) => node.members.push(self.number(schema)),
                ("prefixItems" | "items", Value::Array(list)) => {
                    node.first_items = self.numbers_of(list);
                }
                ("items" | "additionalItems", schema) => {
                    node.other_items.push(self.number(schema));
                }
                ("contains" | "unevaluatedItems", schema) => node.items.push(self.number(schema)),
                _ => {}
            }
        }
        node
    }

    fn numbers_of(&mut self, schemas: impl IntoIterator<Item = &'a Value>) -> Vec<usize> {
        schemas
            .into_iter()
            .map(|schema| self.number(schema))
            .collect()
    }

    /// The number of a subschema, which is read later if it was not met before.
    fn number(&mut self, schema: &'a Value) -> usize {
        *self.numbers.entry(schema).or_insert_with(|| {
            self.nodes.push(Node::default());
            self.open.push((self.nodes.len() - 1, schema));
            self.nodes.len() - 1
        })
    }

    /// What a reference points to, if that is inside this schema.
    fn target(&mut self, reference: &str) -> Option<&'a Value> {
        let fragment = percent_decoded(reference.strip_prefix('#')?);
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&fragment);
        }
        let root = self.root;
        let anchors = self.anchors.get_or_insert_with(|| anchors(root));
        anchors.get(fragment.as_str()).copied()
    }
}

/// The subschemas that have a name.
fn anchors(root: &Value) -> HashMap<&str, &Value> {
    let mut found = HashMap::new();
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                let names = [
                    fields.get("$anchor"),
                    fields.get("$dynamicAnchor"),
                    fields.get("$id"),
                ];
                for name in names.into_iter().flatten().filter_map(Value::as_str) {
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

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = text
            .get(text.len() - after.len()..)
            .and_then(|text| text.get(..2));
        let decoded = digits
            .filter(|digits| *first == b'%' && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() {
            &after[2..]
        } else {
            after
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
