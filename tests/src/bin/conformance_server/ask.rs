//! Questions to the client in the middle of a request: as requests of our own within a session, as `input_required`
//! where there is none. A tool asks in one way for both.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, InputRequest, InputRequests, InputRequiredResult, InputResponses, ProtocolVersion,
    ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::state::Shared;

/// How long a client may take to answer; a user may be behind it.
const ANSWER_TIME: Duration = Duration::from_mins(2);

/// What the client said, by the keys of the questions.
pub(crate) type Answers = BTreeMap<String, Value>;

/// Why a request does not come to its end now.
pub(crate) enum Stop {
    /// The client has to repeat it with answers.
    Needed(Box<InputRequiredResult>),
    Failed(ErrorData),
}

/// A question, and the capability that a client needs for it.
#[derive(Debug, Clone)]
pub(crate) struct ClientRequest {
    key: &'static str,
    method: &'static str,
    capability: &'static str,
    params: Value,
}

/// What travels through the client between two rounds.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rounds {
    /// Whose state it is; that of another tool is refused.
    owner: String,
    /// What earlier rounds have brought.
    pub(crate) answers: Answers,
}

/// A request that may ask its client.
pub(crate) struct Dialogue<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) context: &'a RequestContext<RoleServer>,
    /// The tool or prompt that asks.
    pub(crate) owner: &'a str,
    pub(crate) responses: Option<InputResponses>,
    pub(crate) state: Option<String>,
}

/// Whether a request belongs to no session.
pub(crate) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::NO_INITIALIZE.as_str())
}

// === impl Dialogue ===

impl Dialogue<'_> {
    /// The answers to all the questions.
    pub(crate) async fn ask(&self, questions: &[ClientRequest]) -> Result<Answers, Stop> {
        self.require(questions)?;
        if is_stateless(self.context) {
            return match self.answered(questions)? {
                Some(answers) => Ok(answers),
                None => Err(self.needed(questions, None)?),
            };
        }
        self.request(questions).await
    }

    /// The same; without a session, answers count only together with the sealed state that went out with the questions.
    pub(crate) async fn ask_with_state(
        &self,
        questions: &[ClientRequest],
        earlier: Answers,
    ) -> Result<Answers, Stop> {
        self.require(questions)?;
        if !is_stateless(self.context) {
            return self.request(questions).await;
        }
        let answered = match self.opened()? {
            Some(_) => self.answered(questions)?,
            None => None,
        };
        if let Some(answers) = answered {
            return Ok(answers);
        }
        let rounds = Rounds {
            owner: self.owner.to_owned(),
            answers: earlier,
        };
        Err(self.needed(questions, Some(rounds))?)
    }

    /// What came back through the client, if anything did.
    pub(crate) fn opened(&self) -> Result<Option<Rounds>, Stop> {
        let Some(state) = &self.state else {
            return Ok(None);
        };
        match self.shared.seal.open_json::<Rounds>(state) {
            Ok(rounds) if rounds.owner == self.owner => Ok(Some(rounds)),
            _ => {
                let message = format!(
                    "The requestState is not one that '{}' gave out; begin again without it",
                    self.owner
                );
                Err(ErrorData::invalid_params(message, None).into())
            }
        }
    }

    /// Whether the client can be asked this.
    pub(crate) fn can(&self, question: &ClientRequest) -> bool {
        let capabilities = self.context.client_capabilities();
        let capabilities = capabilities.and_then(|said| serde_json::to_value(said).ok());
        capabilities.is_some_and(|said| said.get(question.capability).is_some())
    }

    /// Refuses on behalf of a client that cannot be asked.
    pub(crate) fn require(&self, questions: &[ClientRequest]) -> Result<(), Stop> {
        let Some(missing) = questions.iter().find(|question| !self.can(question)) else {
            return Ok(());
        };
        let needed = json!({ missing.capability: {} });
        let needed = serde_json::from_value(needed).map_err(|error| broken(&error))?;
        Err(ErrorData::missing_required_client_capability(needed).into())
    }

    /// The answers that came with the request, if none is missing.
    fn answered(&self, questions: &[ClientRequest]) -> Result<Option<Answers>, Stop> {
        let mut answers = Answers::new();
        for question in questions {
            let given = self
                .responses
                .as_ref()
                .and_then(|all| all.get(question.key));
            let Some(answer) = given else {
                return Ok(None);
            };
            if !question.fits(answer) {
                let message = format!(
                    "The input response '{}' is no result of {}",
                    question.key, question.method
                );
                return Err(ErrorData::invalid_params(message, None).into());
            }
            answers.insert(question.key.to_owned(), answer.clone());
        }
        Ok(Some(answers))
    }

    fn needed(&self, questions: &[ClientRequest], rounds: Option<Rounds>) -> Result<Stop, Stop> {
        let state = match rounds {
            Some(rounds) => {
                let sealed = self.shared.seal.seal_json(&rounds);
                Some(sealed.map_err(|error| broken(&error))?)
            }
            None => None,
        };
        let mut requests = InputRequests::new();
        for question in questions {
            requests.insert(question.key.to_owned(), question.request()?);
        }
        let result = InputRequiredResult::new(Some(requests), state);
        Ok(Stop::Needed(Box::new(result)))
    }

    async fn request(&self, questions: &[ClientRequest]) -> Result<Answers, Stop> {
        let mut answers = Answers::new();
        for question in questions {
            let request = match question.request()? {
                InputRequest::CreateMessage(request) => {
                    ServerRequest::CreateMessageRequest(request)
                }
                InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
                InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
                _ => return Err(broken(&"there is no such question").into()),
            };
            let asked = async {
                let options = PeerRequestOptions::with_timeout(ANSWER_TIME);
                let handle = self.context.peer.send_request_with_option(request, options);
                handle.await?.await_response().await
            };
            let answer = tokio::select! {
                () = self.context.ct.cancelled() => {
                    self.shared.unanswered.fetch_add(1, Ordering::SeqCst);
                    let message = format!("The call of '{}' was cancelled", self.owner);
                    return Err(ErrorData::internal_error(message, None).into());
                }
                answer = asked => answer,
            };
            let answer = answer.map_err(|error| {
                self.shared.unanswered.fetch_add(1, Ordering::SeqCst);
                let message = format!("The client did not answer {}: {error}", question.method);
                ErrorData::internal_error(message, None)
            })?;
            let answer = serde_json::to_value(answer).map_err(|error| broken(&error))?;
            answers.insert(question.key.to_owned(), answer);
        }
        Ok(answers)
    }
}

// === impl ClientRequest ===

impl ClientRequest {
    /// Asks the user to fill in a form.
    pub(crate) fn form(key: &'static str, message: &str, schema: &Value) -> Self {
        let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
        Self::new(key, "elicitation/create", "elicitation", params)
    }

    /// Asks the client's model.
    pub(crate) fn model(key: &'static str, prompt: &str, most_tokens: u32) -> Self {
        let content = json!({ "type": "text", "text": prompt });
        let params = json!({
            "messages": [{ "role": "user", "content": content }],
            "maxTokens": most_tokens,
        });
        Self::new(key, "sampling/createMessage", "sampling", params)
    }

    /// Asks which folders the client works on.
    pub(crate) fn roots(key: &'static str) -> Self {
        Self::new(key, "roots/list", "roots", json!({}))
    }

    fn new(
        key: &'static str,
        method: &'static str,
        capability: &'static str,
        params: Value,
    ) -> Self {
        Self {
            key,
            method,
            capability,
            params,
        }
    }

    fn request(&self) -> Result<InputRequest, Stop> {
        let request = json!({ "method": self.method, "params": self.params });
        serde_json::from_value(request).map_err(|error| broken(&error).into())
    }

    fn fits(&self, answer: &Value) -> bool {
        match self.capability {
            "elicitation" => match answer["action"].as_str() {
                Some("accept") => answer["content"].is_object(),
                Some(action) => ["decline", "cancel"].contains(&action),
                None => false,
            },
            "sampling" => answer["content"].is_object() || answer["content"].is_array(),
            _ => answer["roots"].is_array(),
        }
    }
}

// === impl Stop ===

impl From<ErrorData> for Stop {
    fn from(error: ErrorData) -> Self {
        Self::Failed(error)
    }
}

fn broken(cause: &impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(format!("The question could not be written: {cause}"), None)
}
