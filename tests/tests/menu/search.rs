//! Finding tools: what a search and a description show, and in which order.

use mcpproxy_tests::{Client, Fixture, HttpClient, Product};
use serde_json::{Value, json};

use crate::PROGRAMS;

const GITHUB: [&str; 6] = [
    r#"{"name":"list_repos","description":"List repositories. More words.","inputSchema":{"type":"object","properties":{"org":{"type":"string"}},"required":["org"]},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"create_issue","description":"Create an issue","inputSchema":{},"annotations":{"readOnlyHint":false}}"#,
    r#"{"name":"delete_repo","description":"Delete a repository","inputSchema":{},"annotations":{"destructiveHint":true,"readOnlyHint":false}}"#,
    r#"{"name":"run_query","description":"Run a query","inputSchema":{}}"#,
    r#"{"name":"archive_repo","description":"Archive a repository","inputSchema":{},"annotations":{"readOnlyHint":true,"destructiveHint":true},"_meta":{"vendor":1}}"#,
    r#"{"name":"star_repo","description":"Star a repository","inputSchema":{},"annotations":{"destructiveHint":false}}"#,
];

#[tokio::test]
async fn a_search_shows_whole_tools_best_first_with_the_variant_to_call_them_with() {
    let stage = Stage::start().await;
    let found = stage
        .search(json!({ "query": "delete a repository", "detail": "full" }))
        .await;
    let mut keys: Vec<&String> = found
        .as_object()
        .map(|object| object.keys().collect())
        .unwrap();
    keys.sort_unstable();
    assert_eq!(
        keys,
        ["query", "search", "tools", "total", "usage_instructions"]
    );
    assert_eq!(found["search"], "lexical");
    assert_eq!(found["query"], "delete a repository");
    assert!(
        found["usage_instructions"]
            .as_str()
            .is_some_and(|text| text.contains("call_tool_read"))
    );
    let tools = found["tools"].as_array().unwrap();
    assert_eq!(tools[0]["name"], "github:delete_repo", "{found}");
    let scores: Vec<f64> = tools
        .iter()
        .filter_map(|tool| tool["score"].as_f64())
        .collect();
    assert_eq!(scores.len(), tools.len());
    assert!(
        scores.is_sorted_by(|left, right| left >= right),
        "{scores:?}"
    );
    assert!(
        scores.iter().all(|score| (0.0..=1.0).contains(score)),
        "{scores:?}"
    );
    let best = json!({
        "name": "github:delete_repo", "server": "github", "description": "Delete a repository",
        "inputSchema": {}, "score": scores[0],
        "annotations": { "destructiveHint": true, "readOnlyHint": false },
        "call_with": "call_tool_destructive",
    });
    assert_eq!(tools[0], best);
}

#[tokio::test]
async fn call_with_follows_the_annotations_and_absent_ones_stay_absent() {
    let stage = Stage::start().await;
    for (tool, call_with, annotations) in [
        (
            "list_repos",
            "call_tool_read",
            json!({ "readOnlyHint": true }),
        ),
        (
            "create_issue",
            "call_tool_write",
            json!({ "readOnlyHint": false }),
        ),
        (
            "delete_repo",
            "call_tool_destructive",
            json!({ "destructiveHint": true, "readOnlyHint": false }),
        ),
        (
            "archive_repo",
            "call_tool_destructive",
            json!({ "readOnlyHint": true, "destructiveHint": true }),
        ),
        (
            "star_repo",
            "call_tool_write",
            json!({ "destructiveHint": false }),
        ),
        ("run_query", "call_tool_write", Value::Null),
    ] {
        let name = format!("github:{tool}");
        let found = stage.search(json!({ "query": tool, "limit": 50 })).await;
        let described = stage
            .answer("describe_tool", json!({ "names": [name] }))
            .await;
        for tools in [&found["tools"], &described["tools"]] {
            let tools = tools.as_array().unwrap();
            let shown = tools
                .iter()
                .find(|shown| shown["name"] == name.as_str())
                .unwrap();
            assert_eq!(shown["call_with"], call_with, "{shown}");
            assert_eq!(
                shown.get("annotations"),
                Some(&annotations).filter(|one| !one.is_null())
            );
        }
    }
}

#[tokio::test]
async fn a_compact_search_shows_one_line_for_each_tool() {
    let stage = Stage::start().await;
    let found = stage
        .search(json!({ "query": "list repositories", "detail": "compact" }))
        .await;
    let best = &found["tools"][0];
    let expected = json!({
        "name": "github:list_repos", "score": best["score"], "annotations": { "readOnlyHint": true },
        "effect": "read", "call_with": "call_tool_read",
        "signature": "list_repos(org: string)", "summary": "List repositories.",
    });
    assert_eq!(*best, expected);
    let found = stage
        .search(json!({ "query": "github:archive_repo", "detail": "compact" }))
        .await;
    assert_eq!(
        found["tools"][0]["signature"],
        "archive_repo() !destructive"
    );
}

#[tokio::test]
async fn up_to_three_tools_are_shown_whole_and_more_in_short() {
    let stage = Stage::start().await;
    for (limit, is_whole) in [(3, true), (4, false)] {
        for arguments in [
            json!({ "query": "widget", "limit": limit }),
            json!({ "query": "widget", "limit": limit, "detail": "auto" }),
        ] {
            let found = stage.search(arguments.clone()).await;
            let tools = found["tools"].as_array().unwrap();
            assert_eq!(tools.len(), limit, "{arguments}");
            for tool in tools {
                assert_eq!(
                    tool["inputSchema"].is_object(),
                    is_whole,
                    "{arguments}: {tool}"
                );
                assert_eq!(
                    tool["signature"].is_string(),
                    !is_whole,
                    "{arguments}: {tool}"
                );
            }
        }
    }
}

#[tokio::test]
async fn who_finds_nothing_is_told_how_to_ask_and_what_there_is() {
    let stage = Stage::start().await;
    for query in [
        "bake a cake",
        "qqqq",
        "наведи порядок",
        "zz' UNION SELECT qq; --",
        "<script>alert('x')</script>",
        &"blah ".repeat(2_000),
    ] {
        let found = stage.search(json!({ "query": query })).await;
        assert_eq!(
            (&found["total"], &found["tools"]),
            (&json!(0), &json!([])),
            "{query}"
        );
        let notice = found["notice"].as_str().unwrap_or_default();
        assert!(notice.starts_with("No tool fits this query."), "{notice}");
        assert!(
            notice.contains("\n- github: archive_repo, create_issue, "),
            "{notice}"
        );
        assert!(notice.chars().count() <= 2_000, "{notice}");
    }
    let found = stage.search(json!({ "query": "" })).await;
    assert_eq!(
        (found["total"].as_u64(), found.get("notice")),
        (Some(25), None)
    );
    // A query is words and nothing else: these find what deletes.
    let found = stage
        .search(json!({ "query": "'; DROP TABLE tools; --" }))
        .await;
    assert_eq!(found["tools"][0]["name"], "github:delete_repo", "{found}");
}

#[tokio::test]
async fn limits_and_filters_are_settled_inside_the_search() {
    let stage = Stage::start().await;
    // Twelve tools of the server `bulk` match; every second one is destructive.
    for (arguments, count, total) in [
        (json!({ "query": "widget" }), 5, 12),
        (json!({ "query": "widget", "limit": 1 }), 1, 12),
        (json!({ "query": "widget", "limit": 50 }), 12, 12),
        (
            json!({ "query": "widget", "limit": 6, "exclude_destructive": true }),
            6,
            6,
        ),
        (
            json!({ "query": "widget", "limit": 4, "read_only_only": true }),
            4,
            6,
        ),
        (
            json!({ "query": "widget", "server": "bulk", "limit": 50 }),
            12,
            12,
        ),
        (json!({ "query": "widget", "server": "github" }), 0, 0),
    ] {
        let found = stage.search(arguments.clone()).await;
        let tools = found["tools"].as_array().unwrap();
        assert_eq!(
            (tools.len(), &found["total"]),
            (count, &json!(total)),
            "{arguments}: {found}"
        );
        let filtered =
            arguments["exclude_destructive"] == true || arguments["read_only_only"] == true;
        for tool in tools.iter().filter(|_| filtered) {
            assert_eq!(tool["call_with"], "call_tool_read", "{arguments}");
        }
        assert_eq!(
            stage.search(arguments).await,
            found,
            "the order is always the same"
        );
    }
}

#[tokio::test]
async fn a_search_that_cannot_be_understood_is_refused_with_everything_that_is_wrong() {
    let stage = Stage::start().await;
    for (arguments, path, said) in [
        (json!({ "query": "a", "limit": 0 }), "/limit", "1 to 50"),
        (json!({ "query": "a", "limit": 51 }), "/limit", "1 to 50"),
        (json!({ "query": "a", "limit": "x" }), "/limit", "1 to 50"),
        (json!({ "query": "a", "limit": 1.5 }), "/limit", "1 to 50"),
        (
            json!({ "query": "a", "detail": "brief" }),
            "/detail",
            "compact",
        ),
        (
            json!({ "query": "a", "read_only_only": "yes" }),
            "/read_only_only",
            "true or false",
        ),
        (json!({ "query": 7 }), "/query", "string"),
        (json!({}), "/query", "required"),
        (json!({ "query": "a", "limitt": 3 }), "/limitt", "'limit'"),
        (
            json!({ "query": "a", "serverr": "x" }),
            "/serverr",
            "'server'",
        ),
    ] {
        let error = stage.refused("retrieve_tools", arguments.clone()).await;
        assert_eq!(error["code"], "INVALID_ARGUMENTS", "{arguments}: {error}");
        assert_eq!(
            error["details"]["violations"][0]["path"], path,
            "{arguments}: {error}"
        );
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(said), "{arguments}: {message}");
    }
    let error = stage
        .refused(
            "retrieve_tools",
            json!({ "limit": 0, "detail": 1, "colour": 2 }),
        )
        .await;
    assert_eq!(
        error["details"]["violations"].as_array().map(Vec::len),
        Some(4),
        "{error}"
    );
    let error = stage
        .refused(
            "retrieve_tools",
            json!({ "query": "a", "server": "githubb" }),
        )
        .await;
    assert_eq!(
        (&error["code"], &error["details"]["nearest"][0]),
        (&json!("UNKNOWN_SERVER"), &json!("github"))
    );
}

#[tokio::test]
async fn descriptions_are_whole_and_unknown_names_are_errors_beside_them() {
    let stage = Stage::start().await;
    let names = json!({ "names": ["github:archive_repo", "github:list_repo", "nowhere:x", "plain", "github:run_query"] });
    let answer = stage.answer("describe_tool", names).await;
    let tools = answer["tools"].as_array().unwrap();
    let shown: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(shown, ["github:archive_repo", "github:run_query"]);
    assert_eq!(tools[0]["_meta"], json!({ "vendor": 1 }));
    assert!(
        tools
            .iter()
            .all(|tool| tool.get("score").is_none() && tool["inputSchema"].is_object())
    );
    let errors: Vec<(&Value, &Value)> = answer["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["name"], &one["error"]["code"]))
        .collect();
    let expected = [
        (json!("github:list_repo"), json!("UNKNOWN_TOOL")),
        (json!("nowhere:x"), json!("UNKNOWN_SERVER")),
        (json!("plain"), json!("INVALID_TOOL_NAME")),
    ];
    assert_eq!(
        errors,
        expected
            .iter()
            .map(|(name, code)| (name, code))
            .collect::<Vec<_>>()
    );
    for names in [
        json!(vec!["github:list_repos"; 21]),
        json!([]),
        json!("github:list_repos"),
        json!([7]),
    ] {
        let error = stage
            .refused("describe_tool", json!({ "names": names }))
            .await;
        assert_eq!(error["code"], "INVALID_ARGUMENTS", "{names}: {error}");
    }
    let twenty = stage
        .answer(
            "describe_tool",
            json!({ "names": vec!["github:list_repos"; 20] }),
        )
        .await;
    assert_eq!(twenty["tools"].as_array().map(Vec::len), Some(20));
}

/// The gateway with servers whose tools are known, and a client.
struct Stage {
    client: HttpClient,
    _fixtures: [Fixture; 2],
    _product: Product,
}

impl Stage {
    async fn start() -> Self {
        let bulk: Vec<String> = (0..12)
            .map(|number| {
                let hint = if number % 2 == 0 { "destructiveHint" } else { "readOnlyHint" };
                format!(r#"{{"name":"widget_{number}","description":"Turn the widget","inputSchema":{{}},"annotations":{{"{hint}":true}}}}"#)
            })
            .collect();
        let fixtures = [
            Fixture::new(PROGRAMS).tools(&GITHUB),
            Fixture::new(PROGRAMS).tools(&bulk),
        ];
        let config =
            json!({ "mcpServers": { "github": fixtures[0].entry(), "bulk": fixtures[1].entry() } });
        let product = Product::start(PROGRAMS, &config).await;
        product.settle().await;
        Self {
            client: product.connect().await,
            _fixtures: fixtures,
            _product: product,
        }
    }

    async fn search(&self, arguments: Value) -> Value {
        self.answer("retrieve_tools", arguments).await
    }

    /// The structured answer, which the text block repeats.
    async fn answer(&self, tool: &str, arguments: Value) -> Value {
        let result = self.client.call(tool, &arguments).await;
        assert!(result["isError"].is_null(), "{tool} {arguments}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let repeated: Value = serde_json::from_str(text).unwrap_or_default();
        assert_eq!(repeated, result["structuredContent"]);
        repeated
    }

    async fn refused(&self, tool: &str, arguments: Value) -> Value {
        let result = self.client.call(tool, &arguments).await;
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        result["structuredContent"]["error"].clone()
    }
}
