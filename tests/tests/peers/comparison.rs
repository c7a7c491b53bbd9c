//! The same small service with the contract, with rmcp alone and with `FastMCP`: what each answers, and what the page
//! that compares them says of it.

use std::path::Path;
use std::process::Command;

use mcpproxy_tests::peers::Peers;
use mcpproxy_tests::{Client, StdioClient, trials};
use serde_json::{Value, json};

trials![
    the_three_services_do_the_same_and_check_what_the_page_says,
    the_page_shows_the_services_as_they_are_and_counts_their_lines,
];

const CONTRACT: &str = env!("CARGO_BIN_EXE_first-tool-under-test");
const RMCP: &str = env!("CARGO_BIN_EXE_plain-rmcp-under-test");
const PAGE: &str = include_str!("../../../docs/comparison.md");

/// The sources, as the page shows them: the language of the block, the path, the text.
const SOURCES: [(&str, &str, &str); 3] = [
    (
        "rust",
        "examples/first-tool/src/main.rs",
        include_str!("../../../examples/first-tool/src/main.rs"),
    ),
    (
        "rust",
        "examples/first-tool/compared/rmcp.rs",
        include_str!("../../../examples/first-tool/compared/rmcp.rs"),
    ),
    (
        "python",
        "examples/first-tool/compared/fastmcp.py",
        include_str!("../../../examples/first-tool/compared/fastmcp.py"),
    ),
];

async fn the_three_services_do_the_same_and_check_what_the_page_says() {
    let peers = Peers::find();
    let mut python = Command::new(peers.program("python"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    python.arg(root.join(SOURCES[2].1));
    let commands = [Command::new(CONTRACT), Command::new(RMCP), python];
    let mut seen = Vec::new();
    for command in commands {
        seen.push(look(&StdioClient::start(command).await).await);
    }
    let rows = seen[0].iter().enumerate().map(|(number, (what, _))| {
        let marks: Vec<&str> = seen.iter().map(|one| mark(one[number].1)).collect();
        format!("| {what} | {} |\n", marks.join(" | "))
    });
    let rows: String = rows.collect();
    assert!(
        PAGE.contains(&rows),
        "docs/comparison.md does not say what is so:\n{rows}"
    );
}

/// Every row of the page, and whether the service has it.
async fn look(service: &StdioClient) -> Vec<(&'static str, bool)> {
    let listed = service.request("tools/list", &json!({})).await;
    let tool = &listed["result"]["tools"][0];
    assert_eq!(tool["name"], "detect-language", "{listed}");
    let english = call(service, json!({ "text": "the cat and the dog" })).await;
    assert!(english.to_string().contains("en"), "{english}");
    let german = call(service, json!({ "text": "der Hund und die Katze" })).await;
    assert!(german.to_string().contains("de"), "{german}");
    let long = "the ".repeat(5_000);
    let [missing, retyped, misspelt, empty, long] = [
        json!({}),
        json!({ "text": 7 }),
        json!({ "text": "the", "txt": "and" }),
        json!({ "text": "" }),
        json!({ "text": long }),
    ];
    let misspelt = call(service, misspelt).await;
    let missing = call(service, missing).await;
    let hints = |result: &Value| result["structuredContent"]["agentHints"].is_object();
    let definition = &tool["_meta"]["dev.mcpproxy/definition"];
    vec![
        ("a missing parameter is refused", is_refused(&missing)),
        (
            "a parameter of another type is refused",
            is_refused(&call(service, retyped).await),
        ),
        ("an unknown parameter is refused", is_refused(&misspelt)),
        (
            "and the nearest name is told",
            misspelt.to_string().contains("did you mean"),
        ),
        (
            "an empty text is refused",
            is_refused(&call(service, empty).await),
        ),
        (
            "a text of 20,000 characters is refused",
            is_refused(&call(service, long).await),
        ),
        (
            "the schema of the answer is published",
            tool["outputSchema"].is_object(),
        ),
        (
            "annotations say what a call does",
            tool["annotations"]["readOnlyHint"] == true,
        ),
        (
            "version, permissions and an example are published",
            definition["examples"].is_array(),
        ),
        ("the answer says how sure it is, and why", hints(&english)),
        (
            "an error says what to do, for programs too",
            hints(&missing),
        ),
        (
            "every answer has a trace id and a time",
            english["structuredContent"]["metadata"]["traceId"].is_string(),
        ),
    ]
}

async fn call(service: &StdioClient, arguments: Value) -> Value {
    let params = json!({ "name": "detect-language", "arguments": arguments });
    let answer = service.request("tools/call", &params).await;
    match answer.get("result") {
        Some(result) => result.clone(),
        None => answer,
    }
}

/// Whether a call was refused, as a result or as an error of the protocol.
fn is_refused(answer: &Value) -> bool {
    answer["isError"] == true || answer["error"].is_object()
}

fn mark(holds: bool) -> &'static str {
    if holds { "yes" } else { "–" }
}

async fn the_page_shows_the_services_as_they_are_and_counts_their_lines() {
    for (language, path, text) in SOURCES {
        // The first is on the page of the guide.
        if path != SOURCES[0].1 {
            let shown = format!("```{language}");
            let block = PAGE.split(&shown).skip(1);
            let is_shown = block
                .filter_map(|block| block.split_once('\n')?.1.split("```").next())
                .any(|block| block == text);
            assert!(is_shown, "docs/comparison.md does not show {path} as it is");
        }
        let counted = format!("{:>3} {path}\n", text.lines().count());
        assert!(
            PAGE.contains(&counted),
            "docs/comparison.md does not say: {counted}"
        );
    }
}
