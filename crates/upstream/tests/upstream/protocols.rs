//! Probe for the protocol of a program, whatever it makes of the probe.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mcpproxy_tests::eventually;
use mcpproxy_upstream::{ProtocolSetting, Runtime, Spec, UpstreamState};
use mcpproxy_wire::Revision;
use serde_json::json;
use tempfile::TempDir;

use crate::common::{Fake, LONG, PROGRAM, stdio};

const OLD: Revision = Revision::V2025_11_25;
const NEW: Revision = Revision::V2026_07_28;

/// Shorter than a slow server takes to start.
const SHORT: Duration = Duration::from_millis(100);

/// Shorter than a busy server takes to start, and longer than it gets no processor time.
const BUSY: Duration = Duration::from_millis(800);

/// A folder in which programs note their starts, and what they speak is remembered.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// How often a program was started.
    fn starts(&self) -> usize {
        let starts = std::fs::read_to_string(self.file("starts")).unwrap_or_default();
        starts.lines().count()
    }

    fn start(&self, mode: &str, change: impl FnOnce(&mut Spec, &mut Runtime)) -> Fake {
        let starts = self.file("starts").to_string_lossy().into_owned();
        Fake::with(mode, |spec, runtime| {
            spec.protocol = ProtocolSetting::Auto;
            stdio(spec).env.push(("FAKE_STARTS".into(), starts));
            change(spec, runtime);
        })
    }

    /// Starts a program that is probed; gives the revision spoken with it.
    async fn learn(&self, mode: &str) -> Option<Revision> {
        self.learn_within(mode, LONG).await
    }

    /// The same, for a program that may be silent for so long.
    async fn learn_within(&self, mode: &str, silence: Duration) -> Option<Revision> {
        self.learn_with(mode, |_, runtime| runtime.probe_silence = silence)
            .await
    }

    async fn learn_with(
        &self,
        mode: &str,
        change: impl FnOnce(&mut Spec, &mut Runtime),
    ) -> Option<Revision> {
        let file = self.file("protocols.json");
        let fake = self.start(mode, |spec, runtime| {
            change(spec, runtime);
            *runtime = runtime.clone().remember_protocols_in(file);
        });
        let revision = spoken(&fake).await;
        assert_eq!(fake.read("echo", "{}").await, Ok(json!({})), "{mode}");
        fake.upstream.stop(Duration::ZERO).await;
        revision
    }
}

async fn spoken(fake: &Fake) -> Option<Revision> {
    fake.memory.until_ready(1).await;
    match fake.upstream.state() {
        UpstreamState::Ready { revision, .. } => revision,
        other => panic!("it is {other:?}"),
    }
}

async fn until_remembered(file: &Path) -> String {
    eventually("it is remembered", async || {
        std::fs::read_to_string(file).ok()
    })
    .await
}

#[tokio::test]
async fn every_kind_of_server_connects_and_most_are_started_once() {
    for (mode, silence, revision, starts) in [
        ("stateless", LONG, NEW, 1),
        ("dual", LONG, NEW, 1),
        ("refuses", LONG, OLD, 1),
        ("ignores", SHORT, OLD, 1),
        ("falls-over", LONG, OLD, 2),
    ] {
        let scene = Scene::new();
        let learned = scene.learn_within(mode, silence).await;
        assert_eq!(learned, Some(revision), "{mode}");
        assert_eq!(scene.starts(), starts, "{mode}");
    }
}

#[tokio::test]
async fn a_server_that_starts_slowly_connects_like_any_other() {
    for (mode, revision, starts) in [
        ("slow-refuses", OLD, 1),
        ("slow-ignores", OLD, 1),
        ("slow-falls-over", OLD, 2),
        // It was greeted in both ways by the time it read either.
        ("slow-stateless", NEW, 1),
        ("slow-dual", OLD, 1),
    ] {
        let scene = Scene::new();
        let learned = scene.learn_within(mode, SHORT).await;
        assert_eq!(learned, Some(revision), "{mode}");
        assert_eq!(scene.starts(), starts, "{mode}");
    }
}

#[tokio::test]
async fn a_server_that_is_busy_starting_was_started_twice() {
    for mode in ["busy-stateless", "busy-dual"] {
        let scene = Scene::new();
        let learned = scene.learn_within(mode, BUSY).await;
        assert_eq!(learned, Some(NEW), "{mode}");
        assert_eq!(scene.starts(), 1, "{mode}");
    }
}

#[tokio::test]
async fn a_server_that_ignores_the_probe_and_is_never_silent_was_not_greeted() {
    for (mode, revision, starts) in [
        ("noisy-ignores", OLD, 1),
        ("noisy-refuses", OLD, 1),
        ("noisy-falls-over", OLD, 2),
        ("noisy-stateless", NEW, 1),
        // These were greeted in both ways by the time they read either.
        ("noisy-slow-ignores", OLD, 1),
        ("noisy-slow-refuses", OLD, 1),
        ("noisy-slow-falls-over", OLD, 2),
        ("noisy-slow-stateless", NEW, 1),
        ("noisy-slow-dual", OLD, 1),
    ] {
        let scene = Scene::new();
        let learned = scene.learn_with(mode, |_, runtime| {
            runtime.probe_silence = BUSY;
            runtime.longest_probe = SHORT;
        });
        assert_eq!(learned.await, Some(revision), "{mode}");
        assert_eq!(scene.starts(), starts, "{mode}");
    }
}

#[tokio::test]
async fn a_server_that_was_busy_when_it_was_greeted_is_not_taken_for_an_old_one() {
    let scene = Scene::new();
    for revision in [OLD, NEW] {
        let learned = scene.learn_with("noisy-slow-dual", |_, runtime| {
            runtime.probe_silence = BUSY;
            runtime.longest_probe = SHORT;
        });
        assert_eq!(learned.await, Some(revision));
        until_remembered(&scene.file("protocols.json")).await;
    }
    assert_eq!(scene.starts(), 2, "once each time");
}

#[tokio::test]
async fn a_program_that_installs_first_has_a_time_of_its_own_for_the_probe() {
    for (command, mode, longest, longest_installing, revision) in [
        ("npx", "noisy-busy-dual", SHORT, LONG, NEW),
        ("node", "noisy-busy-dual", SHORT, LONG, OLD),
        ("npx", "noisy-ignores", 2 * LONG, SHORT, OLD),
    ] {
        let scene = Scene::new();
        let path = scene.file(command);
        std::os::unix::fs::symlink(PROGRAM, &path).expect("it is made");
        let learned = scene.learn_with(mode, |spec, runtime| {
            stdio(spec).command = path.to_string_lossy().into_owned();
            runtime.probe_silence = BUSY;
            runtime.longest_probe = longest;
            runtime.longest_installing_probe = longest_installing;
        });
        assert_eq!(learned.await, Some(revision), "{command} {mode}");
        assert_eq!(scene.starts(), 1, "{command} {mode}");
    }
}

#[tokio::test]
async fn a_server_that_was_slow_once_is_not_taken_for_an_old_one() {
    let scene = Scene::new();
    assert_eq!(scene.learn_within("slow-dual", SHORT).await, Some(OLD));
    until_remembered(&scene.file("protocols.json")).await;
    assert_eq!(scene.learn_within("slow-dual", SHORT).await, Some(NEW));
    assert_eq!(scene.starts(), 2, "once each time");
}

#[tokio::test]
async fn what_was_learned_is_not_asked_for_again() {
    let scene = Scene::new();
    assert_eq!(scene.learn("falls-over").await, Some(OLD));
    let remembered = until_remembered(&scene.file("protocols.json")).await;
    assert!(
        remembered.contains("legacy") && !remembered.contains("topsecret"),
        "{remembered}"
    );
    assert_eq!(scene.starts(), 2);
    assert_eq!(scene.learn("falls-over").await, Some(OLD));
    assert_eq!(scene.starts(), 3, "it was greeted with a session at once");
}

#[tokio::test]
async fn what_was_learned_is_asked_for_again_when_it_fails() {
    for (remembered, mode, revision) in
        [("legacy", "stateless", NEW), ("modern", "falls-over", OLD)]
    {
        let scene = Scene::new();
        assert_eq!(scene.learn(mode).await, Some(revision));
        let file = scene.file("protocols.json");
        let text = until_remembered(&file).await;
        let other = text
            .replace("\"legacy\"", "\"x\"")
            .replace("\"modern\"", "\"x\"");
        std::fs::write(&file, other.replace("\"x\"", &format!("\"{remembered}\"")))
            .expect("written");
        assert_eq!(scene.learn(mode).await, Some(revision), "{mode}");
        eventually("the file is corrected", async || {
            (std::fs::read_to_string(&file).ok().as_ref() == Some(&text)).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_file_that_is_not_ours_is_ignored_and_written_anew() {
    let scene = Scene::new();
    std::fs::write(scene.file("protocols.json"), "not ours").expect("written");
    assert_eq!(scene.learn("dual").await, Some(NEW));
    eventually("the file is written", async || {
        let text = until_remembered(&scene.file("protocols.json")).await;
        (text != "not ours").then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_operator_settles_what_is_spoken() {
    for (protocol, revision) in [
        (ProtocolSetting::Legacy, OLD),
        (ProtocolSetting::Modern, NEW),
    ] {
        let scene = Scene::new();
        let fake = scene.start("dual", |spec, _| spec.protocol = protocol);
        assert_eq!(spoken(&fake).await, Some(revision));
    }
    let scene = Scene::new();
    let fake = scene.start("refuses", |spec, _| spec.protocol = ProtocolSetting::Modern);
    let reason = fake.memory.failure().await;
    assert!(reason.contains("server/discover"), "{reason}");
}
