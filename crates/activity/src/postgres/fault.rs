//! Errors of PostgreSQL in the words of the log.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use crate::store::StoreError;

impl From<Error> for StoreError {
    /// Says what happened and what to do about it.
    fn from(error: Error) -> Self {
        if let Some(answer) = error.as_db_error() {
            return refused(answer);
        }
        if is_tls_refused(&error) {
            return Self::Unusable(format!(
                "The database of the activity log cannot be reached by TLS: {}. Check the certificate of its server, and `sslmode` and `sslrootcert` in `store.url`",
                cause(&error)
            ));
        }
        if is_lost(&error) {
            return unreachable(&cause(&error));
        }
        Self::Unusable(format!(
            "The database of the activity log could not be used as it was meant to be: {}",
            cause(&error)
        ))
    }
}

/// The database did not answer in time.
pub(super) fn too_slow() -> StoreError {
    unreachable("it does not answer in time")
}

/// Whether the connection is of no use any more.
pub(super) fn is_lost(error: &Error) -> bool {
    if let Some(answer) = error.as_db_error() {
        return is_stopping(answer.code());
    }
    let source = error
        .source()
        .and_then(|source| source.downcast_ref::<std::io::Error>());
    source.is_some() || error.is_closed() || is_no_connection(error)
}

/// The innermost reason.
pub(super) fn cause(error: &Error) -> String {
    match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// Whether the two sides could not agree on TLS. A line that broke off meanwhile says nothing about that.
fn is_tls_refused(error: &Error) -> bool {
    use std::io::ErrorKind::{InvalidData, Other};
    let source = error
        .source()
        .and_then(|source| source.downcast_ref::<std::io::Error>());
    let is_of_tls = source.is_none_or(|source| matches!(source.kind(), InvalidData | Other));
    // The library tells this apart by its text alone.
    is_of_tls && error.to_string() == "error performing TLS handshake"
}

fn is_no_connection(error: &Error) -> bool {
    // The library tells these apart by its text alone.
    let text = error.to_string();
    text == "error connecting to server" || text == "timeout waiting for server"
}

fn is_stopping(code: &SqlState) -> bool {
    [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::IDLE_SESSION_TIMEOUT,
    ]
    .contains(code)
        || code.code().starts_with("08")
}

fn refused(answer: &DbError) -> StoreError {
    let code = answer.code();
    if *code == SqlState::UNIQUE_VIOLATION {
        return StoreError::Unusable(
            "A record of the activity log is there already: somebody else wrote into this chain. Check that no other process uses a copy of this data directory, then start again".to_owned(),
        );
    }
    // Messages of the server name users, databases and tables, never a password.
    let message = answer.message();
    match code.code().get(..2) {
        _ if is_stopping(code) => unreachable(message),
        Some("28") => StoreError::Unusable(format!(
            "The database of the activity log refuses the user: {message}. Check user and password in `store.url`"
        )),
        Some("3D") => StoreError::Unusable(format!(
            "The database of the activity log is not there: {message}. Create it, or correct `store.url`"
        )),
        Some("53") => StoreError::Unavailable(format!(
            "The database of the activity log has run out of something: {message}. Free some space or connections on its server"
        )),
        Some("25") => StoreError::Unavailable(format!(
            "The database of the activity log cannot be written now: {message}"
        )),
        Some("55" | "57" | "40") => StoreError::Unavailable(format!(
            "The database of the activity log is too busy: {message}. It is tried again"
        )),
        Some("42") if *code == SqlState::INSUFFICIENT_PRIVILEGE => StoreError::Unusable(format!(
            "The user of the activity log lacks a right in the database: {message}. TokenGrant it, or name another user in `store.url`"
        )),
        Some("58") => StoreError::Unavailable(format!(
            "The server of the activity log's database is in trouble: {message}"
        )),
        _ => StoreError::Unusable(format!(
            "The database of the activity log could not do it ({}): {message}",
            code.code()
        )),
    }
}

fn unreachable(why: &str) -> StoreError {
    StoreError::Unavailable(format!(
        "The database of the activity log cannot be reached: {why}. Check that PostgreSQL runs where `store.url` says"
    ))
}
