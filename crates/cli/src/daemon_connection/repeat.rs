//! Requests that may be sent to the gateway a second time, when it is not known whether it got them.

use mcpproxy_wire::Method;

/// Tools of the menu that change nothing. What a read does is up to its server: an agent may have called a tool as a
/// read of which its server says nothing.
const READING_TOOLS: [&str; 2] = ["retrieve_tools", "describe_tool"];

/// Whether a request may be sent again. What reads may, and what says the same thing twice; a method that is not known
/// here may do anything. `tool` is the one that is called.
pub(super) fn may_repeat(method: Method, tool: Option<&str>) -> bool {
    match method {
        Method::ToolsCall => tool.is_some_and(|tool| READING_TOOLS.contains(&tool)),
        Method::Initialize
        | Method::Ping
        | Method::ServerDiscover
        | Method::ToolsList
        | Method::PromptsList
        | Method::PromptsGet
        | Method::ResourcesList
        | Method::ResourceTemplatesList
        | Method::ResourcesRead
        | Method::ResourcesSubscribe
        | Method::ResourcesUnsubscribe
        | Method::CompletionComplete
        | Method::LoggingSetLevel => true,
        // What a stream of changes said before would be said again.
        Method::SubscriptionsListen | Method::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_changed_something_is_not_sent_twice() {
        for tool in ["retrieve_tools", "describe_tool"] {
            assert!(may_repeat(Method::ToolsCall, Some(tool)), "{tool}");
        }
        for tool in [
            Some("call_tool_read"),
            Some("call_tool_write"),
            Some("call_tool_destructive"),
            Some("call_tool"),
            Some("Call_Tool_Read"),
            Some(""),
            None,
        ] {
            assert!(!may_repeat(Method::ToolsCall, tool), "{tool:?}");
        }
        let never = [Method::SubscriptionsListen, Method::Unknown];
        for method in Method::ALL
            .into_iter()
            .filter(|method| *method != Method::ToolsCall)
        {
            let expected = !never.contains(&method);
            let found = may_repeat(method, Some("call_tool_write"));
            assert_eq!(found, expected, "{method:?}");
        }
    }
}
