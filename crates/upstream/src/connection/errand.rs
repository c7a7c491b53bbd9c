//! Requests that somebody waits for, who may be asked and told things meanwhile.

use std::sync::PoisonError;

use mcpproxy_wire::Method;
use mcpproxy_wire::Protocol;
use tokio::time::Instant;

use super::{Connection, Link};
use crate::client::{ClientInput, ClientLink, LogLevel};
use crate::modern::{self, Round};
use crate::pending::Answer;
use crate::request::OutgoingRequest;
use crate::{CallError, Origin};

/// A request that a caller waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Errand<'a> {
    pub(crate) method: &'static str,
    /// The text of a JSON object of our own making.
    pub(crate) params: &'a str,
    /// What it is about: the name or address that headers repeat.
    pub(crate) name: &'a str,
    /// The arguments of a call, as JSON.
    pub(crate) arguments: &'a str,
}

impl Connection {
    /// Makes a request that a caller waits for, who may be asked meanwhile.
    pub(crate) async fn run(
        &self,
        errand: &Errand<'_>,
        origin: Origin<'_>,
        deadline: Instant,
    ) -> Answer {
        let client = origin.client.map(|client| &**client);
        let Some(modern) = &self.modern else {
            self.adjust_log_level(client, deadline).await;
            return self.send(errand.params, "", errand, origin, deadline).await;
        };
        let meta = modern.meta(client);
        let is_stateless = client.is_some_and(|client| client.protocol == Protocol::Stateless);
        let mut answers = client.map_or_else(ClientInput::default, |client| client.input.clone());
        for _ in 0..modern::MOST_ROUNDS {
            let params = modern::with_answers(errand.params, &answers);
            let sent = self.send(&params, &meta, errand, origin, deadline);
            let asks = match modern::round(sent.await?)? {
                Round::Complete(result) => return Ok(result),
                Round::InputRequired(result) if is_stateless => return Ok(result),
                Round::InputRequired(result) => result,
            };
            answers = modern::ask(client, &asks).await?;
        }
        Err(CallError::malformed("it asks for input over and over"))
    }

    /// Sends what a caller waits for, once.
    async fn send(
        &self,
        params: &str,
        meta: &str,
        errand: &Errand<'_>,
        origin: Origin<'_>,
        deadline: Instant,
    ) -> Answer {
        let mut request = OutgoingRequest::own(errand.method, params, deadline);
        request.meta = meta;
        request.is_for_caller = true;
        request.client = origin.client;
        if let (Some(modern), Link::Http(_)) = (&self.modern, &*self.link) {
            request.headers = modern.headers(errand.method, Some(errand.name), errand.arguments);
        }
        self.link.request(request).await
    }

    /// Has a server with sessions send the log messages that the client wants, if it would not do
    /// so by itself. All clients share the session, so this goes one way only; what is not severe
    /// enough for one of them is held back on its way there.
    async fn adjust_log_level(&self, client: Option<&ClientLink>, deadline: Instant) {
        let Some(wanted) = client.and_then(|client| client.log_level) else {
            return;
        };
        let Some(logging) = self.logging.get() else {
            return;
        };
        let is_lower = |level: &mut LogLevel| {
            let is_lower = wanted < *level;
            *level = wanted.min(*level);
            is_lower
        };
        if is_lower(&mut logging.lock().unwrap_or_else(PoisonError::into_inner)) {
            let params = format!(r#"{{"level":"{}"}}"#, wanted.as_str());
            // A server that refuses sends what it sends.
            let _ = self
                .request(Method::LoggingSetLevel.as_str(), &params, deadline)
                .await;
        }
    }
}
