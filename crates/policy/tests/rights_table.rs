//! Rights, as tables: every role, everything that can be wanted.

use std::sync::Arc;

use mcpproxy_policy::rights::{ADMIN_SERVER, ADMINISTRATION};
use mcpproxy_policy::{
    AccessTo, ActivityAccess, AgentToken, AnonymousRole, Caller, Effect, LimitKey, Operation,
    OperationSet, RecordScope, Rights, TokenGrant, ToolGlob,
};

const UNKNOWN: Effect = Effect::Unknown {
    known_not_destructive: false,
};
const NOT_DESTRUCTIVE: Effect = Effect::Unknown {
    known_not_destructive: true,
};
const EFFECTS: [Effect; 5] = [
    Effect::Read,
    Effect::Write,
    Effect::Destructive,
    UNKNOWN,
    NOT_DESTRUCTIVE,
];

fn token(grant: TokenGrant) -> Rights {
    Rights::Token(Arc::new(AgentToken {
        id: "id-1".into(),
        name: "ci".into(),
        grant,
    }))
}

fn tool(qualified: &str, effect: Effect) -> AccessTo<'_> {
    let (server, _) = qualified.split_once(':').expect("a name has a server");
    AccessTo::Tool {
        server,
        qualified,
        effect,
    }
}

/// All subsets of the operations.
fn operation_sets() -> impl Iterator<Item = OperationSet> {
    (0..8_u8).map(|bits| {
        let chosen = Operation::ALL.into_iter().enumerate();
        let chosen = chosen.filter(|(index, _)| bits & (1 << index) != 0);
        OperationSet::of(&chosen.map(|(_, one)| one).collect::<Vec<_>>())
    })
}

#[test]
fn tools_by_effect_for_every_role() {
    use AnonymousRole::{Full, Read};
    for effect in EFFECTS {
        let wanted = tool("github:x", effect);
        assert!(Rights::Administrator.allow(wanted));
        assert!(Rights::Anonymous(Full).allow(wanted));
        assert_eq!(
            Rights::Anonymous(Read).allow(wanted),
            effect == Effect::Read,
            "{effect:?}"
        );
    }
}

#[test]
fn tools_by_effect_for_every_set_of_operations() {
    for operations in operation_sets() {
        for unannotated in [false, true] {
            let rights = token(TokenGrant {
                operations,
                unannotated,
                ..TokenGrant::default()
            });
            for effect in EFFECTS {
                let has = |operation| operations.contains(operation);
                let expected = match effect {
                    Effect::Read => has(Operation::Read),
                    Effect::Write => has(Operation::Write),
                    Effect::Destructive => has(Operation::Destructive),
                    // Called with call_tool_write, and nobody says that it is no more than that.
                    Effect::Unknown { .. } => {
                        has(Operation::Write) && (unannotated || has(Operation::Destructive))
                    }
                };
                let allowed = rights.allow(tool("github:x", effect));
                assert_eq!(allowed, expected, "{operations:?} {unannotated} {effect:?}");
            }
            for operation in Operation::ALL {
                let allowed = rights.allow(AccessTo::Operation(operation));
                assert_eq!(allowed, operations.contains(operation));
            }
        }
    }
}

#[test]
fn operations_of_callers_without_a_token() {
    for operation in Operation::ALL {
        let wanted = AccessTo::Operation(operation);
        assert!(Rights::Administrator.allow(wanted));
        assert!(Rights::Anonymous(AnonymousRole::Full).allow(wanted));
        let read = Rights::Anonymous(AnonymousRole::Read).allow(wanted);
        assert_eq!(read, operation == Operation::Read);
    }
}

#[test]
fn servers_and_tools_outside_a_grant_do_not_exist() {
    let glob = |text: &str| ToolGlob::parse(text).unwrap();
    let all = TokenGrant {
        operations: OperationSet::of(&Operation::ALL),
        ..TokenGrant::default()
    };
    let one = TokenGrant {
        servers: Some(vec!["github".to_owned()]),
        ..all.clone()
    };
    let admin = TokenGrant {
        servers: Some(vec![ADMIN_SERVER.to_owned()]),
        ..all.clone()
    };
    let few = TokenGrant {
        tools: vec![glob("github:get_*"), glob("db:*")],
        ..all.clone()
    };
    let everywhere = TokenGrant {
        tools: vec![glob("*:get_*")],
        ..all.clone()
    };
    let both = TokenGrant {
        servers: Some(vec!["github".to_owned(), "files".to_owned()]),
        tools: vec![glob("github:*_file")],
        ..all.clone()
    };
    // Server, tool, prompts and resources of it, for each grant.
    for (grant, server, name, expected) in [
        (&all, "github", "github:get_file", [true, true, true]),
        (&all, ADMIN_SERVER, "mcpproxy:list-activity", [false; 3]),
        (&one, "github", "github:get_file", [true, true, true]),
        (&one, "gitlab", "gitlab:get_file", [false; 3]),
        (&one, "GitHub", "GitHub:get_file", [false; 3]),
        (&admin, ADMIN_SERVER, "mcpproxy:list-activity", [true; 3]),
        (&admin, "github", "github:get_file", [false; 3]),
        (&few, "github", "github:get_file", [true, true, false]),
        (&few, "github", "github:delete_file", [true, false, false]),
        (&few, "db", "db:query", [true, true, true]),
        // No pattern can match any tool of it, so it does not exist either.
        (&few, "gitlab", "gitlab:get_file", [false; 3]),
        (&few, ADMIN_SERVER, "mcpproxy:list-activity", [false; 3]),
        (
            &everywhere,
            "gitlab",
            "gitlab:get_file",
            [true, true, false],
        ),
        (&everywhere, ADMIN_SERVER, "mcpproxy:get_x", [false; 3]),
        (&both, "github", "github:get_file", [true, true, false]),
        (&both, "files", "files:read", [false; 3]),
    ] {
        let rights = token(grant.clone());
        let found = [
            rights.allow(AccessTo::Server(server)),
            rights.allow(tool(name, Effect::Read)),
            rights.allow(AccessTo::PromptsResources(server)),
        ];
        assert_eq!(found, expected, "{grant:?} {name}");
    }
    // Getting a prompt is a read.
    let writes = token(TokenGrant {
        operations: OperationSet::of(&[Operation::Write]),
        ..TokenGrant::default()
    });
    assert!(!writes.allow(AccessTo::PromptsResources("github")));
    for rights in [Rights::Administrator, Rights::default()] {
        for server in ["github", ADMIN_SERVER] {
            assert!(rights.allow(AccessTo::Server(server)));
            assert!(rights.allow(AccessTo::PromptsResources(server)));
        }
    }
}

#[test]
fn permissions_of_contract_tools() {
    let named = token(TokenGrant {
        permissions: vec!["cards:write".to_owned()],
        ..TokenGrant::default()
    });
    let full = Rights::Anonymous(AnonymousRole::Full);
    let read = Rights::Anonymous(AnonymousRole::Read);
    for (permission, expected) in [
        ("cards:read", [true, true, true, false]),
        ("cards:write", [true, true, false, true]),
        ("activity:read", [true, true, true, false]),
        ("activity:prune", [true, false, false, false]),
        ("servers:restart", [true, false, false, false]),
    ] {
        let wanted = AccessTo::Permission(permission);
        let found = [&Rights::Administrator, &full, &read, &named].map(|one| one.allow(wanted));
        assert_eq!(found, expected, "{permission}");
    }
    for permission in ADMINISTRATION {
        assert!(!permission.ends_with(":read"), "{permission}");
    }
}

#[test]
fn administration_and_records_of_others() {
    let sees_all = token(TokenGrant {
        activity: ActivityAccess::All,
        ..TokenGrant::default()
    });
    for (rights, administers, sees) in [
        (Rights::Administrator, true, true),
        (Rights::Anonymous(AnonymousRole::Full), false, false),
        (Rights::Anonymous(AnonymousRole::Read), false, false),
        (token(TokenGrant::default()), false, false),
        (sees_all, false, true),
    ] {
        assert_eq!(rights.allow(AccessTo::Administration), administers);
        assert_eq!(rights.allow(AccessTo::AllRecords), sees);
        let caller = |session: Option<&str>| Caller {
            session_id: session.map(str::to_owned),
            rights: rights.clone(),
            ..Caller::default()
        };
        let (inside, outside) = (
            caller(Some("s")).record_scope(),
            caller(None).record_scope(),
        );
        let expected = match (&rights, sees) {
            (_, true) => (RecordScope::All, RecordScope::All),
            (Rights::Token(_), _) => {
                let own = RecordScope::Token("id-1".to_owned());
                (own.clone(), own)
            }
            _ => (RecordScope::Session("s".to_owned()), RecordScope::Nothing),
        };
        assert_eq!((inside, outside), expected, "{rights:?}");
    }
}

#[test]
fn limits_count_by_nothing_that_a_caller_chooses() {
    let peer = "192.0.2.1".parse().unwrap();
    let caller = |rights: &Rights, session: &str, peer| Caller {
        session_id: Some(session.to_owned()),
        client_name: Some(session.to_owned()),
        peer,
        rights: rights.clone(),
        ..Caller::default()
    };
    for (rights, peer, expected) in [
        (Rights::Administrator, Some(peer), LimitKey::Administrator),
        (
            token(TokenGrant::default()),
            Some(peer),
            LimitKey::Token("id-1".into()),
        ),
        (Rights::default(), Some(peer), LimitKey::Peer(peer)),
        (Rights::default(), None, LimitKey::Local),
    ] {
        for session in ["one", "another"] {
            assert_eq!(caller(&rights, session, peer).limit_key(), expected);
        }
    }
    let named = caller(&token(TokenGrant::default()), "client", None);
    assert_eq!(named.agent(), Some("ci"));
    let unnamed = caller(&Rights::default(), "client", None);
    assert_eq!(unnamed.agent(), Some("client"));
}

#[test]
fn a_grant_survives_being_written_down() {
    let grant = TokenGrant {
        servers: Some(vec!["github".to_owned()]),
        operations: OperationSet::of(&[Operation::Read, Operation::Destructive]),
        tools: vec![ToolGlob::parse("github:get_*").unwrap()],
        permissions: vec!["cards:read".to_owned()],
        activity: ActivityAccess::All,
        unannotated: true,
    };
    let text = serde_json::to_string(&grant).unwrap();
    assert_eq!(
        text,
        r#"{"servers":["github"],"operations":["read","destructive"],"tools":["github:get_*"],"permissions":["cards:read"],"activity":"all","unannotated":true}"#
    );
    assert_eq!(serde_json::from_str::<TokenGrant>(&text).unwrap(), grant);
    assert_eq!(
        serde_json::from_str::<TokenGrant>("{}").unwrap(),
        TokenGrant::default()
    );
    for wrong in [
        r#"{"operations":["delete"]}"#,
        r#"{"tools":["github"]}"#,
        r#"{"server":["github"]}"#,
        r#"{"activity":"some"}"#,
    ] {
        assert!(
            serde_json::from_str::<TokenGrant>(wrong).is_err(),
            "{wrong}"
        );
    }
}
