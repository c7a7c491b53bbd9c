//! Real servers behind the gateway, real clients in front of it: the official SDKs in two
//! languages and two majors each, and the Inspector. Each client walks through the same table.

use std::path::Path;
use std::process::Command;

use mcpproxy_tests::peers::{Peers, Sdk};
use mcpproxy_tests::{Client, Home, Product, StdioClient, decode, field, trials};
use serde_json::{Value, json};

mod combinations;
mod workspace;

use combinations::{CELLS, CELLS_OF_INSPECTOR, Cell, Expected, RIGHT, SEARCHES};
use workspace::{FIRST_TEXT, Workspace};

use crate::PROGRAMS;

trials![
    python_sdk_2_works_with_the_reference_servers_over_http,
    python_sdk_1_works_with_the_reference_servers_over_http,
    typescript_sdk_2_works_with_the_reference_servers_over_http,
    typescript_sdk_1_works_with_the_reference_servers_over_http,
    python_sdk_2_works_with_the_reference_servers_over_stdio,
    typescript_sdk_2_works_with_the_reference_servers_over_stdio,
    the_inspector_works_with_the_reference_servers,
    an_image_of_a_real_server_arrives_byte_for_byte,
];

const MENU: [&str; 5] = [
    "retrieve_tools",
    "describe_tool",
    "call_tool_read",
    "call_tool_write",
    "call_tool_destructive",
];

async fn python_sdk_2_works_with_the_reference_servers_over_http() {
    check_over_http(Sdk::Python2).await;
}

async fn python_sdk_1_works_with_the_reference_servers_over_http() {
    check_over_http(Sdk::Python1).await;
}

async fn typescript_sdk_2_works_with_the_reference_servers_over_http() {
    check_over_http(Sdk::TypeScript2).await;
}

async fn typescript_sdk_1_works_with_the_reference_servers_over_http() {
    check_over_http(Sdk::TypeScript1).await;
}

async fn python_sdk_2_works_with_the_reference_servers_over_stdio() {
    check_over_stdio(Sdk::Python2).await;
}

async fn typescript_sdk_2_works_with_the_reference_servers_over_stdio() {
    check_over_stdio(Sdk::TypeScript2).await;
}

async fn the_inspector_works_with_the_reference_servers() {
    let peers = Peers::find();
    let workspace = Workspace::new();
    let product = start(&peers, &workspace).await;
    let inspect = async |arguments: Vec<String>| {
        let home = product.home.folder();
        peers.inspect(home, &product.endpoint(), &arguments).await
    };
    let listed = inspect(words(&["--method", "tools/list"])).await;
    assert_eq!(listed.code, 0, "{listed:?}");
    check_menu(&listed.json());

    let call = words(&["--method", "tools/call", "--tool-name"]);
    let (query, tool, call_with, has_annotations) = SEARCHES[0];
    let search = words(&[
        "retrieve_tools",
        "--tool-arg",
        &format!("query={query}"),
        "--tool-arg",
        "detail=full",
    ]);
    let found = inspect([call.clone(), search].concat()).await;
    check_search(
        &found.json(),
        query,
        (tool, call_with, has_annotations),
        "Inspector",
    );
    for cell in CELLS_OF_INSPECTOR {
        let (name, arguments) = request(cell, &workspace);
        let mut line = [call.clone(), vec![name]].concat();
        for (name, value) in arguments.as_object().expect("arguments are an object") {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            line.extend(["--tool-arg".to_owned(), format!("{name}={value}")]);
        }
        let ran = inspect(line).await;
        check_cell(cell, &ran.json());
        let is_refused = matches!(cell.4, Expected::Refused(..) | Expected::RefusedAs(..));
        assert_eq!(ran.code != 0, is_refused, "{cell:?}: {ran:?}");
    }
    check_files(&workspace);
}

async fn an_image_of_a_real_server_arrives_byte_for_byte() {
    let peers = Peers::find();
    let sent = image_of_server(&peers).await;
    assert!(sent.contains(r#""mimeType":"image/png""#), "{sent}");

    let entry = json!({ "command": peers.program("mcp-server-everything"), "timeout": "60s" });
    let config = json!({ "mcpServers": { "everything": entry } });
    let product = Product::start(PROGRAMS, &config).await;
    let arguments = json!({
        "name": "everything:get-tiny-image", "args": {}, "intent": { "operation_type": "read" },
    });
    let client = product.connect().await;
    let received = client
        .call_raw("call_tool_read", &arguments.to_string())
        .await;
    assert_eq!(field(&received, "content"), field(&sent, "content"));
}

/// The result that the server sends without a gateway in between.
async fn image_of_server(peers: &Peers) -> String {
    let server = Command::new(peers.program("mcp-server-everything"));
    let client = StdioClient::start(server).await;
    let params = json!({ "name": "get-tiny-image", "arguments": {} });
    let call = json!({ "jsonrpc": "2.0", "id": "image", "method": "tools/call", "params": params });
    client.send_line(&call.to_string()).await;
    loop {
        // The server announces things of its own in between.
        let line = client.read_line().await;
        if decode(&line)["id"] == "image" {
            return field(&line, "result");
        }
    }
}

async fn check_over_http(sdk: Sdk) {
    let peers = Peers::find();
    let workspace = Workspace::new();
    let product = start(&peers, &workspace).await;
    let steps = steps(&workspace);
    let outcomes = peers
        .session_over_http(sdk, &product.endpoint(), &steps)
        .await;
    check_session(sdk, &outcomes);
    check_effects(&workspace);
}

/// The client starts the gateway itself, and that the servers: nothing else runs.
async fn check_over_stdio(sdk: Sdk) {
    let peers = Peers::find();
    let workspace = Workspace::new();
    let home = Home::new(PROGRAMS, &workspace.config(&peers));
    let data_dir = home.data_dir();
    let server = [
        PROGRAMS.mcpproxy.as_ref(),
        "stdio".as_ref(),
        "--data-dir".as_ref(),
        data_dir.as_os_str(),
    ];
    let steps = steps(&workspace);
    let outcomes = peers
        .session_over_stdio(sdk, home.folder(), &server, &steps)
        .await;
    check_session(sdk, &outcomes);
    check_effects(&workspace);
}

/// A gateway whose servers have all listed their tools, so that searches find them.
async fn start(peers: &Peers, workspace: &Workspace) -> Product {
    let product = Product::start(PROGRAMS, &workspace.config(peers)).await;
    let client = product.connect().await;
    let config = workspace.config(peers);
    let servers = config["mcpServers"].as_object().expect("servers by name");
    assert_eq!(servers.len(), 6);
    for name in servers.keys() {
        let arguments =
            json!({ "name": format!("{name}:none"), "intent": { "operation_type": "read" } });
        // A call waits for its server, even if only to learn that there is no such tool.
        let result = client.call("call_tool_read", &arguments).await;
        let error = &result["structuredContent"]["error"];
        assert_eq!(error["code"], "UNKNOWN_TOOL", "{name}: {result}");
    }
    product
}

/// One session: who is there, the menu, every cell, every search. Searches come last, when
/// each server has answered a call and is known.
fn steps(workspace: &Workspace) -> Value {
    let call = |name: &str, arguments: Value| json!({ "op": "call_tool", "name": name, "arguments": arguments });
    let cells = CELLS.iter().map(|cell| {
        let (name, arguments) = request(cell, workspace);
        call(&name, arguments)
    });
    let searches = SEARCHES.iter().map(|(query, ..)| {
        call(
            "retrieve_tools",
            json!({ "query": query, "detail": "full" }),
        )
    });
    [
        json!({ "op": "server_info" }),
        json!({ "op": "list_tools" }),
    ]
    .into_iter()
    .chain(cells)
    .chain(searches)
    .collect()
}

fn check_session(sdk: Sdk, outcomes: &[Value]) {
    // The second majors ask in the newest way first, and are answered in it.
    let revision = match sdk {
        Sdk::Python2 | Sdk::TypeScript2 => "2026-07-28",
        Sdk::Python1 | Sdk::TypeScript1 => "2025-11-25",
    };
    let results: Vec<&Value> = outcomes
        .iter()
        .map(|outcome| {
            let result = outcome.get("ok");
            result.unwrap_or_else(|| panic!("{sdk:?} did not take an answer: {outcome}"))
        })
        .collect();
    let (server, menu) = (results[0], results[1]);
    assert_eq!(server["serverInfo"]["name"], "mcpproxy", "{sdk:?}");
    assert_eq!(server["protocolVersion"], revision, "{sdk:?}: {server}");
    check_menu(menu);
    let (cells, searches) = results[2..].split_at(CELLS.len());
    for (cell, result) in CELLS.iter().zip(cells) {
        check_cell(cell, result);
    }
    for ((query, tool, call_with, has_annotations), result) in SEARCHES.iter().zip(searches) {
        let expected = (*tool, *call_with, *has_annotations);
        check_search(result, query, expected, &format!("{sdk:?}"));
    }
}

fn check_menu(result: &Value) {
    let tools = result["tools"].as_array().expect("the menu has tools");
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, MENU);
    let hints = |name: &str| -> Vec<&Value> {
        tools
            .iter()
            .map(|tool| &tool["annotations"][name])
            .collect()
    };
    assert_eq!(hints("readOnlyHint"), [true, true, true, false, false]);
    assert_eq!(hints("destructiveHint"), [false, false, false, false, true]);
}

fn check_search(result: &Value, query: &str, expected: (&str, &str, bool), who: &str) {
    let (tool, call_with, has_annotations) = expected;
    let answer = &result["structuredContent"];
    let text = result["content"][0]["text"]
        .as_str()
        .expect("the answer has a text");
    assert_eq!(&decode(text), answer, "{who}: {query}");
    assert_eq!(answer["query"], query, "{who}");
    let tools = answer["tools"].as_array().expect("the answer has tools");
    let found = tools
        .iter()
        .find(|found| found["name"] == tool)
        .unwrap_or_else(|| panic!("{who}: {query:?} does not find {tool}: {answer}"));
    assert_eq!(found["call_with"], call_with, "{who}: {found}");
    assert_eq!(
        found.get("annotations").is_some(),
        has_annotations,
        "{who}: {found}"
    );
    assert!(found["inputSchema"].is_object(), "{who}: {found}");
}

/// The variant and its arguments.
fn request(cell: &Cell, workspace: &Workspace) -> (String, Value) {
    let (variant, tool, arguments, declared, _) = *cell;
    let mut request = match declared {
        RIGHT => json!({ "intent": { "operation_type": variant } }),
        other => decode(other),
    };
    request["name"] = json!(tool);
    request["args"] = decode(&workspace.fill(arguments));
    (format!("call_tool_{variant}"), request)
}

fn check_cell(cell: &Cell, result: &Value) {
    let meta = &result["_meta"];
    for key in ["dev.mcpproxy/activity_id", "dev.mcpproxy/request_id"] {
        assert!(meta[key].is_string(), "{cell:?}: {result}");
    }
    let warnings: Vec<&str> = meta["dev.mcpproxy/warnings"]
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .filter_map(|warning| warning["code"].as_str())
        .collect();
    let error = &result["structuredContent"]["error"];
    let is_error = result["isError"] == true;
    let blocks = result["content"].as_array().expect("a result has content");
    let says = |part: &str| {
        let mut texts = blocks.iter().filter_map(|block| block["text"].as_str());
        texts.any(|text| text.contains(part))
    };
    let (expects_error, warning, part) = match cell.4 {
        Expected::Gives(part) => (false, None, part),
        Expected::Warns(code, part) => (false, Some(code), part),
        Expected::ToolError(part) => (true, None, part),
        Expected::Refused(code, message) => {
            assert_eq!(error["code"], code, "{cell:?}: {result}");
            assert_eq!(error["message"], message, "{cell:?}");
            (true, None, message)
        }
        Expected::RefusedAs(code, part) => {
            assert_eq!(error["code"], code, "{cell:?}: {result}");
            (true, None, part)
        }
    };
    assert_eq!(is_error, expects_error, "{cell:?}: {result}");
    assert!(says(part), "{cell:?}: {result}");
    assert_eq!(warnings, Vec::from_iter(warning), "{cell:?}: {result}");
    if cell.1 == "everything:get-tiny-image" {
        let is_image = |block: &Value| block["type"] == "image" && block["mimeType"] == "image/png";
        assert!(blocks.iter().any(is_image), "{cell:?}: {result}");
    }
}

/// What the table did is really there, and what was refused left no trace.
fn check_effects(workspace: &Workspace) {
    check_files(workspace);
    assert!(workspace.files().join("made/twice").is_dir());
    assert_eq!(workspace.last_commit(), "By the client");
    let graph = std::fs::read_to_string(workspace.graph()).expect("the graph is on disk");
    assert_eq!(graph.matches("\"name\":\"Ada\"").count(), 1, "{graph}");
    let database = std::fs::read(workspace.database()).expect("the database is on disk");
    for text in ["a note by the client", "trusted"] {
        let is_there = database
            .windows(text.len())
            .any(|bytes| bytes == text.as_bytes());
        assert!(is_there, "{text:?} is in the database");
    }
}

fn check_files(workspace: &Workspace) {
    let read = |name: &str| {
        let path: &Path = &workspace.files().join(name);
        std::fs::read_to_string(path).expect("the file can be read")
    };
    assert_eq!(read("first.txt"), FIRST_TEXT);
    assert_eq!(read("written.txt"), "by the client");
    assert!(!workspace.files().join("refused").exists());
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
