use super::*;

fn tally(name: &str, intent: &str, status: &str, count: u64) -> Tally {
    let (server, tool) = name.split_once(':').unwrap();
    Tally {
        kind: "tool_call".to_owned(),
        server: Some(server.to_owned()),
        tool: Some(tool.to_owned()),
        intent: Some(intent.to_owned()),
        status: status.to_owned(),
        count,
    }
}

fn known(servers: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
    let owned = |tools: &[&str]| tools.iter().map(|tool| (*tool).to_owned()).collect();
    let servers = servers.iter();
    servers
        .map(|(server, tools)| ((*server).to_owned(), owned(tools)))
        .collect()
}

#[test]
fn what_worked_is_allowed_by_server_operation_and_tool() {
    let drawn = draw(
        &[
            tally("files:read", "read", "success", 3),
            tally("files:read", "read", "error", 1),
            tally("files:write", "write", "success", 2),
            tally("github:list", "read", "success", 5),
        ],
        &BTreeMap::new(),
    );
    let expected = json!({
        "files": {
            "read": [{ "tool": "read", "calls": 3 }],
            "write": [{ "tool": "write", "calls": 2 }],
        },
        "github": { "read": [{ "tool": "list", "calls": 5 }] },
    });
    assert_eq!(json!(drawn.allowed), expected);
    assert_eq!((drawn.calls, drawn.covered), (11, 10));
    assert!(drawn.tried.is_empty());
}

#[test]
fn what_never_worked_is_named_and_not_allowed() {
    let drawn = draw(
        &[
            tally("files:delete", "destructive", "blocked", 2),
            tally("files:delete", "destructive", "error", 1),
            tally("files:write", "write", "in_doubt", 1),
            // The same tool worked as another operation, which does not allow this one.
            tally("files:write", "destructive", "success", 1),
        ],
        &BTreeMap::new(),
    );
    let expected = json!({ "files": { "destructive": [{ "tool": "write", "calls": 1 }] } });
    assert_eq!(json!(drawn.allowed), expected);
    let tried: Vec<_> = drawn
        .tried
        .iter()
        .map(|one| {
            (
                &*one.name,
                one.operation,
                one.failed,
                one.refused,
                one.in_doubt,
            )
        })
        .collect();
    assert_eq!(
        tried,
        [
            ("files:delete", RecordedOperation::Destructive, 1, 2, 0),
            ("files:write", RecordedOperation::Write, 0, 0, 1),
        ]
    );
}

#[test]
fn what_exists_and_was_not_used_is_named() {
    let drawn = draw(
        &[
            tally("files:read", "read", "success", 1),
            tally("github:list", "read", "error", 1),
        ],
        &known(&[
            ("files", &["read", "write"]),
            ("github", &["list"]),
            ("empty", &[]),
        ]),
    );
    assert_eq!(drawn.unused.servers, ["empty", "github"]);
    assert_eq!(drawn.unused.tools, ["files:write"]);
    assert_eq!(drawn.unused.more_tools, 0);
}

#[test]
fn what_is_no_call_of_a_tool_counts_for_nothing() {
    let mut search = tally("x:y", "read", "success", 7);
    search.server = None;
    let mut change = tally("files:read", "read", "success", 7);
    change.intent = None;
    let drawn = draw(&[search, change], &BTreeMap::new());
    assert_eq!(drawn, Drawn::default());
}

#[test]
fn however_much_there_is_the_proposal_keeps_its_bounds_and_the_most_used() {
    let tallies: Vec<Tally> = (0..500)
        .map(|number| {
            tally(
                &format!("big:tool{number:03}"),
                "read",
                "success",
                number + 1,
            )
        })
        .collect();
    let names: Vec<String> = (0..1_000)
        .map(|number| format!("tool{number:03}"))
        .collect();
    let drawn = draw(&tallies, &BTreeMap::from([("big".to_owned(), names)]));
    let listed = &drawn.allowed["big"][&RecordedOperation::Read];
    assert_eq!((listed.len(), drawn.left_out), (MOST_TOOLS, 300));
    assert_eq!(listed[0].tool, "tool499");
    assert_eq!(drawn.unused.tools.len(), MOST_TOOLS);
    assert_eq!(drawn.unused.more_tools, 600);
}
