//! Opening the file.

use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::migrate;
use crate::store::StoreError;

/// Time that one process waits for another one's transaction. They take milliseconds; only a disk
/// in trouble makes one this long.
const BUSY: Duration = Duration::from_secs(10);

/// Pages after which the write-ahead log is copied into the file: 16 MiB. With the usual 1000,
/// every second full batch would copy.
const CHECKPOINT_PAGES: i64 = 4_000;

/// Part of the file that the writer keeps in memory, in KiB: the pages where the indexes grow.
const CACHE_KIB: i64 = 16 * 1024;

/// Size that is left of the write-ahead log after a long transaction: 64 MiB.
const LOG_BYTES: i64 = 64 * 1024 * 1024;

/// More than the different statements there are.
const STATEMENTS: usize = 64;

/// A connection, and which file it is to.
pub(super) struct Attached {
    pub(super) connection: Connection,
    file: Option<FileIdentity>,
}

/// Meaning that a missing file has to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Nothing was recorded yet.
    IsEmpty,
    /// The file was there, and somebody took it away.
    IsFault,
}

/// Device and number of a file, which tell it from another one under the same name.
type FileIdentity = (u64, u64);

impl Attached {
    /// Whether the connection is still to the file under that name.
    pub(super) fn is_current(&self, path: &Path) -> bool {
        self.file == identity(path)
    }
}

/// A connection that writes, to a file that is then at the current version. It has to be there:
/// where it was and is gone, its disk may be gone, and a new file would hide that.
pub(super) fn for_writing(path: &Path) -> Result<Attached, StoreError> {
    let mut connection = connect(path)?;
    set_up_writing(&connection)?;
    migrate::migrate(&mut connection)?;
    Ok(Attached {
        connection,
        file: identity(path),
    })
}

/// A connection that reads. Without a file, or with one that never had a record, it is to an empty
/// database in memory.
pub(super) fn for_reading(path: &Path, missing: Missing) -> Result<Attached, StoreError> {
    let file = identity(path);
    if missing == Missing::IsEmpty && matches!(path.try_exists(), Ok(false)) {
        return nothing();
    }
    let mut connection = connect(path)?;
    if migrate::version(&connection)? == 0 {
        return nothing();
    }
    // Records of an earlier version are to be read before anybody writes new ones, too.
    migrate::migrate(&mut connection)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(Attached { connection, file })
}

fn nothing() -> Result<Attached, StoreError> {
    let mut connection = Connection::open_in_memory()?;
    migrate::migrate(&mut connection)?;
    Ok(Attached {
        connection,
        file: None,
    })
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // The connection is used by one thread at a time, so SQLite need not lock it. A link to another file is not
    // followed; SQLite means every part of the path by that, and folders may well be links.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let named = folder.zip(path.file_name());
    let real = named.map_or_else(|| path.to_owned(), |(folder, name)| folder.join(name));
    let connection = Connection::open_with_flags(real, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

fn set_up_writing(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + BUSY;
    loop {
        // Two processes that change the mode of a new file at once get "busy" without waiting.
        let changed = connection.pragma_update(None, "journal_mode", "WAL");
        match changed {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < deadline =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => break other?,
        }
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)
}

/// Makes the file where it is not there yet, and sees to it that nobody else can read it; SQLite
/// gives the files beside it the same mode. Whatever does not work here is reported by the opening
/// that follows.
pub(super) fn make_private(path: &Path) {
    const OWNER_ALONE: u32 = 0o600;
    // What a link leads to is not ours to change.
    if path.is_symlink() {
        return;
    }
    let creation = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(OWNER_ALONE)
        .open(path);
    let is_open_to_others =
        || std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0);
    if creation.is_err() && is_open_to_others() {
        let mode = std::fs::Permissions::from_mode(OWNER_ALONE);
        if std::fs::set_permissions(path, mode).is_err() {
            tracing::warn!(
                "others may read the file of the activity log, and this cannot be changed"
            );
        }
    }
}

fn identity(path: &Path) -> Option<FileIdentity> {
    let file = std::fs::metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}
