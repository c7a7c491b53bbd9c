//! A server may ask for something before it gives a prompt.

use mcpproxy_tests::StatelessClient;
use mcpproxy_tests::stateless_client::introduced;
use serde_json::{Value, json};

use crate::prompts_resources::start;

const NAME: &str = "test_input_required_result_prompt";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

#[tokio::test]
async fn a_prompt_can_ask_a_client_that_needs_no_session() {
    let product = start().await;
    let client = StatelessClient::new(&product.url("/all"));
    for server in ["old", "new"] {
        let name = format!("{server}__{NAME}");
        let asked = get(&client, &json!({ "name": name })).await;
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let requests = asked["inputRequests"].as_object().expect("it asks");
        let (key, request) = requests.iter().next().expect("for something");
        assert_eq!(request["method"], "elicitation/create", "{asked}");
        let answer = json!({ "action": "accept", "content": { "context": "rain" } });
        let mut params = json!({ "name": name, "inputResponses": { key.as_str(): answer } });
        if let Some(state) = asked.get("requestState") {
            params["requestState"] = state.clone();
        }
        let got = get(&client, &params).await;
        assert_eq!(got["resultType"], "complete", "{got}");
        let text = &got["messages"][0]["content"]["text"];
        assert_eq!(*text, "Use this context: rain", "{got}");
    }
}

async fn get(client: &StatelessClient, params: &Value) -> Value {
    let mut params = introduced(params);
    params["_meta"][CAPABILITIES] = json!({ "elicitation": { "form": {} } });
    let name = params["name"].as_str().expect("it has a name").to_owned();
    let headers = [("mcp-name", name.as_str())];
    let mut answer = client
        .ask_with(&headers, "prompts/get", &params)
        .await
        .json();
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].take()
}
