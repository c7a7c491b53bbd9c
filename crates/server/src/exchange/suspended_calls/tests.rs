use mcpproxy_gateway::client::ClientRequestKind;
use serde_json::json;

use mcpproxy_policy::Caller;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::rpc::INVALID_PARAMS;

use super::*;
use crate::exchange::request::{Incoming, decode};
use crate::exchange::running_call::CallStep;
use crate::exchange::test_call::{TestServer, dropped, message, result};

const LIMIT: Duration = Duration::from_mins(5);

/// Stateless client, and its suspended calls.
struct SuspendedScene {
    suspended: Arc<SuspendedCalls>,
    stopping: CancellationToken,
}

impl SuspendedScene {
    fn new() -> Self {
        let stopping = CancellationToken::new();
        let suspended = SuspendedCalls::new(stopping.clone());
        Self {
            suspended,
            stopping,
        }
    }

    /// Makes a call, as far as the first thing that its server says.
    async fn call<F>(&self, work: impl FnOnce(TestServer) -> F) -> mpsc::Receiver<Outbound>
    where
        F: Future<Output = Result<String, RpcError>> + Send + 'static,
    {
        let mut running = TestServer::running(work);
        let CallStep::Message(first) = running.next(true).await else {
            panic!("nothing came before the end");
        };
        let binding = binding(&json!({}), &Caller::default());
        self.suspended.run(first, running, binding, LIMIT)
    }

    /// Repeats the call with a state and answers.
    fn repeat(&self, state: &str, responses: &Value) -> Result<mpsc::Receiver<Outbound>, RpcError> {
        self.repeat_as(state, responses, &binding(&json!({}), &Caller::default()))
    }

    fn repeat_as(
        &self,
        state: &str,
        responses: &Value,
        binding: &Binding,
    ) -> Result<mpsc::Receiver<Outbound>, RpcError> {
        let text = json!({ "inputResponses": responses, "requestState": state }).to_string();
        let params = RequestParams::parse(&text);
        let state = request_state::own(&params).expect("a state of ours");
        self.suspended.resume(&state, binding, &params)
    }
}

fn binding(arguments: &Value, caller: &Caller) -> Binding {
    let text = json!({ "name": "t", "arguments": arguments }).to_string();
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{text}}}"#);
    let Ok(Incoming::Request(message)) = decode(&message.into()) else {
        panic!("no request");
    };
    let caller = Arc::new(caller.clone());
    Binding::of(&message.into_request(
        Protocol::Stateless,
        &Endpoint::Menu,
        caller,
        None,
        CancellationToken::new(),
    ))
}

/// Client requests, and the state that the client has to repeat.
async fn input_required(messages: &mut mpsc::Receiver<Outbound>) -> (Value, String) {
    let result: Value = serde_json::from_str(&result(messages).await.unwrap()).unwrap();
    assert_eq!(result["resultType"], "input_required");
    assert!(messages.recv().await.is_none());
    let state = result["requestState"].as_str().unwrap().to_owned();
    (result["inputRequests"].clone(), state)
}

async fn request_once(server: TestServer) -> Result<String, RpcError> {
    Ok(server
        .request(ClientRequestKind::Elicitation, "Sure?")
        .await)
}

#[tokio::test]
async fn a_repeated_request_resumes_its_call_once() {
    let scene = SuspendedScene::new();
    let mut messages = scene.call(request_once).await;
    let (requests, state) = input_required(&mut messages).await;
    let expected =
        json!({ "ask-1": { "method": "elicitation/create", "params": { "message": "Sure?" } } });
    assert_eq!(requests, expected);

    let responses = json!({ "ask-1": { "action": "accept" } });
    let mut messages = scene.repeat(&state, &responses).unwrap();
    assert_eq!(
        result(&mut messages).await.unwrap(),
        r#"{"action":"accept"}"#
    );
    assert!(scene.suspended.lock().is_empty());
    let again = scene.repeat(&state, &responses).unwrap_err();
    assert_eq!(again.code, INVALID_PARAMS);
    assert!(again.message.contains("without it"), "{}", again.message);
}

#[tokio::test]
async fn only_the_very_request_resumes_a_call() {
    let scene = SuspendedScene::new();
    let mut messages = scene.call(request_once).await;
    let (_, state) = input_required(&mut messages).await;
    let responses = json!({ "ask-1": { "action": "accept" } });
    let caller = Caller::default();
    let named = |name: &str| Caller {
        client_name: Some(name.to_owned()),
        ..Caller::default()
    };
    let administrator = Caller {
        rights: Rights::Administrator,
        ..Caller::default()
    };
    let elsewhere = Binding {
        endpoint: Endpoint::Direct(mcpproxy_gateway::direct::Scope::All),
        ..binding(&json!({}), &caller)
    };
    for other in [
        binding(&json!({ "more": 1 }), &caller),
        binding(&json!({}), &named("other")),
        binding(&json!({}), &administrator),
        elsewhere,
    ] {
        let refused = scene.repeat_as(&state, &responses, &other).unwrap_err();
        assert_eq!(refused.code, INVALID_PARAMS, "{other:?}");
    }
    let refused = scene.repeat(&state, &json!([])).unwrap_err();
    assert_eq!(refused.code, INVALID_PARAMS);
    let guessed = request_state::new();
    assert!(scene.repeat(&guessed, &responses).is_err());
    // None of that cost the call anything.
    let mut messages = scene.repeat(&state, &responses).unwrap();
    assert_eq!(
        result(&mut messages).await.unwrap(),
        r#"{"action":"accept"}"#
    );
}

#[tokio::test]
async fn client_requests_that_stay_open_are_sent_again() {
    let scene = SuspendedScene::new();
    let mut messages = scene
        .call(async |server: TestServer| {
            let (user, folders) = tokio::join!(
                server.request(ClientRequestKind::Elicitation, "user"),
                server.request(ClientRequestKind::Roots, "folders"),
            );
            let more = server.request(ClientRequestKind::Sampling, "more").await;
            Ok([user, folders, more].join(" "))
        })
        .await;
    let (requests, first) = input_required(&mut messages).await;
    assert_eq!(requests.as_object().unwrap().len(), 2, "{requests}");

    let mut messages = scene
        .repeat(&first, &json!({ "ask-2": { "roots": [] }, "ask-9": {} }))
        .unwrap();
    let (requests, second) = input_required(&mut messages).await;
    let methods: Vec<_> = requests.as_object().unwrap().iter().collect();
    assert_eq!(methods.len(), 1);
    assert_eq!(requests["ask-1"]["method"], "elicitation/create");
    assert_ne!(first, second);

    let mut messages = scene
        .repeat(&second, &json!({ "ask-1": { "action": "decline" } }))
        .unwrap();
    let (requests, third) = input_required(&mut messages).await;
    assert_eq!(requests["ask-3"]["method"], "sampling/createMessage");
    let mut messages = scene
        .repeat(&third, &json!({ "ask-3": { "role": "x" } }))
        .unwrap();
    assert_eq!(
        result(&mut messages).await.unwrap(),
        r#"{"action":"decline"} {"roots":[]} {"role":"x"}"#
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_come_back_cancels() {
    let scene = SuspendedScene::new();
    let (ended, came) = oneshot::channel();
    let mut messages = scene
        .call(async move |server: TestServer| {
            let user = server.request(ClientRequestKind::Elicitation, "user").await;
            let model = server.request(ClientRequestKind::Sampling, "model").await;
            ended.send(format!("{user} {model}")).unwrap();
            Ok(String::new())
        })
        .await;
    let (_, state) = input_required(&mut messages).await;
    assert_eq!(
        came.await.unwrap(),
        r#"{"action":"cancel"} The client did not answer within 300s (setting 'input_timeout')"#
    );
    let late = scene.repeat(&state, &json!({})).unwrap_err();
    assert_eq!(late.code, INVALID_PARAMS);
    scene.suspended.ended().await;
}

#[tokio::test]
async fn notifications_come_before_and_after_a_client_request() {
    let scene = SuspendedScene::new();
    let mut messages = scene
        .call(async |server: TestServer| {
            server.notify(1).await;
            let answer = server.request(ClientRequestKind::Elicitation, "x").await;
            server.notify(2).await;
            Ok(answer)
        })
        .await;
    assert_eq!(message(&mut messages).await["params"]["progress"], 1);
    let (_, state) = input_required(&mut messages).await;
    let mut messages = scene.repeat(&state, &json!({ "ask-1": {} })).unwrap();
    assert_eq!(message(&mut messages).await["params"]["progress"], 2);
    assert_eq!(result(&mut messages).await.unwrap(), "{}");
}

#[tokio::test]
async fn a_call_ends_with_the_request_that_resumes_it() {
    let scene = SuspendedScene::new();
    let (held, gone) = dropped();
    let mut messages = scene
        .call(async move |server: TestServer| {
            let _held = held;
            server.request(ClientRequestKind::Elicitation, "x").await;
            std::future::pending().await
        })
        .await;
    let (_, state) = input_required(&mut messages).await;
    let messages = scene.repeat(&state, &json!({ "ask-1": {} })).unwrap();
    drop(messages);
    assert!(gone.await.is_err());
    scene.suspended.ended().await;
}

#[tokio::test]
async fn suspended_calls_end_with_the_gateway() {
    let scene = SuspendedScene::new();
    let (held, gone) = dropped();
    let mut messages = scene
        .call(async move |server: TestServer| {
            let _held = held;
            server.request(ClientRequestKind::Elicitation, "x").await;
            std::future::pending().await
        })
        .await;
    input_required(&mut messages).await;
    scene.stopping.cancel();
    scene.suspended.ended().await;
    assert!(gone.await.is_err());
    assert!(scene.suspended.lock().is_empty());
}

#[tokio::test]
async fn there_is_room_for_so_many_calls_only() {
    let scene = SuspendedScene::new();
    let other = Arc::new(binding(&json!({}), &Caller::default()));
    let taken: Vec<_> = (0..MOST_SUSPENDED)
        .map(|_| scene.suspended.suspend(&other))
        .collect();
    assert!(taken.iter().all(Option::is_some));
    let mut messages = scene.call(request_once).await;
    let result = result(&mut messages).await.unwrap();
    assert!(
        result.starts_with("1024 calls wait for answers"),
        "{result}"
    );
    drop(taken);
    let mut messages = scene.call(request_once).await;
    input_required(&mut messages).await;
}
