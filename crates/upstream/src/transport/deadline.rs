//! Deadlines that stand still while a client is asked for input.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::client::ClientLink;

/// Period in which a deadline that was put off is checked again.
const CHECK_AGAIN: Duration = Duration::from_millis(50);

/// Error of work that the deadline passed before.
#[derive(Debug)]
pub(super) struct DeadlinePassed;

/// Does the work unless the deadline passes first. The time that the client takes to answer
/// does not count: people think, and that is not the server's fault.
pub(super) async fn before_deadline<T>(
    deadline: Instant,
    client: Option<&Arc<ClientLink>>,
    mut work: Pin<&mut impl Future<Output = T>>,
) -> Result<T, DeadlinePassed> {
    let mut until = deadline;
    loop {
        tokio::select! {
            biased;
            done = work.as_mut() => return Ok(done),
            () = sleep_until(until) => {}
        }
        let due = deadline + client.map_or(Duration::ZERO, |client| client.waited_for());
        let now = Instant::now();
        if due <= now {
            return Err(DeadlinePassed);
        }
        until = due.max(now + CHECK_AGAIN);
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::Json;
    use mcpproxy_wire::Protocol;
    use std::pin::pin;

    use serde_json::json;

    use super::*;
    use crate::client::{ClientMessage, ClientRequestKind};

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
        let asked = client.request(ClientRequestKind::Elicitation, params);
        let answer = before_deadline(deadline, Some(&client), pin!(asked)).await;
        answer.expect("it is in time").expect("it is answered");
        let _messages = answering.await.expect("it ends");

        let slow = tokio::time::sleep(Duration::from_secs(11));
        let passed = before_deadline(deadline, Some(&client), pin!(slow)).await;
        assert!(passed.is_err(), "the server itself is still held to it");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_client_a_deadline_is_a_deadline() {
        let deadline = Instant::now() + Duration::from_secs(1);
        let never = std::future::pending::<()>();
        assert!(before_deadline(deadline, None, pin!(never)).await.is_err());
        assert!(
            before_deadline(deadline, None, pin!(async { 1 }))
                .await
                .is_ok()
        );
    }
}
