//! Annotations of a tool: what its server says the tool does.

use serde_json::value::RawValue;

use crate::json::Json;

/// Those of MCP's tool annotations that bear on decisions, each given or not.
///
/// Absent and false differ: an absent annotation says nothing, so it stays `None` here and no
/// default of the protocol is filled in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolAnnotations {
    /// `readOnlyHint`: the tool changes nothing.
    pub read_only: Option<bool>,
    /// `destructiveHint`: the tool may delete or overwrite.
    pub destructive: Option<bool>,
    /// `idempotentHint`: repeating a call has no further effect.
    pub idempotent: Option<bool>,
    /// `openWorldHint`: the tool reaches beyond its own server.
    pub open_world: Option<bool>,
}

impl ToolAnnotations {
    /// Reads annotations as a server sent them. One that is neither true nor false makes the tool
    /// malformed: guessing what `"destructiveHint": "no"` means is not safe in either direction.
    pub fn parse(annotations: &Json) -> Result<Self, String> {
        let fields = annotations
            .fields()
            .ok_or("its annotations are not an object")?;
        let given = |name: &str| match fields.given(name).map(RawValue::get) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(format!("its annotation {name} is not true or false")),
        };
        Ok(Self {
            read_only: given("readOnlyHint")?,
            destructive: given("destructiveHint")?,
            idempotent: given("idempotentHint")?,
            open_world: given("openWorldHint")?,
        })
    }

    /// Merges the operator's annotations over these; each one the operator gives wins.
    #[must_use]
    pub fn overridden_by(self, operator: Self) -> Self {
        Self {
            read_only: operator.read_only.or(self.read_only),
            destructive: operator.destructive.or(self.destructive),
            idempotent: operator.idempotent.or(self.idempotent),
            open_world: operator.open_world.or(self.open_world),
        }
    }
}
