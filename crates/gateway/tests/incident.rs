//! A panic inside the gateway costs one call, and tells nobody why.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use mcpproxy_gateway::settings::{Environment, Sources, load};
use mcpproxy_gateway::{BuiltInServer, Code, Gateway, GatewayOptions};
use mcpproxy_policy::{Caller, Operation};
use mcpproxy_upstream::{BuiltIn, CallHead};
use mcpproxy_wire::{Json, JsonObject, RpcError};

struct Fragile;

impl BuiltIn for Fragile {
    fn tools(&self) -> Vec<Json> {
        ["break", "work"]
            .iter()
            .map(|name| {
                Json::of(&serde_json::json!({
                    "name": name, "inputSchema": { "type": "object" },
                    "annotations": { "readOnlyHint": true },
                }))
            })
            .collect()
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        _arguments: &'a JsonObject,
        _head: &'a CallHead<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<Json, RpcError>> + Send + 'a>> {
        Box::pin(async move {
            assert_ne!(tool, "break", "a secret cause");
            Ok(Json::of(&serde_json::json!({ "content": [] })))
        })
    }
}

#[tokio::test]
async fn a_panic_costs_one_call_and_is_told_as_an_incident() {
    let folder = tempfile::tempdir().unwrap();
    let settings = load(&Sources {
        data_dir: Some(PathBuf::from(folder.path())),
        environment: Environment::of_variables::<String, String>([]),
        ..Sources::default()
    })
    .unwrap();
    let options = GatewayOptions {
        built_ins: Box::new(|_| {
            vec![BuiltInServer {
                name: "fragile".into(),
                server: Arc::new(Fragile),
                service: None,
            }]
        }),
        ..GatewayOptions::default()
    };
    let gateway = Gateway::start(settings, options).unwrap();
    let caller = Arc::new(Caller::default());
    let call = async |tool: &str| {
        let arguments =
            format!(r#"{{"name":"fragile:{tool}","intent":{{"operation_type":"read"}}}}"#);
        let request = gateway.read_call(Operation::Read, &Json::parse(arguments).unwrap());
        gateway.call(request.unwrap(), &caller, None).await
    };
    let failure = call("break").await.result.unwrap_err();
    assert_eq!(failure.code, Code::Internal);
    assert!(!failure.message.contains("secret"), "{}", failure.message);
    assert!(call("work").await.result.is_ok());
    gateway.stop().await;
}
