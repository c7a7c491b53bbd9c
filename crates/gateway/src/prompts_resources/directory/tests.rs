use mcpproxy_wire::Json;
use mcpproxy_wire::capabilities::{Capabilities, ListChanges};
use serde_json::{Value, json};

use super::*;

fn items(kind: ListedKind, keys: &[&str]) -> Vec<ListedItem> {
    let item = |key: &&str| {
        let raw = Json::of(&json!({ kind.key(): key, "x": 1.0 }));
        ListedItem::parse(kind, &raw).unwrap()
    };
    keys.iter().map(item).collect()
}

fn offerings(prompts: &[&str], resources: &[&str], templates: &[&str]) -> OfferingsSnapshot {
    let capabilities = Capabilities {
        prompts: (!prompts.is_empty()).then_some(ListChanges::Silent),
        resources: (!resources.is_empty() || !templates.is_empty()).then_some(ListChanges::Silent),
        ..Capabilities::default()
    };
    let lists = [
        items(ListedKind::Prompt, prompts),
        items(ListedKind::Resource, resources),
        items(ListedKind::Template, templates),
    ];
    OfferingsSnapshot::new(capabilities, lists)
}

fn directory(servers: &[(&str, OfferingsSnapshot)]) -> Directory {
    let listed = servers
        .iter()
        .map(|(name, offerings)| (Arc::from(*name), offerings.clone()));
    Directory::after(None, listed.collect())
}

fn two() -> Directory {
    directory(&[
        (
            "beta",
            offerings(
                &["greet", "größe"],
                &["test:shared", "test:b"],
                &["item:{id}", "b:{+x}"],
            ),
        ),
        (
            "alpha",
            offerings(
                &["greet"],
                &["test:shared", "mcpproxy:beta/x"],
                &["item:{id}"],
            ),
        ),
        ("none", offerings(&[], &[], &[])),
    ])
}

fn listed(directory: &Directory, scope: &Scope, kind: ListedKind) -> Vec<String> {
    let page = directory.listing(scope, kind).page(None).unwrap();
    let page: Value = serde_json::from_str(&page).unwrap();
    let items = page[kind.member()].as_array().unwrap();
    items
        .iter()
        .map(|item| item[kind.key()].as_str().unwrap().to_owned())
        .collect()
}

fn shown(target: Option<Target>) -> Option<String> {
    target.map(|(server, own)| format!("{server} {own}"))
}

#[test]
fn the_first_server_keeps_an_address_and_others_are_listed_with_their_names() {
    let directory = two();
    assert_eq!(
        listed(&directory, &Scope::All, ListedKind::Resource),
        [
            "mcpproxy:alpha/mcpproxy:beta/x",
            "test:shared",
            "test:b",
            "mcpproxy:beta/test:shared"
        ]
    );
    assert_eq!(
        listed(&directory, &Scope::All, ListedKind::Template),
        ["item:{id}", "b:{+x}", "mcpproxy:beta/item:{id}"]
    );
    let beta = Scope::Server("beta".into());
    assert_eq!(
        listed(&directory, &beta, ListedKind::Resource),
        ["test:b", "test:shared"]
    );
    assert!(
        listed(
            &directory,
            &Scope::Server("other".into()),
            ListedKind::Prompt
        )
        .is_empty()
    );
}

#[test]
fn prompts_have_the_names_that_tools_would_have() {
    let directory = two();
    let names = listed(&directory, &Scope::All, ListedKind::Prompt);
    assert_eq!(names[..2], ["alpha__greet", "beta__greet"]);
    for (name, expected) in names
        .iter()
        .zip(["alpha greet", "beta greet", "beta größe"])
    {
        let target = directory.prompt(&Scope::All, name);
        assert_eq!(shown(target).as_deref(), Some(expected), "{name}");
    }
    let beta = Scope::Server("beta".into());
    assert_eq!(
        listed(&directory, &beta, ListedKind::Prompt),
        ["greet", "größe"]
    );
    assert_eq!(
        shown(directory.prompt(&beta, "greet")).as_deref(),
        Some("beta greet")
    );
    for name in ["greet", "none__greet", "missing__greet", "", "alpha__"] {
        assert_eq!(directory.prompt(&Scope::All, name), None, "{name}");
    }
}

#[test]
fn addresses_are_resolved_in_one_way() {
    let directory = two();
    let beta = Scope::Server("beta".into());
    for (scope, address, expected) in [
        (&Scope::All, "test:shared", Some("alpha test:shared")),
        (&Scope::All, "test:b", Some("beta test:b")),
        (
            &Scope::All,
            "mcpproxy:beta/test:shared",
            Some("beta test:shared"),
        ),
        (
            &Scope::All,
            "mcpproxy:beta/not:listed",
            Some("beta not:listed"),
        ),
        (&Scope::All, "mcpproxy:beta/x", Some("beta x")),
        (
            &Scope::All,
            "mcpproxy:alpha/mcpproxy:beta/x",
            Some("alpha mcpproxy:beta/x"),
        ),
        (&Scope::All, "item:1", Some("alpha item:1")),
        (&Scope::All, "mcpproxy:beta/item:1", Some("beta item:1")),
        (&Scope::All, "b:1/2", Some("beta b:1/2")),
        (&Scope::All, "not:listed", None),
        (&Scope::All, "mcpproxy:missing/x", None),
        (&beta, "test:shared", Some("beta test:shared")),
        (&beta, "anything", Some("beta anything")),
        (&beta, "mcpproxy:beta/x", Some("beta x")),
        (&beta, "mcpproxy:alpha/x", Some("beta mcpproxy:alpha/x")),
    ] {
        let target = shown(directory.resource(scope, address));
        assert_eq!(target.as_deref(), expected, "{address}");
    }
}

#[test]
fn an_address_that_nobody_lists_goes_to_the_only_server_with_resources() {
    let one = directory(&[
        ("files", offerings(&[], &["file:///a"], &[])),
        ("none", offerings(&["p"], &[], &[])),
    ]);
    let target = shown(one.resource(&Scope::All, "file:///b"));
    assert_eq!(target.as_deref(), Some("files file:///b"));
    let nobody = directory(&[("none", offerings(&["p"], &[], &[]))]);
    assert_eq!(nobody.resource(&Scope::All, "file:///b"), None);
}

#[test]
fn a_server_that_is_started_anew_keeps_what_it_had_until_it_says_what_it_has() {
    let before = two();
    let servers = || vec![(Arc::from("beta"), OfferingsSnapshot::default())];
    let meanwhile = Directory::after(Some(&before), servers());
    assert!(meanwhile.is_of(&servers()) && !before.is_of(&servers()));
    let resources = listed(&meanwhile, &Scope::All, ListedKind::Resource);
    assert_eq!(resources, ["test:b", "test:shared"]);
    assert!(meanwhile.unknown().is_empty());
    let unknown = Directory::after(None, servers());
    assert_eq!(unknown.unknown().len(), 1);
    let empty = vec![(Arc::from("beta"), offerings(&[], &[], &[]))];
    assert!(!meanwhile.is_of(&empty));
    let after = Directory::after(Some(&meanwhile), empty);
    assert!(listed(&after, &Scope::All, ListedKind::Resource).is_empty());
}

#[test]
fn a_completion_refers_to_a_template_as_it_is_listed() {
    let directory = two();
    for (text, expected) in [
        ("item:{id}", Some("alpha item:{id}")),
        ("mcpproxy:beta/item:{id}", Some("beta item:{id}")),
        ("b:{+x}", Some("beta b:{+x}")),
        ("test:b", Some("beta test:b")),
        ("c:{x}", None),
    ] {
        let target = shown(directory.template(&Scope::All, text));
        assert_eq!(target.as_deref(), expected, "{text}");
    }
}
