//! One request: what comes back for it, and what the client says meanwhile.

use std::sync::atomic::Ordering;

use http::Method;
use serde_json::{Value, json};

use super::stream::EventStream;
use super::{Conversation, Speaks, Way};

/// A request that was sent, and what comes back for it.
#[derive(Debug)]
pub struct Exchange<'a> {
    pub(super) with: &'a Conversation,
    method: String,
    params: Value,
    pub(super) id: u64,
    /// Where the answer comes; over stdio it comes where everything does.
    pub(super) stream: Option<EventStream>,
}

/// What comes back for a request.
#[derive(Debug)]
pub enum Received {
    /// How far it is: the parameters of the notification.
    Progress(Value),
    /// What the server logs: the parameters of the notification.
    Log(Value),
    /// The client is asked something first.
    Request(ClientRequest),
    /// What it was asked does not need an answer any more.
    Withdrawn,
    /// The whole answer.
    Response(Value),
}

/// Request of a server to the client, made during a call.
#[derive(Debug, Clone)]
pub struct ClientRequest {
    /// The request: its method and parameters.
    pub request: Value,
    place: AnswerPath,
}

/// Where the answer to a client request goes.
#[derive(Debug, Clone)]
enum AnswerPath {
    /// By a message with this id.
    Message(Value),
    /// By the same request with the answer under a key, and a state if there was one.
    Repeated { key: String, state: Option<Value> },
}

// === impl Exchange ===

impl<'a> Exchange<'a> {
    pub(super) async fn begin(with: &'a Conversation, method: &str, params: &Value) -> Self {
        let mut exchange = Self {
            with,
            method: method.to_owned(),
            params: params.clone(),
            id: 0,
            stream: None,
        };
        exchange.send(params).await;
        exchange
    }

    /// Waits for what comes next.
    pub async fn next(&mut self) -> Received {
        loop {
            let message = self.message().await;
            let message = message.expect("a stream ends after its answer");
            match message["method"].as_str() {
                Some("notifications/progress") => {
                    return Received::Progress(message["params"].clone());
                }
                Some("notifications/message") => return Received::Log(message["params"].clone()),
                Some("notifications/cancelled") => return Received::Withdrawn,
                Some(_) if message.get("id").is_some() => {
                    let place = AnswerPath::Message(message["id"].clone());
                    let request = message;
                    return Received::Request(ClientRequest { request, place });
                }
                Some(_) => {}
                None => return self.answered(message),
            }
        }
    }

    /// Waits for a question.
    pub async fn question(&mut self) -> ClientRequest {
        match self.next().await {
            Received::Request(question) => question,
            other => panic!("not asked, but {other:?}"),
        }
    }

    /// Waits for the answer, before which nothing may come.
    pub async fn answer(&mut self) -> Value {
        match self.next().await {
            Received::Response(answer) => answer,
            other => panic!("not answered, but {other:?}"),
        }
    }

    /// Answers a question.
    pub async fn reply(&mut self, question: &ClientRequest, answer: &Value) {
        match &question.place {
            AnswerPath::Message(id) => {
                let message = json!({ "jsonrpc": "2.0", "id": id, "result": answer });
                self.with.tell(&message).await;
            }
            AnswerPath::Repeated { .. } => {
                let params = question.repeated(&self.params, Some(answer));
                self.send(&params).await;
            }
        }
    }

    /// Answers a question of a session with an error.
    pub async fn refuse(&mut self, question: &ClientRequest) {
        let AnswerPath::Message(id) = &question.place else {
            panic!("only a session can answer with an error: {question:?}");
        };
        let error = json!({ "code": -1, "message": "The user does not want that" });
        let message = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        self.with.tell(&message).await;
    }

    /// Repeats the request of a question with everything but the answer.
    pub async fn repeat_without(&mut self, question: &ClientRequest) {
        let params = question.repeated(&self.params, None);
        self.send(&params).await;
    }

    /// Calls the request off in the way of the protocol.
    pub async fn cancel(mut self) {
        let is_http = self.stream.is_some();
        if is_http && self.with.speaks == Speaks::Stateless {
            // Closing the stream says it.
            return;
        }
        let params = json!({ "requestId": self.id, "reason": "The test called it off" });
        let message =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        self.with.tell(&message).await;
        if is_http {
            // Its stream stays open until the gateway ends it, or that would have called it off.
            let rest = self.message().await;
            assert_eq!(rest, None, "nothing is owed to whoever called it off");
        }
    }

    /// Sends the request with these parameters, under a new id.
    async fn send(&mut self, params: &Value) {
        let with = self.with;
        self.id = with.next_id.fetch_add(1, Ordering::Relaxed);
        let params = with.introduced(params);
        let message =
            json!({ "jsonrpc": "2.0", "id": self.id, "method": self.method, "params": params });
        let http = match &with.way {
            Way::Stdio(inbox) => return inbox.send(&message).await,
            Way::Http(http) => http,
        };
        let mut headers = vec![("mcp-protocol-version", with.revision())];
        let name = params["name"].as_str().or(params["uri"].as_str());
        if with.speaks == Speaks::Stateless {
            headers.push(("mcp-method", &self.method));
            headers.extend(name.map(|name| ("mcp-name", name)));
        }
        let response = http.open(Method::POST, &headers, message.to_string()).await;
        self.stream = Some(EventStream::new(response));
    }

    async fn message(&mut self) -> Option<Value> {
        match (&mut self.stream, &self.with.way) {
            (Some(stream), _) => stream.next().await,
            (None, Way::Stdio(inbox)) => Some(inbox.next(|message| self.concerns(message)).await),
            (None, Way::Http(_)) => panic!("nothing was sent"),
        }
    }

    /// Whether a message that came among all others belongs here.
    fn concerns(&self, message: &Value) -> bool {
        match message["method"].as_str() {
            None => message["id"] == self.id,
            Some(
                "notifications/progress" | "notifications/message" | "notifications/cancelled",
            ) => true,
            Some(_) => message.get("id").is_some(),
        }
    }

    fn answered(&self, answer: Value) -> Received {
        assert_eq!(answer["id"], self.id, "{answer}");
        let result = &answer["result"];
        let is_complete = result["resultType"] == "complete" || answer.get("error").is_some();
        match self.with.speaks {
            Speaks::Session => {
                let kind = result.get("resultType");
                assert_eq!(kind, None, "sessions know no types of results");
            }
            Speaks::Stateless if result["resultType"] == "input_required" => {
                return Received::Request(ClientRequest::in_result(result));
            }
            Speaks::Stateless => assert!(is_complete, "{answer}"),
        }
        Received::Response(answer)
    }
}

impl ClientRequest {
    fn in_result(result: &Value) -> Self {
        let asked = result["inputRequests"].as_object();
        let mut asked = asked.into_iter().flatten();
        let (Some((key, request)), None) = (asked.next(), asked.next()) else {
            panic!("not one question: {result}");
        };
        let place = AnswerPath::Repeated {
            key: key.clone(),
            state: result.get("requestState").cloned(),
        };
        Self {
            request: request.clone(),
            place,
        }
    }

    /// The parameters of a request that repeats the one of this question.
    pub(super) fn repeated(&self, params: &Value, answer: Option<&Value>) -> Value {
        let AnswerPath::Repeated { key, state } = &self.place else {
            panic!("this question is answered by a message of its own: {self:?}");
        };
        let mut params = params.clone();
        params["inputResponses"] =
            answer.map_or_else(|| json!({}), |answer| json!({ key: answer }));
        if let Some(state) = state {
            params["requestState"] = state.clone();
        }
        params
    }

    /// The state that goes with it, where there is one.
    pub fn state(&self) -> Option<&Value> {
        match &self.place {
            AnswerPath::Message(_) => None,
            AnswerPath::Repeated { state, .. } => state.as_ref(),
        }
    }
}
