//! What is tried in every combination.

use mcpproxy_tests::conversation::{ClientRequest, Conversation, Received, Speaks, text};
use mcpproxy_tests::eventually;
use serde_json::{Value, json};

use crate::bridges::scene::NAME;

/// The resource that changes when `touch_resource` is called.
pub(crate) const WATCHED: &str = "test://watched-resource";

/// The question of `ask_name`, as the user reads it.
pub(crate) const QUESTION: &str = "[fixture] What is your name?";

/// What states of the gateway's own begin with.
const PARKED: &str = "mcpproxy-parked-";

#[derive(Debug, Clone, Copy)]
pub(crate) enum Case {
    Call,
    Progress,
    Cancellation,
    ElicitationAccepted,
    ElicitationDeclined,
    ElicitationCancelled,
    ElicitationExpired,
    ElicitationInTwoRounds,
    ElicitationAfterProgress,
    ElicitationByPrompt,
    Sampling,
    Logging,
    LoggingToTheEnd,
    ListChange,
    ResourceRead,
    ResourceUpdate,
}

impl Case {
    /// Those for which a client has all the time it needs.
    pub(crate) const ALL: [Self; 15] = [
        Self::Call,
        Self::Progress,
        Self::Cancellation,
        Self::ElicitationAccepted,
        Self::ElicitationDeclined,
        Self::ElicitationCancelled,
        Self::ElicitationInTwoRounds,
        Self::ElicitationAfterProgress,
        Self::ElicitationByPrompt,
        Self::Sampling,
        Self::Logging,
        Self::LoggingToTheEnd,
        Self::ListChange,
        Self::ResourceRead,
        Self::ResourceUpdate,
    ];

    pub(crate) async fn run(self, client: &Conversation, server: Speaks) {
        match self {
            Self::Call => call(client).await,
            Self::Progress => progress(client).await,
            Self::Cancellation => cancellation(client).await,
            Self::ElicitationAccepted => {
                let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
                elicitation(client, &answer, "hello Ada").await;
            }
            Self::ElicitationDeclined => {
                elicitation(client, &json!({ "action": "decline" }), "declined").await;
            }
            Self::ElicitationCancelled => {
                elicitation(client, &json!({ "action": "cancel" }), "cancelled").await;
            }
            Self::ElicitationExpired => expired(client, server).await,
            Self::ElicitationInTwoRounds => two_rounds(client).await,
            Self::ElicitationAfterProgress => progress_and_question(client).await,
            Self::ElicitationByPrompt => prompt(client).await,
            Self::Sampling => sampling(client).await,
            Self::Logging => logging(client).await,
            Self::LoggingToTheEnd => logging_to_the_end(client).await,
            Self::ListChange if client.has_menu() => found_change(client).await,
            Self::ListChange => announced_change(client).await,
            Self::ResourceRead => resource_read(client).await,
            Self::ResourceUpdate => resource_update(client).await,
        }
    }
}

async fn call(client: &Conversation) {
    let said = client.text("test_simple_text").await;
    assert_eq!(said, "This is a simple text response for testing.");
}

async fn progress(client: &Conversation) {
    let mut exchange = client
        .call_with_progress("test_tool_with_progress", "how-far")
        .await;
    let mut seen = Vec::new();
    let answer = loop {
        match exchange.next().await {
            Received::Progress(notice) => {
                assert_eq!(notice["progressToken"], "how-far", "{notice}");
                seen.push((notice["progress"].as_f64(), notice["total"].as_f64()));
            }
            Received::Response(answer) => break answer,
            other => panic!("{other:?}"),
        }
    };
    let all = [0.0, 50.0, 100.0].map(|progress| (Some(progress), Some(100.0)));
    assert_eq!(seen, all);
    assert_eq!(text(&answer), "The tool has told its progress.");
}

async fn cancellation(client: &Conversation) {
    let before = cancellations(client).await;
    let mut exchange = client.call_with_progress("wait", "begun").await;
    match exchange.next().await {
        Received::Progress(notice) => assert_eq!(notice["progressToken"], "begun", "{notice}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(cancellations(client).await, before);
    exchange.cancel().await;
    cancelled(client, before + 1).await;
}

/// How many calls the server has seen cancelled.
pub(crate) async fn cancellations(client: &Conversation) -> u64 {
    let count = client.text("cancellations").await;
    count.parse().expect("it is a number")
}

async fn elicitation(client: &Conversation, answer: &Value, outcome: &str) {
    let mut exchange = client.call("ask_name", &json!({})).await;
    let question = exchange.question().await;
    check_question(&question);
    exchange.reply(&question, answer).await;
    assert_eq!(text(&exchange.answer().await), outcome);
}

/// Whether a question is the one that `ask_name` asks.
pub(crate) fn check_question(question: &ClientRequest) {
    let request = &question.request;
    assert_eq!(request["method"], "elicitation/create", "{request}");
    let params = &request["params"];
    assert_eq!(params["message"], QUESTION, "{request}");
    let field = &params["requestedSchema"]["properties"]["name"];
    assert_eq!(field["type"], "string", "{request}");
}

async fn two_rounds(client: &Conversation) {
    let tool = "test_input_required_result_multi_round";
    let mut exchange = client.call(tool, &json!({})).await;
    for (field, value) in [("name", "Ada"), ("color", "green")] {
        let question = exchange.question().await;
        let fields = &question.request["params"]["requestedSchema"]["properties"];
        assert_eq!(fields[field]["type"], "string", "{question:?}");
        let answer = json!({ "action": "accept", "content": { field: value } });
        exchange.reply(&question, &answer).await;
    }
    assert_eq!(text(&exchange.answer().await), "Ada likes green.");
}

/// A server that is asked anew tells its progress anew, so only the last of it is known.
async fn progress_and_question(client: &Conversation) {
    let mut exchange = client
        .call_with_progress("test_streaming_elicitation", "how-far")
        .await;
    let (mut asked, mut progress) = (0, Value::Null);
    let answer = loop {
        match exchange.next().await {
            Received::Progress(notice) => {
                assert_eq!(notice["progressToken"], "how-far", "{notice}");
                progress = notice["progress"].clone();
            }
            Received::Request(question) => {
                assert_eq!(progress.as_f64(), Some(1.0));
                asked += 1;
                let answer = json!({ "action": "accept", "content": { "go": true } });
                exchange.reply(&question, &answer).await;
            }
            Received::Response(answer) => break answer,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((asked, progress.as_f64()), (1, Some(2.0)));
    let said = text(&answer);
    assert!(
        said.contains(r#"action=accept, content={"go":true}"#),
        "{said}"
    );
}

async fn prompt(client: &Conversation) {
    let mut exchange = client.prompt("test_input_required_result_prompt").await;
    let question = exchange.question().await;
    assert_eq!(question.request["method"], "elicitation/create");
    let answer = json!({ "action": "accept", "content": { "context": "a garden" } });
    exchange.reply(&question, &answer).await;
    let answer = exchange.answer().await;
    let said = &answer["result"]["messages"][0]["content"]["text"];
    assert_eq!(*said, "Use this context: a garden", "{answer}");
}

async fn sampling(client: &Conversation) {
    let arguments = json!({ "prompt": "Say something" });
    let mut exchange = client.call("test_sampling", &arguments).await;
    let question = exchange.question().await;
    let request = &question.request;
    assert_eq!(request["method"], "sampling/createMessage", "{request}");
    let asked = &request["params"]["messages"][0]["content"]["text"];
    assert_eq!(*asked, "Say something", "{request}");
    let system = &request["params"]["systemPrompt"];
    assert_eq!(*system, "[fixture] asks for this completion", "{request}");
    let content = json!({ "type": "text", "text": "Something." });
    let answer = json!({ "role": "assistant", "model": "none", "content": content });
    exchange.reply(&question, &answer).await;
    assert_eq!(text(&exchange.answer().await), "LLM response: Something.");
}

/// The last message is sent together with the answer, and over HTTP a server may send the two on two streams.
async fn logging_to_the_end(client: &Conversation) {
    let mut exchange = client
        .call_with_log("test_tool_with_logging", &json!({}))
        .await;
    let mut logged = Vec::new();
    let answer = loop {
        match exchange.next().await {
            Received::Log(message) => logged.push(message["data"].clone()),
            Received::Response(answer) => break answer,
            other => panic!("{other:?}"),
        }
    };
    let all = [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ];
    assert_eq!(logged, all);
    assert_eq!(text(&answer), "The tool has logged what it did.");
}

async fn logging(client: &Conversation) {
    let before = cancellations(client).await;
    let mut exchange = client.call_with_log("wait", &json!({ "log": true })).await;
    match exchange.next().await {
        Received::Log(message) => {
            assert_eq!(message["level"], "info", "{message}");
            assert_eq!(message["data"], "The call has begun", "{message}");
        }
        other => panic!("{other:?}"),
    }
    exchange.cancel().await;
    cancelled(client, before + 1).await;
}

/// Waits until the server has seen so many calls cancelled.
pub(crate) async fn cancelled(client: &Conversation, count: u64) {
    eventually("the server hears of the cancellation", async || {
        (cancellations(client).await == count).then_some(())
    })
    .await;
}

/// A client that does not answer in time counts as one whose user cancelled.
async fn expired(client: &Conversation, server: Speaks) {
    let mut exchange = client.call("ask_name", &json!({})).await;
    let question = exchange.question().await;
    check_question(&question);
    match (client.speaks(), server) {
        (Speaks::Session, _) => {
            let next = exchange.next().await;
            assert!(matches!(next, Received::Withdrawn), "{next:?}");
            assert_eq!(text(&exchange.answer().await), "cancelled");
        }
        (Speaks::Stateless, Speaks::Session) => {
            let state = question.state().and_then(Value::as_str);
            let state = state.expect("the call is parked").to_owned();
            assert!(state.starts_with(PARKED), "{state}");
            eventually("the time of the parked call is up", async || {
                is_gone(client, &state).await.then_some(())
            })
            .await;
            let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
            exchange.reply(&question, &answer).await;
            let refused = exchange.answer().await;
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
            assert!(says(&refused, "is not known"), "{refused}");
        }
        (Speaks::Stateless, Speaks::Stateless) => {
            // Nothing is kept here, so there is nothing whose time could be up.
            let state = question.state().and_then(Value::as_str).unwrap_or_default();
            assert!(!state.starts_with(PARKED), "{state}");
            let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
            exchange.reply(&question, &answer).await;
            assert_eq!(text(&exchange.answer().await), "hello Ada");
        }
    }
}

/// Whether a parked call is not there any more. Asks with another request, which cannot carry it on.
async fn is_gone(client: &Conversation, state: &str) -> bool {
    let params = json!({ "name": "another", "arguments": {}, "requestState": state });
    let refused = client.begin("tools/call", &params).await.answer().await;
    assert!(refused["error"].is_object(), "{refused}");
    if says(&refused, "belongs to another request") {
        return false;
    }
    assert!(says(&refused, "is not known"), "{refused}");
    true
}

pub(crate) fn says(refused: &Value, words: &str) -> bool {
    let message = refused["error"]["message"].as_str();
    message.is_some_and(|message| message.contains(words))
}

async fn announced_change(client: &Conversation) {
    let mut news = client.listen(&[]).await;
    assert!(!lists_added(client).await);
    client.text("add_tool").await;
    news.next("notifications/tools/list_changed").await;
    assert!(lists_added(client).await);
    assert_eq!(client.text("added").await, "This tool was added.");
}

async fn lists_added(client: &Conversation) -> bool {
    let listed = client.result("tools/list", &json!({})).await;
    let tools = listed["tools"].as_array().expect("there are tools");
    assert!(tools.iter().any(|tool| tool["name"] == "add_tool"));
    tools.iter().any(|tool| tool["name"] == "added")
}

/// The menu is always the same, but what it finds is not.
async fn found_change(client: &Conversation) {
    assert!(!finds_added(client).await);
    client.text("add_tool").await;
    eventually("the added tool is found", async || {
        finds_added(client).await.then_some(())
    })
    .await;
    assert_eq!(client.text("added").await, "This tool was added.");
}

async fn finds_added(client: &Conversation) -> bool {
    let arguments = json!({ "query": "added not there from the beginning", "limit": 50 });
    let params = json!({ "name": "retrieve_tools", "arguments": arguments });
    let found = client.result("tools/call", &params).await;
    let tools = found["structuredContent"]["tools"].as_array();
    let tools = tools.expect("there is a list of tools");
    let name = format!("{NAME}:added");
    tools.iter().any(|tool| tool["name"] == name)
}

async fn resource_read(client: &Conversation) {
    let uri = "test://static-text";
    let read = client
        .result("resources/read", &json!({ "uri": uri }))
        .await;
    let contents = &read["contents"][0];
    assert_eq!(contents["uri"], uri, "{read}");
    let said = contents["text"].as_str().expect("it is a text");
    assert!(!said.is_empty());
}

async fn resource_update(client: &Conversation) {
    let mut news = client.listen(&[WATCHED]).await;
    for _ in 0..2 {
        let before = revision(client).await;
        client.text("touch_resource").await;
        let told = news.next("notifications/resources/updated").await;
        assert_eq!(told["uri"], WATCHED, "{told}");
        assert_eq!(revision(client).await, before + 1);
    }
}

async fn revision(client: &Conversation) -> u64 {
    let params = json!({ "uri": WATCHED });
    let read = client.result("resources/read", &params).await;
    let said = read["contents"][0]["text"].as_str();
    let said = said.expect("it is a text").trim_end_matches('.');
    let revision = said.strip_prefix("Watched resource, revision ");
    revision
        .and_then(|revision| revision.parse().ok())
        .unwrap_or_else(|| panic!("{read}"))
}
