//! With rmcp's own client on the other end of a pipe in memory, in both eras of the protocol.

use jiff::civil::date;
use mcpproxy_contract::prelude::{
    Definition, Deprecation, Query, Registry, ToolContext, ToolError, ToolOutput, Version,
};
use mcpproxy_contract::{Grants, Tool as ContractTool, agent_hints, wire};
use mcpproxy_contract_serve::{Handler, ServiceCaller};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ErrorCode, ErrorData,
    Implementation, PaginatedRequestParams, ProtocolVersion, RequestMetaObject, RequestParamsMeta,
    Tool,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::{RoleClient, ServiceError, ServiceExt};
use serde_json::{Value, json};

use crate::support::{waiting, within};
use crate::tools::{self, Event};

type Client = RunningService<RoleClient, ClientConfig>;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CORRELATION: &str = "019a0000-0000-7000-8000-000000000001";

async fn connect(handler: Handler, lifecycle: ClientLifecycleMode) -> Client {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async move {
        let running = handler.serve(theirs).await.expect("a conversation");
        running.waiting().await.expect("no panic")
    });
    let agent = Implementation::new("test-agent", "3.2.1");
    let client = ClientConfig::new(ClientCapabilities::default(), agent);
    within(client.serve_with_lifecycle(ours, lifecycle))
        .await
        .expect("a server")
}

async fn client() -> Client {
    let handler = Handler::new(tools::service()).expect("tools that fit");
    connect(handler, ClientLifecycleMode::Initialize).await
}

fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    }
}

fn params(tool: &'static str, arguments: &Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().expect("an object").clone();
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

async fn call(client: &Client, tool: &'static str, arguments: Value) -> CallToolResult {
    let calling = client.call_tool(params(tool, &arguments));
    within(calling).await.expect("a result")
}

async fn refused(client: &Client, tool: &'static str, arguments: Value) -> ErrorData {
    match within(client.call_tool(params(tool, &arguments))).await {
        Err(ServiceError::McpError(error)) => error,
        other => panic!("not refused: {other:?}"),
    }
}

async fn tool(client: &Client, name: &str) -> Tool {
    let tools = within(client.list_all_tools()).await.expect("tools");
    let found = tools.into_iter().find(|tool| tool.name == name);
    found.expect("a tool of this name")
}

fn structured(result: &CallToolResult) -> &Value {
    result
        .structured_content
        .as_ref()
        .expect("structuredContent")
}

fn text(result: &CallToolResult) -> &str {
    &result.content[0].as_text().expect("a text").text
}

#[tokio::test]
async fn a_client_learns_who_the_server_is_and_how_to_read_its_answers() {
    let client = client().await;
    let server = client.peer_info().expect("a server");
    let info = server.server_info.as_ref().expect("who it is");
    assert_eq!(
        (info.name.as_str(), info.version.as_str()),
        ("cards", "4.5.6")
    );
    assert!(
        server
            .instructions
            .as_ref()
            .expect("instructions")
            .contains("agentHints")
    );
    assert!(server.capabilities.tools.is_some());
    assert!(server.capabilities.resources.is_none() && server.capabilities.prompts.is_none());
}

#[tokio::test]
async fn every_tool_is_listed_in_order_and_nothing_of_it_is_lost() {
    let client = client().await;
    let listed = within(client.list_all_tools()).await.expect("tools");
    let listed = serde_json::to_value(listed).expect("JSON");
    let service = tools::service();
    let expected: Vec<Value> = service.registry().get_all().map(wire::tool).collect();
    assert_eq!(listed, json!(expected));

    let [get, delete] = [&listed[0], &listed[1]];
    assert_eq!(get["_meta"]["dev.mcpproxy/definition"]["category"], "query");
    assert_eq!(get["annotations"]["readOnlyHint"], true);
    assert_eq!(delete["annotations"]["destructiveHint"], true);
    assert_eq!(
        delete["outputSchema"]["properties"]["data"]["type"],
        "object"
    );
}

#[tokio::test]
async fn a_page_that_was_never_offered_is_refused() {
    let client = client().await;
    let page = PaginatedRequestParams::default().with_cursor(Some("2".to_owned()));
    let refused = within(client.list_tools(Some(page))).await;
    assert!(matches!(
        refused,
        Err(ServiceError::McpError(error)) if error.code == ErrorCode::INVALID_PARAMS
    ));
}

#[tokio::test]
async fn what_is_not_declared_is_not_answered() {
    let client = client().await;
    let refused = [
        within(client.list_prompts(None)).await.map(drop),
        within(client.list_resources(None)).await.map(drop),
        within(client.list_resource_templates(None)).await.map(drop),
    ];
    for answer in refused {
        let Err(ServiceError::McpError(error)) = answer else {
            panic!("something was answered: {answer:?}");
        };
        assert_eq!(error.code, ErrorCode::METHOD_NOT_FOUND);
    }
}

#[tokio::test]
async fn data_and_errors_keep_the_advertised_output_schema() {
    let client = client().await;
    let schema = tool(&client, "get-card")
        .await
        .output_schema
        .expect("a schema");
    let schema = Value::Object(schema.as_ref().clone());
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    for (card, is_error) in [("one", false), ("missing", true), ("", true)] {
        let result = call(&client, "get-card", json!({ "card": card })).await;
        let content = structured(&result);
        let problems: Vec<String> = validator
            .iter_errors(content)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(problems, [""; 0], "{content}");
        assert_eq!(result.is_error, Some(is_error), "{content}");
    }
    // The schema is one that can be broken.
    assert!(!validator.is_valid(&json!({ "data": { "front": "one" } })));
}

#[tokio::test]
async fn the_text_alone_has_the_data_and_the_next_steps() {
    let client = client().await;
    let found = call(&client, "get-card", json!({ "card": "one" })).await;
    assert!(
        text(&found).starts_with(r#"{"front":"one"}"#),
        "{}",
        text(&found)
    );
    assert!(text(&found).contains("delete-card"), "{}", text(&found));
    assert!(
        text(&found).contains(r#"{"card":"one"}"#),
        "{}",
        text(&found)
    );

    let missing = call(&client, "get-card", json!({ "card": "missing" })).await;
    assert!(text(&missing).starts_with("NOT_FOUND: There is no card 'missing'"));
    assert!(
        text(&missing).contains("show-context"),
        "{}",
        text(&missing)
    );
}

#[tokio::test]
async fn the_context_of_a_call_arrives_in_both_eras() {
    for lifecycle in [ClientLifecycleMode::Initialize, modern()] {
        let handler = Handler::new(tools::service()).expect("tools that fit");
        let handler = handler.acting_for(ServiceCaller {
            user_id: Some("ann".to_owned()),
            grants: Grants::only(["cards:read"]),
        });
        let client = connect(handler, lifecycle).await;
        let mut meta = RequestMetaObject::new();
        meta.set_traceparent(format!("00-{TRACE}-b7ad6b7169203331-01"));
        meta.insert("dev.mcpproxy/correlationId".to_owned(), json!(CORRELATION));
        meta.insert("com.example/tenant".to_owned(), json!({ "name": "north" }));
        let mut params = params("show-context", &json!({}));
        params.set_meta(meta);
        let result = within(client.call_tool(params)).await.expect("a result");
        let seen = &structured(&result)["data"];
        assert_eq!(seen["agent"], "test-agent");
        assert_eq!(seen["version"], "3.2.1");
        assert_eq!(seen["user"], "ann");
        assert_eq!(seen["trace"], TRACE);
        assert_eq!(seen["correlation"], CORRELATION);
        assert_eq!(
            seen["metadata"],
            json!({ "com.example/tenant": { "name": "north" } })
        );
        assert_eq!(structured(&result)["metadata"]["traceId"], TRACE);

        let refused = call(&client, "delete-card", json!({ "card": "one" })).await;
        assert_eq!(structured(&refused)["error"]["code"], "FORBIDDEN");
    }
}

#[tokio::test]
async fn a_panic_costs_one_call_and_tells_nothing_but_an_incident() {
    let client = client().await;
    let broken = call(&client, "break-down", json!({})).await;
    let error = &structured(&broken)["error"];
    assert_eq!(error["code"], "INTERNAL");
    let incident = error["details"]["incident"].as_str().expect("an incident");
    assert!(text(&broken).contains(incident));
    assert!(!structured(&broken).to_string().contains("secret"));

    let in_a_rule = call(&client, "break-rule", json!({ "value": "y" })).await;
    assert_eq!(structured(&in_a_rule)["error"]["code"], "INTERNAL");
    assert!(!structured(&in_a_rule).to_string().contains("secret"));

    let after = call(&client, "get-card", json!({ "card": "one" })).await;
    assert_eq!(structured(&after)["data"]["front"], "one");
}

#[tokio::test]
async fn never_an_unknown_tool_was_an_error_of_the_request_without_agent_hints() {
    let client = client().await;
    let error = refused(&client, "get-cart", json!({})).await;
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert_eq!(
        error.message,
        "There is no tool 'get-cart', did you mean 'get-card'?"
    );
    let whole = error.data.expect("the whole result");
    assert_eq!(whole["error"]["code"], "UNKNOWN_TOOL", "{whole}");
    assert_eq!(whole["error"]["message"], *error.message, "{whole}");
    assert_eq!(whole["error"]["details"]["nearest"], "get-card", "{whole}");
    let hints = &whole["agentHints"];
    for field in agent_hints::schema()["required"]
        .as_array()
        .expect("a list")
    {
        let field = field.as_str().expect("a name");
        assert!(!hints[field].is_null(), "{field}: {whole}");
    }
    assert!(whole["metadata"]["timestamp"].is_string(), "{whole}");
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_in_both_eras() {
    for lifecycle in [ClientLifecycleMode::Initialize, modern()] {
        let (waiting, mut events) = waiting();
        let handler = Handler::new(tools::service_with(waiting)).expect("tools that fit");
        let client = connect(handler, lifecycle).await;
        let asked = client.call_tool(params("wait-long", &json!({})));
        tokio::select! {
            answered = asked => panic!("nobody released it: {answered:?}"),
            event = within(events.recv()) => assert_eq!(event, Some(Event::Began)),
        }
        // The future is dropped: rmcp's client tells the server.
        assert_eq!(within(events.recv()).await, Some(Event::Ended));
        call(&client, "get-card", json!({ "card": "one" })).await;
    }
}

/// Its time is over.
struct FetchCard;

impl ContractTool for FetchCard {
    const NAME: &'static str = "fetch-card";
    type Category = Query;
    type Params = tools::CardParams;
    type Output = tools::Card;

    fn definition() -> Definition<Self> {
        let (announced, removal) = (date(2020, 1, 1), date(2020, 6, 1));
        let since = Version::new(0, 9, 0);
        let deprecated = Deprecation::replaced_by::<tools::GetCard>(since, announced, removal);
        Definition {
            deprecated: Some(deprecated),
            ..tools::definition(None, &[], tools::card_example())
        }
    }

    async fn call(
        &self,
        params: &tools::CardParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<tools::Card>, ToolError> {
        tools::GetCard.call(params, context).await
    }
}

#[tokio::test]
async fn dep_6_a_tool_past_its_removal_date_is_refused_and_not_listed() {
    let registry = Registry::new("cards", Version::new(1, 0, 0));
    let registry = registry.with(tools::GetCard).with(FetchCard);
    let service = registry.into_service().expect("keeps the contract");
    let handler = Handler::new(service).expect("tools that fit");
    let client = connect(handler, ClientLifecycleMode::Initialize).await;
    let listed = within(client.list_all_tools()).await.expect("tools");
    let names: Vec<&str> = listed.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["get-card"]);
    let removed = call(&client, "fetch-card", json!({ "card": "x" })).await;
    assert_eq!(structured(&removed)["error"]["code"], "TOOL_REMOVED");
}
