//! Templates of resources where all servers are offered together: none of them takes what is another server's.

use mcpproxy_tests::{Client, Fixture, HttpClient, Product};
use serde_json::{Value, json};

use crate::PROGRAMS;

/// The gateway before a server `greedy`, whose templates fit everything, and `other`, whose resources it is after.
struct Stage {
    greedy: Fixture,
    product: Product,
    _other: Fixture,
}

#[tokio::test]
async fn a_template_that_matches_everything_took_other_servers_resources() {
    let stage = stage().await;
    for path in ["", "/all"] {
        let client = stage.product.connect_to(path).await;
        for (uri, server) in [
            ("db://other/listed", "other"),
            ("db://only-other/42", "other"),
            ("mine://1", "greedy"),
            ("both:1", "greedy"),
            ("mcpproxy:other/both:1", "other"),
            ("mcpproxy:greedy/any:thing", "greedy"),
        ] {
            assert_eq!(read(&client, uri).await, Ok(server.to_owned()), "{uri}");
        }
        for (uri, named) in [
            ("any:thing", vec!["mcpproxy:greedy/any:thing"]),
            ("db://unknown/42", vec!["mcpproxy:greedy/db://unknown/42"]),
            (
                "shared://x/1",
                vec![
                    "mcpproxy:greedy/shared://x/1",
                    "mcpproxy:other/shared://x/1",
                ],
            ),
        ] {
            let message = read(&client, uri).await.expect_err("nobody is asked");
            for named in named {
                assert!(message.contains(named), "{named} in {message}");
            }
        }
        let listed = client.request("resources/templates/list", &json!({})).await;
        let templates = listed["result"]["resourceTemplates"].as_array();
        let templates = templates.expect("templates are listed").iter();
        let templates: Vec<&Value> = templates.map(|template| &template["uriTemplate"]).collect();
        assert_eq!(
            templates,
            [
                "mcpproxy:greedy/db://{+any}",
                "mine://{id}",
                "shared://x/{id}",
                "mcpproxy:greedy/{+any}",
                "db://only-other/{id}",
                "shared://x/{+path}",
            ]
        );
    }
    let asked = stage.greedy.ledger().join("\n");
    assert!(!asked.contains("other") && !asked.contains("unknown") && !asked.contains("shared"));
    // Alone it has all addresses there are.
    let alone = stage.product.connect_to("/s/greedy").await;
    for uri in ["any:thing", "db://only-other/42"] {
        assert_eq!(read(&alone, uri).await, Ok("greedy".to_owned()));
    }
}

#[tokio::test]
async fn the_operator_is_told_which_addresses_collide() {
    let stage = stage().await;
    let collisions = &stage.product.get("/status").await["resource_collisions"];
    assert_eq!(collisions["total"], 4, "{collisions}");
    let shown = collisions["shown"].as_array().expect("they are listed");
    let shown: Vec<[&Value; 4]> = shown
        .iter()
        .map(|one| ["kind", "server", "other", "named"].map(|name| &one[name]))
        .collect();
    let expected = [
        json!(["same_address", "other", "greedy", "mcpproxy:other/both:1"]),
        json!(["no_claim", "greedy", null, "mcpproxy:greedy/{+any}"]),
        json!(["no_claim", "greedy", "other", "mcpproxy:greedy/db://{+any}"]),
        json!([
            "same_claim",
            "other",
            "greedy",
            "mcpproxy:other/shared://x/{+path}"
        ]),
    ];
    assert_eq!(json!(shown), json!(expected), "{collisions}");
    let ran = stage.product.run(&["status"]).await;
    for line in [
        "Resources that have to be named with their server at /mcp and /mcp/all:",
        "  {+any} of 'greedy': it has no scheme of its own; use mcpproxy:greedy/{+any}",
        "  both:1 of 'other': 'greedy' lists it, too, and is read; use mcpproxy:other/both:1",
    ] {
        assert!(
            ran.stdout.lines().any(|shown| shown == line),
            "{line}: {ran:?}"
        );
    }
}

async fn stage() -> Stage {
    let server = |name: &str, resources: &[&str], templates: &[&str]| {
        let list = |key: &str, items: &[&str]| -> Vec<Value> {
            items
                .iter()
                .map(|item| json!({ key: item, "name": item }))
                .collect()
        };
        let resources = json!({ "resources": list("uri", resources) });
        let templates = json!({ "resourceTemplates": list("uriTemplate", templates) });
        let contents = json!({ "contents": [{ "uri": "x:y", "text": name }] });
        Fixture::new(PROGRAMS)
            .answer("resources/list", &resources.to_string())
            .answer("resources/templates/list", &templates.to_string())
            .answer("resources/read", &contents.to_string())
    };
    let greedy = server(
        "greedy",
        &["both:1"],
        &["{+any}", "db://{+any}", "mine://{id}", "shared://x/{id}"],
    );
    let other = server(
        "other",
        &["db://other/listed", "both:1"],
        &["db://only-other/{id}", "shared://x/{+path}"],
    );
    let servers = json!({ "greedy": greedy.entry(), "other": other.entry() });
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": servers })).await;
    for name in ["greedy", "other"] {
        let client = product.connect_to(&format!("/s/{name}")).await;
        for method in ["resources/list", "resources/templates/list"] {
            let listed = client.request(method, &json!({})).await;
            assert!(listed["result"].is_object(), "{listed}");
        }
    }
    Stage {
        greedy,
        product,
        _other: other,
    }
}

/// The server that answered, or the message of the error.
async fn read(client: &HttpClient, uri: &str) -> Result<String, String> {
    let answer = client
        .request("resources/read", &json!({ "uri": uri }))
        .await;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let server = text(&answer["result"]["contents"][0]["text"]);
    server.ok_or_else(|| text(&answer["error"]["message"]).unwrap_or_default())
}
