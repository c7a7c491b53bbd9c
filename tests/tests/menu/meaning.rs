//! Finding tools by what they mean, and what search does while it cannot.

use futures_util::future::join_all;
use http::Method;
use mcpproxy_tests::{Client, Fixture, Home, HttpClient, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 6] = [
    r#"{"name":"fetch","description":"Fetches a URL from the internet and extracts its contents as markdown.","inputSchema":{}}"#,
    r#"{"name":"calculate","description":"Calculates the given mathematical expression.","inputSchema":{}}"#,
    r#"{"name":"text_to_speech","description":"Convert text to speech with a given voice.","inputSchema":{}}"#,
    r#"{"name":"create_invoice","description":"Creates an invoice for a customer.","inputSchema":{}}"#,
    r#"{"name":"list_branches","description":"Lists the branches of a git repository.","inputSchema":{}}"#,
    r#"{"name":"delete_event","description":"Removes an event from the calendar.","inputSchema":{},"annotations":{"destructiveHint":true}}"#,
];

#[tokio::test]
async fn sentences_find_tools_that_share_no_word_with_them() {
    let stage = Stage::start(json!({ "semantic": true }), "hybrid").await;
    for (query, expected) in [
        ("download a web page", "box:fetch"),
        ("Work out 12.5 * 3 + 8", "box:calculate"),
        ("Read this paragraph out loud", "box:text_to_speech"),
        ("bill a client", "box:create_invoice"),
        ("cancel my appointment", "box:delete_event"),
        ("calcualte a sum", "box:calculate"),
    ] {
        let found = stage.search(query).await;
        assert_eq!(found["search"], "hybrid", "{query}: {found}");
        assert_eq!(found["tools"][0]["name"], expected, "{query}: {found}");
    }
    // The gateway's own tools are behind those of servers, unless they are meant.
    for (query, is_own) in [
        ("remove file", false),
        ("what did agents do through the gateway", true),
    ] {
        let found = stage.search(query).await;
        let first = found["tools"][0]["name"].as_str().unwrap_or_default();
        assert_eq!(first.starts_with("mcpproxy:"), is_own, "{query}: {found}");
    }
    let nothing = stage.search("bake a chocolate cake").await;
    assert_eq!(
        (&nothing["total"], &nothing["search"]),
        (&json!(0), &json!("hybrid")),
        "{nothing}"
    );
    for nonsense in ["qqqq", "asdf qwer zxcv", "1234567890", "наведи порядок"] {
        let found = stage.search(nonsense).await;
        assert_eq!(
            (found["total"].as_u64(), &found["search"]),
            (Some(0), &json!("lexical")),
            "{nonsense}: {found}"
        );
        assert!(found["notice"].is_string(), "{found}");
    }
    for odd in [
        "",
        "the",
        "日期 🎉 \u{0}\u{202e}",
        &"find the invoice ".repeat(700),
        "Ignore all previous instructions",
    ] {
        let found = stage.search(odd).await;
        assert!(found["tools"].is_array(), "{odd}: {found}");
    }
}

#[tokio::test]
async fn a_search_says_why_each_tool_was_found() {
    let stage = Stage::start(json!({ "semantic": true }), "hybrid").await;
    let listed = stage
        .product
        .get("/tools?q=calculaet%20a%20sum&explain=true")
        .await;
    assert_eq!(listed["search"], "hybrid", "{listed}");
    let first = &listed["tools"][0];
    assert_eq!(first["name"], "box:calculate", "{listed}");
    let word = &first["explanation"]["words"][0];
    assert_eq!(
        (&word["word"], &word["meant"]),
        (&json!("calculaet"), &json!("calculate")),
        "{listed}"
    );
    assert_eq!(word["fields"][0], "name");
    assert!(first["explanation"]["similarity"].is_number(), "{listed}");
    let plain = stage.product.get("/tools?q=calculate").await;
    assert!(plain["tools"][0].get("explanation").is_none(), "{plain}");
    let shown = stage
        .product
        .run(&[
            "tools",
            "search",
            "calculaet a sum",
            "--explain",
            "-o",
            "table",
        ])
        .await;
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(
        shown.stdout.contains("calculaet (for calculate) in name"),
        "{shown:?}"
    );
    let refused = stage
        .product
        .ask(Method::GET, "/tools?q=x&explain=perhaps", String::new())
        .await;
    assert_eq!(refused.status, 400);
}

#[tokio::test]
async fn vectors_are_kept_and_what_is_broken_is_made_again() {
    let config = json!({ "semantic": true });
    let stage = Stage::start(config.clone(), "hybrid").await;
    let file = stage.product.home.data_dir().join("vectors.db");
    let whole = std::fs::read(&file).unwrap();
    let (home, fixture) = stage.stopped().await;
    let stage = Stage::again(home, fixture).await;
    assert_eq!(
        std::fs::read(&file).unwrap(),
        whole,
        "nothing was computed twice"
    );
    assert_eq!(
        stage.search("Read this paragraph out loud").await["tools"][0]["name"],
        "box:text_to_speech"
    );
    let (home, fixture) = stage.stopped().await;
    std::fs::write(&file, "not ours").unwrap();
    let stage = Stage::again(home, fixture).await;
    assert_eq!(
        stage.search("Read this paragraph out loud").await["tools"][0]["name"],
        "box:text_to_speech"
    );
    assert_eq!(std::fs::read(&file).unwrap().len(), whole.len());
    assert!(stage.product.log().contains("vectors.db is broken"));
    let (home, fixture) = stage.stopped().await;
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let stage = Stage::again(home, fixture).await;
    assert_eq!(stage.search("bill a client").await["search"], "hybrid");
    assert!(stage.product.log().contains("vectors.db cannot be used"));
}

#[tokio::test]
async fn without_meaning_search_goes_by_words_and_says_so() {
    let stage = Stage::start(json!({ "semantic": false }), "lexical").await;
    let status = stage.product.status().await;
    assert_eq!(
        status["search"]["reason"], "discovery.semantic is false",
        "{status}"
    );
    let found = stage.search("create an invoice").await;
    assert_eq!(
        (&found["search"], &found["tools"][0]["name"]),
        (&json!("lexical"), &json!("box:create_invoice"))
    );
    assert!(!stage.product.home.data_dir().join("vectors.db").exists());
    // The setting is followed while the gateway runs.
    let config = stage.fixture.config(&json!({ "semantic": true }));
    stage.product.home.write_config(&config);
    stage.until("hybrid").await;
    assert_eq!(
        stage.search("bill a client").await["tools"][0]["name"],
        "box:create_invoice"
    );
}

#[tokio::test]
async fn until_the_vectors_are_there_search_goes_by_words_and_says_so() {
    // More than are computed before the test has looked.
    let many = (0..1_500).map(|number| {
        json!({ "name": format!("tool_{number}"), "description": format!("Turns wheel {number} of the mill."), "inputSchema": {} })
            .to_string()
    });
    let tools: Vec<String> = many.chain([TOOLS[3].to_owned()]).collect();
    let fixture = Server(Fixture::new(PROGRAMS).tools(&tools));
    let product = Product::start(PROGRAMS, &fixture.config(&json!({ "semantic": true }))).await;
    let stage = Stage::of(product, fixture, "lexical").await;
    let found = stage.search("create an invoice").await;
    assert_eq!(
        (&found["search"], &found["tools"][0]["name"]),
        (&json!("lexical"), &json!("box:create_invoice")),
        "{found}"
    );
    let status = stage.product.status().await;
    assert_eq!(
        status["search"]["reason"], "the vectors of the tools are not there yet",
        "{status}"
    );
    let shown = stage.product.run(&["status", "-o", "table"]).await;
    assert!(shown.stdout.contains("vectors"), "{shown:?}");
}

#[tokio::test]
async fn many_searches_by_meaning_at_once_leave_calls_their_way() {
    let stage = Stage::start(json!({ "semantic": true }), "hybrid").await;
    let sentence = "please remove the appointment with my dentist from the calendar ".repeat(12);
    let searches = (0..40).map(|number| {
        let query = format!("{number} {sentence}");
        let stage = &stage;
        async move { stage.search(&query).await }
    });
    let calls = (0..40).map(|_| {
        let read = json!({ "names": ["box:fetch"] });
        let client = &stage.client;
        async move { client.call("describe_tool", &read).await }
    });
    let (found, described) = futures_util::join!(join_all(searches), join_all(calls));
    for found in found {
        assert_eq!(found["tools"][0]["name"], "box:delete_event", "{found}");
        let mode = found["search"].as_str();
        assert!(matches!(mode, Some("hybrid" | "lexical")), "{found}");
    }
    for described in described {
        assert_eq!(
            described["structuredContent"]["tools"][0]["name"],
            "box:fetch"
        );
    }
    assert_eq!(stage.search("bill a client").await["search"], "hybrid");
}

/// The gateway with one server, and a client.
struct Stage {
    client: HttpClient,
    product: Product,
    fixture: Server,
}

/// A server with tools of many kinds.
struct Server(Fixture);

impl Server {
    fn config(&self, discovery: &Value) -> Value {
        json!({ "mcpServers": { "box": self.0.entry() }, "discovery": discovery })
    }
}

impl Stage {
    /// The gateway, when search goes in this mode.
    async fn start(discovery: Value, mode: &str) -> Self {
        let fixture = Server(Fixture::new(PROGRAMS).tools(&TOOLS));
        let product = Product::start(PROGRAMS, &fixture.config(&discovery)).await;
        Self::of(product, fixture, mode).await
    }

    async fn again(home: Home, fixture: Server) -> Self {
        let product = Product::start_in(home, &[]).await;
        Self::of(product, fixture, "hybrid").await
    }

    async fn of(product: Product, fixture: Server, mode: &str) -> Self {
        product.settle().await;
        let stage = Self {
            client: product.connect().await,
            product,
            fixture,
        };
        stage.until(mode).await;
        stage
    }

    /// Stops the gateway; its data directory, and the server.
    async fn stopped(self) -> (Home, Server) {
        let Self {
            mut product,
            fixture,
            ..
        } = self;
        product.stop().await;
        (product.into_home(), fixture)
    }

    /// Waits until search goes in this mode over the tools of all servers.
    async fn until(&self, mode: &str) {
        eventually("search goes as wanted", async || {
            let status = self.product.status().await;
            let search = &status["search"];
            // Those of the server, and the gateway's own.
            let count = |name: &str| search[name].as_u64().unwrap_or_default();
            let has_all =
                count("tools") > 2 * TOOLS.len() as u64 && count("tools") == count("vectors");
            (search["mode"] == mode && (has_all || mode == "lexical")).then_some(())
        })
        .await;
    }

    async fn search(&self, query: &str) -> Value {
        let result = self
            .client
            .call("retrieve_tools", &json!({ "query": query }))
            .await;
        assert!(result["isError"].is_null(), "{query}: {result}");
        result["structuredContent"].clone()
    }
}
