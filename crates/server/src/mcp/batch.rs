//! Batches: several messages at once, which one revision has.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use http::HeaderMap;
use mcpproxy_wire::{Method, Protocol, RpcError, batch};

pub(super) use mcpproxy_wire::batch::is_list as is_batch;

use crate::access::caller;
use crate::exchange::Exchange;
use crate::exchange::dispatch::{receive, response};
use crate::exchange::in_flight::InFlight;
use crate::exchange::reply::{Delivery, Reply};
use crate::exchange::request::{Incoming, decode};
use crate::exchange::session::Session;

/// Answers the messages of a batch; nothing if none of them wants an answer. What is wrong with one
/// concerns no other.
pub(super) async fn answer(
    exchange: &Exchange,
    session: &Arc<Session>,
    in_flight: &InFlight,
    headers: &HeaderMap,
    bytes: &Bytes,
) -> Result<Option<String>, RpcError> {
    let messages = batch::split(bytes)?;
    let answers = messages.into_iter().map(async |message| {
        let message = match decode(&bytes.slice_ref(message.get().as_bytes())) {
            Ok(Incoming::Request(message)) => message,
            Ok(message) => {
                receive(session, in_flight, message);
                return None;
            }
            Err(answer) => return Some(answer),
        };
        let id = message.id.clone();
        if message.method == Method::Initialize {
            let error = RpcError::invalid_request("initialize cannot be part of a list");
            return Some(response(&id, Err(error)));
        }
        let entry = in_flight.enter(&id);
        let caller = caller::in_session(&session.caller, headers, &message.params);
        let own = Some(Arc::clone(session));
        let (protocol, ended) = (Protocol::Session, session.ended.clone());
        let request = message.into_request(protocol, &session.endpoint, caller, own, ended);
        let reply = exchange.dispatch(request, Delivery::AnswerOnly);
        match entry.unless_cancelled(reply).await? {
            Reply::Result(result) => Some(response(&id, result)),
            // Neither comes where there is nothing but the answer.
            Reply::Messages(_) | Reply::Opened(_) => None,
        }
    });
    let answers: Vec<String> = join_all(answers).await.into_iter().flatten().collect();
    Ok((!answers.is_empty()).then(|| batch::join(&answers)))
}
