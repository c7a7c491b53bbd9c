//! Session of a client at the gateway, and what it takes to open it anew.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use mcpproxy_server::stdio::RequestMessage;
use mcpproxy_wire::{Message, Method, method, rpc};
use serde_json::{Value, json};

use crate::daemon::SESSION_ID;

/// Most subscriptions that are remembered: the gateway takes a hundred of a session.
const MOST_SUBSCRIPTIONS: usize = 100;

/// Id of our own requests in a new session. It may be that of one of the client's, but none of these is cancelled.
const OWN_ID: &str = "mcpproxy-stdio";

/// Acts of a client in its session that another session has to have as well.
#[derive(Debug, Default)]
pub(super) struct ClientSession {
    mark: SessionMark,
    /// Message with which the client opened it.
    hello: Option<Bytes>,
    /// Message with which the client said that it is ready.
    pub(super) initialized: Option<Bytes>,
    /// Message that set the least severe log messages.
    log_level: Option<Bytes>,
    /// Addresses of resources that the client subscribed to.
    subscriptions: Vec<String>,
    /// Result of `initialize`, as far as it matters later.
    terms: Terms,
}

/// One session among those that follow each other.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionMark {
    number: u64,
    /// Header that names it; none before there is one.
    pub(super) headers: HeaderMap,
}

/// Terms that a client and the gateway agreed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Terms {
    revision: Option<String>,
    /// Methods of the changes of lists that the gateway tells of.
    announced: Vec<&'static str>,
}

// === impl ClientSession ===

impl ClientSession {
    /// The session at this moment.
    pub(super) fn mark(&self) -> SessionMark {
        self.mark.clone()
    }

    /// Whether this is still the session.
    pub(super) fn is_at(&self, mark: &SessionMark) -> bool {
        self.mark.number == mark.number
    }

    /// Begins a session that the client itself opened.
    pub(super) fn begin(&mut self, id: HeaderValue, hello: Bytes, answer: &[u8]) -> SessionMark {
        *self = Self {
            hello: Some(hello),
            terms: Terms::read(answer),
            ..Self::default_after(&self.mark)
        };
        self.name(id)
    }

    /// Goes on in another session, in which all that was remembered holds.
    pub(super) fn go_on(&mut self, id: HeaderValue) -> SessionMark {
        self.mark.number += 1;
        self.name(id)
    }

    /// Message that opens another session; nothing if the client has opened none.
    pub(super) fn hello(&self) -> Option<Bytes> {
        self.hello.clone()
    }

    /// Terms that the client knows.
    pub(super) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Messages with which another session begins.
    pub(super) fn opening(&self) -> Vec<Bytes> {
        let said = [self.initialized.clone(), self.log_level.clone()];
        said.into_iter().flatten().collect()
    }

    /// Notifications of the lists that may have changed while there was no session.
    pub(super) fn missed_changes(&self) -> Vec<String> {
        let announced = self.terms.announced.iter();
        let notifications = announced.map(|method| rpc::notification(method, ""));
        notifications.collect()
    }

    /// Addresses of resources that the client is subscribed to.
    pub(super) fn subscriptions(&self) -> &[String] {
        &self.subscriptions
    }

    /// Remembers what a request that was answered changed in the session.
    pub(super) fn remember(&mut self, request: &RequestMessage, line: &Bytes, answer: &[u8]) {
        let is_kept = matches!(
            request.method,
            Method::LoggingSetLevel | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe
        );
        if !is_kept || !is_result(answer) {
            return;
        }
        match (request.method, request.params.text("uri")) {
            (Method::ResourcesSubscribe, Some(uri)) => self.subscribe(uri.into_owned()),
            (Method::ResourcesUnsubscribe, Some(uri)) => {
                self.subscriptions.retain(|known| **known != *uri);
            }
            (Method::LoggingSetLevel, _) => self.log_level = Some(line.clone()),
            _ => {}
        }
    }

    fn subscribe(&mut self, uri: String) {
        if self.subscriptions.len() < MOST_SUBSCRIPTIONS && !self.subscriptions.contains(&uri) {
            self.subscriptions.push(uri);
        }
    }

    fn default_after(mark: &SessionMark) -> Self {
        let number = mark.number + 1;
        Self {
            mark: SessionMark {
                number,
                ..SessionMark::default()
            },
            ..Self::default()
        }
    }

    fn name(&mut self, id: HeaderValue) -> SessionMark {
        self.mark.headers = HeaderMap::from_iter([(SESSION_ID, id)]);
        self.mark.clone()
    }
}

// === messages of our own ===

/// Message that subscribes to a resource in a session that was opened anew.
pub(super) fn subscription(uri: &str) -> Bytes {
    let request = json!({
        "jsonrpc": "2.0",
        "id": OWN_ID,
        "method": "resources/subscribe",
        "params": { "uri": uri },
    });
    Bytes::from(request.to_string())
}

/// Notification that a resource may have another content.
pub(super) fn updated(uri: &str) -> String {
    let params = json!({ "uri": uri });
    rpc::notification(method::RESOURCE_UPDATED, &params.to_string())
}

/// Whether an answer is a result.
pub(super) fn is_result(answer: &[u8]) -> bool {
    let message = Message::parse(answer);
    matches!(message, Ok(Message::Response { outcome: Ok(_), .. }))
}

// === impl Terms ===

impl Terms {
    /// Terms in the answer to `initialize`.
    pub(super) fn read(answer: &[u8]) -> Self {
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        let result = &answer["result"];
        let lists = [
            ("tools", method::TOOLS_CHANGED),
            ("prompts", method::PROMPTS_CHANGED),
            ("resources", method::RESOURCES_CHANGED),
        ];
        let changes = |list: &str| result["capabilities"][list]["listChanged"] == true;
        let announced = lists.iter().filter(|(list, _)| changes(list));
        Self {
            revision: result["protocolVersion"].as_str().map(str::to_owned),
            announced: announced.map(|(_, method)| *method).collect(),
        }
    }

    /// Whether a client that knows these terms can go on under others: the revision decides what messages mean.
    pub(super) fn admit(&self, others: &Self) -> bool {
        self.revision == others.revision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(revision: &str, capabilities: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{revision}","capabilities":{capabilities}}}}}"#
        )
    }

    #[test]
    fn another_session_is_made_what_the_one_before_was() {
        let mut session = ClientSession::default();
        let before = session.mark();
        let announced = r#"{"tools":{"listChanged":true},"prompts":{},"resources":{"listChanged":false,"subscribe":true}}"#;
        let opened = answer("2025-06-18", announced);
        let first = HeaderValue::from_static("one");
        let mark = session.begin(first, Bytes::from_static(b"hello"), opened.as_bytes());
        assert!(!session.is_at(&before) && session.is_at(&mark));
        assert_eq!(mark.headers[SESSION_ID], "one");
        assert!(session.opening().is_empty());
        session.initialized = Some(Bytes::from_static(b"ready"));
        session.log_level = Some(Bytes::from_static(b"level"));
        session.subscribe("a:b".to_owned());
        session.subscribe("a:b".to_owned());
        assert_eq!(session.opening(), ["ready", "level"]);
        assert_eq!(session.subscriptions(), ["a:b"]);
        assert_eq!(
            session.missed_changes(),
            [r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#]
        );

        let next = session.go_on(HeaderValue::from_static("two"));
        assert!(!session.is_at(&mark) && session.is_at(&next));
        assert_eq!(session.opening().len(), 2);
        assert_eq!(session.subscriptions().len(), 1);
        // The client says hello again: nothing of the one before is left.
        let third = HeaderValue::from_static("three");
        session.begin(third, Bytes::from_static(b"hello again"), b"{}");
        assert!(session.opening().is_empty() && session.missed_changes().is_empty());
        assert!(session.subscriptions().is_empty());
        assert!(!session.is_at(&next));
    }

    #[test]
    fn subscriptions_are_bounded() {
        let mut session = ClientSession::default();
        for number in 0..=MOST_SUBSCRIPTIONS {
            session.subscribe(format!("a:{number}"));
        }
        assert_eq!(session.subscriptions().len(), MOST_SUBSCRIPTIONS);
    }

    #[test]
    fn a_client_cannot_go_on_in_another_revision() {
        let terms = |text: &str| Terms::read(text.as_bytes());
        let known = terms(&answer("2025-06-18", "{}"));
        assert!(known.admit(&terms(&answer("2025-06-18", r#"{"tools":{}}"#))));
        assert!(!known.admit(&terms(&answer("2025-11-25", "{}"))));
        assert!(!known.admit(&terms("no JSON")));
    }
}
