//! A socket file in front of an address, for a client that takes nothing else.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::net::{TcpStream, UnixListener};
use tokio::task::{JoinHandle, JoinSet};

/// Passes every connection on as it is; ends with this value.
#[derive(Debug)]
pub struct UnixDoor {
    _folder: TempDir,
    path: PathBuf,
    passing: JoinHandle<()>,
}

impl UnixDoor {
    /// Opens a socket file that leads to the address.
    pub fn open(address: SocketAddr) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("door");
        let listener = UnixListener::bind(&path).expect("the socket can be made");
        Self {
            _folder: folder,
            path,
            passing: tokio::spawn(pass(listener, address)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for UnixDoor {
    fn drop(&mut self) {
        self.passing.abort();
    }
}

async fn pass(listener: UnixListener, address: SocketAddr) {
    // Dropped together with this future, which ends the connections.
    let mut connections = JoinSet::new();
    while let Ok((mut from, _)) = listener.accept().await {
        connections.spawn(async move {
            if let Ok(mut to) = TcpStream::connect(address).await {
                // Whoever ends it, there is nobody here to tell.
                let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
            }
        });
    }
}
