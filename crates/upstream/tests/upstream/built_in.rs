//! Tools of this very program.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcpproxy_policy::Operation;
use mcpproxy_upstream::{
    BuiltIn, CallError, CallHead, Spec, TransportSpec, Upstream, UpstreamState,
};
use mcpproxy_wire::{Json, JsonObject, RpcError};
use serde_json::json;

use crate::common::{call, moment, permit, runtime, said, soon, spec};

#[derive(Default)]
struct Own {
    has_changed: AtomicBool,
}

impl BuiltIn for Own {
    fn tools(&self) -> Vec<Json> {
        let changed = self.has_changed.load(Ordering::Relaxed);
        let target = json!({ "name": "target", "inputSchema": {},
            "annotations": { "destructiveHint": changed } });
        let broken = json!({ "name": "target" });
        vec![Json::of(&target), Json::of(&broken), Json::of(&target)]
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a JsonObject,
        _head: &'a CallHead<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<Json, RpcError>> + Send + 'a>> {
        Box::pin(async move {
            match tool {
                "change" => self.has_changed.store(true, Ordering::Relaxed),
                "hang" => std::future::pending().await,
                "refuse" => return Err(RpcError::new(-1, "no")),
                _ => {}
            }
            let content = json!([{ "type": "text", "text": arguments.text() }]);
            Ok(Json::of(&json!({ "content": content })))
        })
    }
}

#[tokio::test]
async fn built_in_tools_are_listed_and_called_like_any() {
    let (runtime, memory) = runtime();
    let spec = Spec {
        transport: TransportSpec::BuiltIn(Arc::new(Own::default())),
        ..spec("")
    };
    let upstream = Upstream::start(spec, &runtime);
    upstream.fresh(soon()).await.expect("it is there");
    assert!(matches!(
        upstream.state(),
        UpstreamState::Ready { pid: None, .. }
    ));
    assert_eq!(memory.listings.lock().expect("no panics")[0].len(), 1);
    assert_eq!(memory.annotations("target").destructive, Some(false));
    let change = permit("fake", "change", Operation::Write);
    let result = call(&upstream, &change, r#"{"a":1}"#, soon()).await;
    assert_eq!(said(&result.expect("it answers")), json!({ "a": 1 }));
    upstream.fresh(soon()).await.expect("it is there");
    assert_eq!(memory.annotations("target").destructive, Some(true));
    let refuse = permit("fake", "refuse", Operation::Read);
    let refused = call(&upstream, &refuse, "{}", soon()).await;
    assert_eq!(
        refused.expect_err("it refuses"),
        CallError::Rpc(RpcError::new(-1, "no"))
    );
    let hang = permit("fake", "hang", Operation::Read);
    let late = call(&upstream, &hang, "{}", moment()).await;
    assert!(matches!(late, Err(CallError::Timeout { sent: true, .. })));
}
