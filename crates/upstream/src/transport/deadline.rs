//! Deadlines that stand still while a client is asked for input.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::pending::SendState;
use super::request::OutgoingRequest;
use crate::CallError;
use crate::call_error::UpstreamResponse;

/// Period in which a deadline that was put off is checked again.
const CHECK_AGAIN: Duration = Duration::from_millis(50);

/// Does the work of a request unless its deadline passes first. The time that the client takes to answer
/// does not count: people think, and that is not the server's fault.
pub(super) async fn before_deadline(
    request: &OutgoingRequest<'_>,
    send_state: &SendState,
    mut work: Pin<&mut impl Future<Output = UpstreamResponse>>,
) -> UpstreamResponse {
    let started = Instant::now();
    let mut until = request.deadline;
    loop {
        tokio::select! {
            biased;
            done = work.as_mut() => return done,
            () = sleep_until(until) => {}
        }
        let waited = request.client.map(|client| client.waited_for());
        let due = request.deadline + waited.unwrap_or_default();
        let now = Instant::now();
        if due <= now {
            return Err(CallError::Timeout {
                after: started.elapsed(),
                sent: !send_state.withdraw(),
            });
        }
        until = due.max(now + CHECK_AGAIN);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use mcpproxy_wire::{Json, Protocol, RpcResult};
    use serde_json::json;

    use super::super::request::OutgoingParams;
    use super::*;
    use crate::client::{ClientLink, ClientMessage, ClientRequestKind};

    fn nothing() -> RpcResult {
        RpcResult::unread(Json::empty_object())
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_a_client_takes_to_answer_does_not_count() {
        let mut client = ClientLink::new(Protocol::Session, "one");
        client.capabilities = Json::of(&json!({ "elicitation": {} }));
        let (client, mut messages) = client.open();
        let params = Json::of(&json!({}));
        let answering = tokio::spawn(async move {
            let ClientMessage::Request(request) = messages.next().await else {
                panic!("a request");
            };
            tokio::time::sleep(Duration::from_mins(1)).await;
            request.respond(Ok(Json::of(&json!({ "action": "decline" }))));
            messages
        });
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut request = OutgoingRequest::new(OutgoingParams::Discover {}, deadline);
        request.client = Some(&client);
        let asked = pin!(async {
            let answer = client.request(ClientRequestKind::Elicitation, params).await;
            answer.map(RpcResult::unread).map_err(CallError::Rpc)
        });
        let answer = before_deadline(&request, &SendState::default(), asked).await;
        answer.expect("it is in time and answered");
        let _messages = answering.await.expect("it ends");

        let slow = pin!(async {
            tokio::time::sleep(Duration::from_secs(11)).await;
            Ok(nothing())
        });
        let passed = before_deadline(&request, &SendState::default(), slow).await;
        passed.expect_err("the server itself is still held to it");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_client_a_deadline_is_a_deadline() {
        let deadline = Instant::now() + Duration::from_secs(1);
        let request = OutgoingRequest::new(OutgoingParams::Discover {}, deadline);
        let send_state = SendState::default();
        let never = std::future::pending();
        let passed = before_deadline(&request, &send_state, pin!(never)).await;
        assert!(matches!(
            passed,
            Err(CallError::Timeout { sent: false, .. })
        ));
        let done = before_deadline(&request, &send_state, pin!(async { Ok(nothing()) })).await;
        assert!(done.is_ok());
    }
}
