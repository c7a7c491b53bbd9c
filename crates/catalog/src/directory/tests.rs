use mcpproxy_policy::{AgentToken, TokenGrant};
use mcpproxy_wire::{Capabilities, ListChanges, Offerings};
use serde_json::{Value, json};

use super::*;
use crate::{Catalog, Operator};

fn items(kind: ListedKind, keys: &[&str]) -> Vec<ListedItem> {
    let item = |key: &&str| {
        let raw = Json::of(&json!({ kind.key(): key, "x": 1.0 }));
        ListedItem::parse(kind, &raw).unwrap()
    };
    keys.iter().map(item).collect()
}

fn offerings(prompts: &[&str], resources: &[&str], templates: &[&str]) -> Offerings {
    let capabilities = Capabilities {
        prompts: (!prompts.is_empty()).then_some(ListChanges::Silent),
        resources: (!resources.is_empty() || !templates.is_empty()).then_some(ListChanges::Silent),
        ..Capabilities::default()
    };
    let mut offerings = Offerings::default();
    offerings.capabilities = capabilities;
    offerings
        .with(ListedKind::Tool, items(ListedKind::Tool, &[]))
        .with(ListedKind::Prompt, items(ListedKind::Prompt, prompts))
        .with(ListedKind::Resource, items(ListedKind::Resource, resources))
        .with(ListedKind::Template, items(ListedKind::Template, templates))
}

fn catalog(servers: &[(&str, Offerings)]) -> Catalog {
    let catalog = Catalog::new();
    let names = servers.iter().map(|(name, _)| (*name).to_owned());
    catalog.configure(names.map(|name| (name, Operator::default())).collect());
    for (name, offerings) in servers {
        assert!(catalog.replace(name, offerings.clone()));
    }
    catalog
}

fn directory(servers: &[(&str, Offerings)]) -> Arc<Directory> {
    catalog(servers).directory()
}

fn two() -> Arc<Directory> {
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
    let items = page[kind.as_str()].as_array().unwrap();
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
        [
            "mcpproxy:alpha/item:{id}",
            "b:{+x}",
            "mcpproxy:beta/item:{id}"
        ]
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
        let target = directory.target(
            &Scope::All,
            ListedKind::Prompt,
            name,
            &Rights::Administrator,
        );
        assert_eq!(shown(target).as_deref(), Some(expected), "{name}");
    }
    let beta = Scope::Server("beta".into());
    assert_eq!(
        listed(&directory, &beta, ListedKind::Prompt),
        ["greet", "größe"]
    );
    assert_eq!(
        shown(directory.target(&beta, ListedKind::Prompt, "greet", &Rights::Administrator))
            .as_deref(),
        Some("beta greet")
    );
    for name in ["greet", "none__greet", "missing__greet", "", "alpha__"] {
        assert_eq!(
            directory.target(
                &Scope::All,
                ListedKind::Prompt,
                name,
                &Rights::Administrator
            ),
            None,
            "{name}"
        );
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
        (&Scope::All, "item:1", None),
        (&Scope::All, "mcpproxy:beta/item:1", Some("beta item:1")),
        (&Scope::All, "b:1/2", Some("beta b:1/2")),
        (&Scope::All, "not:listed", None),
        (&Scope::All, "mcpproxy:missing/x", None),
        (&beta, "test:shared", Some("beta test:shared")),
        (&beta, "anything", Some("beta anything")),
        (&beta, "mcpproxy:beta/x", Some("beta x")),
        (&beta, "mcpproxy:alpha/x", Some("beta mcpproxy:alpha/x")),
    ] {
        let target =
            shown(directory.target(scope, ListedKind::Resource, address, &Rights::Administrator));
        assert_eq!(target.as_deref(), expected, "{address}");
    }
}

#[test]
fn an_address_that_nobody_lists_goes_to_the_only_server_with_resources() {
    let one = directory(&[
        ("files", offerings(&[], &["file:///a"], &[])),
        ("none", offerings(&["p"], &[], &[])),
    ]);
    let target = shown(one.target(
        &Scope::All,
        ListedKind::Resource,
        "file:///b",
        &Rights::Administrator,
    ));
    assert_eq!(target.as_deref(), Some("files file:///b"));
    let nobody = directory(&[("none", offerings(&["p"], &[], &[]))]);
    assert_eq!(
        nobody.target(
            &Scope::All,
            ListedKind::Resource,
            "file:///b",
            &Rights::Administrator
        ),
        None
    );
}

#[test]
fn a_server_that_is_started_anew_keeps_what_it_had_until_it_says_what_it_has() {
    let had = offerings(&["p"], &["test:b"], &["item:{id}"]);
    let catalog = catalog(&[("beta", had), ("new", Offerings::default())]);
    let before = catalog.directory();
    assert_eq!(before.unknown(), [&Arc::from("new")]);
    catalog.replace("beta", Offerings::default());
    let meanwhile = catalog.directory();
    assert!(!Arc::ptr_eq(&before, &meanwhile));
    let resources = listed(&meanwhile, &Scope::All, ListedKind::Resource);
    assert_eq!(resources, ["test:b"]);
    assert_eq!(meanwhile.unknown(), [&Arc::from("new")]);
    catalog.replace("beta", offerings(&[], &[], &[]));
    let after = catalog.directory();
    assert!(listed(&after, &Scope::All, ListedKind::Resource).is_empty());
}

#[test]
fn what_a_server_offers_that_may_not_be_used_is_not_listed() {
    let catalog = catalog(&[("off", offerings(&["p"], &["test:b"], &["item:{id}"]))]);
    let operator = Operator {
        quarantined: true,
        ..Operator::default()
    };
    catalog.configure([("off".to_owned(), operator)].into());
    let directory = catalog.directory();
    for kind in ListedKind::ALL {
        for scope in [Scope::All, Scope::Server("off".into())] {
            assert!(listed(&directory, &scope, kind).is_empty(), "{kind:?}");
        }
    }
    for (kind, named) in [
        (ListedKind::Prompt, "off__p"),
        (ListedKind::Resource, "test:b"),
        (ListedKind::Resource, "mcpproxy:off/test:b"),
        (ListedKind::Template, "item:{id}"),
    ] {
        assert_eq!(
            directory.target(&Scope::All, kind, named, &Rights::Administrator),
            None,
            "{named}"
        );
    }
}

#[test]
fn a_snapshot_that_is_written_and_read_again_is_the_same() {
    let odd = r#"{ "zeta":1e400, "name" : "\u0061", "inputSchema":{"a":18446744073709551617} }"#;
    let odd = Json::parse(odd).unwrap();
    let tool = ListedItem::parse(ListedKind::Tool, &odd).unwrap();
    let full = offerings(&["p"], &["test:b"], &["item:{id}"]).with(ListedKind::Tool, [tool]);
    let before = catalog(&[("full", full), ("new", Offerings::default())]);
    let text = serde_json::to_string(&*before.snapshot()).unwrap();
    let read: HashMap<String, Offerings> = serde_json::from_str(&text).unwrap();
    let read: Vec<(&str, Offerings)> = read
        .iter()
        .map(|(name, offerings)| (name.as_str(), offerings.clone()))
        .collect();
    let after = catalog(&read);
    assert_eq!(serde_json::to_string(&*after.snapshot()).unwrap(), text);
    let snapshot = after.snapshot();
    assert_eq!(snapshot.find("full", "a").unwrap().tool().raw, odd);
    assert!(!snapshot.server("new").unwrap().is_listed());
    for kind in ListedKind::ALL {
        let page = |catalog: &Catalog| catalog.directory().listing(&Scope::All, kind).page(None);
        assert_eq!(page(&after), page(&before), "{kind:?}");
    }
}

/// Server `a` with these templates, beside `b` with a resource and a template of its own.
fn beside_b(templates: &[&str]) -> Arc<Directory> {
    directory(&[
        ("a", offerings(&[], &[], templates)),
        (
            "b",
            offerings(&[], &["db://b/listed"], &["db://only-b/{id}"]),
        ),
    ])
}

#[test]
fn a_template_that_matches_everything_took_other_servers_resources() {
    for template in [
        "{+any}",
        "{scheme}://only-b/{id}",
        "d{+any}",
        "db:{+any}",
        "DB:{+any}",
        "db://{+any}",
        "db://{host}/{id}",
        "mcpproxy:{+any}",
        "mcpproxy:b{+any}",
    ] {
        let directory = beside_b(&[template]);
        for (address, expected) in [
            ("db://b/listed", Some("b db://b/listed")),
            ("db://only-b/42", Some("b db://only-b/42")),
            ("db://b/not-listed", None),
            ("db://unknown/42", None),
            ("other:x", None),
            ("mcpproxy:missing/x", None),
            ("mcpproxy:b", None),
            ("mcpproxy:a/db://only-b/42", Some("a db://only-b/42")),
        ] {
            let target = shown(directory.target(
                &Scope::All,
                ListedKind::Resource,
                address,
                &Rights::Administrator,
            ));
            assert_eq!(target.as_deref(), expected, "{template} {address}");
        }
        let own = Scope::Server("a".into());
        let target = directory.target(
            &own,
            ListedKind::Resource,
            "db://only-b/42",
            &Rights::Administrator,
        );
        assert_eq!(shown(target).as_deref(), Some("a db://only-b/42"));
        // It is listed in the form that can be used.
        let listed = listed(&directory, &Scope::All, ListedKind::Template);
        assert_eq!(listed[0], format!("mcpproxy:a/{template}"));
        let completed = directory.target(
            &Scope::All,
            ListedKind::Template,
            &listed[0],
            &Rights::Administrator,
        );
        assert_eq!(shown(completed), Some(format!("a {template}")));
        let collisions = directory.collisions();
        assert_eq!(collisions.total, 1, "{collisions:?}");
        assert_eq!(collisions.shown[0].kind, CollisionKind::NoClaim);
        assert_eq!(collisions.shown[0].address, template);
        assert_eq!(*collisions.shown[0].server, *"a");
    }
}

#[test]
fn the_template_with_the_longest_beginning_claims_an_address() {
    let directory = directory(&[
        (
            "a",
            offerings(&[], &[], &["db://x/{+any}", "notes://{id}", "db://z/{id}"]),
        ),
        (
            "b",
            offerings(&[], &["db://x/7"], &["db://x/b/{id}", "db://z/{+any}"]),
        ),
        ("c", offerings(&[], &[], &["db://z/{id}/c", "db://z/{id}"])),
    ]);
    for (address, expected) in [
        ("db://x/1", Some("a db://x/1")),
        ("db://x/7", Some("b db://x/7")),
        ("db://x/b/1", Some("b db://x/b/1")),
        ("db://x/b/1/2", Some("a db://x/b/1/2")),
        ("notes://1", Some("a notes://1")),
        ("db://z/1/2", Some("b db://z/1/2")),
        ("db://z/1", None),
        ("db://z/1/c", None),
    ] {
        let target = shown(directory.target(
            &Scope::All,
            ListedKind::Resource,
            address,
            &Rights::Administrator,
        ));
        assert_eq!(target.as_deref(), expected, "{address}");
    }
    let fitting = |address| {
        directory
            .fitting(address, &Rights::Administrator)
            .into_iter()
            .map(|server| server.to_string())
    };
    assert!(fitting("db://z/1").eq(["a", "b", "c"]));
    assert!(fitting("db://z/1/c").eq(["b", "c"]));
    assert!(fitting("other:x").eq([""; 0]));
    // What two servers have is listed with their names, and what only overlaps as it is.
    assert_eq!(
        listed(&directory, &Scope::All, ListedKind::Template),
        [
            "db://x/{+any}",
            "mcpproxy:a/db://z/{id}",
            "notes://{id}",
            "db://x/b/{id}",
            "db://z/{+any}",
            "mcpproxy:c/db://z/{id}",
            "db://z/{id}/c",
        ]
    );
}

#[test]
fn collisions_are_counted_and_a_few_of_them_shown() {
    let two = two();
    let found = |collisions: &Collisions| -> Vec<String> {
        let shown = collisions.shown.iter();
        shown
            .map(|one| {
                let (kind, other) = (one.kind.as_str(), one.other.as_deref().unwrap_or("-"));
                format!("{kind} {} {} {other}", one.server, one.address)
            })
            .collect()
    };
    assert_eq!(
        found(two.collisions()),
        [
            "same_address beta test:shared alpha",
            "no_claim alpha item:{id} beta",
            "no_claim beta item:{id} alpha",
        ]
    );
    let claims = directory(&[
        ("a", offerings(&[], &[], &["db://z/{id}"])),
        ("b", offerings(&[], &[], &["db://z/{+any}"])),
    ]);
    assert_eq!(found(claims.collisions()), ["same_claim b db://z/{+any} a"]);
    let many: Vec<String> = (0..1_000)
        .map(|number| format!("test:{number}{}", "x".repeat(1_000)))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (one, other) = (offerings(&[], &many, &[]), offerings(&[], &many, &[]));
    let many = directory(&[("a", one), ("b", other)]);
    let collisions = many.collisions();
    assert_eq!((collisions.total, collisions.shown.len()), (1_000, 20));
    assert!(collisions.shown.iter().all(|one| one.address.len() < 210));
    assert_eq!(beside_b(&["notes://{id}"]).collisions().total, 0);
}

#[test]
fn a_completion_refers_to_a_template_as_it_is_listed() {
    let directory = two();
    for (text, expected) in [
        ("item:{id}", None),
        ("mcpproxy:beta/item:{id}", Some("beta item:{id}")),
        ("b:{+x}", Some("beta b:{+x}")),
        ("test:b", Some("beta test:b")),
        ("c:{x}", None),
    ] {
        let target = shown(directory.target(
            &Scope::All,
            ListedKind::Template,
            text,
            &Rights::Administrator,
        ));
        assert_eq!(target.as_deref(), expected, "{text}");
    }
}

/// An address that a server listed which the caller may not use was not found, although another one has it.
#[test]
fn a_server_out_of_reach_took_the_addresses_of_others() {
    let directory = directory(&[
        (
            "a",
            offerings(&[], &["db://x/1"], &["db://x/{id}", "db://only-a/{id}"]),
        ),
        ("b", offerings(&[], &["db://x/1"], &["db://x/{id}"])),
        ("c", offerings(&[], &["db://c/1"], &[])),
    ]);
    let grant = TokenGrant {
        servers: Some(vec!["b".to_owned(), "c".to_owned()]),
        ..TokenGrant::default()
    };
    let rights = Rights::Token(Arc::new(AgentToken {
        id: "1".into(),
        name: "agent".into(),
        grant,
    }));
    let target = |address, rights: &Rights| {
        shown(directory.target(&Scope::All, ListedKind::Resource, address, rights))
    };
    assert_eq!(target("db://x/1", &rights).as_deref(), Some("b db://x/1"));
    assert_eq!(target("db://x/2", &rights).as_deref(), Some("b db://x/2"));
    let completed = |template: &str| {
        shown(directory.target(&Scope::All, ListedKind::Template, template, &rights))
    };
    // Whether a server out of reach has a template cannot be told from one that nobody has.
    assert_eq!(completed("db://only-a/{id}"), completed("db://nobody/{id}"));
    let all = Rights::Administrator;
    assert_eq!(target("db://x/1", &all).as_deref(), Some("a db://x/1"));
    assert_eq!(target("db://x/2", &all), None);
}

#[test]
fn addresses_told_that_a_withheld_server_has_the_same() {
    let own = || {
        (
            "own",
            offerings(
                &["greet"],
                &["db://x/1", "db://own/1"],
                &["notes://{id}", "db://x/{id}"],
            ),
        )
    };
    let withheld = || {
        (
            "hidden",
            offerings(&["greet"], &["db://x/1", "notes://7"], &["db://x/{id}"]),
        )
    };
    let grant = TokenGrant {
        servers: Some(vec!["own".to_owned()]),
        ..TokenGrant::default()
    };
    let rights = Rights::Token(Arc::new(AgentToken {
        id: "1".into(),
        name: "agent".into(),
        grant,
    }));
    let alone = directory(&[own()]);
    let beside = directory(&[withheld(), own()]);
    for kind in [
        ListedKind::Prompt,
        ListedKind::Resource,
        ListedKind::Template,
    ] {
        let listed = |directory: &Directory| {
            let listing = directory.listing_within(&Scope::All, kind, &rights);
            // The digest decides whether a client is notified of a change.
            (listing.page(None), listing.digest())
        };
        assert_eq!(listed(&beside), listed(&alone), "{kind:?}");
        let all = beside.listing(&Scope::All, kind);
        assert_ne!(all.digest(), listed(&beside).1, "{kind:?}");
        for named in [
            "db://x/1",
            "db://x/2",
            "notes://5",
            "notes://7",
            "notes://{id}",
            "db://x/{id}",
            "own__greet",
        ] {
            let found = |directory: &Directory| {
                let target = shown(directory.target(&Scope::All, kind, named, &rights));
                (target, directory.fitting(named, &rights))
            };
            assert_eq!(found(&beside), found(&alone), "{kind:?} {named}");
        }
    }
    assert!(beside.has_names(&rights));
}
