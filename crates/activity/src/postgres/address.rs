//! Reading `store.url`.

use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use super::fault::cause;
use crate::store::StoreError;

/// Time that a server may take to accept a connection, unless the URL says otherwise.
const CONNECTING: Duration = Duration::from_secs(5);

/// Reads the URL. No message repeats it: it may hold a password.
pub(super) fn read(url: &str) -> Result<Config, StoreError> {
    let is_url = url.starts_with("postgres://") || url.starts_with("postgresql://");
    if !is_url {
        return Err(refused("it has to begin with `postgres://`"));
    }
    let mut config: Config = url.parse().map_err(|error| {
        let cause = cause(&error);
        if cause.contains("sslmode") {
            no_tls()
        } else {
            refused(&cause)
        }
    })?;
    if config.get_ssl_mode() == SslMode::Require {
        return Err(no_tls());
    }
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(refused("it names no host"));
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECTING);
    }
    if config.get_application_name().is_none() {
        config.application_name("mcpproxy");
    }
    config.ssl_mode(SslMode::Disable);
    Ok(config)
}

fn refused(why: &str) -> StoreError {
    StoreError::Unusable(format!(
        "The `store.url` of the activity log cannot be used: {why}. Write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE"
    ))
}

fn no_tls() -> StoreError {
    StoreError::Unusable(
        "The `store.url` of the activity log asks for TLS, which is not supported. Leave `sslmode` out, and reach the database over a network you trust or a tunnel".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_urls_are_refused_without_repeating_them() {
        let check = |url: &str, expected: &str| {
            let StoreError::Unusable(message) = read(url).unwrap_err() else {
                panic!("{url} may work later");
            };
            assert!(message.contains(expected), "{url}: {message}");
            assert!(!message.contains("s3cret"), "{message}");
        };
        check("mysql://u:s3cret@host/db", "postgres://");
        check("host=h password=s3cret", "postgres://");
        check("postgres://u:s3cret@host:port/db", "port");
        check("postgres:///db?user=s3cret", "no host");
        check("postgres://u:s3cret@host/db?sslmode=require", "TLS");
        check("postgres://u:s3cret@host/db?sslmode=verify-full", "TLS");
        check("postgres://u:s3cret@host/db?colour=red", "colour");
    }

    #[test]
    fn waiting_for_a_connection_has_an_end() {
        let timeout = |url: &str| read(url).unwrap().get_connect_timeout().copied();
        assert_eq!(timeout("postgres://u@host/db"), Some(CONNECTING));
        assert_eq!(
            timeout("postgresql://u@host/db?connect_timeout=2"),
            Some(Duration::from_secs(2))
        );
    }
}
