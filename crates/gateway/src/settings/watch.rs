//! Picking up changes of the configuration file, and of the certificate that it names.
//!
//! Editors replace files instead of writing into them, so the folder is watched, not the file. The
//! folder may be missing, vanish and come back: the nearest folder that exists is watched as well.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::api_key::{KEY_FILE, present_key};
use super::keys::{Settings, TlsSettings};
use super::load_from;
use super::problem::SettingsError;
use super::protection::secret_files;
use super::secret::Secret;
use super::sources::{Locations, Sources};

/// An editor's save is several events; this long without one means that it is done.
const QUIET: Duration = Duration::from_millis(100);

/// Events that never end must not keep a change from being seen.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Outcomes that nobody has received yet; when full, the watch waits, and then reads the newest file.
const OUTCOMES: usize = 1;

/// A running watch over the configuration file. Dropping it ends it.
#[derive(Debug)]
pub struct SettingsWatch {
    outcomes: mpsc::Receiver<Result<Settings, SettingsError>>,
    /// The task, which ends when the set is dropped.
    _task: JoinSet<()>,
}

/// Watches the configuration file of settings that were loaded from the same sources.
///
/// Must be called inside a tokio runtime.
pub fn watch(sources: Sources, running: Settings) -> Result<SettingsWatch, SettingsError> {
    watch_with(sources, running, load_from)
}

fn watch_with(
    sources: Sources,
    running: Settings,
    load: Load,
) -> Result<SettingsWatch, SettingsError> {
    let signal = Arc::new(Notify::new());
    // The first one stands for what happened between the loading of the settings and this.
    signal.notify_one();
    let mut reloader = Reloader::new(sources, running, load, Arc::clone(&signal))?;
    reloader.watch_again();
    let (sender, outcomes) = mpsc::channel(OUTCOMES);
    let mut task = JoinSet::new();
    task.spawn(run(reloader, signal, sender));
    Ok(SettingsWatch {
        outcomes,
        _task: task,
    })
}

async fn run(
    mut reloader: Reloader,
    signal: Arc<Notify>,
    outcomes: mpsc::Sender<Result<Settings, SettingsError>>,
) {
    loop {
        signal.notified().await;
        let longest = Instant::now() + LONGEST_WAIT;
        while timeout(QUIET, signal.notified()).await.is_ok() && Instant::now() < longest {}
        let attempt = tokio::task::spawn_blocking(move || {
            // First, so that nothing that happens after the file was read is missed.
            reloader.watch_again();
            let before = reloader.followed.load_full();
            let outcome = reloader.attempt();
            let follows_others = *before != **reloader.followed.load();
            (reloader, outcome, follows_others)
        });
        let (outcome, follows_others);
        (reloader, outcome, follows_others) = match attempt.await {
            Ok(attempted) => attempted,
            Err(error) => {
                // Else the runtime is going down.
                if error.is_panic() {
                    tracing::error!(
                        "the watch over the configuration file broke, changes are not followed any more"
                    );
                }
                return;
            }
        };
        if follows_others {
            // Their folders are watched in another round, which reads what happened before that.
            signal.notify_one();
        }
        if let Some(outcome) = outcome
            && outcomes.send(outcome).await.is_err()
        {
            return;
        }
    }
}

impl SettingsWatch {
    /// Waits for a change: new settings, or why a changed file is not used.
    ///
    /// What is the same as before is not reported again. `None` means that the watch has ended.
    /// Dropping the future loses nothing.
    pub async fn changed(&mut self) -> Option<Result<Settings, SettingsError>> {
        self.outcomes.recv().await
    }
}

/// Loads settings; another function in tests.
type Load = fn(Locations, &Sources) -> Result<Settings, SettingsError>;

/// Loads the file, knows what came of it last time, and watches its folders.
struct Reloader {
    load: Load,
    sources: Sources,
    locations: Locations,
    /// Settings, or the text of the problem.
    last: Result<Settings, String>,
    watcher: RecommendedWatcher,
    watched: Vec<PathBuf>,
    /// Key as it was last read, where it is not in the configuration, or the text of the problem.
    key: Option<Result<Secret, String>>,
    /// Files whose changes count.
    followed: Arc<ArcSwap<Vec<PathBuf>>>,
}

impl Reloader {
    fn new(
        sources: Sources,
        running: Settings,
        load: Load,
        signal: Arc<Notify>,
    ) -> Result<Self, SettingsError> {
        let followed = Arc::new(ArcSwap::from_pointee(Vec::new()));
        let counting = Arc::clone(&followed);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error may hide a change, for example when the system's queue was full.
            if event.map_or(true, |event| concerns(&event, &counting.load())) {
                signal.notify_one();
            }
        });
        let others = other_files(&running);
        let this = Self {
            load,
            locations: Locations {
                data_dir: running.data_dir.clone(),
                config_file: running.config_file.clone(),
                is_named: sources.named_config().is_some() || running.config_file.exists(),
            },
            sources,
            key: known_key(&running),
            last: Ok(running),
            watcher: watcher.map_err(|error| SettingsError::Unwatchable(Box::new(error)))?,
            watched: Vec::new(),
            followed,
        };
        this.follow(others);
        Ok(this)
    }

    /// Follows the configuration file, the key file and these others.
    fn follow(&self, others: impl IntoIterator<Item = PathBuf>) {
        let key = self.locations.data_dir.join(KEY_FILE);
        let own = [self.locations.config_file.clone(), key];
        let files = own.into_iter().chain(others).collect();
        self.followed.store(Arc::new(files));
    }

    /// The outcome, unless it is the same as last time.
    fn attempt(&mut self) -> Option<Result<Settings, SettingsError>> {
        // A file that was there and is gone is a change to report, not a wish for defaults.
        self.locations.is_named |= self.locations.config_file.exists();
        let load = || (self.load)(self.locations.clone(), &self.sources);
        // A fault of ours costs this one change; the next one may be read again.
        let outcome = catch_unwind(AssertUnwindSafe(load))
            .unwrap_or_else(|_| Err(SettingsError::Panicked(self.locations.config_file.clone())));
        let comparable = match &outcome {
            Ok(settings) => Ok(settings.clone()),
            Err(error) => Err(error.to_string()),
        };
        match &outcome {
            Ok(settings) => self.follow(other_files(settings)),
            // Mending one of them has to be noticed, too.
            Err(SettingsError::Certificate(_, files)) => self.follow(files.clone()),
            Err(_) => {}
        }
        let has_other_key = outcome
            .as_ref()
            .is_ok_and(|settings| self.takes_key(settings));
        if comparable == self.last && !has_other_key {
            return None;
        }
        self.last = comparable;
        Some(outcome)
    }

    /// Takes the key that is there now; tells whether it is another one than before. A file that is gone, or is made only
    /// now, changes nothing: the key that is known stays.
    fn takes_key(&mut self, settings: &Settings) -> bool {
        let Some(key) = known_key(settings) else {
            return false;
        };
        let before = self.key.replace(key);
        before.is_some() && before != self.key
    }

    /// Watches the folder of each file and the nearest folder above it that exist now.
    fn watch_again(&mut self) {
        for folder in self.watched.drain(..) {
            // It may be gone, and its watch with it.
            let _ = self.watcher.unwatch(&folder);
        }
        // A folder that appears while this runs is found in the next round; each round that
        // watches nothing new ends the loop.
        loop {
            let before = self.watched.len();
            let followed = self.followed.load();
            for folder in followed.iter().flat_map(|file| existing_folders(file)) {
                if self.watched.contains(&folder) {
                    continue;
                }
                match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                    Ok(()) => self.watched.push(folder),
                    Err(error) => tracing::debug!(%error, "a folder cannot be watched"),
                }
            }
            if self.watched.len() == before {
                return;
            }
        }
    }
}

/// The nearest two folders on the way to a file that exist.
///
/// The second tells when the first is replaced.
fn existing_folders(file: &Path) -> Vec<PathBuf> {
    let folders = file.ancestors().skip(1).filter(|folder| folder.is_dir());
    folders.take(2).map(Path::to_owned).collect()
}

/// Key that is there, or why it cannot be used; nothing if there is none yet.
fn known_key(settings: &Settings) -> Option<Result<Secret, String>> {
    let key = present_key(settings).map_err(|error| error.to_string());
    key.transpose()
}

/// Files of the certificate and of the secrets that the settings name.
fn other_files(settings: &Settings) -> Vec<PathBuf> {
    let certificate = settings.tls.iter().flat_map(TlsSettings::files);
    let certificate = certificate.map(Path::to_owned);
    let secrets = settings.secret_names.iter();
    let secrets = secrets.map(|name| secret_files::path(&settings.data_dir, name));
    certificate.chain(secrets).collect()
}

/// Whether an event may have changed one of the files: it is about the file, a folder on the way to it, or the link that
/// Kubernetes replaces to change all files of a volume at once.
fn concerns(event: &Event, files: &[PathBuf]) -> bool {
    const LINK_OF_VOLUME: &str = "..data";
    let is_change = match event.kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    };
    let is_about = |path: &PathBuf, file: &PathBuf| {
        file.starts_with(path) || (path.ends_with(LINK_OF_VOLUME) && path.parent() == file.parent())
    };
    let is_about_any = |path| files.iter().any(|file| is_about(path, file));
    is_change && (event.need_rescan() || event.paths.iter().any(is_about_any))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::settings::{Environment, load};

    /// Far longer than any change takes; only a defect waits this long.
    const DEADLINE: Duration = Duration::from_secs(30);

    fn sources_in(folder: &tempfile::TempDir) -> Sources {
        Sources {
            data_dir: Some(folder.path().to_owned()),
            environment: Environment::of_variables::<String, String>([]),
            ..Sources::default()
        }
    }

    #[tokio::test]
    async fn a_panic_while_loading_is_reported_and_the_watch_goes_on() {
        fn load_or_panic(
            locations: Locations,
            sources: &Sources,
        ) -> Result<Settings, SettingsError> {
            let text = fs::read_to_string(&locations.config_file).unwrap_or_default();
            assert!(!text.contains("panic"), "a fault in the reader");
            load_from(locations, sources)
        }
        let folder = tempfile::tempdir().unwrap();
        let sources = sources_in(&folder);
        let running = load(&sources).unwrap();
        let file = running.config_file.clone();
        let mut watch = watch_with(sources, running, load_or_panic).unwrap();
        let mut write_and_wait = async |text: &str| {
            let draft = folder.path().join("draft");
            fs::write(&draft, text).unwrap();
            fs::rename(&draft, &file).unwrap();
            let changed = tokio::time::timeout(DEADLINE, watch.changed()).await;
            changed.expect("a change is seen").expect("the watch runs")
        };
        let broken = write_and_wait("// panic").await;
        assert!(matches!(broken, Err(SettingsError::Panicked(..))));
        let limit = r#"{ "discovery": { "limit": 3 } }"#;
        assert_eq!(write_and_wait(limit).await.unwrap().discovery.limit, 3);
    }

    #[test]
    fn a_key_file_that_was_replaced_went_unnoticed() {
        let folder = tempfile::tempdir().unwrap();
        let sources = sources_in(&folder);
        let running = load(&sources).unwrap();
        let file = folder.path().join(KEY_FILE);
        let write = |text: &str| {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        };
        let mut reloader = Reloader::new(sources, running, load_from, Arc::default()).unwrap();
        write("the-first-key-of-this-gateway");
        assert!(reloader.attempt().is_none(), "made by the start itself");
        write("the-second-key-of-this-gateway");
        assert!(matches!(reloader.attempt(), Some(Ok(_))), "replaced");
        assert!(reloader.attempt().is_none(), "no other one");
        write("");
        assert!(
            matches!(reloader.attempt(), Some(Ok(_))),
            "told as a problem"
        );
        fs::remove_file(&file).unwrap();
        assert!(reloader.attempt().is_none(), "the known one stays");
    }

    #[test]
    fn a_missing_file_is_a_change_only_after_it_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let sources = sources_in(&folder);
        let running = load(&sources).unwrap();
        let file = running.config_file.clone();
        let mut reloader = Reloader::new(sources, running, load_from, Arc::default()).unwrap();
        assert!(reloader.attempt().is_none(), "never there");
        fs::write(&file, "{}").unwrap();
        assert!(reloader.attempt().is_none(), "there with nothing new in it");
        fs::remove_file(&file).unwrap();
        let outcome = reloader.attempt();
        assert!(matches!(outcome, Some(Err(SettingsError::Missing(..)))));
        assert!(reloader.attempt().is_none(), "still gone");
        fs::write(&file, "{}").unwrap();
        assert!(matches!(reloader.attempt(), Some(Ok(_))), "back again");
    }
}
