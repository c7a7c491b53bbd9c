//! Tool of the catalog.

use std::sync::{Arc, OnceLock};

use jiff::civil::Date;
use mcpproxy_policy::{AccessTo, AnnouncedDeprecation, ContractTerms, Effect, Operation, Rights};
use mcpproxy_redact::SecretFields;
use mcpproxy_wire::json::decode_for_display;
use mcpproxy_wire::meta::CONTRACT_DEFINITION;
use mcpproxy_wire::{Json, ToolAnnotations, ToolDefinition};

use crate::arguments::ArgumentSchema;
use crate::meaning::Meaning;
use crate::operator::Operator;

/// Tool of a server, with what the operator settles about it.
#[derive(Debug)]
pub struct CatalogTool {
    server: Arc<str>,
    qualified: String,
    pub(crate) definition: Arc<ListedTool>,
    annotations: ToolAnnotations,
    shown_annotations: Option<Json>,
    availability: Availability,
}

/// Whether a tool can be called, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Availability {
    /// The tool can be called, and search shows it.
    Callable,
    /// The operator disabled this tool.
    ToolDisabled,
    /// The day of its removal has come, which its server announced.
    ToolRemoved,
    /// The operator disabled its server.
    ServerDisabled,
    /// The settings of its server cannot be used.
    ServerBroken,
    /// The server waits for approval. Nothing the server says of its tools is to be shown.
    ServerQuarantined,
}

/// Tool as the server listed it, and what is made of it on first use. It outlives the catalog's tool when
/// only the operator's settings change, or when the server lists the same tool again.
#[derive(Debug)]
pub(crate) struct ListedTool {
    pub(crate) tool: ToolDefinition,
    arguments: OnceLock<ArgumentSchema>,
    secret_arguments: OnceLock<SecretFields>,
    secret_results: OnceLock<SecretFields>,
    terms: Option<ContractTerms>,
    meaning: OnceLock<Meaning>,
}

// === impl CatalogTool ===

impl CatalogTool {
    pub(crate) fn new(
        server: &Arc<str>,
        definition: Arc<ListedTool>,
        operator: &Operator,
        today: Date,
    ) -> Self {
        let tool = &definition.tool;
        let settings = operator.tools.get(&*tool.name);
        let own = tool.raw_annotations.as_ref();
        Self {
            qualified: format!("{server}:{}", tool.name),
            annotations: settings.map_or(tool.annotations, |settings| {
                tool.annotations
                    .overridden_by(settings.decisive_annotations())
            }),
            shown_annotations: settings.map_or_else(|| own.cloned(), |settings| settings.over(own)),
            availability: match Availability::of_server(operator) {
                Availability::Callable if !operator.enables(&tool.name) => {
                    Availability::ToolDisabled
                }
                Availability::Callable if definition.is_removed(today) => Availability::ToolRemoved,
                of_server => of_server,
            },
            server: Arc::clone(server),
            definition,
        }
    }

    /// Server that offers it.
    pub fn server(&self) -> &Arc<str> {
        &self.server
    }

    /// Name at that server.
    pub fn name(&self) -> &Arc<str> {
        &self.definition.tool.name
    }

    /// `server:tool`, the name agents use.
    pub fn qualified(&self) -> &str {
        &self.qualified
    }

    /// The tool as its server sent it.
    pub fn tool(&self) -> &ToolDefinition {
        &self.definition.tool
    }

    /// The annotations that decisions rest on: the server's, with the operator's over them.
    pub fn annotations(&self) -> ToolAnnotations {
        self.annotations
    }

    /// The annotations that agents are shown: the server's, with the operator's over them.
    pub fn shown_annotations(&self) -> Option<&Json> {
        self.shown_annotations.as_ref()
    }

    /// Effect of the tool, by its annotations.
    pub fn effect(&self) -> Effect {
        Effect::of(self.annotations)
    }

    /// The variant to call it with.
    pub fn call_with(&self) -> Operation {
        self.effect().call_with()
    }

    /// Whether a caller with these rights may use it; else it does not exist for that caller.
    pub fn is_within(&self, rights: &Rights) -> bool {
        rights.allow(AccessTo::Tool {
            server: &self.server,
            qualified: &self.qualified,
            effect: self.effect(),
        })
    }

    /// Whether it can be called, and if not, why.
    pub fn availability(&self) -> Availability {
        self.availability
    }

    /// Whether it can be called.
    pub fn is_callable(&self) -> bool {
        self.availability == Availability::Callable
    }

    /// Whether a caller with these rights can call it: it can be called, and the caller has the permissions that it needs.
    pub fn is_callable_by(&self, rights: &Rights) -> bool {
        let has_permissions = |terms: &ContractTerms| terms.missing_permissions(rights).is_empty();
        self.is_callable() && self.is_within(rights) && self.terms().is_none_or(has_permissions)
    }

    /// Schema of its arguments, compiled when it is first asked for and kept.
    pub fn arguments(&self) -> &ArgumentSchema {
        self.definition.arguments.get_or_init(|| {
            ArgumentSchema::compile(&self.qualified, &self.definition.tool.input_schema)
        })
    }

    /// Arguments that its schema marks as secret, found when first asked for and kept.
    pub fn secret_arguments(&self) -> &SecretFields {
        let schema = &self.definition.tool.input_schema;
        self.definition
            .secret_arguments
            .get_or_init(|| secret_fields(schema.text()))
    }

    /// Parts of its structured results that its output schema marks as secret; none if it has no
    /// such schema.
    pub fn secret_results(&self) -> &SecretFields {
        self.definition.secret_results.get_or_init(|| {
            let fields = self.definition.tool.raw.fields();
            let schema = fields.and_then(|fields| fields.given("outputSchema"));
            schema.map_or_else(SecretFields::none, |schema| secret_fields(schema.get()))
        })
    }

    /// Whether its server says that it keeps the tool contract: the tool carries its definition.
    pub fn announces_contract(&self) -> bool {
        self.definition.terms.is_some()
    }

    /// Terms that its definition announces, if it announces the tool contract.
    pub fn terms(&self) -> Option<&ContractTerms> {
        self.definition.terms.as_ref()
    }

    /// Meaning of it, once that is known: see [`CatalogTool::set_meaning`].
    pub fn meaning(&self) -> Option<&Meaning> {
        self.definition.meaning.get()
    }

    /// Gives it its meaning, for as long as its server lists it as it is. A second one changes nothing.
    pub fn set_meaning(&self, meaning: Meaning) {
        let _ = self.definition.meaning.set(meaning);
    }

    /// Announcement that it is going to be removed, if its definition says so.
    pub fn deprecation(&self) -> Option<&AnnouncedDeprecation> {
        self.terms()?.deprecation.as_ref()
    }
}

// === impl Availability ===

impl Availability {
    /// Availability that the operator's settings for the whole server leave.
    pub(crate) fn of_server(operator: &Operator) -> Self {
        if operator.quarantined {
            // This comes first, because it also forbids to show what the server says.
            Self::ServerQuarantined
        } else if !operator.enabled {
            Self::ServerDisabled
        } else if operator.is_broken {
            Self::ServerBroken
        } else {
            Self::Callable
        }
    }
}

// === impl ListedTool ===

impl ListedTool {
    pub(crate) fn new(tool: ToolDefinition) -> Self {
        Self {
            terms: announced_terms(&tool),
            tool,
            arguments: OnceLock::new(),
            secret_arguments: OnceLock::new(),
            secret_results: OnceLock::new(),
            meaning: OnceLock::new(),
        }
    }

    /// Whether the day of its removal, if it announces one, has come.
    pub(crate) fn is_removed(&self, today: Date) -> bool {
        let terms = self.terms.as_ref();
        terms.is_some_and(|terms| terms.is_removed(today))
    }
}

/// Terms of the definition that the tool's own `_meta` holds, if it is one as the contract wants it.
fn announced_terms(tool: &ToolDefinition) -> Option<ContractTerms> {
    let fields = tool.meta.as_ref().and_then(Json::fields)?;
    let definition = fields.get(CONTRACT_DEFINITION)?.get();
    let is_object = definition.starts_with('{');
    is_object.then(|| ContractTerms::of(&decode_for_display(definition)))
}

/// The fields that a schema marks as secret; all of them, if the schema speaks of secrets but
/// cannot be read.
fn secret_fields(schema: &str) -> SecretFields {
    // Few schemas mark anything, and this tells without reading them. A backslash may hide a mark.
    let may_mark = ["writeOnly", "password", "\\"];
    if !may_mark.iter().any(|mark| schema.contains(mark)) {
        return SecretFields::none();
    }
    serde_json::from_str(schema).map_or_else(
        |_| SecretFields::all(),
        |schema| SecretFields::of_schema(&schema),
    )
}
