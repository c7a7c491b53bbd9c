use mcpproxy_catalog::{Catalog, Operator};
use mcpproxy_contract_check as check;
use mcpproxy_policy::{AnonymousRole, Operation};
use mcpproxy_wire::{Json, ListedKind, Offerings, ToolDefinition};

use super::*;

/// The server `cards`, with tools of the contract and a plain one; and `plain`, with no other.
fn catalog() -> Catalog {
    let tool = |definition: Value| ToolDefinition::parse(&Json::of(&definition)).unwrap();
    let plain = || {
        tool(
            json!({ "name": "list_all", "inputSchema": {}, "annotations": { "readOnlyHint": true } }),
        )
    };
    let contract = |name: &str, annotations: Value, version: &str| {
        tool(
            json!({ "name": name, "inputSchema": {}, "annotations": annotations,
            "_meta": { "dev.mcpproxy/definition": { "version": version } } }),
        )
    };
    let catalog = Catalog::new();
    let servers = ["cards", "plain", "silent"].map(|name| (name.to_owned(), Operator::default()));
    catalog.configure(servers.into());
    let tools = vec![
        contract("get-card", json!({ "readOnlyHint": true }), "1.2.3"),
        contract("drop-deck", json!({ "destructiveHint": true }), "new"),
        plain(),
    ];
    catalog.replace("cards", Offerings::default().with(ListedKind::Tool, tools));
    catalog.replace(
        "plain",
        Offerings::default().with(ListedKind::Tool, vec![plain()]),
    );
    catalog
}

/// Tool of a contract service, or that there is none of the name.
fn service_of(name: &str, rights: &Rights) -> Option<String> {
    let snapshot = catalog().snapshot();
    match contract_service(&snapshot, name, rights) {
        Named::Service(service) => {
            let tool = service.tool.map(|tool| tool.name().to_string());
            Some(tool.unwrap_or_else(|| "none".to_owned()))
        }
        Named::Unlisted(server, tool) => Some(format!("unlisted {server} {tool}")),
        Named::Other => None,
    }
}

#[test]
fn a_name_is_of_a_contract_service_as_far_as_the_caller_may_know() {
    let (all, read) = (
        Rights::Administrator,
        Rights::Anonymous(AnonymousRole::Read),
    );
    for (name, rights, expected) in [
        ("cards:get-card", &all, Some("get-card")),
        ("cards:gone", &all, Some("none")),
        ("cards:drop-deck", &read, Some("none")),
        ("cards:list_all", &all, None),
        ("plain:list_all", &all, None),
        ("plain:gone", &all, None),
        ("gone:get-card", &all, None),
        ("silent:get-card", &all, Some("unlisted silent get-card")),
        ("get-card", &all, None),
        ("", &all, None),
    ] {
        assert_eq!(service_of(name, rights).as_deref(), expected, "{name}");
    }
}

#[test]
fn never_agent_hints_are_omitted_whatever_is_refused() {
    let snapshot = catalog().snapshot();
    let tool = snapshot.find("cards", "get-card").map(AsRef::as_ref);
    for code in Code::ALL {
        let failure = Failure::new(code, "what happened").with("retry_after_ms", 1_500);
        let hints = agent_hints(
            &failure,
            "cards:get-card",
            &snapshot,
            &Rights::Administrator,
        );
        let result = json!({
            "error": failure.to_json(uuid::Uuid::now_v7()),
            "agentHints": hints,
            "metadata": metadata(tool, Duration::from_millis(3)),
        });
        assert_eq!(check::result(&result), [], "{result}");
    }
}

#[test]
fn the_next_step_is_the_one_that_helps() {
    let snapshot = catalog().snapshot();
    let steps = |failure: Failure, name: &str| {
        let hints = agent_hints(&failure, name, &snapshot, &Rights::Administrator);
        let actions = hints["suggestedNextActions"].as_array().unwrap().iter();
        let step = |action: &Value| {
            ["action", "tool", "call_with"].map(|key| action[key].as_str().unwrap().to_owned())
        };
        actions.map(step).collect::<Vec<_>>()
    };
    let get = ["get-card", "cards:get-card", "call_tool_read"].map(str::to_owned);
    let list = ["list-all", "plain:list_all", "call_tool_read"].map(str::to_owned);
    let again = |code| steps(Failure::new(code, ""), "cards:get-card");
    for code in [
        Code::InvalidArguments,
        Code::MissingIntent,
        Code::RateLimited,
        Code::UpstreamUnavailable,
    ] {
        assert_eq!(again(code), std::slice::from_ref(&get), "{code:?}");
    }
    for code in [Code::Forbidden, Code::ToolDisabled, Code::Internal] {
        assert!(again(code).is_empty(), "{code:?}");
    }
    let careful =
        Failure::new(Code::UnannotatedTool, "").with("call_with", Operation::Destructive.variant());
    let expected = ["drop-deck", "cards:drop-deck", "call_tool_destructive"].map(str::to_owned);
    assert_eq!(steps(careful, "cards:drop-deck"), [expected]);
    let unknown = Failure::new(Code::UnknownTool, "").with(
        "nearest",
        json!(["cards:get-card", "gone:x", "plain:list_all"]),
    );
    assert_eq!(steps(unknown, "cards:get"), [get, list.clone()]);
    let removed = Failure::new(Code::ToolRemoved, "").with("replacement", "plain:list_all");
    assert_eq!(steps(removed, "cards:find-card"), [list]);
}

#[test]
fn metadata_has_the_version_of_the_tool_where_it_says_one() {
    let snapshot = catalog().snapshot();
    for (tool, expected) in [
        ("get-card", "1.2.3"),
        ("drop-deck", OWN_VERSION),
        ("gone", OWN_VERSION),
    ] {
        let tool = snapshot.find("cards", tool).map(AsRef::as_ref);
        assert_eq!(metadata(tool, Duration::ZERO)["toolVersion"], expected);
    }
}
