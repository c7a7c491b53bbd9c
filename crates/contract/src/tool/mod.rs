//! A tool as its author writes it: one type.

pub mod agent_hints;
pub(crate) mod category;
pub(crate) mod context;
pub(crate) mod definition;
pub(crate) mod definition_builder;
pub(crate) mod error;
pub(crate) mod output;
pub(crate) mod state;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use category::Category;
use context::ToolContext;
use definition::Definition;
use error::ToolError;
use output::ToolOutput;

/// A tool. Its types give both the schema that is published and the checks that are enforced.
///
/// The pipeline has checked permissions, rate limit and parameters before [`Tool::call`] runs; what
/// the handler returns is checked again before anybody sees it.
pub trait Tool: Send + Sync + Sized + 'static {
    /// The name, `verb-noun` in kebab-case. It never changes once it is published.
    const NAME: &'static str;
    /// The kind of work: decides caching, retries and what agents are told of the effect.
    type Category: Category;
    /// Parameters that the tool takes.
    type Params: Params;
    /// Data that it gives back.
    type Output: Data;

    /// Everything that is published about the tool.
    fn definition() -> Definition<Self>;

    /// Does the work. The parameters are lent, so that nobody can change them.
    fn call(
        &self,
        params: &Self::Params,
        context: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput<Self::Output>, ToolError>> + Send;
}

/// Parameters: a struct with a schema (schemars) and rules (garde) in one place.
///
/// Every type that derives the four traits has it; there is nothing to implement. A field without
/// a `#[garde(…)]` rule does not compile.
pub trait Params:
    DeserializeOwned
    + Serialize
    + JsonSchema
    + garde::Validate<Context: Default>
    + Send
    + Sync
    + 'static
{
}

impl<T> Params for T where
    T: DeserializeOwned
        + Serialize
        + JsonSchema
        + garde::Validate<Context: Default>
        + Send
        + Sync
        + 'static
{
}

/// Data that a tool gives back. Never null: it is not implemented for `()` and `Option`, and because
/// both are foreign types, no author can add it for them.
pub trait Data: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {}

impl Data for String {}
impl<T: Data> Data for Vec<T> {}
