//! A gateway that waits to be killed.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_policy::{Decision, DeclaredIntent, Intent, Mode, Operation, Rules, Subject, decide};
use mcpproxy_redact::Mask;
use mcpproxy_upstream::{
    CallHead, InheritEnv, Observer, ProtocolSetting, Runtime, Spec, StdioSpec, TransportSpec,
    Upstream, UpstreamState,
};
use mcpproxy_wire::{JsonObject, ToolAnnotations};
use tokio::time::Instant;
use uuid::Uuid;

/// Starts a guarded server that starts processes, prints who they are, and waits.
pub(crate) fn run() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let program = std::env::current_exe().expect("the path of this program");
        let shared = Runtime::new(Some(program.clone()), "1", Arc::new(Nobody));
        let spec = Spec {
            name: "fake".into(),
            transport: TransportSpec::Stdio(StdioSpec {
                command: program.to_string_lossy().into_owned(),
                args: vec!["ignores-the-end".into()],
                env: Vec::new(),
                working_dir: None,
                config_dir: None,
                inherit_env: InheritEnv::default(),
            }),
            protocol: ProtocolSetting::Legacy,
            start_timeout: Duration::from_mins(1),
            timeout: Duration::from_secs(30),
            max_concurrent: 1,
            idle_stop: None,
            mask: Mask::default(),
        };
        let upstream = Upstream::start(spec, &shared);
        let deadline = Instant::now() + Duration::from_mins(1);
        let caller = Arc::default();
        let slot = upstream.call_slot(&caller, deadline).await;
        let slot = slot.expect("a free place");
        let head = CallHead {
            caller: &caller,
            request_id: Uuid::nil(),
            announces_contract: false,
        };
        let result = slot
            .call(&permit(), &JsonObject::empty(), &head, None, deadline)
            .await
            .expect("the server spawns");
        let result = result.json().to_value();
        let UpstreamState::Ready {
            pid: Some(guard), ..
        } = upstream.state()
        else {
            panic!("the server is ready");
        };
        let pids = result["content"][0]["text"].as_str().expect("a text");
        writeln!(std::io::stdout(), "{guard} {pids}").expect("the test listens");
        std::future::pending::<()>().await;
    });
    ExitCode::SUCCESS
}

fn permit() -> mcpproxy_policy::Permit {
    let intent = Intent::parse(Operation::Write, &DeclaredIntent::default(), Mode::Inferred)
        .expect("the variant says it all");
    let subject = Subject {
        server: &"fake".into(),
        tool: &"spawn".into(),
        description: "",
        annotations: ToolAnnotations::default(),
    };
    match decide(&intent, &subject, Rules::default()) {
        Decision::Allow(permit, _) => permit,
        Decision::Deny(denial) => panic!("{denial}"),
    }
}

struct Nobody;

impl Observer for Nobody {
    fn offered(&self, _: &str, _: mcpproxy_wire::Offerings) {}
    fn state_changed(&self, _: &str, _: &UpstreamState) {}
}
