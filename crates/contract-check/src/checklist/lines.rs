//! The lines of the checklist, and the rules that decide each of them.

use mcpproxy_contract::Rule;

/// One line.
pub(super) struct ChecklistLine {
    pub(super) text: &'static str,
    pub(super) rules: &'static [Rule],
    pub(super) decided: Decided,
}

/// What a line is decided by.
#[derive(Clone, Copy)]
pub(super) enum Decided {
    /// The tool itself, with or without a definition.
    ByTool,
    /// The definition.
    ByDefinition,
    /// The results of calls.
    ByResults,
    /// Results whose confidence moves or is explained.
    ByConfidence,
    /// Results with a reasoning.
    ByReasoning,
    /// Results that are errors.
    ByErrors,
    /// What happens inside the service.
    Inside,
}

use Decided::{ByConfidence, ByDefinition, ByErrors, ByReasoning, ByResults, ByTool, Inside};

const fn line(decided: Decided, rules: &'static [Rule], text: &'static str) -> ChecklistLine {
    ChecklistLine {
        text,
        rules,
        decided,
    }
}

/// The checklist. Where hints are missing altogether, every line about hints is violated.
pub(super) const LINES: [ChecklistLine; 29] = [
    line(
        ByTool,
        &[Rule::NameForm, Rule::NameUnique],
        "The name is unique and in kebab-case",
    ),
    line(
        ByTool,
        &[Rule::DescriptionLength, Rule::DescriptionParts],
        "The description is clear and complete, with 50 characters or more",
    ),
    line(
        ByTool,
        &[
            Rule::ParametersChecked,
            Rule::ParameterDocumented,
            Rule::ParameterBounded,
            Rule::IdBranded,
        ],
        "All parameters are validated by a schema",
    ),
    line(
        ByDefinition,
        &[Rule::PermissionForm],
        "The list of permissions is defined",
    ),
    line(
        ByDefinition,
        &[Rule::CategoryKnown],
        "The category is specified",
    ),
    line(
        ByDefinition,
        &[Rule::ResponseTimeKnown],
        "responseTime is specified",
    ),
    line(
        ByDefinition,
        &[Rule::CacheableFits],
        "cacheable is set correctly",
    ),
    line(
        ByDefinition,
        &[Rule::CacheTtl],
        "cacheTTL is set if cacheable",
    ),
    line(
        ByDefinition,
        &[Rule::IdempotentFits],
        "idempotent is set correctly",
    ),
    line(
        ByDefinition,
        &[Rule::ExampleHolds],
        "There is at least 1 example",
    ),
    line(ByDefinition, &[Rule::TagPresent], "There is at least 1 tag"),
    line(
        ByResults,
        &[Rule::ResultStructure, Rule::DataNotNull],
        "The handler returns the ToolResult structure",
    ),
    line(
        ByResults,
        &[Rule::HintsPresent, Rule::HintsForm],
        "agentHints are always included",
    ),
    line(
        ByConfidence,
        &[Rule::HintsPresent, Rule::HintsConfidence],
        "agentHints.confidence is calculated, not typed in",
    ),
    line(
        ByResults,
        &[Rule::HintsPresent, Rule::HintsSourceQuality],
        "agentHints.sourceQuality is specified",
    ),
    line(
        ByResults,
        &[Rule::HintsPresent, Rule::HintsValidity],
        "agentHints.validityPeriod is specified",
    ),
    line(
        ByResults,
        &[Rule::HintsPresent, Rule::HintsContext],
        "agentHints.contextNeeded is a list (may be empty)",
    ),
    line(
        ByResults,
        &[Rule::HintsPresent, Rule::HintsAssumptions],
        "agentHints.assumptions is a list (may be empty)",
    ),
    line(
        ByResults,
        &[Rule::HintsPresent, Rule::HintsRisks],
        "agentHints.riskFactors is a list (may be empty)",
    ),
    line(
        ByResults,
        &[Rule::HintsPresent, Rule::HintsDependencies],
        "agentHints.dependencies is a list (may be empty)",
    ),
    line(
        ByResults,
        &[Rule::HintsPresent, Rule::HintsImpact],
        "agentHints.estimatedImpact has benefit, effort and roi",
    ),
    line(
        ByResults,
        &[Rule::HintsPresent, Rule::HintsAlignment],
        "agentHints.preferenceAlignment is a list (may be empty)",
    ),
    line(
        ByReasoning,
        &[Rule::HintsPresent, Rule::HintsReasoning],
        "agentHints.reasoning is included (strongly recommended)",
    ),
    line(
        ByResults,
        &[Rule::MetadataComplete],
        "All metadata fields are populated",
    ),
    line(
        ByErrors,
        &[Rule::ErrorForm],
        "Error handling is implemented",
    ),
    line(Inside, &[], "Logging is added"),
    line(Inside, &[], "Metrics are emitted"),
    line(Inside, &[], "Tests are written (unit and integration)"),
    line(Inside, &[], "The tool is registered in the ToolRegistry"),
];
