//! Local socket of the gateway that runs in this process.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::process::umask;
use tokio::net::UnixListener;

use crate::daemon::{Daemon, socket_path};
use crate::error::CliError;
use crate::serve_lock::already_runs;

/// File of the socket, which is removed when this is dropped, and only if it is still the one that was made here.
#[derive(Debug)]
pub(crate) struct OwnSocket {
    path: PathBuf,
    identity: Option<SocketIdentity>,
}

/// Device and number of a file.
type SocketIdentity = (u64, u64);

impl OwnSocket {
    /// Makes the socket that only the owner can open, in the place of one that nobody listens on.
    pub(crate) async fn bind(data_dir: &Path) -> Result<(UnixListener, Self), CliError> {
        // Whoever holds the lock is alone, but not every file system has locks.
        if Daemon::listening(data_dir).await.is_some() {
            return Err(already_runs(data_dir, ""));
        }
        let path = socket_path(data_dir);
        let failed = |error: io::Error| {
            CliError::refused(format!(
                "the local socket cannot be made in {}: {error}",
                data_dir.display()
            ))
        };
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        // From its first moment on for the owner alone. Files that other threads make meanwhile are so, too.
        let usual = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let socket = UnixListener::bind(&path);
        umask(usual);
        let socket = socket.map_err(failed)?;
        let identity = identity(&path);
        Ok((socket, Self { path, identity }))
    }
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            // Left behind, it would only be recognised as dead and replaced.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<SocketIdentity> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_socket_of_another_gateway_was_removed() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let (_listener, own) = OwnSocket::bind(folder.path()).await.expect("a socket");
        let path = socket_path(folder.path());
        assert!(path.exists());
        // Kept, so that its number is not given to the other one.
        fs::rename(&path, folder.path().join("kept")).expect("the socket can be moved");
        let _another = UnixListener::bind(&path).expect("another socket");
        drop(own);
        assert!(path.exists());
    }

    #[tokio::test]
    async fn the_socket_goes_with_its_gateway_and_a_dead_one_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = socket_path(folder.path());
        drop(UnixListener::bind(&path).expect("a socket"));
        assert!(path.exists(), "nobody listens on it");
        let (listener, own) = OwnSocket::bind(folder.path()).await.expect("a socket");
        let second = OwnSocket::bind(folder.path()).await;
        assert!(second.is_err());
        assert!(path.exists(), "the second one has removed nothing");
        drop(own);
        assert!(!path.exists());
        drop(listener);
    }
}
