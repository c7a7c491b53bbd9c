//! The official reference server with everything, behind the gateway.

use mcpproxy_tests::peers::Peers;
use mcpproxy_tests::{Client, Product, eventually, trials};
use serde_json::{Value, json};

use crate::PROGRAMS;

trials![the_reference_server_offers_all_it_has_through_the_gateway,];

async fn the_reference_server_offers_all_it_has_through_the_gateway() {
    let peers = Peers::find();
    let program = peers.program("mcp-server-everything");
    let entry = json!({ "command": program, "timeout": "60s" });
    let config = json!({ "mcpServers": { "everything": entry } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    for (path, prefix) in [("", "everything__"), ("/s/everything", "")] {
        let client = product.connect_to(path).await;
        let list = async |method: &str, member: &str| -> Vec<Value> {
            // On a busy machine it takes the server a while to say what it has.
            eventually(&format!("{method} has items"), async || {
                let listed = client.request(method, &json!({})).await;
                let items = listed["result"][member].as_array();
                let items = items.unwrap_or_else(|| panic!("{method}: {listed}"));
                (!items.is_empty()).then(|| items.clone())
            })
            .await
        };
        let prompts = list("prompts/list", "prompts").await;
        let simple = prompts
            .iter()
            .find(|prompt| prompt.get("arguments").is_none());
        let name = &simple.expect("it has a prompt without arguments")["name"];
        assert!(
            name.as_str().is_some_and(|name| name.starts_with(prefix)),
            "{name}"
        );
        let got = client
            .request("prompts/get", &json!({ "name": name }))
            .await;
        assert!(got["result"]["messages"].is_array(), "{got}");

        let resources = list("resources/list", "resources").await;
        let uri = &resources.first().expect("it has resources")["uri"];
        let read = client
            .request("resources/read", &json!({ "uri": uri }))
            .await;
        assert_eq!(read["result"]["contents"][0]["uri"], *uri, "{read}");
        let templates = list("resources/templates/list", "resourceTemplates").await;
        let template = templates.first().expect("it has templates");
        let template = template["uriTemplate"].as_str().expect("it has a text");
        let (before, after) = template.split_once('{').expect("it has a variable");
        let (variable, rest) = after.split_once('}').expect("the variable ends");
        let made = format!("{before}1{rest}");
        let read = client
            .request("resources/read", &json!({ "uri": made }))
            .await;
        assert!(read["result"]["contents"].is_array(), "{read}");

        let reference = json!({ "type": "ref/resource", "uri": template });
        let argument = json!({ "name": variable, "value": "1" });
        let params = json!({ "ref": reference, "argument": argument });
        let completed = client.request("completion/complete", &params).await;
        assert!(
            completed["result"]["completion"]["values"].is_array(),
            "{completed}"
        );
        let subscribed = client
            .request("resources/subscribe", &json!({ "uri": uri }))
            .await;
        assert_eq!(subscribed["result"], json!({}), "{subscribed}");
        client
            .request("resources/unsubscribe", &json!({ "uri": uri }))
            .await;
    }
}
