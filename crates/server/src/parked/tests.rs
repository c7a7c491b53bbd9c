use mcpproxy_gateway::client::ClientRequestKind;
use serde_json::json;
use serde_json::value::RawValue;

use super::*;
use crate::rehearsal::{Server, answer, dropped, message};
use crate::relay::Step;

const LIMIT: Duration = Duration::from_mins(5);

/// One client without a session, and the calls that are parked for it.
struct Scene {
    parked: Arc<Parked>,
    stopping: CancellationToken,
}

impl Scene {
    fn new() -> Self {
        let stopping = CancellationToken::new();
        let parked = Parked::new(stopping.clone());
        Self { parked, stopping }
    }

    /// Makes a call, as far as the first thing that its server says.
    async fn call<F>(&self, work: impl FnOnce(Server) -> F) -> mpsc::Receiver<Told>
    where
        F: Future<Output = Result<String, RpcError>> + Send + 'static,
    {
        let mut running = Server::running(work);
        let Step::Event(first) = running.next(true).await else {
            panic!("nothing came before the end");
        };
        let binding = binding(&json!({}), &Caller::default());
        self.parked.hold(first, running, binding, LIMIT)
    }

    /// Repeats the call with a state and answers.
    fn repeat(&self, state: &str, responses: &Value) -> Result<mpsc::Receiver<Told>, RpcError> {
        self.repeat_as(state, responses, &binding(&json!({}), &Caller::default()))
    }

    fn repeat_as(
        &self,
        state: &str,
        responses: &Value,
        binding: &Binding,
    ) -> Result<mpsc::Receiver<Told>, RpcError> {
        let text = json!({ "inputResponses": responses, "requestState": state }).to_string();
        let raw: &RawValue = serde_json::from_str(&text).unwrap();
        let params = Params::read(Some(raw));
        let state = state::own(&params).expect("a state of ours");
        self.parked.resume(&state, binding, &params)
    }
}

fn binding(arguments: &Value, caller: &Caller) -> Binding {
    let text = json!({ "name": "t", "arguments": arguments }).to_string();
    let raw: &RawValue = serde_json::from_str(&text).unwrap();
    Binding::new(
        caller,
        &Endpoint::Menu,
        "tools/call",
        &Params::read(Some(raw)),
    )
}

/// What a client is asked, and the state that it has to repeat.
async fn asked(told: &mut mpsc::Receiver<Told>) -> (Value, String) {
    let result: Value = serde_json::from_str(&answer(told).await.unwrap()).unwrap();
    assert_eq!(result["resultType"], "input_required");
    assert!(told.recv().await.is_none());
    let state = result["requestState"].as_str().unwrap().to_owned();
    (result["inputRequests"].clone(), state)
}

async fn ask_once(server: Server) -> Result<String, RpcError> {
    Ok(server.ask(ClientRequestKind::Elicitation, "Sure?").await)
}

#[tokio::test]
async fn a_repeated_request_carries_its_call_on_once() {
    let scene = Scene::new();
    let mut told = scene.call(ask_once).await;
    let (requests, state) = asked(&mut told).await;
    let expected =
        json!({ "ask-1": { "method": "elicitation/create", "params": { "message": "Sure?" } } });
    assert_eq!(requests, expected);

    let responses = json!({ "ask-1": { "action": "accept" } });
    let mut told = scene.repeat(&state, &responses).unwrap();
    assert_eq!(answer(&mut told).await.unwrap(), r#"{"action":"accept"}"#);
    assert!(scene.parked.lock().is_empty());
    let again = scene.repeat(&state, &responses).unwrap_err();
    assert_eq!(again.code, INVALID_PARAMS);
    assert!(again.message.contains("without it"), "{}", again.message);
}

#[tokio::test]
async fn only_the_very_request_carries_a_call_on() {
    let scene = Scene::new();
    let mut told = scene.call(ask_once).await;
    let (_, state) = asked(&mut told).await;
    let responses = json!({ "ask-1": { "action": "accept" } });
    let caller = Caller::default();
    let named = |name: &str| Caller {
        client_name: Some(name.to_owned()),
        ..Caller::default()
    };
    let administrator = Caller {
        rights: Rights::Administer,
        ..Caller::default()
    };
    let elsewhere = Binding {
        endpoint: Endpoint::Offered(mcpproxy_gateway::direct::Scope::All),
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
    let guessed = state::new();
    assert!(scene.repeat(&guessed, &responses).is_err());
    // None of that cost the call anything.
    let mut told = scene.repeat(&state, &responses).unwrap();
    assert_eq!(answer(&mut told).await.unwrap(), r#"{"action":"accept"}"#);
}

#[tokio::test]
async fn questions_that_stay_open_are_asked_again() {
    let scene = Scene::new();
    let mut told = scene
        .call(async |server: Server| {
            let (user, folders) = tokio::join!(
                server.ask(ClientRequestKind::Elicitation, "user"),
                server.ask(ClientRequestKind::Roots, "folders"),
            );
            let more = server.ask(ClientRequestKind::Sampling, "more").await;
            Ok([user, folders, more].join(" "))
        })
        .await;
    let (requests, first) = asked(&mut told).await;
    assert_eq!(requests.as_object().unwrap().len(), 2, "{requests}");

    let mut told = scene
        .repeat(&first, &json!({ "ask-2": { "roots": [] }, "ask-9": {} }))
        .unwrap();
    let (requests, second) = asked(&mut told).await;
    let methods: Vec<_> = requests.as_object().unwrap().iter().collect();
    assert_eq!(methods.len(), 1);
    assert_eq!(requests["ask-1"]["method"], "elicitation/create");
    assert_ne!(first, second);

    let mut told = scene
        .repeat(&second, &json!({ "ask-1": { "action": "decline" } }))
        .unwrap();
    let (requests, third) = asked(&mut told).await;
    assert_eq!(requests["ask-3"]["method"], "sampling/createMessage");
    let mut told = scene
        .repeat(&third, &json!({ "ask-3": { "role": "x" } }))
        .unwrap();
    assert_eq!(
        answer(&mut told).await.unwrap(),
        r#"{"action":"decline"} {"roots":[]} {"role":"x"}"#
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_come_back_cancels() {
    let scene = Scene::new();
    let (ended, came) = oneshot::channel();
    let mut told = scene
        .call(async move |server: Server| {
            let user = server.ask(ClientRequestKind::Elicitation, "user").await;
            let model = server.ask(ClientRequestKind::Sampling, "model").await;
            ended.send(format!("{user} {model}")).unwrap();
            Ok(String::new())
        })
        .await;
    let (_, state) = asked(&mut told).await;
    assert_eq!(
        came.await.unwrap(),
        r#"{"action":"cancel"} The client did not answer within 300s (setting 'input_timeout')"#
    );
    let late = scene.repeat(&state, &json!({})).unwrap_err();
    assert_eq!(late.code, INVALID_PARAMS);
    scene.parked.ended().await;
}

#[tokio::test]
async fn what_is_told_is_heard_before_and_after_a_question() {
    let scene = Scene::new();
    let mut told = scene
        .call(async |server: Server| {
            server.tell(1).await;
            let answer = server.ask(ClientRequestKind::Elicitation, "x").await;
            server.tell(2).await;
            Ok(answer)
        })
        .await;
    assert_eq!(message(&mut told).await["params"]["progress"], 1);
    let (_, state) = asked(&mut told).await;
    let mut told = scene.repeat(&state, &json!({ "ask-1": {} })).unwrap();
    assert_eq!(message(&mut told).await["params"]["progress"], 2);
    assert_eq!(answer(&mut told).await.unwrap(), "{}");
}

#[tokio::test]
async fn a_call_ends_with_the_request_that_carries_it_on() {
    let scene = Scene::new();
    let (held, gone) = dropped();
    let mut told = scene
        .call(async move |server: Server| {
            let _held = held;
            server.ask(ClientRequestKind::Elicitation, "x").await;
            std::future::pending().await
        })
        .await;
    let (_, state) = asked(&mut told).await;
    let told = scene.repeat(&state, &json!({ "ask-1": {} })).unwrap();
    drop(told);
    assert!(gone.await.is_err());
    scene.parked.ended().await;
}

#[tokio::test]
async fn parked_calls_end_with_the_gateway() {
    let scene = Scene::new();
    let (held, gone) = dropped();
    let mut told = scene
        .call(async move |server: Server| {
            let _held = held;
            server.ask(ClientRequestKind::Elicitation, "x").await;
            std::future::pending().await
        })
        .await;
    asked(&mut told).await;
    scene.stopping.cancel();
    scene.parked.ended().await;
    assert!(gone.await.is_err());
    assert!(scene.parked.lock().is_empty());
}

#[tokio::test]
async fn there_is_room_for_so_many_calls_only() {
    let scene = Scene::new();
    let other = Arc::new(binding(&json!({}), &Caller::default()));
    let taken: Vec<_> = (0..MOST_PARKED)
        .map(|_| scene.parked.enter(&other))
        .collect();
    assert!(taken.iter().all(Option::is_some));
    let mut told = scene.call(ask_once).await;
    let result = answer(&mut told).await.unwrap();
    assert!(
        result.starts_with("1024 calls wait for answers"),
        "{result}"
    );
    drop(taken);
    let mut told = scene.call(ask_once).await;
    asked(&mut told).await;
}
