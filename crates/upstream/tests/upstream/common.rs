//! Parts that the tests share: an observer that remembers, permits, and handles to the fake server.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpproxy_policy::{
    Caller, Decision, DeclaredIntent, Intent, Mode, Operation, Permit, Rules, Subject, decide,
};
use mcpproxy_redact::Mask;
use mcpproxy_upstream::{
    CallError, CallHead, InheritEnv, Observer, ProtocolSetting, Runtime, Spec, StdioSpec,
    TransportSpec, Upstream, UpstreamState,
};
use mcpproxy_wire::{Json, JsonObject, ListedKind, Offerings, ToolAnnotations, ToolDefinition};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

/// The helper program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_fake-mcp-server");

/// An observer that remembers, and can be waited for.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) listings: Mutex<Vec<Vec<ToolDefinition>>>,
    pub(crate) states: watch::Sender<Vec<UpstreamState>>,
    listed: watch::Sender<usize>,
}

impl Observer for Memory {
    fn offered(&self, _server: &str, offerings: Offerings) {
        let mut listings = self.listings.lock().expect("no test panics here");
        let tools = offerings.items(ListedKind::Tool).iter();
        let tools: Vec<ToolDefinition> = tools
            .map(|tool| ToolDefinition::parse(&tool.raw).expect("it was checked"))
            .collect();
        let raw = |tools: &[ToolDefinition]| -> Vec<Json> {
            tools.iter().map(|tool| tool.raw.clone()).collect()
        };
        if listings
            .last()
            .is_some_and(|before| raw(before) == raw(&tools))
        {
            return;
        }
        listings.push(tools);
        self.listed.send_replace(listings.len());
    }

    fn state_changed(&self, _server: &str, state: &UpstreamState) {
        self.states.send_modify(|states| states.push(state.clone()));
    }
}

impl Memory {
    /// Waits until a state came that fits.
    pub(crate) async fn until(&self, fits: impl Fn(&UpstreamState) -> bool) -> UpstreamState {
        let mut states = self.states.subscribe();
        let found = states.wait_for(|states| states.iter().any(&fits));
        let states = tokio::time::timeout(LONG, found)
            .await
            .expect("the state comes")
            .expect("the observer lives");
        states
            .iter()
            .find(|state| fits(state))
            .expect("it was found")
            .clone()
    }

    /// Waits until the server was ready so many times.
    pub(crate) async fn until_ready(&self, count: usize) {
        let mut states = self.states.subscribe();
        let found = states.wait_for(|states| count_ready(states) >= count);
        tokio::time::timeout(LONG, found)
            .await
            .expect("it gets ready")
            .expect("the observer lives");
    }

    /// How often the server was ready.
    pub(crate) fn ready_count(&self) -> usize {
        count_ready(&self.states.borrow())
    }

    /// Waits until so many listings came.
    pub(crate) async fn until_listings(&self, count: usize) {
        let mut listed = self.listed.subscribe();
        tokio::time::timeout(LONG, listed.wait_for(|listed| *listed >= count))
            .await
            .expect("the listing comes")
            .expect("the observer lives");
    }

    /// The reason of the first failure.
    pub(crate) async fn failure(&self) -> String {
        match self
            .until(|state| matches!(state, UpstreamState::Failed { .. }))
            .await
        {
            UpstreamState::Failed { reason, .. } => reason.to_string(),
            _ => unreachable!("only failures fit"),
        }
    }

    /// What the newest listing says of a tool.
    pub(crate) fn annotations(&self, name: &str) -> ToolAnnotations {
        let listings = self.listings.lock().expect("no test panics here");
        let newest = listings.last().expect("a listing came");
        newest
            .iter()
            .find(|tool| &*tool.name == name)
            .expect("it is listed")
            .annotations
    }
}

/// Longer than anything takes that goes well on a busy machine.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// A deadline for what never comes.
pub(crate) fn moment() -> Instant {
    Instant::now() + Duration::from_secs(1)
}

/// A deadline for what comes.
pub(crate) fn soon() -> Instant {
    Instant::now() + LONG
}

/// Head of a call that says nothing of its caller.
pub(crate) fn head(caller: &Arc<Caller>) -> CallHead<'_> {
    CallHead {
        caller,
        request_id: Uuid::nil(),
        announces_contract: false,
    }
}

/// Takes a slot and calls in it.
pub(crate) async fn call(
    upstream: &Upstream,
    permit: &Permit,
    arguments: &str,
    deadline: Instant,
) -> Result<mcpproxy_wire::CallResult, CallError> {
    let caller = Arc::default();
    let slot = upstream.call_slot(&caller, deadline).await?;
    let arguments = JsonObject::parse(arguments).expect("arguments are an object");
    slot.call(permit, &arguments, &head(&caller), None, deadline)
        .await
}

pub(crate) struct Fake {
    pub(crate) upstream: Upstream,
    pub(crate) memory: Arc<Memory>,
}

impl Fake {
    /// Starts the fake server under its guard.
    pub(crate) fn start(mode: &str) -> Self {
        Self::with(mode, |_, _| {})
    }

    pub(crate) fn with(mode: &str, change: impl FnOnce(&mut Spec, &mut Runtime)) -> Self {
        let mut spec = spec(mode);
        let (mut runtime, memory) = runtime();
        change(&mut spec, &mut runtime);
        Self {
            upstream: Upstream::start(spec, &runtime),
            memory,
        }
    }

    /// Calls a tool as reading, and decodes what it says.
    pub(crate) async fn read(&self, tool: &str, arguments: &str) -> Result<Value, CallError> {
        self.call(Operation::Read, tool, arguments).await
    }

    pub(crate) async fn call(
        &self,
        operation: Operation,
        tool: &str,
        arguments: &str,
    ) -> Result<Value, CallError> {
        let permit = permit("fake", tool, operation);
        let result = call(&self.upstream, &permit, arguments, soon()).await?;
        Ok(said(&result))
    }
}

/// A runtime with a guard, and the memory of its observer.
pub(crate) fn runtime() -> (Runtime, Arc<Memory>) {
    let memory = Arc::new(Memory::default());
    let observer: Arc<dyn Observer> = Arc::clone(&memory) as _;
    let guard = Some(PathBuf::from(PROGRAM));
    (Runtime::new(guard, "1", observer), memory)
}

fn count_ready(states: &[UpstreamState]) -> usize {
    let ready = |state: &&UpstreamState| matches!(state, UpstreamState::Ready { .. });
    states.iter().filter(ready).count()
}

/// The text of a result of the fake server, which is JSON.
pub(crate) fn said(result: &mcpproxy_wire::CallResult) -> Value {
    let result = result.json().to_value();
    let text = result["content"][0]["text"].as_str().expect("a text");
    serde_json::from_str(text).expect("the text is JSON")
}

pub(crate) fn spec(mode: &str) -> Spec {
    Spec {
        name: "fake".into(),
        transport: TransportSpec::Stdio(StdioSpec {
            command: PROGRAM.into(),
            args: vec![mode.into()],
            env: vec![("FAKE_KEY".into(), "topsecret-value".into())],
            working_dir: None,
            config_dir: None,
            inherit_env: InheritEnv::default(),
        }),
        protocol: ProtocolSetting::Legacy,
        start_timeout: Duration::from_mins(1),
        timeout: LONG,
        max_concurrent: 16,
        idle_stop: None,
        mask: Mask::new(["topsecret-value".to_owned()]),
    }
}

pub(crate) fn stdio(spec: &mut Spec) -> &mut StdioSpec {
    match &mut spec.transport {
        TransportSpec::Stdio(stdio) => stdio,
        _ => unreachable!("the fake server is a program"),
    }
}

/// A permit, as only a decision gives one.
pub(crate) fn permit(server: &str, tool: &str, operation: Operation) -> Permit {
    permit_for(server, tool, operation, ToolAnnotations::default())
}

/// Leave to call a tool of which the server says something.
pub(crate) fn permit_for(
    server: &str,
    tool: &str,
    operation: Operation,
    annotations: ToolAnnotations,
) -> Permit {
    let intent = Intent::parse(operation, &DeclaredIntent::default(), Mode::Inferred)
        .expect("the variant says it all");
    let subject = Subject {
        server: &server.into(),
        tool: &tool.into(),
        description: "",
        annotations,
    };
    match decide(&intent, &subject, Rules::default()) {
        Decision::Allow(permit, _) => permit,
        Decision::Deny(denial) => panic!("{denial}"),
    }
}
