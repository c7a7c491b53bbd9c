//! Errors of SQLite in the words of the log.

use rusqlite::ErrorCode;
use rusqlite::ffi;

use crate::store::StoreError;

impl From<rusqlite::Error> for StoreError {
    /// Says what happened and what to do about it, without the path of the file.
    fn from(error: rusqlite::Error) -> Self {
        let Some(failure) = error.sqlite_error() else {
            return StoreError::Unusable(format!(
                "The activity log could not be used as it was meant to be: {error}"
            ));
        };
        match failure.code {
            ErrorCode::DiskFull => unavailable(
                "The disk that the activity log is on is full. Free some space on it, or move the data directory",
            ),
            ErrorCode::SystemIoFailure => unavailable(
                "The disk that the activity log is on cannot be read or written. Check the disk and the permissions of the data directory",
            ),
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed => unavailable(
                "Another process keeps the activity log locked. It is tried again; if this goes on, look for a process that uses `state.db`",
            ),
            ErrorCode::CannotOpen if failure.extended_code == ffi::SQLITE_CANTOPEN_SYMLINK => {
                unusable(
                    "The file of the activity log is a symbolic link. Put `state.db` itself into the data directory, or remove the link",
                )
            }
            ErrorCode::CannotOpen => unavailable(
                "The file of the activity log cannot be opened. Check that the data directory is there and may be written",
            ),
            ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::AuthorizationForStatementDenied => unavailable(
                "The file of the activity log may not be written. Check the permissions of the data directory",
            ),
            ErrorCode::DatabaseCorrupt => unusable(
                "The file of the activity log is damaged. Move `state.db` away and keep it, or restore it from a copy, then start again",
            ),
            ErrorCode::NotADatabase => unusable(
                "The file of the activity log is not a database. Move `state.db` away, then start again",
            ),
            ErrorCode::ConstraintViolation if is_taken(failure.extended_code) => unusable(
                "A record of the activity log is there already: somebody else wrote into this chain. Check that no other process uses a copy of this data directory, then start again",
            ),
            ErrorCode::Unknown => StoreError::Unusable(format!(
                "The tables of the activity log are not as they were made: {error}. Move `state.db` away and keep it, then start again"
            )),
            _ => StoreError::Unavailable(format!(
                "The database of the activity log could not do it: {}",
                ffi::code_to_str(failure.extended_code)
            )),
        }
    }
}

/// Whether a connection that failed like this may not work again by itself.
pub(super) fn needs_new_connection(error: &rusqlite::Error) -> bool {
    !matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::ConstraintViolation
                | ErrorCode::DiskFull
        )
    )
}

fn is_taken(extended_code: i32) -> bool {
    matches!(
        extended_code,
        ffi::SQLITE_CONSTRAINT_UNIQUE
            | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
            | ffi::SQLITE_CONSTRAINT_ROWID
    )
}

fn unavailable(message: &str) -> StoreError {
    StoreError::Unavailable(message.to_owned())
}

fn unusable(message: &str) -> StoreError {
    StoreError::Unusable(message.to_owned())
}
