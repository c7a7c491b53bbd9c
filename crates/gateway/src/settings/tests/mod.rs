//! The settings, checked through files in real folders.

mod accepted;
mod client_entries;
mod generated;
mod key_file;
mod precedence;
mod protection;
mod references;
mod refused;
mod reload;
mod robust;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{Environment, Settings, SettingsError, Sources, load};

/// A data folder with a configuration file, and the variables that are set.
struct Scene {
    folder: TempDir,
    variables: Vec<(String, String)>,
    sources: Sources,
}

impl Scene {
    /// A folder without a configuration file.
    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        let sources = Sources {
            data_dir: Some(folder.path().to_owned()),
            environment: Environment::of_variables::<String, String>([]),
            ..Sources::default()
        };
        Self {
            folder,
            variables: Vec::new(),
            sources,
        }
    }

    /// A folder with this configuration file.
    fn with(config: &str) -> Self {
        let scene = Self::empty();
        scene.write("mcp_config.json", config);
        scene
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self.sources.environment = Environment::of_variables(self.variables.clone());
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file that is for its owner alone.
    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
        self.set_mode(name, 0o600);
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
    }

    fn load(&self) -> Result<Settings, SettingsError> {
        load(&self.sources)
    }

    fn settings(&self) -> Settings {
        self.load().unwrap_or_else(|error| panic!("{error}"))
    }
}
