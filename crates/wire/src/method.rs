//! Names of JSON-RPC methods, each written once.

crate::words! {
    /// Method of a request that a client can send, and an upstream can be sent.
    Method {
        /// Calls a tool.
        ToolsCall = "tools/call",
        /// Lists the tools.
        ToolsList = "tools/list",
        /// Opens a session.
        Initialize = "initialize",
        /// Asks whether the other end is there.
        Ping = "ping",
        /// Asks what a server can, in the stateless protocol.
        ServerDiscover = "server/discover",
        /// Lists the prompts.
        PromptsList = "prompts/list",
        /// Reads a prompt.
        PromptsGet = "prompts/get",
        /// Lists the resources.
        ResourcesList = "resources/list",
        /// Lists the templates of resources.
        ResourceTemplatesList = "resources/templates/list",
        /// Reads a resource.
        ResourcesRead = "resources/read",
        /// Asks to be told when a resource changes.
        ResourcesSubscribe = "resources/subscribe",
        /// Takes that back.
        ResourcesUnsubscribe = "resources/unsubscribe",
        /// Completes an argument.
        CompletionComplete = "completion/complete",
        /// Sets the least severe log messages to send.
        LoggingSetLevel = "logging/setLevel",
        /// Opens a stream of changes, in the stateless protocol.
        SubscriptionsListen = "subscriptions/listen",
        /// Any other name.
        Unknown = "",
    }
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
    /// Method of this name.
    pub fn named(name: &str) -> Self {
        Self::parse(name).unwrap_or(Self::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_its_name_and_others_are_unknown() {
        for method in Method::ALL {
            assert_eq!(Method::named(method.as_str()), method);
        }
        for name in ["", "tools", "Tools/Call", CANCELLED, ROOTS] {
            assert_eq!(Method::named(name), Method::Unknown, "{name}");
        }
    }
}
