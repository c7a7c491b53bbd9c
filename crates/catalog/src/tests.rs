//! The catalog as its users see it: snapshots, search, suggestions and presentations.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::civil::date;
use mcpproxy_policy::{AgentToken, Effect, Operation, OperationSet, Rights, TokenGrant, ToolGlob};
use mcpproxy_wire::{Json, ListedKind, Offerings, ToolAnnotations, ToolDefinition};
use serde_json::{Value, json};

use crate::{Availability, Catalog, Meaning, Operator, Scope, SearchQuery, Snapshot, ToolOverride};

mod present;
mod search;

fn tool(definition: &Value) -> ToolDefinition {
    ToolDefinition::parse(&Json::of(definition)).unwrap()
}

fn named(name: &str, description: &str, annotations: &Value) -> ToolDefinition {
    tool(
        &json!({"name": name, "description": description, "inputSchema": {},
        "annotations": annotations}),
    )
}

fn listing(tools: Vec<ToolDefinition>) -> Offerings {
    Offerings::default().with(ListedKind::Tool, tools)
}

fn catalog(servers: Vec<(&str, Vec<ToolDefinition>)>) -> Catalog {
    let catalog = Catalog::new();
    for (server, tools) in servers {
        configure(&catalog, server, Operator::default());
        assert!(catalog.replace(server, listing(tools)));
    }
    catalog
}

/// Operator's settings of each server of a catalog.
fn operators(catalog: &Catalog) -> HashMap<String, Operator> {
    let snapshot = catalog.snapshot();
    let servers = snapshot.configured();
    servers
        .map(|server| (server.name().to_string(), server.operator().clone()))
        .collect()
}

/// Puts a server into a catalog, or changes what the operator settles about it.
fn configure(catalog: &Catalog, server: &str, operator: Operator) {
    let mut operators = operators(catalog);
    operators.insert(server.to_owned(), operator);
    catalog.configure(operators);
}

/// Takes a server out of a catalog.
fn remove(catalog: &Catalog, server: &str) {
    let mut operators = operators(catalog);
    assert!(operators.remove(server).is_some(), "{server}");
    catalog.configure(operators);
}

/// Rights of a token with these servers and patterns of tools, for every operation.
fn bounded(servers: &[&str], tools: &[&str]) -> Rights {
    let servers = servers.iter().map(|server| (*server).to_owned());
    let tools = tools.iter().map(|glob| ToolGlob::parse(glob).unwrap());
    Rights::Token(Arc::new(AgentToken {
        id: "t".into(),
        name: "t".into(),
        grant: TokenGrant {
            servers: Some(servers.collect()),
            tools: tools.collect(),
            operations: OperationSet::of(&Operation::ALL),
            unannotated: true,
            ..TokenGrant::default()
        },
    }))
}

fn sample() -> Vec<(&'static str, Vec<ToolDefinition>)> {
    vec![
        (
            "github",
            vec![
                named(
                    "create_issue",
                    "Opens a new issue.",
                    &json!({"readOnlyHint": false}),
                ),
                named(
                    "list_issues",
                    "Lists issues.",
                    &json!({"readOnlyHint": true}),
                ),
                named(
                    "delete_repo",
                    "Removes it.",
                    &json!({"destructiveHint": true}),
                ),
            ],
        ),
        (
            "gitlab",
            vec![
                named(
                    "create_issue",
                    "Opens a new issue.",
                    &json!({"readOnlyHint": false}),
                ),
                named("readURLs", "Reads pages.", &json!({"readOnlyHint": true})),
            ],
        ),
        ("db", vec![named("run", "Runs a query.", &Value::Null)]),
    ]
}

fn names(snapshot: &Snapshot, query: &SearchQuery<'_>) -> Vec<String> {
    let hits = snapshot.search(query);
    assert!(hits.hits.len() <= query.limit && hits.total >= hits.hits.len());
    assert!(
        hits.hits
            .is_sorted_by(|one, other| one.score >= other.score)
    );
    for hit in &hits.hits {
        assert!((0.0..=1.0).contains(&hit.score), "{}", hit.score);
        assert_eq!(hit.tool.availability(), Availability::Callable);
    }
    let qualified = hits.hits.iter().map(|hit| hit.tool.qualified().to_owned());
    qualified.collect()
}

#[test]
fn every_change_is_told_to_those_who_wait_for_one() {
    let catalog = Catalog::new();
    let mut changes = catalog.changes();
    assert!(!changes.has_changed().unwrap());
    configure(&catalog, "github", Operator::default());
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    assert!(catalog.replace("github", listing(Vec::new())));
    assert!(changes.has_changed().unwrap());
}

#[test]
fn a_reader_keeps_its_snapshot_while_the_catalog_changes() {
    let catalog = catalog(sample());
    let before = catalog.snapshot();
    let kept = Arc::clone(before.find("db", "run").unwrap());
    catalog.replace("github", listing(vec![]));
    remove(&catalog, "gitlab");
    assert_eq!(before.tools().count(), 6);
    assert_eq!(
        names(&before, &SearchQuery::new("create issue", 5)).len(),
        3
    );
    let after = catalog.snapshot();
    assert_eq!(after.tools().count(), 1);
    assert!(Arc::ptr_eq(&kept, after.find("db", "run").unwrap()));
}

#[test]
fn readers_on_other_threads_see_whole_snapshots() {
    let catalog = catalog(sample());
    let pairs = |number: u32| {
        let description = format!("pair {number}");
        listing(vec![
            named("left", &description, &Value::Null),
            named("right", &description, &Value::Null),
        ])
    };
    catalog.replace("db", pairs(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let snapshot = catalog.snapshot();
                    let hits = snapshot.search(&SearchQuery::new("pair", 5));
                    let found: Vec<&str> = hits
                        .hits
                        .iter()
                        .map(|hit| hit.tool.tool().description.as_str())
                        .collect();
                    assert!(found.len() == 2 && found[0] == found[1], "{found:?}");
                }
            });
        }
        for number in 0..200 {
            assert!(catalog.replace("db", pairs(number)));
            configure(&catalog, &format!("other{number}"), Operator::default());
        }
    });
    // No writer overwrote the other's change.
    assert_eq!(catalog.snapshot().configured().count(), 203);
}

#[test]
fn compiled_checks_survive_changes_of_other_things() {
    let catalog = catalog(sample());
    let checker = |snapshot: &Snapshot| {
        std::ptr::from_ref(snapshot.find("github", "list_issues").unwrap().arguments())
    };
    let first = catalog.snapshot();
    let compiled = checker(&first);
    catalog.replace("db", listing(vec![]));
    configure(
        &catalog,
        "github",
        Operator {
            enabled: false,
            ..Operator::default()
        },
    );
    let mut tools = sample().remove(0).1;
    tools.push(named("another", "", &Value::Null));
    catalog.replace("github", listing(tools));
    assert_eq!(checker(&catalog.snapshot()), compiled);
    // A tool that its server changed is another one.
    let changed = named("list_issues", "Lists.", &Value::Null);
    catalog.replace("github", listing(vec![changed]));
    assert_ne!(checker(&catalog.snapshot()), compiled);
}

#[test]
fn a_listing_does_not_bring_a_removed_server_back() {
    let catalog = catalog(sample());
    remove(&catalog, "db");
    assert!(!catalog.replace("db", listing(vec![])));
    assert!(catalog.snapshot().server("db").is_none());
}

#[test]
fn a_server_is_known_before_its_tools_are() {
    let catalog = Catalog::new();
    configure(&catalog, "slow", Operator::default());
    assert!(!catalog.snapshot().server("slow").unwrap().is_listed());
    catalog.replace("slow", listing(vec![]));
    assert!(catalog.snapshot().server("slow").unwrap().is_listed());
}

#[test]
fn a_reload_keeps_listings_and_drops_what_is_not_named() {
    let catalog = catalog(sample());
    let operators = ["github", "new"].map(|name| (name.to_owned(), Operator::default()));
    catalog.configure(HashMap::from(operators));
    let snapshot = catalog.snapshot();
    let servers: Vec<_> = snapshot.configured().map(|state| &**state.name()).collect();
    assert_eq!(servers, ["github", "new"]);
    assert!(snapshot.find("github", "delete_repo").is_some());
}

fn overrides(annotations: &Value, enabled: bool) -> Operator {
    let settings = ToolOverride {
        annotations: annotations.as_object().unwrap().clone(),
        enabled,
    };
    Operator {
        tools: HashMap::from([("t".to_owned(), settings)]),
        ..Operator::default()
    }
}

#[test]
fn operator_hints_win_hint_by_hint() {
    let table = [
        (
            json!({}),
            json!({}),
            Effect::Unknown {
                known_not_destructive: false,
            },
        ),
        (json!({"readOnlyHint": true}), json!({}), Effect::Read),
        (
            json!({"readOnlyHint": true}),
            json!({"destructiveHint": true}),
            Effect::Destructive,
        ),
        (
            json!({"destructiveHint": true}),
            json!({"readOnlyHint": true}),
            Effect::Destructive,
        ),
        (
            json!({"destructiveHint": true, "readOnlyHint": false}),
            json!({"destructiveHint": false}),
            Effect::Write,
        ),
        (json!({}), json!({"readOnlyHint": true}), Effect::Read),
    ];
    for (own, operator, effect) in table {
        let catalog = catalog(vec![("s", vec![named("t", "", &own)])]);
        configure(&catalog, "s", overrides(&operator, true));
        let snapshot = catalog.snapshot();
        let entry = snapshot.find("s", "t").unwrap();
        assert_eq!(entry.effect(), effect, "{own} {operator}");
        assert_eq!(entry.call_with(), effect.call_with());
        let shown = entry.shown_annotations().map(Json::to_value);
        for (name, value) in operator.as_object().unwrap() {
            assert_eq!(shown.as_ref().unwrap()[name], *value, "{own} {operator}");
        }
    }
}

#[test]
fn settings_that_come_before_the_listing_hold_for_it() {
    let catalog = Catalog::new();
    configure(
        &catalog,
        "s",
        overrides(&json!({"readOnlyHint": true}), true),
    );
    catalog.replace("s", listing(vec![named("t", "", &Value::Null)]));
    let snapshot = catalog.snapshot();
    let annotations = snapshot.find("s", "t").unwrap().annotations();
    assert_eq!(
        annotations,
        ToolAnnotations {
            read_only: Some(true),
            ..ToolAnnotations::default()
        }
    );
}

#[test]
fn what_is_withheld_is_found_by_name_and_never_shown() {
    let quarantined = Operator {
        quarantined: true,
        ..Operator::default()
    };
    let disabled = Operator {
        enabled: false,
        ..Operator::default()
    };
    let broken = Operator {
        is_broken: true,
        ..Operator::default()
    };
    let both = Operator {
        enabled: false,
        quarantined: true,
        ..Operator::default()
    };
    let table = [
        (Operator::default(), Availability::Callable),
        (overrides(&json!({}), false), Availability::ToolDisabled),
        (disabled, Availability::ServerDisabled),
        (broken, Availability::ServerBroken),
        (quarantined, Availability::ServerQuarantined),
        (both, Availability::ServerQuarantined),
    ];
    for (operator, availability) in table {
        let catalog = catalog(vec![("s", vec![named("t", "withheld", &Value::Null)])]);
        configure(&catalog, "s", operator);
        let snapshot = catalog.snapshot();
        assert_eq!(
            snapshot.find("s", "t").unwrap().availability(),
            availability
        );
        let shown = usize::from(availability == Availability::Callable);
        for text in ["withheld", "s:t", "t", ""] {
            assert_eq!(
                snapshot.search(&SearchQuery::new(text, 5)).total,
                shown,
                "{text}"
            );
        }
        assert_eq!(
            snapshot
                .nearest_tools("s:T", &Rights::Administrator, |_| true)
                .len(),
            shown
        );
        let server_shown = shown == 1 || availability == Availability::ToolDisabled;
        assert_eq!(
            snapshot.nearest_servers("s", &Rights::Administrator).len(),
            usize::from(server_shown)
        );
    }
}

#[test]
fn fields_that_the_schemas_of_a_tool_mark_as_secret() {
    let definition = json!({"name": "login", "inputSchema": {"properties": {
            "user": {"type": "string"}, "password": {"type": "string", "format": "password"}}},
        "outputSchema": {"properties": {"session": {"writeOnly": true}}}});
    let plain = json!({"name": "list", "inputSchema": {"properties": {"password": {}}}});
    // The mark is escaped, which means the same.
    let escaped = Json::parse(
        r#"{"name": "escaped", "inputSchema": {"properties": {"pin": {"write\u004fnly": true}}}}"#,
    );
    // The mark stands deeper than the reader goes.
    let deep = Json::parse(format!(
        r#"{{"name": "deep", "inputSchema": {{"a": {}"writeOnly"{}}}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    ));
    let tools = vec![
        tool(&definition),
        tool(&plain),
        ToolDefinition::parse(&escaped.unwrap()).unwrap(),
        ToolDefinition::parse(&deep.unwrap()).unwrap(),
    ];
    let catalog = catalog(vec![("idp", tools)]);
    let snapshot = catalog.snapshot();
    let hidden = |name: &str, value: &Value| {
        let entry = snapshot.find("idp", name).unwrap();
        entry.secret_arguments().hide(value).0
    };
    let value = json!({"user": "joe", "password": "x", "pin": 7});
    assert_eq!(
        hidden("login", &value),
        json!({"user": "joe", "password": "***", "pin": 7})
    );
    assert_eq!(hidden("list", &value), value);
    assert_eq!(
        hidden("escaped", &value),
        json!({"user": "joe", "password": "x", "pin": "***"})
    );
    assert_eq!(hidden("deep", &value), json!("***"));

    let login = snapshot.find("idp", "login").unwrap();
    let session = json!({"session": "abcdef", "until": "noon"});
    assert_eq!(
        login.secret_results().hide(&session).0,
        json!({"session": "***", "until": "noon"})
    );
    assert!(
        snapshot
            .find("idp", "list")
            .unwrap()
            .secret_results()
            .is_empty()
    );
}

#[test]
fn a_tool_announces_the_contract_by_carrying_its_definition() {
    let table = [
        (json!(null), false),
        (json!({}), false),
        (
            json!({"dev.mcpproxy/definition": {"name": "get-card"}}),
            true,
        ),
        (json!({"dev.mcpproxy/definition": "get-card"}), false),
        (json!({"dev.mcpproxy/definition": null}), false),
        (json!({"other/definition": {}}), false),
        (json!("dev.mcpproxy/definition"), false),
    ];
    for (meta, expected) in table {
        let definition = json!({"name": "get-card", "inputSchema": {}, "_meta": meta});
        let catalog = catalog(vec![("cards", vec![tool(&definition)])]);
        let snapshot = catalog.snapshot();
        let entry = snapshot.find("cards", "get-card").unwrap();
        assert_eq!(entry.announces_contract(), expected, "{meta}");
    }
}

#[test]
fn dep_6_a_tool_whose_removal_date_has_come_is_neither_listed_nor_found() {
    let deprecated = json!({"replacement": "get-card", "removalDate": "2026-03-01"});
    let old = json!({"name": "find-card", "description": "finds", "inputSchema": {},
        "_meta": {"dev.mcpproxy/definition": {"deprecated": deprecated}}});
    let catalog = catalog(vec![("cards", vec![tool(&old)])]);
    let administrator = Rights::Administrator;
    let shown = || {
        let listing = catalog.directory().listing(&Scope::All, ListedKind::Tool);
        let listed = listing.page(None).unwrap().contains("find-card");
        let snapshot = catalog.snapshot();
        let found = snapshot.search(&SearchQuery::new("finds", 5)).total == 1;
        let is_near = snapshot.nearest_tools("cards:find-cards", &administrator, |_| true)
            == ["cards:find-card"];
        [listed, found, is_near]
    };
    let availability = || {
        let snapshot = catalog.snapshot();
        snapshot.find("cards", "find-card").unwrap().availability()
    };
    let changes = catalog.changes();
    catalog.begin_day(date(2026, 2, 28));
    assert_eq!(
        (shown(), availability()),
        ([true; 3], Availability::Callable)
    );
    assert!(
        !changes.has_changed().unwrap(),
        "nothing is removed on that day"
    );

    catalog.begin_day(date(2026, 3, 1));
    assert_eq!(
        (shown(), availability()),
        ([false; 3], Availability::ToolRemoved)
    );
    assert!(changes.has_changed().unwrap());

    // Whatever the server or the operator changes, it is still that day.
    configure(&catalog, "cards", Operator::default());
    let other = json!({"name": "get-card", "inputSchema": {}});
    catalog.replace("cards", listing(vec![tool(&old), tool(&other)]));
    assert_eq!(
        (shown(), availability()),
        ([false; 3], Availability::ToolRemoved)
    );
    let disabled = Operator {
        enabled: false,
        ..Operator::default()
    };
    configure(&catalog, "cards", disabled);
    assert_eq!(availability(), Availability::ServerDisabled);
}
