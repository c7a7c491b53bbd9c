//! Calls to programs, well-behaved and other.

use std::time::Duration;

use crate::common::{Fake, LONG, permit, soon, stdio};
use mcpproxy_policy::Operation;
use mcpproxy_upstream::{CallError, State};
use serde_json::json;
use tokio::time::Instant;

#[tokio::test]
async fn a_server_is_greeted_listed_and_called() {
    let fake = Fake::start("normal");
    fake.upstream.fresh(soon()).await.expect("it starts");
    assert_eq!(fake.memory.hints("target").read_only, Some(true));
    let said = fake
        .read("echo", "{\"big\": 12345678901234567890,\n\"a\":\r\n1}")
        .await;
    assert_eq!(
        said,
        Ok(json!({ "big": 12_345_678_901_234_567_890_u64, "a": 1 }))
    );
    let State::Ready {
        server_info,
        revision,
        pid,
        ..
    } = fake.upstream.state()
    else {
        panic!("it is ready");
    };
    assert_eq!(server_info.expect("it has one").to_value()["name"], "fake");
    assert_eq!(revision.expect("it has one").as_str(), "2025-11-25");
    assert!(pid.is_some());
    fake.upstream.stop(LONG).await;
    assert_eq!(fake.upstream.state(), State::Stopped);
    let refused = fake.read("echo", "{}").await.expect_err("it is stopped");
    assert_eq!(
        refused,
        CallError::Unavailable {
            reason: "the server is stopped".into()
        }
    );
}
