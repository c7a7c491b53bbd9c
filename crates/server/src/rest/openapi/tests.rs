//! The description says what the program does.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::{env, fs};

use axum::body::Body;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use jiff::Timestamp;
use mcpproxy_activity::record::{ChainLink, Hash, Payload, Record, RecordError};
use mcpproxy_activity::{ChainProblem, Filter, LogRole, RecordKind, Status, Tampering};
use mcpproxy_gateway::settings::{self, Environment, Secret, Sources};
use mcpproxy_gateway::{Code, Failure, Gateway, GatewayOptions, ServersToStart};
use mcpproxy_policy::{Operation, Sensitivity};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use uuid::Uuid;

use super::description::text;
use crate::routes::{health, rest as rest_routes, router};
use crate::{App, Reach};

fn document() -> Value {
    serde_json::from_str(&text()).unwrap()
}

/// Every operation of the description: method, path, and what is said of it.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, item): (&String, &Value)| {
        let operations = item.as_object().unwrap().clone().into_iter();
        let path = path.clone();
        operations.map(move |(method, operation)| (method, path.clone(), operation))
    };
    paths.iter().flat_map(of_path).collect()
}

#[track_caller]
fn check_fits(name: &str, value: &Value) {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": format!("#/components/schemas/{name}"),
        "components": document()["components"],
    });
    check_against(&schema, value, name);
}

#[track_caller]
fn check_against(schema: &Value, value: &Value, what: &str) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{what}: {errors:?} in {value}");
}

#[test]
fn the_committed_description_is_the_generated_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/openapi.json");
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, text()).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == text(),
        "docs/reference/openapi.json differs from the program, run: \
         UPDATE_GENERATED=1 cargo test -p mcpproxy-server --features openapi openapi"
    );
}

#[test]
fn every_route_is_described_and_every_description_is_a_route() {
    let under = |prefix: &str, routes: Vec<crate::routes::Route>| {
        let named = |route: crate::routes::Route| {
            let path = format!("{prefix}{}", route.path);
            let path = path.trim_end_matches('/').to_owned();
            (route.method.to_owned(), path)
        };
        routes.into_iter().map(named).collect::<Vec<_>>()
    };
    let routes = [under("/api/v1", rest_routes()), under("", health())].concat();
    let routes: BTreeSet<_> = routes.into_iter().collect();
    let described: BTreeSet<_> = operations(&document())
        .into_iter()
        .map(|(method, path, _)| (method, path))
        .collect();
    assert_eq!(routes, described);
}

#[test]
fn the_description_is_whole() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    let mut ids = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let at = format!("{method} {path}");
        let id = operation["operationId"].as_str().expect(&at).to_owned();
        assert!(ids.insert(id), "{at} has the id of another operation");
        assert!(operation["summary"].is_string(), "{at} has no summary");
        let parameters = operation["parameters"].as_array();
        let mut in_path = BTreeSet::new();
        for parameter in parameters.into_iter().flatten() {
            let name = parameter["name"].as_str().expect(&at);
            let about = parameter["description"].as_str().unwrap_or_default();
            assert!(!about.is_empty(), "{at} does not say what {name} is");
            assert!(parameter["schema"].is_object(), "{at}: {name}");
            if parameter["in"] == "path" {
                assert_eq!(parameter["required"], true, "{at}: {name}");
                in_path.insert(format!("{{{name}}}"));
            }
        }
        let expected: BTreeSet<String> = path
            .split('/')
            .filter(|part| part.starts_with('{'))
            .map(str::to_owned)
            .collect();
        assert_eq!(in_path, expected, "{at}");
        let responses = operation["responses"].as_object().expect(&at);
        for (status, response) in responses {
            assert!(response["description"].is_string(), "{at}: {status}");
            let schema = &response["content"]["application/json"]["schema"];
            if !status.starts_with('2') {
                let error = "#/components/schemas/ErrorAnswer";
                assert_eq!(schema["$ref"], error, "{at}: {status}");
            }
        }
        assert!(
            responses.keys().any(|status| status.starts_with('2')) && responses.contains_key("401"),
            "{at}"
        );
    }
    check_references(&document, &document);
}

fn check_references(value: &Value, document: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                let pointer = reference.strip_prefix('#').expect(reference);
                assert!(
                    document.pointer(pointer).is_some(),
                    "{reference} is nowhere"
                );
            }
            fields
                .values()
                .for_each(|inner| check_references(inner, document));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|inner| check_references(inner, document)),
        _ => {}
    }
}

#[test]
fn every_filter_is_described_with_the_values_it_admits() {
    let document = document();
    for path in [
        "/activity",
        "/activity/summary",
        "/activity/export",
        "/events",
    ] {
        let operation = &document["paths"][format!("/api/v1{path}")]["get"];
        let parameters = operation["parameters"].as_array().unwrap();
        for name in Filter::NAMES {
            let parameter = parameters.iter().find(|one| one["name"] == name);
            let parameter = parameter.unwrap_or_else(|| panic!("{path} lacks {name}"));
            let allowed = Filter::default().set(name, "?", Timestamp::UNIX_EPOCH);
            let allowed = allowed.map_or_else(|error| error.allowed, |()| Vec::new());
            let described = parameter["schema"]["enum"].as_array();
            assert_eq!(
                json!(described.cloned().unwrap_or_default()),
                json!(allowed),
                "{name}"
            );
        }
    }
}

#[test]
fn a_record_has_exactly_the_fields_that_are_described() {
    let schema = &document()["components"]["schemas"]["Activity"];
    let described: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    for record in [full_record(), bare_record()] {
        let shown: Value = json!(record);
        let fields: Vec<&String> = shown.as_object().unwrap().keys().collect();
        assert_eq!(fields, described);
        assert_eq!(
            json!(fields),
            schema["required"],
            "every field is always there"
        );
        check_fits("Activity", &shown);
    }
}

#[test]
fn errors_and_problems_fit_the_description() {
    let failure = Failure::new(Code::StoreUnavailable, "The log…").with("n", 1);
    check_fits(
        "ErrorAnswer",
        &json!({ "error": failure.to_json(Uuid::now_v7()) }),
    );
    let problem = ChainProblem {
        kind: Tampering::Removed,
        chain: Some(Uuid::now_v7()),
        seq: Some(7),
        id: None,
        message: "Record 7 is missing".to_owned(),
    };
    check_fits("Problem", &json!(problem));
}

#[tokio::test]
async fn real_answers_fit_the_description() {
    let folder = tempfile::tempdir().unwrap();
    let spare = json!({ "mcpServers": { "spare": { "url": "http://127.0.0.1:1/mcp" } } });
    fs::write(folder.path().join("mcp_config.json"), spare.to_string()).unwrap();
    let sources = Sources {
        data_dir: Some(folder.path().to_owned()),
        config: None,
        listen: None,
        demo: true,
        environment: Environment::default(),
    };
    let options = GatewayOptions {
        guard: None,
        to_start: ServersToStart::All,
        built_ins: mcpproxy_builtin::services(true).unwrap(),
        role: LogRole::Daemon,
        sources: sources.clone(),
    };
    let gateway = Gateway::start(settings::load(&sources).unwrap(), options).unwrap();
    let app = App::new(
        Arc::clone(&gateway),
        Secret::new("key"),
        "127.0.0.1:1".parse().unwrap(),
        CancellationToken::new(),
    );
    let call = json!({ "variant": "call_tool_read", "name": "cards:search-cards", "args": {},
        "intent": { "operation_type": "read", "reason": "to see" } });
    let called = ask(&app, Method::POST, "/api/v1/tools/call", &call).await;
    let id = called.1["_meta"]["dev.mcpproxy/activity_id"]
        .as_str()
        .unwrap();
    let list = "/api/v1/activity?type=tool_call";
    // From before the first look: a record that is written in between counts.
    let mut recorded = gateway.records().recorded();
    while ask(&app, Method::GET, list, &json!(null)).await.1["activities"] == json!([]) {
        recorded.changed().await.unwrap();
    }
    let token = json!({ "name": "ci", "expires": "never" });
    let (status, made) = ask(&app, Method::POST, "/api/v1/tokens", &token).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    check_fits("NewToken", &made);
    let document = document();
    for (method, path, operation) in operations(&document) {
        // What changes a server needs one that is configured.
        let is_sample = path.contains("/tools/") || path.contains("/contract");
        let server = if is_sample { "cards" } else { "spare" };
        let real = path
            .replace("{name}", "ci")
            .replace("{id}", id)
            .replace("{server}", server)
            .replace("{tool}", "search-cards");
        let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        if schema.is_null() {
            continue;
        }
        let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
        let nothing = json!({});
        let body = if path.ends_with("/call") {
            &call
        } else {
            &nothing
        };
        let (status, answer) = ask(&app, method, &real, body).await;
        assert_eq!(status, StatusCode::OK, "{real}: {answer}");
        let mut schema = schema.clone();
        schema["components"] = document["components"].clone();
        check_against(&schema, &answer, &real);
    }
    let (status, refused) = ask(&app, Method::GET, "/api/v1/activity?limit=0", &call).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    check_fits("ErrorAnswer", &refused);
    gateway.stop().await;
}

async fn ask(app: &Arc<App>, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(Body::from(body.to_string()))
        .unwrap();
    let response = router(app, Reach::Socket).oneshot(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

fn full_record() -> Record {
    let payload = Payload {
        text: r#"{"a":1}"#.to_owned(),
        size: 7,
        is_cut: false,
    };
    let link = ChainLink {
        seq: 1,
        prev_hash: Hash::default(),
        hash: Hash([7; 32]),
    };
    let text = |text: &str| Some(text.to_owned());
    let intent = json!({ "intent": { "operation_type": "write" }, "client": { "name": "c" } });
    Record {
        parent_id: Some(Uuid::now_v7()),
        session_id: text("s"),
        trace_id: text("t"),
        duration_us: Some(1_500),
        server_name: text("server"),
        tool_name: text("tool"),
        tool_variant: text("call_tool_write"),
        intent_type: Some(Operation::Write),
        sensitivity: Some(Sensitivity::Private),
        agent: text("c"),
        status: Status::Error,
        arguments: Some(payload.clone()),
        response: Some(payload),
        error: Some(RecordError {
            code: "UPSTREAM_ERROR".to_owned(),
            message: "no".to_owned(),
        }),
        warnings: json!([{ "code": "OVERLY_CAUTIOUS", "message": "a read would do" }]),
        metadata: intent.as_object().unwrap().clone(),
        opened: Some(link),
        closed: Some(ChainLink { seq: 2, ..link }),
        ..bare_record()
    }
}

fn bare_record() -> Record {
    Record {
        id: Uuid::now_v7(),
        request_id: Uuid::now_v7(),
        parent_id: None,
        session_id: None,
        trace_id: None,
        kind: RecordKind::System,
        timestamp: Timestamp::UNIX_EPOCH,
        duration_us: None,
        server_name: None,
        tool_name: None,
        tool_variant: None,
        intent_type: None,
        sensitivity: None,
        agent: None,
        token_id: None,
        status: Status::InDoubt,
        arguments: None,
        response: None,
        error: None,
        warnings: json!([]),
        metadata: serde_json::Map::new(),
        chain: Uuid::now_v7(),
        opened: None,
        closed: None,
    }
}
