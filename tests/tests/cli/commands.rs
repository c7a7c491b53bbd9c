//! The command line: exit codes, formats, and ways to give arguments.

use mcpproxy_tests::{Client, Fixture, Home, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 4] = [
    r#"{"name":"list_repos","description":"List repositories. More words.","inputSchema":{"type":"object","properties":{"org":{"type":"string"}}},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"create_issue","description":"Create an issue","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}"#,
    r#"{"name":"delete_repo","description":"Delete a repository","inputSchema":{},"annotations":{"destructiveHint":true}}"#,
    r#"{"name":"run_query","description":"Run a query","inputSchema":{}}"#,
];

#[tokio::test]
async fn exit_codes_tell_what_happened_and_errors_leave_stdout_empty() {
    let fixture = fixture().error("create_issue", r#"{"code":-32000,"message":"no quota"}"#);
    let home = Home::new(PROGRAMS, &config(&fixture));
    for (arguments, code) in [
        (&["call", "tool-read", "srv:list_repos"][..], 0),
        (&["config", "check"], 0),
        (&["--help"], 0),
        (&["--version"], 0),
        (&["call", "tool-read", "srv:delete_repo"], 1),
        (&["call", "tool-read", "srv:nothing"], 1),
        (&["call", "tool-read", "nowhere:x"], 1),
        (&["call", "tool-read", "srv"], 1),
        (&["call", "tool-write", "srv:create_issue"], 1),
        (&["tools", "show", "srv:nothing"], 1),
        (&["call"], 2),
        (&["call", "tool-read"], 2),
        (&["call", "tool-read", "srv:list_repos", "--colour"], 2),
        (&["call", "tool-read", "srv:list_repos", "--args", "{"], 2),
        (&["call", "tool-read", "srv:list_repos", "--args", "[1]"], 2),
        (
            &[
                "call",
                "tool-read",
                "srv:list_repos",
                "--args",
                "@/no/such/file",
            ],
            2,
        ),
        (
            &[
                "call",
                "tool-read",
                "srv:list_repos",
                "--sensitivity",
                "secret",
            ],
            2,
        ),
        (&["call", "tool-read", "srv:list_repos", "-o", "xml"], 2),
        (&["nonsense"], 2),
        (&["status"], 3),
        (&["config", "check", "--config", "/no/such/file"], 4),
    ] {
        let ran = home.run(arguments).await;
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
        if code == 0 {
            assert!(!ran.stdout.is_empty(), "{arguments:?}: {ran:?}");
        } else {
            assert!(ran.stdout.is_empty(), "{arguments:?}: {ran:?}");
            assert!(!ran.stderr.is_empty(), "{arguments:?}: {ran:?}");
        }
    }
}

#[tokio::test]
async fn errors_are_shown_in_the_format_that_was_asked_for() {
    let fixture = fixture();
    let home = Home::new(PROGRAMS, &config(&fixture));
    let message =
        "Tool 'srv:delete_repo' is marked destructive by server, use call_tool_destructive";
    let call = ["call", "tool-read", "srv:delete_repo", "-o"];
    let table = home.run(&[&call[..], &["table"]].concat()).await;
    assert_eq!(table.stderr, format!("error: {message}\n"));
    let error = home.run(&[&call[..], &["json"]].concat()).await.error();
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!("SERVER_MISMATCH"), &json!(message))
    );
    assert_eq!(error["details"]["call_with"], "call_tool_destructive");
    let yaml = home.run(&[&call[..], &["yaml"]].concat()).await;
    assert!(
        yaml.stderr.starts_with("error:\n") && yaml.stderr.contains("code: SERVER_MISMATCH"),
        "{yaml:?}"
    );
    let status = home.run(&["status", "-o", "json"]).await;
    assert_eq!(
        (status.code, &status.error()["retryable"]),
        (3, &json!(true))
    );
}

#[tokio::test]
async fn a_command_line_that_cannot_be_read_is_an_error_object_where_a_program_asked() {
    let home = Home::new(PROGRAMS, &json!({ "mcpServers": {} }));
    for (typed, told) in [
        ("status --colour", "unexpected argument '--colour' found"),
        ("nonsense", "unrecognized subcommand 'nonsense'"),
        ("upstream nonsense", "unrecognized subcommand 'nonsense'"),
        ("call", "a command or an argument is missing"),
        ("call tool-read", "<SERVER:TOOL>"),
        ("activity show", "<ID>"),
        (
            "serve --listen",
            "a value is required for '--listen <ADDRESS>'",
        ),
        (
            "upstream logs a -n many",
            "invalid value 'many' for '--lines",
        ),
        (
            "call tool-read a:b --sensitivity secret",
            "invalid value 'secret'",
        ),
        ("call tool-read a:b --tool-name c:d", "cannot be used with"),
        (
            "status --config a --config b",
            "cannot be used multiple times",
        ),
        ("status more", "unexpected argument 'more' found"),
    ] {
        let typed: Vec<&str> = typed.split(' ').collect();
        for format in [&["-o", "json"][..], &["--output=json"]] {
            let before = home.run(&[format, &typed].concat()).await;
            // A flag that has no value would take the format for it, so it stands in front only.
            let is_open = typed
                .last()
                .is_some_and(|word| word.starts_with("--listen"));
            let behind = if is_open {
                before.stderr.clone()
            } else {
                home.run(&[&typed, format].concat()).await.stderr
            };
            for stderr in [before.stderr.clone(), behind] {
                let answer: Value = serde_json::from_str(&stderr)
                    .unwrap_or_else(|error| panic!("{typed:?}: {error}: {stderr}"));
                let error = &answer["error"];
                assert_eq!(error["code"], "INVALID_USAGE", "{typed:?}: {error}");
                assert_eq!(error["category"], "validation", "{typed:?}: {error}");
                let message = error["message"].as_str().unwrap_or_default();
                assert!(message.contains(told), "{typed:?}: {message}");
                assert!(
                    !message.contains('\n') && !message.contains("Usage:"),
                    "{message}"
                );
            }
            assert_eq!((before.code, &*before.stdout), (2, ""), "{before:?}");
        }
        let yaml = home.run(&[&["-o", "yaml"], &typed[..]].concat()).await;
        assert!(yaml.stderr.starts_with("error:\n"), "{yaml:?}");
        assert!(yaml.stderr.contains("code: INVALID_USAGE"), "{yaml:?}");
        assert_eq!((yaml.code, &*yaml.stdout), (2, ""), "{yaml:?}");
        let text = home.run(&typed).await;
        assert_eq!((text.code, &*text.stdout), (2, ""), "{text:?}");
        assert!(text.stderr.contains("--help"), "{text:?}");
    }
    let words = ["upstream", "add", "a", "-o", "json"];
    let ours = home.run(&words).await;
    assert_eq!(
        (ours.code, &ours.error()["code"], &*ours.stdout),
        (2, &json!("INVALID_USAGE"), "")
    );
    for asked in ["--help", "--version"] {
        let plain = home.run(&[asked]).await;
        let formatted = home.run(&["-o", "json", asked]).await;
        assert_eq!((plain.code, &*plain.stderr), (0, ""), "{plain:?}");
        assert!(plain.stdout.contains("mcpproxy"), "{plain:?}");
        assert_eq!(formatted.stdout, plain.stdout);
        assert_eq!((formatted.code, &*formatted.stderr), (0, ""));
    }
}

#[tokio::test]
async fn config_check_says_whether_there_is_a_file() {
    let home = Home::new(PROGRAMS, &json!({ "mcpServers": {} }));
    let check = ["config", "check", "-o", "json"];
    let file = home.config_file();
    let shown = home.run(&check[..2]).await;
    let valid = format!("{} is valid, 0 servers\n", file.display());
    assert_eq!((shown.code, shown.stdout), (0, valid));
    assert_eq!(home.run(&check).await.json()["file_exists"], true);
    std::fs::remove_file(&file).unwrap();
    let shown = home.run(&check[..2]).await;
    let none = format!(
        "There is no {}: the defaults hold, 0 servers\n",
        file.display()
    );
    assert_eq!((shown.code, shown.stdout), (0, none));
    let report = home.run(&check).await.json();
    assert_eq!(
        (&report["file_exists"], &report["servers"]),
        (&json!(false), &json!(0))
    );
}

#[tokio::test]
async fn people_see_a_command_as_it_is_written_and_agents_see_no_path() {
    let config = json!({ "mcpServers": { "broken": { "command": "~/bin/nothing" } } });
    let product = Product::start(PROGRAMS, &config).await;
    let reason = "command '~/bin/nothing' was not found: `~` is not expanded, write the path or ${HOME} in its place";
    eventually("the server failed", async || {
        let status = product.run(&["status"]).await.stdout;
        status.contains(reason).then_some(())
    })
    .await;
    let client = product.connect().await;
    let intent = json!({ "operation_type": "read" });
    let asked = json!({ "name": "broken:look", "intent": intent });
    let told = client.call("call_tool_read", &asked).await.to_string();
    assert!(told.contains("UPSTREAM_UNAVAILABLE"), "{told}");
    assert!(!told.contains("bin/nothing"), "{told}");
    // Such a command is looked for once a minute.
    let log = product.log();
    assert!(log.contains(reason) && log.contains("retry_in=1m"), "{log}");
    assert!(!log.contains("Some("), "{log}");
}

#[tokio::test]
async fn results_are_shown_in_the_format_that_was_asked_for() {
    let fixture = fixture();
    let home = Home::new(PROGRAMS, &config(&fixture));
    let call = [
        "call",
        "tool-read",
        "srv:list_repos",
        "--args",
        r#"{"org":"é"}"#,
    ];
    assert_eq!(home.run(&call).await.stdout, "list_repos {\"org\":\"é\"}\n");
    let result = home
        .run(&[&call[..], &["-o", "json"]].concat())
        .await
        .json();
    assert_eq!(result["content"][0]["text"], r#"list_repos {"org":"é"}"#);
    assert!(
        result["_meta"]["dev.mcpproxy/activity_id"].is_string(),
        "{result}"
    );
    let yaml = home.run(&[&["-o", "yaml"], &call[..]].concat()).await;
    assert!(
        yaml.stdout.starts_with("content:\n- type: text\n"),
        "{yaml:?}"
    );
}

#[tokio::test]
async fn arguments_come_from_both_styles_of_flags_from_files_and_from_standard_input() {
    let fixture = fixture();
    let home = Home::new(PROGRAMS, &config(&fixture));
    let file = home.folder().join("arguments.json");
    std::fs::write(&file, r#"{"org":"file"}"#).unwrap();
    let from_file = format!("@{}", file.display());
    for (flags, input, sent) in [
        (&["srv:list_repos"][..], "", "{}"),
        (
            &["srv:list_repos", "--args", r#"{"org":"a"}"#],
            "",
            r#"{"org":"a"}"#,
        ),
        (
            &["srv:list_repos", "--args", r#"{ "org" : "a" }"#],
            "",
            r#"{ "org" : "a" }"#,
        ),
        (
            &["--tool-name=srv:list_repos", r#"--json_args={"org":"b"}"#],
            "",
            r#"{"org":"b"}"#,
        ),
        (
            &["--tool-name", "srv:list_repos", "--json_args", "{}"],
            "",
            "{}",
        ),
        (
            &["srv:list_repos", "--json_args", r#"{"org":"c"}"#],
            "",
            r#"{"org":"c"}"#,
        ),
        (
            &["srv:list_repos", "--args", &from_file],
            "",
            r#"{"org":"file"}"#,
        ),
        (
            &["srv:list_repos", "--args", "-"],
            r#"{"org":"input"}"#,
            r#"{"org":"input"}"#,
        ),
        (
            &[
                "srv:list_repos",
                "--reason",
                "why",
                "--sensitivity",
                "private",
            ],
            "",
            "{}",
        ),
    ] {
        let ran = home
            .run_with_input(&[&["call", "tool-read"], flags].concat(), input)
            .await;
        assert_eq!(
            (ran.code, ran.stdout),
            (0, format!("list_repos {sent}\n")),
            "{flags:?}: {}",
            ran.stderr
        );
    }
    assert_eq!(fixture.ledger().len(), 9);
    for input in ["", "nonsense", "[]", "{}{}"] {
        let ran = home
            .run_with_input(
                &["call", "tool-read", "srv:list_repos", "--args", "-"],
                input,
            )
            .await;
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (2, ""),
            "{input:?}: {}",
            ran.stderr
        );
    }
    let long = "é".repeat(1001);
    let ran = home
        .run(&[
            "call",
            "tool-read",
            "srv:list_repos",
            "--reason",
            &long,
            "-o",
            "json",
        ])
        .await;
    assert_eq!(
        (ran.code, &ran.error()["code"]),
        (1, &json!("REASON_TOO_LONG"))
    );
    assert_eq!(
        fixture.ledger().len(),
        9,
        "nothing that was refused was sent"
    );
}

#[tokio::test]
async fn fr_030_the_commands_declare_a_reason_and_a_sensitivity() {
    let fixture = fixture();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    for (operation, tool, sensitivity) in [
        ("read", "list_repos", "public"),
        ("write", "create_issue", "internal"),
        ("destructive", "delete_repo", "private"),
    ] {
        let command = format!("tool-{operation}");
        let name = format!("srv:{tool}");
        let reason = format!("to see what {tool} does");
        let ran = product
            .run(&[
                "call",
                &command,
                &name,
                "--reason",
                &reason,
                "--sensitivity",
                sensitivity,
            ])
            .await;
        assert_eq!(ran.code, 0, "{ran:?}");
        let intent = eventually("the call is on record", async || {
            let page = product.get(&format!("/activity?tool={tool}")).await;
            Some(page["activities"].get(0)?["intent"].clone())
        })
        .await;
        assert_eq!(intent["operation_type"], operation, "{intent}");
        assert_eq!(intent["reason"], reason, "{intent}");
        assert_eq!(intent["data_sensitivity"], sensitivity, "{intent}");
    }
}

#[tokio::test]
async fn tools_are_listed_searched_and_shown_with_and_without_a_running_gateway() {
    let fixture = fixture();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    product.settle().await;
    let apart = Home::new(PROGRAMS, &config(&fixture));
    for home in [&product.home, &apart] {
        let listed = home.run(&["tools", "list", "-o", "json"]).await.json();
        let tools = listed["tools"].as_array().unwrap();
        assert_eq!(listed["total"], tools.len(), "{listed}");
        let of_server = tools.iter().filter(|tool| tool["server"] == "srv");
        assert_eq!(of_server.clone().count(), 4, "{listed}");
        let rows: Vec<[&str; 4]> = of_server
            .map(|tool| {
                ["name", "class", "call_with", "status"]
                    .map(|key| tool[key].as_str().unwrap_or_default())
            })
            .collect();
        for row in [
            ["srv:list_repos", "read", "call_tool_read", rows[0][3]],
            ["srv:create_issue", "write", "call_tool_write", rows[0][3]],
            [
                "srv:delete_repo",
                "destructive",
                "call_tool_destructive",
                rows[0][3],
            ],
            ["srv:run_query", "unknown", "call_tool_write", rows[0][3]],
        ] {
            assert!(rows.contains(&row), "{row:?} in {rows:?}");
        }
        let table = home.run(&["tools", "list"]).await;
        assert!(
            table
                .stdout
                .lines()
                .next()
                .is_some_and(|line| line.starts_with("NAME")),
            "{table:?}"
        );
        let lines = table.stdout.lines().count();
        assert_eq!(lines, tools.len() + 1, "{table:?}");
        let found = home
            .run(&["tools", "search", "delete a repository", "-o", "json"])
            .await
            .json();
        assert_eq!(found["tools"][0]["name"], "srv:delete_repo", "{found}");
        let shown = home
            .run(&["tools", "show", "srv:list_repos", "-o", "json"])
            .await
            .json();
        assert_eq!(
            shown["inputSchema"]["properties"]["org"]["type"], "string",
            "{shown}"
        );
        assert_eq!(
            (&shown["class"], &shown["call_with"]),
            (&json!("read"), &json!("call_tool_read"))
        );
        let unknown = home
            .run(&["tools", "list", "--server", "nowhere", "-o", "json"])
            .await;
        assert_eq!(
            (unknown.code, &unknown.error()["code"]),
            (1, &json!("UNKNOWN_SERVER"))
        );
    }
}

#[tokio::test]
async fn status_tells_what_a_server_that_failed_wrote_for_people() {
    let config = json!({ "mcpServers": { "broken": {
        "command": "sh", "args": ["-c", "echo cannot open the store >&2; exit 3"],
    } } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let wrote = eventually("the server has failed", async || {
        let status = product.status().await;
        let lines = status["servers"][0]["stderr"].as_array()?.clone();
        (!lines.is_empty()).then_some(lines)
    })
    .await;
    assert_eq!(wrote[0], "cannot open the store");
    let shown = product.run(&["status"]).await;
    assert!(shown.stdout.contains("exited with code 3"), "{shown:?}");
}

#[tokio::test]
async fn a_server_of_the_file_wins_over_the_sample_of_the_same_name() {
    let mine = fixture();
    let home = Home::new(
        PROGRAMS,
        &json!({ "mcpServers": { "cards": mine.entry() } }),
    );
    let product = Product::start_in(home, &["--demo"]).await;
    product.settle().await;
    let listed = product.run(&["tools", "list", "-o", "json"]).await.json();
    let names: Vec<&Value> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["server"] == "cards")
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(names.len(), TOOLS.len(), "{names:?}");
    assert!(names.contains(&&json!("cards:list_repos")), "{names:?}");
}

#[tokio::test]
async fn status_shows_the_gateway_and_its_servers() {
    let fixture = fixture();
    let broken = Fixture::new(PROGRAMS).exit_at_start();
    let config = json!({ "mcpServers": { "srv": fixture.entry(), "broken": broken.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let status = product.status().await;
    let servers: Vec<(&Value, &Value, &Value)> = status["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| (&server["name"], &server["state"], &server["tools"]))
        .collect();
    let own = &status["servers"][1]["tools"];
    assert!(own.as_u64() > Some(0), "{status}");
    let expected = [
        (json!("broken"), json!("failed"), json!(0)),
        (json!("mcpproxy"), json!("ready"), own.clone()),
        (json!("srv"), json!("ready"), json!(4)),
    ];
    assert_eq!(
        servers,
        expected
            .iter()
            .map(|(name, state, tools)| (name, state, tools))
            .collect::<Vec<_>>()
    );
    assert!(status["servers"][0]["reason"].is_string(), "{status}");
    let table = product.run(&["status"]).await;
    assert!(
        table.stdout.contains("broken") && table.stdout.contains("failed"),
        "{table:?}"
    );
}

fn fixture() -> Fixture {
    Fixture::new(PROGRAMS).tools(&TOOLS)
}

fn config(fixture: &Fixture) -> Value {
    json!({ "mcpServers": { "srv": fixture.entry() } })
}
