//! Faults of a tool, told all at once.

use serde::{Deserialize, Serialize};

/// A rule of the contract. The order is that of the verification checklist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rule {
    /// The tool carries its definition.
    Announced,
    /// The definition says the same as the tool that carries it.
    DefinitionAgrees,
    /// The name is `verb-noun` in kebab-case.
    NameForm,
    /// No other tool of the service has the name.
    NameUnique,
    /// The description has at least 50 characters.
    DescriptionLength,
    /// The description says what the tool does, when to use it, what it returns, and gives a use.
    DescriptionParts,
    /// The version is `1.2.3`.
    VersionForm,
    /// The parameters are an object that is checked and refuses what it does not know.
    ParametersChecked,
    /// Every parameter is documented.
    ParameterDocumented,
    /// Every parameter has limits.
    ParameterBounded,
    /// Ids have types of their own.
    IdBranded,
    /// Permissions are there, each `resource:action`.
    PermissionForm,
    /// The category is one of the four.
    CategoryKnown,
    /// The response time is one of the three.
    ResponseTimeKnown,
    /// What is cacheable is no mutation.
    CacheableFits,
    /// What is cacheable says for how many seconds, more than zero.
    CacheTtl,
    /// A limit, where there is one, has calls and a window of at most a day.
    RateLimitForm,
    /// Queries and analyses are idempotent.
    IdempotentFits,
    /// There is an example, and it holds for the real types.
    ExampleHolds,
    /// There is a tag.
    TagPresent,
    /// The data is never null.
    DataNotNull,
    /// The result is `data` or `error`, with hints and metadata.
    ResultStructure,
    /// Every result has hints.
    HintsPresent,
    /// What hints suggest, relate and warn of has its form.
    HintsForm,
    /// The confidence is there, from 0 to 1.
    HintsConfidence,
    /// The confidence moves with what it is calculated from.
    ConfidenceCalculated,
    /// The source quality is there, one of the four.
    HintsSourceQuality,
    /// The validity period is there, one of the five.
    HintsValidity,
    /// The list of what would make the hints better is there.
    HintsContext,
    /// The list of what was taken for granted is there.
    HintsAssumptions,
    /// The list of risks is there, each complete.
    HintsRisks,
    /// The list of dependencies is there, each complete.
    HintsDependencies,
    /// The estimated impact is there with benefit, effort and roi.
    HintsImpact,
    /// The roi is the benefit over the effort.
    HintsRoi,
    /// The list of preferences met is there, each complete.
    HintsAlignment,
    /// The reasoning, where there is one, is a text.
    HintsReasoning,
    /// The metadata of a result is complete.
    MetadataComplete,
    /// An error says what happened, in which group, and whether to try again.
    ErrorForm,
    /// The annotations say what the category says.
    AnnotationsFit,
    /// A deprecated tool names its replacement.
    DeprecationReplacement,
    /// A deprecated tool is removed 90 days after it was announced, or later.
    DeprecationNotice,
    /// A tool is not offered beyond its removal date.
    RemovalKept,
    /// A query changes nothing.
    QueryPure,
    /// A published name stays until its removal date.
    NameKept,
    /// A call that was right stays right: nothing new is required, and no value is narrowed.
    ParametersKept,
    /// A published field of the output stays, with its type.
    OutputKept,
    /// A change of the major version has a name of its own.
    MajorRenamed,
}

// === impl Rule ===

impl Rule {
    /// Name of the rule, as reports have it.
    pub fn name(self) -> String {
        // An enum of plain words always serialises as its word.
        let name = serde_json::to_value(self);
        name.ok()
            .and_then(|name| name.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}

/// One rule that a tool breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractViolation {
    /// The tool.
    pub tool: String,
    /// The rule.
    pub rule: Rule,
    /// The fault and how to mend it.
    pub message: String,
}

/// Everything that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the tool contract is broken in {} places:{}", .0.len(), listed(.0))]
pub struct ContractViolations(Vec<ContractViolation>);

// === impl ContractViolations ===

impl ContractViolations {
    /// Nothing wrong, or everything that is.
    pub(crate) fn none_or(found: Vec<ContractViolation>) -> Result<(), Self> {
        if found.is_empty() {
            Ok(())
        } else {
            Err(Self(found))
        }
    }
}

/// Each of them: `violations.iter()`.
impl std::ops::Deref for ContractViolations {
    type Target = [ContractViolation];

    fn deref(&self) -> &[ContractViolation] {
        &self.0
    }
}

fn listed(found: &[ContractViolation]) -> String {
    let lines = found
        .iter()
        .map(|one| format!("\n  {}: {}", one.tool, one.message));
    lines.collect()
}
