//! What a client is told without a request of its own in flight.

use http::Method;
use serde_json::{Value, json};

use super::{Conversation, Exchange, Speaks, Way};
use crate::clients::conversation::stream::EventStream;

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// A client that listens.
#[derive(Debug)]
pub struct ChangeNotifications<'a> {
    with: &'a Conversation,
    source: Source<'a>,
}

#[derive(Debug)]
enum Source<'a> {
    /// The stream of a session.
    Stream(EventStream),
    /// The output of a program.
    Lines,
    /// What a request without a session opened.
    Opened(Exchange<'a>),
}

impl Conversation {
    /// Listens for other tools, and for changes of these resources.
    pub async fn listen(&self, uris: &[&str]) -> ChangeNotifications<'_> {
        let source = match (self.speaks, &self.way) {
            (Speaks::Stateless, _) => {
                let wanted = json!({ "toolsListChanged": true, "resourceSubscriptions": uris });
                let params = json!({ "notifications": wanted });
                let mut opened = self.begin("subscriptions/listen", &params).await;
                let first = opened.told().await;
                let method = "notifications/subscriptions/acknowledged";
                assert_eq!(first["method"], method, "{first}");
                let granted = &first["params"]["notifications"]["resourceSubscriptions"];
                assert_eq!(*granted, json!(uris), "{first}");
                Source::Opened(opened)
            }
            (Speaks::Session, Way::Stdio(_)) => Source::Lines,
            (Speaks::Session, Way::Http(http)) => {
                let headers = [("accept", "text/event-stream")];
                let response = http.open(Method::GET, &headers, String::new()).await;
                assert!(response.status().is_success(), "{response:?}");
                Source::Stream(EventStream::new(response))
            }
        };
        if self.speaks == Speaks::Session {
            for uri in uris {
                self.result("resources/subscribe", &json!({ "uri": uri }))
                    .await;
            }
        }
        ChangeNotifications { with: self, source }
    }
}

impl ChangeNotifications<'_> {
    /// Waits for a notification of this method; its parameters.
    pub async fn next(&mut self, method: &str) -> Value {
        loop {
            let message = match (&mut self.source, &self.with.way) {
                (Source::Stream(stream), _) => stream.next().await.expect("the stream goes on"),
                (Source::Opened(exchange), _) => exchange.told().await,
                (Source::Lines, Way::Stdio(inbox)) => {
                    inbox.next(|message| message["method"] == method).await
                }
                (Source::Lines, Way::Http(_)) => panic!("there are no lines over HTTP"),
            };
            if message["method"] == method {
                return message["params"].clone();
            }
        }
    }
}

impl Exchange<'_> {
    /// The next notification that says to be on the stream which this request opened.
    async fn told(&mut self) -> Value {
        let id = json!(self.id);
        let is_ours = |message: &Value| message["params"]["_meta"][SUBSCRIPTION_ID] == id;
        match (&mut self.stream, &self.with.way) {
            (Some(stream), _) => {
                let message = stream.next().await.expect("the stream goes on");
                assert!(is_ours(&message), "{message}");
                message
            }
            (None, Way::Stdio(inbox)) => inbox.next(is_ours).await,
            (None, Way::Http(_)) => panic!("nothing was sent"),
        }
    }
}
