//! Disks that are full, and disks that are slow.
//!
//! [`SmallDisk`] is a file system of its own that a test can fill; [`SlowDisk`] makes a program wait for its disk.
//! Both are real to the program under test: it runs unchanged, and the system gives it the errors and the waits.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::trial::not_run;

/// A small file system in memory, unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    /// Mounts one with this many bytes, which the system rounds up to whole pages; where this user may not mount, the
    /// test is not run.
    pub fn mount(bytes: u64) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes},mode=0700")])
            .arg("mcpproxy-tests")
            .arg(folder.path())
            .stdin(Stdio::null())
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            not_run("to mount a small disk, which root may");
        }
        Self { folder }
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Takes all the space that is free. Can be done again when some became free.
    pub fn fill(&self) {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.filling())
            .expect("the file that fills the disk can be opened");
        let bytes = [0; 4096];
        loop {
            match file.write(&bytes) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return,
                Err(error) => panic!("the small disk cannot be filled: {error}"),
            }
        }
    }

    /// Gives the space back that [`SmallDisk::fill`] took.
    pub fn free(&self) {
        std::fs::remove_file(self.filling()).expect("the disk was filled before");
    }

    /// Lets nothing be written any more, whoever asks.
    pub fn protect(&self) {
        let status = Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(self.path())
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "the small disk can be protected"
        );
    }

    fn filling(&self) -> PathBuf {
        self.path().join("filling")
    }
}

impl Drop for SmallDisk {
    /// Lazily, since a program of the test may still have files open there.
    fn drop(&mut self) {
        let is_unmounted = Command::new("umount")
            .arg("-l")
            .arg(self.path())
            .status()
            .is_ok_and(|status| status.success());
        assert!(
            is_unmounted || std::thread::panicking(),
            "the small disk can be unmounted"
        );
    }
}

/// Makes programs wait whenever they want something to be on the disk for sure (`fsync` and `fdatasync`).
///
/// It is a library that is loaded into the program, and into what that program starts if it passes its environment on.
#[derive(Debug)]
pub struct SlowDisk {
    library: PathBuf,
    counter: PathBuf,
}

impl SlowDisk {
    /// Compiles it into a folder, with the C compiler that Rust links with.
    pub fn build(folder: &Path) -> Self {
        let library = folder.join("slow_disk.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/slow_disk.c");
        let output = Command::new("cc")
            .args(["-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .output()
            .expect("the C compiler can be started");
        assert!(
            output.status.success(),
            "the slow disk does not compile: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let counter = folder.join("slow_disk.count");
        File::create(&counter).expect("the counter can be made");
        Self { library, counter }
    }

    /// Makes a program wait this long each time, in whole milliseconds.
    pub fn apply(&self, command: &mut Command, delay: Duration) {
        command
            .env("LD_PRELOAD", &self.library)
            .env("SLOW_DISK_COUNTER", &self.counter)
            .env(
                "SLOW_DISK_MILLISECONDS",
                OsString::from(delay.as_millis().to_string()),
            );
    }

    /// How often programs waited so far.
    pub fn count(&self) -> u64 {
        let counter = std::fs::metadata(&self.counter);
        counter.expect("the counter can be read").len()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_slow_disk_delays_each_sync_of_a_program() {
        let folder = TempDir::new().unwrap();
        let disk = SlowDisk::build(folder.path());
        let delay = Duration::from_millis(60);
        let mut program = Command::new("sh");
        program
            .args(["-c", r#"echo x > "$0"; sync "$0"; sync -d "$0""#])
            .arg(folder.path().join("record"));
        disk.apply(&mut program, delay);
        let started = Instant::now();
        let output = program.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(disk.count(), 2);
        // A lower bound only, which holds on the busiest machine.
        assert!(started.elapsed() >= delay * 2);
    }
}
