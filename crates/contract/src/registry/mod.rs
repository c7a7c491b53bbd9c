//! The tools of a service, each of which keeps the contract.

mod closing;
mod params;
mod registered;
#[doc(hidden)]
pub mod validate;
pub(crate) mod violation;

use std::collections::HashMap;

use mcpproxy_redact::SecretFields;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::{CategoryName, Tool, Version};
use validate::Findings;
use violation::{ContractViolation, ContractViolations, Rule};

pub(crate) use params::nearest_name;
pub(crate) use registered::Parsed;
pub use registered::Registered;

/// Tools by name, in the order they were registered.
#[derive(Debug)]
#[must_use]
pub struct Registry {
    pub(crate) name: String,
    pub(crate) version: Version,
    pub(crate) tools: Vec<Registered>,
    pub(crate) by_name: HashMap<String, usize>,
    /// Faults of tools that were not taken; told when the service is made.
    pub(crate) refused: Vec<ContractViolation>,
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
        let tools = self.tools.iter();
        tools.filter(move |tool| tool.definition.category == category)
    }

    /// The tools with a tag.
    pub fn get_by_tag<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a Registered> {
        let tools = self.tools.iter();
        tools.filter(move |tool| tool.definition.tags.iter().any(|own| own == tag))
    }

    fn violations<T: Tool>(&self, registered: &Registered) -> Vec<ContractViolation> {
        let mut findings = Findings::about(T::NAME);
        let is_new = !self.by_name.contains_key(T::NAME);
        let taken = format!("another tool is registered under the name '{}'", T::NAME);
        findings.expect(is_new, Rule::NameUnique, taken);
        let missing = T::definition().missing();
        let empty = format!("the description is empty in: {}", missing.join(", "));
        findings.expect(missing.is_empty(), Rule::DescriptionParts, empty);
        examples(registered, &mut findings);
        let has_data = !admits_null(&registered.data_schema);
        let nothing =
            "the output may be null; give back an error, or an object that says what there is not";
        findings.expect(has_data, Rule::DataNotNull, nothing);
        let definition = serde_json::to_value(&registered.definition).unwrap_or_default();
        validate::definition(&definition, &registered.input_schema, &mut findings);
        findings.into_found()
    }
}

fn prepare<T: Tool>(tool: T) -> Registered {
    let mut input_schema = schema_of::<T::Params>(SchemaSettings::draft2020_12().for_deserialize());
    closing::close(&mut input_schema);
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
    for (example, number) in registered.definition.examples.iter().zip(1..) {
        let (tool, params) = (&registered.tool, example.params.clone());
        if let Err(error) = tool.parse(params, &registered.input_schema) {
            let refused = format!(
                "the params of example {number} are refused: {}",
                error.message()
            );
            findings.add(Rule::ExampleHolds, refused);
        }
        if let Err(problem) = tool.check_data(&example.expected_result) {
            let other = format!(
                "the expectedResult of example {number} is not what the tool gives back: {problem}"
            );
            findings.add(Rule::ExampleHolds, other);
        }
    }
}

fn admits_null(schema: &Value) -> bool {
    let by_type = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "null"),
        kind => kind == "null",
    };
    let choices = ["anyOf", "oneOf"].map(|word| schema[word].as_array());
    by_type || choices.into_iter().flatten().flatten().any(admits_null)
}
