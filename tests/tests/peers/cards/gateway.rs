//! The same lesson through the gateway: the program behind it as a server, and the service inside of it.

use mcpproxy_tests::peers::{Peers, Sdk};
use mcpproxy_tests::{Client, Home, HttpClient, Product, decode, eventually, trials};
use serde_json::{Value, json};

use crate::PROGRAMS;
use crate::cards::lesson::{Step, lesson};
use crate::cards::program::CARDS;

trials![
    python_sdk_2_learns_from_the_program_behind_the_gateway,
    python_sdk_1_learns_from_the_program_behind_the_gateway,
    python_sdk_2_learns_from_the_sample_inside_the_gateway,
    python_sdk_1_learns_from_the_sample_inside_the_gateway,
    a_second_question_is_answered_from_memory_within_a_session_and_not_across,
    the_sample_keeps_the_contract_it_announces,
    what_people_are_told_to_try_works,
];

/// What an agent looks for, what it has to find, and the variant it is told to use.
const SEARCHES: [(&str, &str, &str); 3] = [
    ("review a card", "cards:review-card", "call_tool_write"),
    ("get a card by its id", "cards:get-card", "call_tool_read"),
    (
        "delete a card",
        "cards:delete-card",
        "call_tool_destructive",
    ),
];

const README: &str = include_str!("../../../../README.md");

const REVIEW: &[&str] = &[
    "call",
    "tool-write",
    "cards:review-card",
    "--args",
    r#"{"cardId":"card_10","grade":3}"#,
];
const DELETE: &[&str] = &[
    "call",
    "tool-read",
    "cards:delete-card",
    "--args",
    r#"{"cardId":"card_10"}"#,
];

async fn python_sdk_2_learns_from_the_program_behind_the_gateway() {
    check_behind(Sdk::Python2).await;
}

async fn python_sdk_1_learns_from_the_program_behind_the_gateway() {
    check_behind(Sdk::Python1).await;
}

async fn python_sdk_2_learns_from_the_sample_inside_the_gateway() {
    check_inside(Sdk::Python2).await;
}

async fn python_sdk_1_learns_from_the_sample_inside_the_gateway() {
    check_inside(Sdk::Python1).await;
}

async fn a_second_question_is_answered_from_memory_within_a_session_and_not_across() {
    let product = demo().await;
    let (one, other) = (product.connect().await, product.connect().await);
    assert!(!is_cached(&one).await);
    assert!(is_cached(&one).await);
    assert!(!is_cached(&other).await);
    assert!(is_cached(&other).await);
    let review = json!({ "cardId": "card_4", "grade": 3 });
    one.call_as("write", "cards:review-card", &review).await;
    assert!(!is_cached(&other).await, "the review made it old");
}

async fn the_sample_keeps_the_contract_it_announces() {
    let product = demo().await;
    let checked = product
        .run(&["contract", "check", "cards", "-o", "json"])
        .await;
    assert_eq!(checked.code, 0, "{checked:?}");
    let report = checked.json();
    let tools = report["tools"].as_array().expect("tools are reported");
    assert!(tools.len() >= 10, "{report}");
    for tool in tools {
        assert_eq!(tool["announces"], true, "{tool}");
    }
    assert_eq!(report["summary"]["violated"], 0, "{report}");
}

/// What the first page tells people to type, as it stands there.
async fn what_people_are_told_to_try_works() {
    let product = demo().await;
    let tried = async |command: &str| {
        assert!(README.contains(&format!("-- {command}\n")), "{command}");
        let words: Vec<&str> = command.split(' ').collect();
        product.run(&words).await
    };
    // The query is one word for the program, as the quotes say.
    assert!(README.contains("-- tools search 'review a card'\n"));
    let found = product.run(&["tools", "search", "review a card"]).await;
    let first = found.stdout.lines().nth(1).unwrap_or_default();
    assert!(first.starts_with("cards:review-card "), "{found:?}");
    let read = tried("call tool-read cards:review-next-card").await;
    assert!(read.stdout.contains("Next steps:"), "{read:?}");
    assert!(README.contains(&quoted(REVIEW)) && README.contains(&quoted(DELETE)));
    let written = product.run(REVIEW).await;
    assert!(written.stdout.contains("Next steps:"), "{written:?}");
    let refused = product.run(DELETE).await;
    assert_eq!((refused.code, &*refused.stdout), (1, ""), "{refused:?}");
    assert!(
        README.contains(&format!("```\n{}```", refused.stderr)),
        "{refused:?}"
    );
    eventually("the refusal is listed", async || {
        let listed = tried("activity list").await;
        listed.stdout.contains("blocked").then_some(())
    })
    .await;
    let verified = tried("activity verify").await;
    assert!(verified.stdout.contains("nothing altered"), "{verified:?}");
}

/// A command as it is typed into a shell: its last word has quotes.
fn quoted(command: &[&str]) -> String {
    let (last, words) = command.split_last().expect("a command has words");
    format!("-- {} '{last}'\n", words.join(" "))
}

async fn check_behind(sdk: Sdk) {
    let peers = Peers::find();
    let config = json!({ "mcpServers": { "cards": { "command": CARDS } } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    check(&peers, sdk, &product).await;
}

async fn check_inside(sdk: Sdk) {
    let peers = Peers::find();
    check(&peers, sdk, &demo().await).await;
}

async fn demo() -> Product {
    let home = Home::new(PROGRAMS, &json!({}));
    let product = Product::start_in(home, &["--demo"]).await;
    product.settle().await;
    product
}

async fn check(peers: &Peers, sdk: Sdk, product: &Product) {
    let searches = SEARCHES.map(|(query, ..)| json!({ "op": "call_tool", "name": "retrieve_tools", "arguments": { "query": query } }));
    let lesson = lesson();
    let steps: Value = searches
        .into_iter()
        .chain(lesson.iter().map(through_gateway))
        .collect();
    let outcomes = peers
        .session_over_http(sdk, &product.endpoint(), &steps)
        .await;
    let (found, called) = outcomes.split_at(SEARCHES.len());
    for ((query, tool, call_with), outcome) in SEARCHES.iter().zip(found) {
        let text = outcome["ok"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default();
        let first = &decode(text)["tools"][0];
        assert_eq!(first["name"], *tool, "{sdk:?}: {query}: {outcome}");
        assert_eq!(first["call_with"], *call_with, "{sdk:?}: {outcome}");
    }
    for (step, outcome) in lesson.iter().zip(called) {
        let result = &outcome["ok"];
        step.check(&format!("{sdk:?}"), result);
        step.check_call_with(result);
        let id = result["_meta"]["dev.mcpproxy/activity_id"].as_str();
        assert!(id.is_some(), "{sdk:?}: {outcome}");
    }
}

fn through_gateway(step: &Step) -> Value {
    let arguments = json!({
        "name": format!("cards:{}", step.tool),
        "args": step.arguments,
        "intent": { "operation_type": step.operation },
    });
    json!({ "op": "call_tool", "name": format!("call_tool_{}", step.operation), "arguments": arguments })
}

async fn is_cached(client: &HttpClient) -> bool {
    let result = client
        .call_as("read", "cards:get-card", &json!({ "cardId": "card_4" }))
        .await;
    let cached = result["structuredContent"]["metadata"]["cached"].as_bool();
    cached.unwrap_or_else(|| panic!("it is not told: {result}"))
}
