//! The tools of a service, each of which keeps the contract.

use std::collections::HashMap;

use mcpproxy_redact::SecretFields;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::dyn_tool::Registered;
use crate::validate::Findings;
use crate::violation::{ContractViolation, ContractViolations, Rule};
use crate::{CategoryName, Service, Tool, Version, validate};

/// Tools by name, in the order they were registered.
#[derive(Debug)]
pub struct Registry {
    pub(crate) name: String,
    pub(crate) version: Version,
    pub(crate) tools: Vec<Registered>,
    pub(crate) by_name: HashMap<String, usize>,
    /// What is wrong with tools that were not taken; told when the service is made.
    refused: Vec<ContractViolation>,
}

impl Registry {
    /// The registry of a service, without tools yet.
    pub fn new(service: impl Into<String>, version: Version) -> Self {
        Self {
            name: service.into(),
            version,
            tools: Vec::new(),
            by_name: HashMap::new(),
            refused: Vec::new(),
        }
    }

    /// The name of the service.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version of the service.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Registry with a tool. What is wrong with it is told by [`Registry::into_service`], together
    /// with what is wrong with the others.
    #[must_use]
    pub fn with<T: Tool>(mut self, tool: T) -> Self {
        if let Err(violations) = self.register(tool) {
            self.refused.extend(violations.iter().cloned());
        }
        self
    }

    /// Takes a tool, or tells everything that is wrong with it.
    pub fn register<T: Tool>(&mut self, tool: T) -> Result<(), ContractViolations> {
        let registered = prepare(tool);
        ContractViolations::none_or(self.violations::<T>(&registered))?;
        self.by_name.insert(T::NAME.to_owned(), self.tools.len());
        self.tools.push(registered);
        Ok(())
    }

    /// Tells everything that is wrong with a tool, without taking it.
    pub fn validate<T: Tool>(&self, tool: T) -> Result<(), ContractViolations> {
        ContractViolations::none_or(self.violations::<T>(&prepare(tool)))
    }

    /// A tool by its name.
    pub fn get(&self, name: &str) -> Option<&Registered> {
        self.by_name.get(name).map(|index| &self.tools[*index])
    }

    /// All tools.
    pub fn get_all(&self) -> impl Iterator<Item = &Registered> {
        self.tools.iter()
    }

    /// The tools of a category.
    pub fn get_by_category(&self, category: CategoryName) -> impl Iterator<Item = &Registered> {
        self.tools
            .iter()
            .filter(move |tool| tool.definition.category == category)
    }

    /// The tools with a tag.
    pub fn get_by_tag<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a Registered> {
        self.tools
            .iter()
            .filter(move |tool| tool.definition.tags.iter().any(|own| own == tag))
    }

    /// The service that answers calls to these tools. Every tool that is to be replaced must have
    /// its replacement here.
    pub fn into_service(self) -> Result<Service, ContractViolations> {
        let missing = self.tools.iter().filter_map(|tool| {
            let replacement = tool.definition.deprecated?.replacement();
            (!self.by_name.contains_key(replacement)).then(|| ContractViolation {
                tool: tool.definition.name.clone(),
                rule: Rule::DeprecationReplacement,
                message: format!("the replacement '{replacement}' is not registered"),
            })
        });
        let found = self.refused.iter().cloned().chain(missing).collect();
        ContractViolations::none_or(found)?;
        Ok(Service::new(self))
    }

    fn violations<T: Tool>(&self, registered: &Registered) -> Vec<ContractViolation> {
        let mut findings = Findings::about(T::NAME);
        findings.expect(
            !self.by_name.contains_key(T::NAME),
            Rule::NameUnique,
            format!("another tool is registered under the name '{}'", T::NAME),
        );
        let missing = T::definition().missing();
        findings.expect(
            missing.is_empty(),
            Rule::DescriptionParts,
            format!("the description is empty in: {}", missing.join(", ")),
        );
        examples(registered, &mut findings);
        findings.expect(
            !admits_null(&registered.data_schema),
            Rule::DataNotNull,
            "the output may be null; give back an error, or an object that says what there is not",
        );
        let definition = serde_json::to_value(&registered.definition).unwrap_or_default();
        let mut found = findings.into_found();
        found.extend(validate::definition(&definition, &registered.input_schema));
        found
    }
}

fn prepare<T: Tool>(tool: T) -> Registered {
    let mut input_schema = schema_of::<T::Params>(SchemaSettings::draft2020_12().for_deserialize());
    if let Some(schema) = input_schema.as_object_mut() {
        // Whether the type says so or not: the pipeline refuses names that nobody reads.
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
        schema.remove("unevaluatedProperties");
        schema
            .entry("properties")
            .or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    Registered {
        definition: T::definition().publish(),
        secret_fields: SecretFields::of_schema(&input_schema),
        input_schema,
        data_schema: schema_of::<T::Output>(SchemaSettings::draft2020_12().for_serialize()),
        tool: Box::new(tool),
    }
}

/// A schema that stands on its own, without the name of the Rust type.
fn schema_of<S: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<S>();
    schema.remove("title");
    schema.to_value()
}

/// Every example with the tool's own types.
fn examples(registered: &Registered, findings: &mut Findings<'_>) {
    for (index, example) in registered.definition.examples.iter().enumerate() {
        let number = index + 1;
        let parsed = registered
            .tool
            .parse(example.params.clone(), &registered.input_schema);
        if let Err(error) = parsed {
            findings.add(
                Rule::ExampleHolds,
                format!(
                    "the params of example {number} are refused: {}",
                    error.message()
                ),
            );
        }
        if let Err(problem) = registered.tool.check_data(&example.expected_result) {
            findings.add(
                Rule::ExampleHolds,
                format!("the expectedResult of example {number} is not what the tool gives back: {problem}"),
            );
        }
    }
}

fn admits_null(schema: &Value) -> bool {
    let by_type = match &schema["type"] {
        Value::String(kind) => kind == "null",
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "null"),
        _ => false,
    };
    let by_choice = ["anyOf", "oneOf"].iter().any(|word| {
        schema[word]
            .as_array()
            .is_some_and(|all| all.iter().any(admits_null))
    });
    by_type || by_choice
}
