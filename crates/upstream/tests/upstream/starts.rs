//! Starts of programs: how many at once, what ends them, what is tried again, and what is known meanwhile.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_tests::eventually;
use mcpproxy_upstream::{
    CallError, HttpSpec, Runtime, Spec, StartWait, TransportSpec, Upstream, UpstreamState,
    log_files,
};
use serde_json::json;
use tempfile::TempDir;

use crate::common::{Fake, LONG, Memory, PROGRAM, moment, runtime, soon, spec, stdio};

/// Becomes the fake server once the file `gate` of the folder is there, and says nothing before. A pipe without a writer
/// has it wait without computing.
const GATED: &str = r#"echo "start $1" >> "$2/events"; read line < "$2/gate-$1"; echo "end $1" >> "$2/events"; exec "$0" normal"#;

/// Folder with what the scripts write down and wait for.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Specification of a server that runs a script first; it has the program, the name and the folder.
    fn spec(&self, name: &str, script: &str) -> Spec {
        let mut spec = spec("normal");
        spec.name = name.into();
        spec.start_timeout = LONG;
        let stdio = stdio(&mut spec);
        stdio.command = "sh".into();
        let folder = self.path().to_string_lossy().into_owned();
        stdio.args = ["-c", script, PROGRAM, name, &folder]
            .map(str::to_owned)
            .into();
        spec
    }

    /// The same, for a server that waits until [`Scene::open`].
    fn gated(&self, name: &str) -> Spec {
        let made = std::process::Command::new("mkfifo")
            .arg(self.file(&format!("gate-{name}")))
            .status();
        assert!(made.is_ok_and(|status| status.success()));
        self.spec(name, GATED)
    }

    /// Lets a server go on that waits.
    fn open(&self, name: &str) {
        std::fs::write(self.file(&format!("gate-{name}")), "go\n").expect("it waits");
    }

    fn events(&self) -> Vec<String> {
        let events = std::fs::read_to_string(self.file("events")).unwrap_or_default();
        events.lines().map(str::to_owned).collect()
    }

    async fn until_events(&self, count: usize) -> Vec<String> {
        eventually("the scripts come so far", async || {
            Some(self.events()).filter(|events| events.len() >= count)
        })
        .await
    }
}

/// Runtime in which so many programs start at once, and a quiet one holds its slot.
fn limited(limit: usize) -> (Runtime, Arc<Memory>) {
    let (mut runtime, memory) = runtime();
    runtime.set_starts_at_once(Some(limit));
    runtime.slot_silence = 2 * LONG;
    runtime.call_patience = 2 * LONG;
    (runtime, memory)
}

fn waits_for(upstream: &Upstream) -> Option<StartWait> {
    match upstream.state() {
        UpstreamState::Starting(start) => Some(start.waiting_for),
        _ => None,
    }
}

async fn until_attempt(fake: &Fake, wanted: u32) {
    eventually("it is tried again", async || match fake.upstream.state() {
        UpstreamState::Starting(start) if start.attempt >= wanted => Some(()),
        UpstreamState::Failed { attempt, .. } if attempt >= wanted => Some(()),
        _ => None,
    })
    .await;
}

#[tokio::test]
async fn as_many_programs_start_at_once_as_is_allowed_and_in_their_order() {
    const SLEEPS: &str = r#"echo "start $1" >> "$2/events"; sleep 0.1; echo "end $1" >> "$2/events"; exec "$0" normal"#;
    let scene = Scene::new();
    let (runtime, memory) = limited(3);
    let upstreams: Vec<Upstream> = (0..12)
        .map(|number| Upstream::start(scene.spec(&number.to_string(), SLEEPS), &runtime))
        .collect();
    memory.until_ready(upstreams.len()).await;
    let (mut running, mut started) = (0_i32, 0);
    for event in scene.events() {
        match event.split_once(' ') {
            Some(("start", number)) => {
                let number: usize = number.parse().expect("a number");
                // Of those before it at most two may still be on their way.
                assert!(number <= started + 2, "{number} was before its turn");
                running += 1;
                started += 1;
            }
            _ => running -= 1,
        }
        assert!(running <= 3, "{:?}", scene.events());
    }
    assert_eq!((started, running), (12, 0));
}

#[tokio::test]
async fn a_program_that_waits_for_a_slot_says_so_and_one_that_is_called_goes_first() {
    let scene = Scene::new();
    let (runtime, memory) = limited(1);
    let [first, second, called] = ["first", "second", "called"].map(|name| scene.gated(name));
    let first = Upstream::start(first, &runtime);
    scene.until_events(1).await;
    assert_eq!(waits_for(&first), Some(StartWait::Answer));
    let second = Upstream::start(second, &runtime);
    let called = Upstream::start(called, &runtime);
    eventually("both wait", async || {
        let waiting = [&second, &called].map(|one| waits_for(one) == Some(StartWait::Slot));
        (waiting == [true; 2]).then_some(())
    })
    .await;
    let late = called.fresh(moment()).await;
    assert!(
        matches!(&late, Err(CallError::StillStarting { start, .. }) if start.waiting_for == StartWait::Slot),
        "{late:?}"
    );
    scene.open("first");
    let events = scene.until_events(3).await;
    assert_eq!(events, ["start first", "end first", "start called"]);
    assert_eq!(waits_for(&second), Some(StartWait::Slot));
    // A changed limit holds for those that wait.
    runtime.set_starts_at_once(Some(2));
    scene.until_events(4).await;
    scene.open("second");
    scene.open("called");
    memory.until_ready(3).await;
    drop((first, second, called));
}

#[tokio::test]
async fn who_waits_for_a_start_learns_its_end_and_has_it_go_first() {
    let scene = Scene::new();
    let (runtime, _) = limited(1);
    let [first, second, added] = ["first", "second", "added"].map(|name| scene.gated(name));
    let first = Upstream::start(first, &runtime);
    scene.until_events(1).await;
    let second = Upstream::start(second, &runtime);
    let added = Upstream::start(added, &runtime);
    // It gives up at its deadline, and the server goes on.
    added.started(moment()).await;
    assert_eq!(waits_for(&added), Some(StartWait::Slot));
    let begun = async {
        scene.open("first");
        let events = scene.until_events(3).await;
        assert_eq!(events, ["start first", "end first", "start added"]);
        scene.open("added");
    };
    tokio::join!(added.started(soon()), begun);
    assert!(matches!(added.state(), UpstreamState::Ready { .. }));
    assert_eq!(waits_for(&first), None);
    scene.until_events(5).await;
    scene.open("second");
    second.started(soon()).await;
    assert!(matches!(second.state(), UpstreamState::Ready { .. }));

    let fails = Fake::start("exits");
    fails.upstream.started(soon()).await;
    assert!(matches!(
        fails.upstream.state(),
        UpstreamState::Failed { .. }
    ));
    fails.upstream.stop(Duration::ZERO).await;
    fails.upstream.started(soon()).await;
    assert_eq!(fails.upstream.state(), UpstreamState::Stopped);
}

#[tokio::test]
async fn programs_that_hang_do_not_keep_others_from_starting() {
    let scene = Scene::new();
    let (mut runtime, _) = limited(1);
    runtime.slot_silence = Duration::from_millis(50);
    let hung: Vec<Upstream> = (0..5)
        .map(|number| Upstream::start(scene.gated(&number.to_string()), &runtime))
        .collect();
    let well = Upstream::start(scene.spec("well", r#"exec "$0" normal"#), &runtime);
    well.fresh(soon()).await.expect("it starts");
    let still = hung.iter().filter(|one| waits_for(one).is_some()).count();
    assert_eq!(still, hung.len(), "they go on waiting");
}

/// Says something again and again and never becomes a server.
const BUSY: &str = r#"echo "start $1" >> "$2/events"; while :; do echo busy >&2; sleep 0.02; done"#;

#[tokio::test]
async fn a_busy_server_kept_one_that_was_called_from_starting() {
    let scene = Scene::new();
    let (mut runtime, _) = limited(1);
    (runtime.slot_time, runtime.call_patience) = (LONG, Duration::from_millis(100));
    let busy = Upstream::start(scene.spec("busy", BUSY), &runtime);
    scene.until_events(1).await;
    let waiting = Upstream::start(scene.spec("waiting", BUSY), &runtime);
    let called = Upstream::start(scene.spec("called", r#"exec "$0" normal"#), &runtime);
    called.fresh(soon()).await.expect("it starts");
    assert_eq!(
        waits_for(&waiting),
        Some(StartWait::Slot),
        "nobody calls it"
    );
    assert!(waits_for(&busy).is_some(), "it goes on");
}

#[tokio::test]
async fn busy_servers_that_never_start_kept_all_others_waiting() {
    let scene = Scene::new();
    let (mut runtime, memory) = limited(1);
    runtime.slot_time = Duration::from_millis(100);
    let busy: Vec<Upstream> = (0..3)
        .map(|number| Upstream::start(scene.spec(&number.to_string(), BUSY), &runtime))
        .collect();
    let well = Upstream::start(scene.spec("well", r#"exec "$0" normal"#), &runtime);
    memory.until_ready(1).await;
    assert!(matches!(well.state(), UpstreamState::Ready { .. }));
    scene.until_events(busy.len()).await;
    let still = busy.iter().filter(|one| waits_for(one).is_some()).count();
    assert_eq!(still, busy.len(), "they go on");
}

#[tokio::test]
async fn a_program_that_prints_or_computes_was_ended_while_it_installed() {
    const PRINTS: &str = r#"i=0; while [ $i -lt 25 ]; do echo "part $i" >&2; sleep 0.1; i=$((i+1)); done; exec "$0" normal"#;
    const COMPUTES: &str =
        r#"end=$(($(date +%s) + 4)); while [ $(date +%s) -lt $end ]; do :; done; exec "$0" normal"#;
    let scene = Scene::new();
    for script in [PRINTS, COMPUTES] {
        let fake = Fake::with("", |spec, _| {
            *spec = scene.spec("fake", script);
            spec.start_timeout = Duration::from_secs(1);
        });
        fake.upstream.fresh(soon()).await.expect("it comes up");
        let states = fake.memory.states.borrow().clone();
        let is_first = matches!(
            &states[..],
            [UpstreamState::Starting(_), UpstreamState::Ready { .. }]
        );
        assert!(is_first, "{states:?}");
    }
}

#[tokio::test]
async fn a_program_that_is_busy_for_ever_is_ended_in_the_end() {
    let fake = Fake::with("computes", |spec, runtime| {
        spec.start_timeout = Duration::from_millis(500);
        runtime.longest_start = Duration::from_millis(1_500);
    });
    assert_eq!(
        fake.memory.failure().await,
        "it did not answer initialize within 1500 ms, although it was busy; raise its start_timeout if it needs longer"
    );
}

#[tokio::test]
async fn a_failure_is_told_once_and_each_attempt_has_its_own_words() {
    const FAILS_ONCE: &str = r#"echo "words of $(ls "$2")" >&2; test -e "$2/again" && exec sleep 600; touch "$2/again"; exit 7"#;
    let scene = Scene::new();
    let fake = Fake::with("", |spec, _| *spec = scene.spec("fake", FAILS_ONCE));
    assert_eq!(fake.memory.failure().await, "the server exited with code 7");
    assert_eq!(fake.upstream.stderr_tail(usize::MAX), ["words of "]);
    until_attempt(&fake, 2).await;
    let lines = eventually("it says something", async || {
        Some(fake.upstream.stderr_tail(usize::MAX)).filter(|lines| !lines.is_empty())
    })
    .await;
    assert_eq!(lines, ["words of again"]);
    match fake.upstream.state() {
        UpstreamState::Starting(start) => {
            assert_eq!((start.attempt, start.waiting_for), (2, StartWait::Answer));
            let last = start.last_error.as_deref();
            assert_eq!(last, Some("the server exited with code 7"));
        }
        other => panic!("{other:?}"),
    }

    let fake = Fake::start("exits");
    until_attempt(&fake, 3).await;
    let states = fake.memory.states.borrow().clone();
    let failures = states
        .iter()
        .filter(|state| matches!(state, UpstreamState::Failed { .. }));
    assert_eq!(failures.count(), 1, "{states:?}");
}

#[tokio::test(start_paused = true)]
async fn a_command_that_is_not_there_is_looked_for_once_a_minute() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = folder.path().join("later");
    let fake = Fake::with("normal", |spec, _| {
        stdio(spec).command = command.to_string_lossy().into_owned();
    });
    let reason = format!("command '{}' was not found", command.display());
    assert_eq!(fake.memory.failure().await, reason);
    tokio::time::sleep(Duration::from_secs(5 * 60 + 30)).await;
    match fake.upstream.state() {
        UpstreamState::Failed {
            attempt, retry_in, ..
        } => assert_eq!((attempt, retry_in), (6, Some(Duration::from_mins(1)))),
        other => panic!("{other:?}"),
    }
    tokio::time::resume();
    std::os::unix::fs::symlink(PROGRAM, &command).expect("it is made");
    // Who calls it does not wait for the minute.
    assert_eq!(fake.read("echo", "{}").await, Ok(json!({})));
}

#[tokio::test(start_paused = true)]
async fn a_url_that_is_none_is_not_tried_again() {
    let fake = Fake::with("", |spec, _| {
        spec.transport = TransportSpec::Http(HttpSpec {
            url: "ftp://host/".into(),
            headers: Vec::new(),
        });
    });
    let reason = fake.memory.failure().await;
    assert_eq!(reason, "its url is not an http or https address");
    tokio::time::sleep(Duration::from_hours(1)).await;
    let refused = fake.upstream.fresh(soon()).await;
    assert_eq!(
        refused,
        Err(CallError::Unavailable {
            reason: reason.into()
        })
    );
    let state = fake.upstream.state();
    let is_over = matches!(
        state,
        UpstreamState::Failed {
            attempt: 1,
            retry_in: None,
            ..
        }
    );
    assert!(is_over, "{state:?}");
}

#[tokio::test]
async fn what_a_server_prints_is_in_its_log_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let data_dir = folder.path().to_owned();
    let fake = Fake::with("exits", |_, runtime| {
        *runtime = runtime.clone().keep_logs_in(data_dir.clone());
    });
    until_attempt(&fake, 2).await;
    fake.upstream.stop(Duration::ZERO).await;
    let file = log_files::current(&data_dir, "fake").expect("it is a name");
    let text = std::fs::read_to_string(file).expect("it is written");
    let words: Vec<&str> = text
        .lines()
        .filter_map(|line| Some(line.split_once(' ')?.1))
        .collect();
    let is_start = |line: &str, attempt: u32| {
        line.starts_with(&format!("mcpproxy attempt {attempt} starts as process "))
    };
    assert!(is_start(words[0], 1), "{text}");
    assert_eq!(words[1], "stderr cannot start: the key is ***");
    assert_eq!(
        words[2],
        "mcpproxy attempt 1 failed: the server exited with code 3"
    );
    assert!(is_start(words[3], 2), "{text}");

    let fake = Fake::with("prints-garbage", |spec, runtime| {
        spec.name = "other".into();
        *runtime = runtime.clone().keep_logs_in(data_dir.clone());
    });
    fake.upstream.fresh(soon()).await.expect("it starts");
    fake.upstream.stop(Duration::ZERO).await;
    let file = log_files::current(&data_dir, "other").expect("it is a name");
    let text = std::fs::read_to_string(file).expect("it is written");
    for line in [
        "stdout Listening…",
        "stdout [1,2]",
        r"stdout \u0007bell ***",
        "mcpproxy ready",
    ] {
        assert!(
            text.lines().any(|one| one.ends_with(line)),
            "{line} in {text}"
        );
    }
    assert!(
        !text.contains("jsonrpc") && !text.contains("topsecret"),
        "{text}"
    );
}
