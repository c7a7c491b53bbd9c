//! Compilation: a schema's JSON into keywords, each subschema once, references as numbers.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Number, Value};

use crate::mismatch::{JsonType, shown};
use crate::pattern::TextPattern;
use crate::references::SchemaDocument;
use crate::{Schema, Subschema, SubschemaId};

/// The most subschemas.
const SUBSCHEMA_LIMIT: usize = 20_000;

/// Keyword of a subschema, with what it asks for.
#[derive(Debug)]
pub(crate) enum Keyword {
    Never,
    Type(Vec<JsonType>),
    Enum(Vec<Value>),
    Constant(Value),
    Minimum(Number),
    Maximum(Number),
    ExclusiveMinimum(Number),
    ExclusiveMaximum(Number),
    MultipleOf(Number),
    MinLength(usize),
    MaxLength(usize),
    Pattern(TextPattern),
    MinItems(usize),
    MaxItems(usize),
    UniqueItems,
    Items {
        prefix: Vec<SubschemaId>,
        rest: Option<SubschemaId>,
    },
    Contains {
        item: SubschemaId,
        least: usize,
        most: Option<usize>,
    },
    MinProperties(usize),
    MaxProperties(usize),
    Required(Vec<String>),
    DependentRequired(Vec<(String, Vec<String>)>),
    DependentSchemas(Vec<(String, SubschemaId)>),
    PropertyNames(SubschemaId),
    Properties(Properties),
    AllOf(Vec<SubschemaId>),
    AnyOf(Vec<SubschemaId>),
    OneOf(Vec<SubschemaId>),
    /// Subschema that must not match, with the schema as it may appear in a message.
    Not(SubschemaId, String),
    If {
        condition: SubschemaId,
        then: Option<SubschemaId>,
        otherwise: Option<SubschemaId>,
    },
    Reference(SubschemaId),
    UnevaluatedItems(SubschemaId),
    UnevaluatedProperties(SubschemaId),
}

/// Properties of an object: `properties`, `patternProperties` and `additionalProperties`, which is about those that
/// neither of the two names.
#[derive(Debug, Default)]
pub(crate) struct Properties {
    pub(crate) named: BTreeMap<String, SubschemaId>,
    pub(crate) patterns: Vec<(TextPattern, SubschemaId)>,
    pub(crate) additional: Option<SubschemaId>,
    /// Names of `named` in the order of the schema.
    pub(crate) names: Vec<String>,
}

/// Compiles a schema and everything it refers to.
pub(crate) fn compile(schema: &Value) -> Result<Schema, String> {
    let mut compiler = Compiler {
        document: SchemaDocument::read(schema)?,
        known: HashMap::new(),
        open: Vec::new(),
        subschemas: Vec::new(),
    };
    let root = compiler.id_of(schema)?;
    while let Some((id, schema)) = compiler.open.pop() {
        compiler.subschemas[id] = compiler.subschema(schema)?;
    }
    Ok(Schema {
        subschemas: compiler.subschemas,
        root,
    })
}

struct Compiler<'a> {
    document: SchemaDocument<'a>,
    known: HashMap<*const Value, SubschemaId>,
    /// Subschemas that have a number and are not compiled yet.
    open: Vec<(SubschemaId, &'a Value)>,
    subschemas: Vec<Subschema>,
}

impl<'a> Compiler<'a> {
    /// The number of a subschema. It is compiled later, so that nothing here goes deep.
    fn id_of(&mut self, schema: &'a Value) -> Result<SubschemaId, String> {
        if let Some(id) = self.known.get(&std::ptr::from_ref(schema)) {
            return Ok(*id);
        }
        if !schema.is_object() && !schema.is_boolean() {
            return Err("a part of it that should be a schema is none".to_owned());
        }
        if self.subschemas.len() >= SUBSCHEMA_LIMIT {
            return Err(format!("it has more than {SUBSCHEMA_LIMIT} parts"));
        }
        let id = self.subschemas.len();
        self.subschemas.push(Subschema::default());
        self.known.insert(std::ptr::from_ref(schema), id);
        self.open.push((id, schema));
        Ok(id)
    }

    fn ids_of(&mut self, keyword: &str, value: &'a Value) -> Result<Vec<SubschemaId>, String> {
        let list = value
            .as_array()
            .ok_or_else(|| must(keyword, "be a list of schemas"))?;
        list.iter().map(|schema| self.id_of(schema)).collect()
    }

    fn subschema(&mut self, schema: &'a Value) -> Result<Subschema, String> {
        let Value::Object(fields) = schema else {
            let keywords = match schema {
                Value::Bool(true) => Vec::new(),
                _ => vec![Keyword::Never],
            };
            return Ok(Subschema {
                keywords,
                tracks: false,
            });
        };
        let reference = fields
            .get("$ref")
            .filter(|_| self.document.reference_stands_alone);
        if let Some(reference) = reference {
            let keywords = vec![self.reference("$ref", reference)?];
            return Ok(Subschema {
                keywords,
                tracks: false,
            });
        }
        let mut keywords = Vec::new();
        for (name, value) in fields {
            keywords.extend(self.keyword(name, value, fields)?);
        }
        keywords.extend(self.properties(fields)?);
        keywords.extend(self.items(fields)?);
        // They ask for what no other keyword looked at, so they come last.
        let before = keywords.len();
        if let Some(value) = fields.get("unevaluatedItems") {
            keywords.push(Keyword::UnevaluatedItems(self.id_of(value)?));
        }
        if let Some(value) = fields.get("unevaluatedProperties") {
            keywords.push(Keyword::UnevaluatedProperties(self.id_of(value)?));
        }
        let tracks = keywords.len() > before;
        Ok(Subschema { keywords, tracks })
    }

    /// A keyword that is understood by itself, or with one beside it.
    fn keyword(
        &mut self,
        name: &str,
        value: &'a Value,
        beside: &'a Map<String, Value>,
    ) -> Result<Option<Keyword>, String> {
        Ok(Some(match name {
            "$ref" | "$dynamicRef" | "$recursiveRef" => self.reference(name, value)?,
            "type" => Keyword::Type(types(value)?),
            "enum" => Keyword::Enum(list(name, value)?.clone()),
            "const" => Keyword::Constant(value.clone()),
            // Draft 4 has a flag beside the limit.
            "minimum" if beside.get("exclusiveMinimum") == Some(&Value::Bool(true)) => {
                Keyword::ExclusiveMinimum(number(name, value)?)
            }
            "maximum" if beside.get("exclusiveMaximum") == Some(&Value::Bool(true)) => {
                Keyword::ExclusiveMaximum(number(name, value)?)
            }
            "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => return Ok(None),
            "minimum" => Keyword::Minimum(number(name, value)?),
            "maximum" => Keyword::Maximum(number(name, value)?),
            "exclusiveMinimum" => Keyword::ExclusiveMinimum(number(name, value)?),
            "exclusiveMaximum" => Keyword::ExclusiveMaximum(number(name, value)?),
            "multipleOf" => {
                let of = number(name, value)?;
                if of.as_f64().is_none_or(|of| of <= 0.0) {
                    return Err(must(name, "be more than zero"));
                }
                Keyword::MultipleOf(of)
            }
            "minLength" => Keyword::MinLength(count(name, value)?),
            "maxLength" => Keyword::MaxLength(count(name, value)?),
            "pattern" => Keyword::Pattern(TextPattern::compile(text(name, value)?)?),
            "minItems" => Keyword::MinItems(count(name, value)?),
            "maxItems" => Keyword::MaxItems(count(name, value)?),
            "uniqueItems" => match value {
                Value::Bool(true) => Keyword::UniqueItems,
                Value::Bool(false) => return Ok(None),
                _ => return Err(must(name, "be true or false")),
            },
            "contains" => Keyword::Contains {
                item: self.id_of(value)?,
                least: optional(beside, "minContains", count)?.unwrap_or(1),
                most: optional(beside, "maxContains", count)?,
            },
            "minProperties" => Keyword::MinProperties(count(name, value)?),
            "maxProperties" => Keyword::MaxProperties(count(name, value)?),
            "required" => Keyword::Required(names(name, value)?),
            "dependentRequired" => {
                let each = object(name, value)?.iter();
                let each = each.map(|(key, value)| Ok((key.clone(), names(name, value)?)));
                Keyword::DependentRequired(each.collect::<Result<_, String>>()?)
            }
            "dependentSchemas" => Keyword::DependentSchemas(self.named(name, value)?),
            "dependencies" => return self.dependencies(value).map(Some),
            "propertyNames" => Keyword::PropertyNames(self.id_of(value)?),
            "allOf" => Keyword::AllOf(self.ids_of(name, value)?),
            "anyOf" => Keyword::AnyOf(self.ids_of(name, value)?),
            "oneOf" => Keyword::OneOf(self.ids_of(name, value)?),
            "not" => Keyword::Not(self.id_of(value)?, shown(value)),
            "if" => {
                let mut branch = |name| {
                    beside
                        .get(name)
                        .map(|schema| self.id_of(schema))
                        .transpose()
                };
                let (then, otherwise) = (branch("then")?, branch("else")?);
                Keyword::If {
                    condition: self.id_of(value)?,
                    then,
                    otherwise,
                }
            }
            _ => return Ok(None),
        }))
    }

    fn reference(&mut self, keyword: &str, value: &'a Value) -> Result<Keyword, String> {
        let target = self.document.resolve(text(keyword, value)?)?;
        Ok(Keyword::Reference(self.id_of(target)?))
    }

    fn named(
        &mut self,
        keyword: &str,
        value: &'a Value,
    ) -> Result<Vec<(String, SubschemaId)>, String> {
        let each = object(keyword, value)?.iter();
        each.map(|(name, schema)| Ok((name.clone(), self.id_of(schema)?)))
            .collect()
    }

    /// `dependencies` of draft 7 has names and schemas under one keyword.
    fn dependencies(&mut self, value: &'a Value) -> Result<Keyword, String> {
        let mut all = Vec::new();
        let mut required = Vec::new();
        for (name, value) in object("dependencies", value)? {
            if value.is_array() {
                required.push((name.clone(), names("dependencies", value)?));
            } else {
                all.push((name.clone(), self.id_of(value)?));
            }
        }
        if all.is_empty() {
            return Ok(Keyword::DependentRequired(required));
        }
        let id = self.subschemas.len();
        self.subschemas.push(Subschema {
            keywords: vec![Keyword::DependentRequired(required)],
            tracks: false,
        });
        let other = self.subschemas.len();
        self.subschemas.push(Subschema {
            keywords: vec![Keyword::DependentSchemas(all)],
            tracks: false,
        });
        Ok(Keyword::AllOf(vec![id, other]))
    }

    fn properties(&mut self, fields: &'a Map<String, Value>) -> Result<Option<Keyword>, String> {
        let of = |name| fields.get(name);
        let mut properties = Properties::default();
        if let Some(value) = of("properties") {
            let named = self.named("properties", value)?;
            properties.names = named.iter().map(|(name, _)| name.clone()).collect();
            properties.named = named.into_iter().collect();
        }
        if let Some(value) = of("patternProperties") {
            for (pattern, id) in self.named("patternProperties", value)? {
                properties
                    .patterns
                    .push((TextPattern::compile(&pattern)?, id));
            }
        }
        if let Some(value) = of("additionalProperties") {
            properties.additional = Some(self.id_of(value)?);
        }
        let is_empty = properties.named.is_empty()
            && properties.patterns.is_empty()
            && properties.additional.is_none();
        Ok((!is_empty).then_some(Keyword::Properties(properties)))
    }

    /// `prefixItems` with `items`, or, before 2020-12, a list under `items` with `additionalItems`.
    fn items(&mut self, fields: &'a Map<String, Value>) -> Result<Option<Keyword>, String> {
        let (items, first) = (fields.get("items"), fields.get("prefixItems"));
        let (prefix, rest) = match (items, first) {
            (Some(list @ Value::Array(_)), _) => {
                (self.ids_of("items", list)?, fields.get("additionalItems"))
            }
            (rest, Some(list)) => (self.ids_of("prefixItems", list)?, rest),
            (rest, None) => (Vec::new(), rest),
        };
        let rest = rest.map(|schema| self.id_of(schema)).transpose()?;
        let is_empty = prefix.is_empty() && rest.is_none();
        Ok((!is_empty).then_some(Keyword::Items { prefix, rest }))
    }
}

fn must(keyword: &str, what: &str) -> String {
    format!("`{keyword}` must {what}")
}

fn types(value: &Value) -> Result<Vec<JsonType>, String> {
    let one = |value: &Value| {
        let name = value.as_str().unwrap_or_default();
        JsonType::named(name)
            .ok_or_else(|| must("type", &format!("name types of JSON, not {}", shown(value))))
    };
    match value {
        Value::Array(names) => names.iter().map(one).collect(),
        name => Ok(vec![one(name)?]),
    }
}

fn text<'a>(keyword: &str, value: &'a Value) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| must(keyword, "be a text"))
}

fn list<'a>(keyword: &str, value: &'a Value) -> Result<&'a Vec<Value>, String> {
    value.as_array().ok_or_else(|| must(keyword, "be a list"))
}

fn object<'a>(keyword: &str, value: &'a Value) -> Result<&'a Map<String, Value>, String> {
    value
        .as_object()
        .ok_or_else(|| must(keyword, "be an object"))
}

fn names(keyword: &str, value: &Value) -> Result<Vec<String>, String> {
    let names = list(keyword, value)?.iter();
    names
        .map(|name| text(keyword, name).map(str::to_owned))
        .collect()
}

fn number(keyword: &str, value: &Value) -> Result<Number, String> {
    value
        .as_number()
        .cloned()
        .ok_or_else(|| must(keyword, "be a number"))
}

/// A count, which may be written `2.0`.
fn count(keyword: &str, value: &Value) -> Result<usize, String> {
    let number = number(keyword, value)?;
    let whole = crate::number::integer(&number).filter(|whole| *whole >= 0);
    let whole = whole.ok_or_else(|| must(keyword, "be a number of things"))?;
    Ok(usize::try_from(whole).unwrap_or(usize::MAX))
}

fn optional<T>(
    fields: &Map<String, Value>,
    name: &str,
    read: fn(&str, &Value) -> Result<T, String>,
) -> Result<Option<T>, String> {
    fields.get(name).map(|value| read(name, value)).transpose()
}
