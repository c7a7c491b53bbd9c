//! Names of JSON-RPC methods, each written once.

/// Method of a request that a client can send, and an upstream can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// `initialize`: opens a session.
    Initialize,
    /// `ping`: asks whether the other end is there.
    Ping,
    /// `server/discover`: what a server can, in the stateless protocol.
    ServerDiscover,
    /// `tools/list`.
    ToolsList,
    /// `tools/call`.
    ToolsCall,
    /// `prompts/list`.
    PromptsList,
    /// `prompts/get`.
    PromptsGet,
    /// `resources/list`.
    ResourcesList,
    /// `resources/templates/list`.
    ResourceTemplatesList,
    /// `resources/read`.
    ResourcesRead,
    /// `resources/subscribe`.
    ResourcesSubscribe,
    /// `resources/unsubscribe`.
    ResourcesUnsubscribe,
    /// `completion/complete`.
    CompletionComplete,
    /// `logging/setLevel`.
    LoggingSetLevel,
    /// `subscriptions/listen`: a stream of changes, in the stateless protocol.
    SubscriptionsListen,
    /// Any other name.
    Unknown,
}

/// `notifications/initialized`: a client has read the answer to `initialize`.
pub const INITIALIZED: &str = "notifications/initialized";
/// `notifications/cancelled`: nobody waits for a request any more.
pub const CANCELLED: &str = "notifications/cancelled";
/// `notifications/progress`: how far a request is.
pub const PROGRESS: &str = "notifications/progress";
/// `notifications/message`: a log message of a server.
pub const LOG_MESSAGE: &str = "notifications/message";
/// `notifications/tools/list_changed`.
pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
/// `notifications/prompts/list_changed`.
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
/// `notifications/resources/list_changed`.
pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
/// `notifications/resources/updated`: one resource has another content.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
/// `notifications/elicitation/complete`: what a user was sent elsewhere for is done.
pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
/// `notifications/subscriptions/acknowledged`: a stream of changes is open.
pub const SUBSCRIPTION_ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// `elicitation/create`: asks the user of a client.
pub const ELICITATION: &str = "elicitation/create";
/// `sampling/createMessage`: asks the model of a client.
pub const SAMPLING: &str = "sampling/createMessage";
/// `roots/list`: asks for the folders of a client.
pub const ROOTS: &str = "roots/list";

impl Method {
    const KNOWN: [Self; 15] = [
        Self::ToolsCall,
        Self::ToolsList,
        Self::Initialize,
        Self::Ping,
        Self::ServerDiscover,
        Self::PromptsList,
        Self::PromptsGet,
        Self::ResourcesList,
        Self::ResourceTemplatesList,
        Self::ResourcesRead,
        Self::ResourcesSubscribe,
        Self::ResourcesUnsubscribe,
        Self::CompletionComplete,
        Self::LoggingSetLevel,
        Self::SubscriptionsListen,
    ];

    /// Method of this name.
    pub fn parse(name: &str) -> Self {
        Self::KNOWN
            .into_iter()
            .find(|method| method.as_str() == name)
            .unwrap_or(Self::Unknown)
    }

    /// Name in a message; of an unknown method there is none.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Ping => "ping",
            Self::ServerDiscover => "server/discover",
            Self::ToolsList => "tools/list",
            Self::ToolsCall => "tools/call",
            Self::PromptsList => "prompts/list",
            Self::PromptsGet => "prompts/get",
            Self::ResourcesList => "resources/list",
            Self::ResourceTemplatesList => "resources/templates/list",
            Self::ResourcesRead => "resources/read",
            Self::ResourcesSubscribe => "resources/subscribe",
            Self::ResourcesUnsubscribe => "resources/unsubscribe",
            Self::CompletionComplete => "completion/complete",
            Self::LoggingSetLevel => "logging/setLevel",
            Self::SubscriptionsListen => "subscriptions/listen",
            Self::Unknown => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_its_name_and_others_are_unknown() {
        for method in Method::KNOWN {
            assert_eq!(Method::parse(method.as_str()), method);
        }
        for name in ["", "tools", "Tools/Call", CANCELLED, ROOTS] {
            assert_eq!(Method::parse(name), Method::Unknown, "{name}");
        }
    }
}
