//! Credentials that are sent to servers over plain HTTP.

use mcpproxy_tests::{Home, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const WARNING: &str = "sends a credential over plain HTTP; use https://";

#[tokio::test]
async fn a_credential_for_a_remote_server_went_over_plain_http_without_a_word() {
    // An address that belongs to nobody.
    let url = "http://192.0.2.1:9/mcp";
    let headers = json!({ "Authorization": "Bearer s3cret-of-this-test" });
    let servers = json!({
        "open": { "url": url, "headers": headers },
        "bare": { "url": url },
        "near": { "url": "http://127.0.0.1:9/mcp", "headers": headers },
        "safe": { "url": "https://192.0.2.1:9/mcp", "headers": headers },
    });
    let config = json!({ "mcpServers": servers });
    let home = Home::new(PROGRAMS, &config);
    let check = home.run(&["config", "check"]).await;
    assert_eq!(check.code, 0, "{check:?}");
    assert!(
        check
            .stdout
            .contains(&format!("warning: server open {WARNING}\n")),
        "{check:?}"
    );
    assert_eq!(check.stdout.matches(WARNING).count(), 1, "{check:?}");

    let product = Product::start_in(home, &[]).await;
    let status = product.status().await;
    for server in status["servers"].as_array().unwrap() {
        let expected = if server["name"] == "open" {
            json!([WARNING])
        } else {
            json!([])
        };
        assert_eq!(server["warnings"], expected, "{server}");
    }
    let table = product.run(&["status"]).await;
    assert!(
        table.stdout.contains(&format!("warning: open {WARNING}\n")),
        "{table:?}"
    );
    assert_eq!(told(&product), 1, "{}", product.log());

    // A change of something else says it no second time; a new server does.
    let mut changed = config.clone();
    changed["discovery"] = json!({ "limit": 7 });
    changed["mcpServers"]["other"] = json!({ "url": "http://me:s3cret-of-this-test@192.0.2.1:9/" });
    product.home.write_config(&changed);
    eventually("the new server is warned about", async || {
        (told(&product) == 2).then_some(())
    })
    .await;
    let everything: Value = product.status().await;
    let shown = format!("{everything}{}{}", product.log(), table.stdout);
    assert!(!shown.contains("s3cret-of-this-test"), "{shown}");
}

/// Number of warnings in the log.
fn told(product: &Product) -> usize {
    product.log().matches(WARNING).count()
}
