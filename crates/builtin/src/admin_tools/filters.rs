//! Filters of records that a tool is asked about: those of the REST interface, as parameters.

use mcpproxy_contract::prelude::*;
use uuid::Uuid;

use mcpproxy_gateway::records::Pair;

/// Which records are asked for; what is left out does not matter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
#[garde(allow_unvalidated)]
#[schemars(rename = "Filters")]
pub(crate) struct ActivityFilters {
    /// Only what is about this server, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = 100))]
    pub(super) server: Option<String>,
    /// Only what is about this tool, by its name without the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = 200))]
    pub(super) tool: Option<String>,
    /// Only what this client asked for, by the name it gives itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = 100))]
    pub(super) agent: Option<String>,
    /// Only what ended like this; `blocked` was refused, of `in_doubt` nobody saw the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<RecordedStatus>,
    /// Only calls that declared this operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) intent_type: Option<RecordedOperation>,
    /// Only this kind of record; calls are `tool_call`, refused ones `policy_decision`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<RecordedKind>,
    /// Only what was done for this request, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) request_id: Option<Uuid>,
    /// Not before this: a time, a date (UTC), or so long ago, such as 15m, 24h or 7d.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = 64))]
    pub(super) from: Option<String>,
    /// Before this, written like `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = 64))]
    pub(super) to: Option<String>,
    /// Words that stand in server, tool, reason, error or arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(chars, min = 1, max = 200))]
    pub(super) text: Option<String>,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Status")]
pub(crate) enum RecordedStatus {
    Success,
    Error,
    Blocked,
    InDoubt,
}

/// The operation of a call.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Operation")]
pub(crate) enum RecordedOperation {
    Read,
    Write,
    Destructive,
}

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
pub(crate) enum RecordedKind {
    ToolCall,
    PolicyDecision,
    Discovery,
    ClientRequest,
    ServerChange,
    ToolChange,
    TokenChange,
    ConfigChange,
    System,
}

impl ActivityFilters {
    /// Filters as parameters of the REST interface, whose readers check them.
    pub(super) fn to_pairs(&self) -> Vec<Pair> {
        let given = serde_json::to_value(self).unwrap_or_default();
        let given = given.as_object().into_iter().flatten();
        given
            .filter_map(|(name, value)| {
                let name = match name.as_str() {
                    "intentType" => "intent_type",
                    "requestId" => "request_id",
                    name => name,
                };
                Some((name.to_owned(), value.as_str()?.to_owned()))
            })
            .collect()
    }
}

/// Reads an enum from its word.
pub(super) fn of_word<T: serde::de::DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(word.into()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_log_is_known_here() {
        for status in mcpproxy_activity::Status::ALL {
            let own: RecordedStatus = of_word(status.as_str()).unwrap();
            assert_eq!(json!(own), status.as_str());
        }
        for kind in mcpproxy_activity::RecordKind::ALL {
            let own: RecordedKind = of_word(kind.as_str()).unwrap();
            assert_eq!(json!(own), kind.as_str());
        }
        for operation in mcpproxy_policy::Operation::ALL {
            let own: RecordedOperation = of_word(operation.as_str()).unwrap();
            assert_eq!(json!(own), operation.as_str());
        }
    }

    #[test]
    fn what_is_given_reaches_the_filter_of_the_log() {
        let filters = ActivityFilters {
            server: Some("files".to_owned()),
            status: Some(RecordedStatus::InDoubt),
            intent_type: Some(RecordedOperation::Destructive),
            kind: Some(RecordedKind::PolicyDecision),
            from: Some("24h".to_owned()),
            ..ActivityFilters::default()
        };
        let filter = mcpproxy_gateway::records::parse_filter(
            &filters.to_pairs(),
            mcpproxy_policy::RecordScope::All,
        )
        .unwrap();
        assert_eq!(filter.server.as_deref(), Some("files"));
        assert_eq!(filter.status, Some(mcpproxy_activity::Status::InDoubt));
        assert_eq!(
            filter.kind,
            Some(mcpproxy_activity::RecordKind::PolicyDecision)
        );
        assert!(filter.intent_type.is_some() && filter.from.is_some() && filter.to.is_none());
    }
}
