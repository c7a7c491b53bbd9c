//! The admin tools and their parameters, in one place because their answers suggest each other.

use mcpproxy_contract::prelude::*;
use mcpproxy_contract::schemas::{Cursor, Pagination};

use super::GatewayParts;
use super::filters::ActivityFilters;

// Each tool works on parts of the gateway.
pub(crate) struct ListActivity(pub(super) GatewayParts);
pub(crate) struct ListServers(pub(super) GatewayParts);
pub(crate) struct SummarizeActivity(pub(super) GatewayParts);
pub(crate) struct CheckServers(pub(super) GatewayParts);
pub(crate) struct ProposePermissions(pub(super) GatewayParts);
pub(crate) struct RestartServer(pub(super) GatewayParts);
pub(crate) struct PruneActivity(pub(super) GatewayParts);

/// The most records of a page, as many as a page of any tool has.
const MOST_RECORDS: u32 = 100;

/// Which records, and how many of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListActivityParams {
    #[serde(flatten)]
    #[garde(dive)]
    pub(super) filters: ActivityFilters,
    /// The most records to return, 1 to 100.
    #[serde(default = "default_limit")]
    #[garde(range(min = 1, max = MOST_RECORDS))]
    pub(super) limit: u32,
    /// nextCursor of the previous page, unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(dive)]
    pub(super) cursor: Option<Cursor>,
}

impl ListActivityParams {
    /// The first page of these records.
    pub(super) fn of(filters: ActivityFilters) -> Self {
        Self {
            filters,
            limit: default_limit(),
            cursor: None,
        }
    }
}

/// Which servers, and how far back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckServersParams {
    /// The server to check; all of them if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = 100))]
    pub(super) server: Option<String>,
    /// How many hours back calls are looked at, 1 to 168.
    #[serde(default = "default_hours")]
    #[garde(range(min = 1, max = 168))]
    pub(super) hours: u32,
}

impl CheckServersParams {
    /// One server, as far back as usual.
    pub(super) fn of(server: &str) -> Self {
        Self {
            server: Some(server.to_owned()),
            hours: default_hours(),
        }
    }
}

/// Suggestion to look into a server that does not do well.
pub(super) fn check_server(server: &str, why: impl Into<String>) -> Suggestion {
    Suggestion::with::<CheckServers>(&CheckServersParams::of(server))
        .priority(Priority::High)
        .described(why)
        .category(ActionCategory::Correction)
}

/// Which server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RestartServerParams {
    /// The server to restart, by its name in the configuration.
    #[garde(length(chars, min = 1, max = 100))]
    pub(super) server: String,
}

fn default_limit() -> u32 {
    Pagination::default().limit
}

fn default_hours() -> u32 {
    24
}
