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

/// Hints of a failure for the administrator, after so many calls of which so many broke.
fn hints_of(failure: &Failure, name: &str, broken_of_all: (u64, u64)) -> Map<String, Value> {
    let snapshot = catalog().snapshot();
    agent_hints(
        failure,
        name,
        broken_of_all,
        &snapshot,
        &Rights::Administrator,
    )
}

#[test]
fn res_conf_hints_of_refusals_had_one_confidence_for_each_kind() {
    let confidence = |failure: &Failure, calls| {
        let hints = hints_of(failure, "cards:get-card", calls);
        hints["confidence"].as_f64().unwrap()
    };
    // What is named as near helps, and what is named but gone does not.
    let near = |names: Value| {
        let failure = Failure::new(Code::UnknownTool, "").with("nearest", names);
        confidence(&failure, (0, 0))
    };
    assert!(near(json!([])) < near(json!(["cards:get-card"])));
    // A tool that has worked is believed, one that broke before breaks again.
    for code in [
        Code::InvalidArguments,
        Code::MissingIntent,
        Code::Forbidden,
        Code::RateLimited,
    ] {
        let failure = Failure::new(code, "");
        let [none, bad, good] = [(0, 1), (9, 20), (0, 20)].map(|calls| confidence(&failure, calls));
        assert!(bad < good && none < good, "{code:?}: {none} {bad} {good}");
    }
    let timeout = Failure::new(Code::UpstreamTimeout, "");
    assert!(confidence(&timeout, (1, 20)) < confidence(&timeout, (20, 20)));
}

#[test]
fn who_lacks_a_permission_is_told_who_has_it() {
    let failure =
        Failure::new(Code::Forbidden, "").with(MISSING_PERMISSIONS, json!(["cards:read"]));
    let hints = hints_of(&failure, "cards:get-card", (0, 0));
    assert!(hints["constraints"].to_string().contains("X-API-Key"));
    let other = hints_of(&Failure::new(Code::Forbidden, ""), "cards:get-card", (0, 0));
    assert!(!other["constraints"].to_string().contains("X-API-Key"));
}

#[test]
fn never_agent_hints_are_omitted_whatever_is_refused() {
    let snapshot = catalog().snapshot();
    let tool = snapshot.find("cards", "get-card").map(AsRef::as_ref);
    for code in Code::ALL {
        let failure = Failure::new(code, "what happened").with("retry_after_ms", 1_500);
        let hints = hints_of(&failure, "cards:get-card", (0, 0));
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
    let steps = |failure: Failure, name: &str| {
        let hints = hints_of(&failure, name, (0, 0));
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
