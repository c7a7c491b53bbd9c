//! Facts about every entity that a service keeps.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UserId;
use crate::Data;

/// Who made an entity and when, and how often it has changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[must_use]
pub struct CommonMetadata {
    /// When the entity was created.
    pub created_at: Timestamp,
    /// When it was last changed; when it was created, if never.
    pub updated_at: Timestamp,
    /// Who created it; absent if the system did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<UserId>,
    /// Who last changed it; absent if the system did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_by: Option<UserId>,
    /// The revision of the entity: 1 when it is created, one more with each change.
    #[schemars(range(min = 1))]
    pub version: u64,
}

// === impl CommonMetadata ===

impl CommonMetadata {
    /// Common metadata after a change.
    pub fn changed(mut self, at: Timestamp, by: Option<UserId>) -> Self {
        self.updated_at = at;
        self.updated_by = by;
        self.version = self.version.saturating_add(1);
        self
    }
}

impl Data for CommonMetadata {}
