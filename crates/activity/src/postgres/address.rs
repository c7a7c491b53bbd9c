//! Reading `store.url`.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcpproxy_support::tls::TlsClient;
use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::fault::cause;
use super::tls::PostgresTls;
use crate::store::StoreError;

/// Time that a server may take to accept a connection, unless the URL says otherwise.
const CONNECTING: Duration = Duration::from_secs(5);

/// Address of a database.
#[derive(Clone)]
pub(super) struct PostgresAddress {
    pub(super) config: Config,
    pub(super) tls: PostgresTls,
}

/// Use of TLS, as `sslmode` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SslUse {
    /// None.
    Disable,
    /// The line is encrypted; who is at its other end is not checked.
    Require,
    /// The server has to prove that it is the one that the URL names.
    VerifyFull,
}

/// Parameters of TLS in a URL.
#[derive(Debug, Default, PartialEq, Eq)]
struct SslParameters {
    mode: Option<String>,
    authorities: Option<PathBuf>,
}

/// Reads the URL. No message repeats it: it may hold a password.
pub(super) fn read(url: &str) -> Result<PostgresAddress, StoreError> {
    let is_url = url.starts_with("postgres://") || url.starts_with("postgresql://");
    if !is_url {
        return Err(refused("it has to begin with `postgres://`"));
    }
    let (url, parameters) = take_ssl_parameters(url);
    let mut config: Config = url.parse().map_err(|error| refused(&cause(&error)))?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(refused("it names no host"));
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECTING);
    }
    if config.get_application_name().is_none() {
        config.application_name("mcpproxy");
    }
    let (mode, tls) = match parameters.ssl_use(&config)? {
        SslUse::Disable => (SslMode::Disable, None),
        SslUse::Require => (SslMode::Require, Some(TlsClient::encrypting_only())),
        SslUse::VerifyFull => {
            let tls = verifying(parameters.authorities.as_deref())?;
            (SslMode::Require, Some(tls))
        }
    };
    config.ssl_mode(mode);
    let tls = PostgresTls(tls);
    Ok(PostgresAddress { config, tls })
}

/// Takes the parameters of TLS out of a URL, of which the driver does not know all.
fn take_ssl_parameters(url: &str) -> (String, SslParameters) {
    let mut parameters = SslParameters::default();
    // As the driver does it: the first `@` ends user and password, which may have a question mark.
    let host = url.find('@').map_or(0, |at| at + 1);
    let Some(query) = url[host..].find('?').map(|at| host + at) else {
        return (url.to_owned(), parameters);
    };
    let is_kept = |pair: &&str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = || percent_decode_str(value).decode_utf8_lossy().into_owned();
        match name {
            "sslmode" => parameters.mode = Some(value()),
            "sslrootcert" => parameters.authorities = Some(value().into()),
            _ => return true,
        }
        false
    };
    let kept: Vec<&str> = url[query + 1..].split('&').filter(is_kept).collect();
    let mark = if kept.is_empty() { "" } else { "?" };
    let url = format!("{}{mark}{}", &url[..query], kept.join("&"));
    (url, parameters)
}

impl SslParameters {
    /// Use of TLS that the URL asks for, or that is right where it does not say.
    fn ssl_use(&self, config: &Config) -> Result<SslUse, StoreError> {
        let has_authorities = self.authorities.is_some();
        let ssl_use = match self.mode.as_deref() {
            None if has_authorities || !is_local(config) => SslUse::VerifyFull,
            None | Some("disable") => SslUse::Disable,
            Some("require") => SslUse::Require,
            Some("verify-full") => SslUse::VerifyFull,
            Some(_) => {
                return Err(refused_tls(
                    "its `sslmode` is not one of disable, require and verify-full",
                ));
            }
        };
        if has_authorities && ssl_use != SslUse::VerifyFull {
            return Err(refused_tls("`sslrootcert` needs `sslmode=verify-full`"));
        }
        // Nobody but the system carries what is sent through a socket, and the server knows no TLS there.
        let is_socket = |host: &Host| matches!(host, Host::Unix(_));
        if config.get_hostaddrs().is_empty() && config.get_hosts().iter().all(is_socket) {
            return Ok(SslUse::Disable);
        }
        Ok(ssl_use)
    }
}

/// Whether the database is on this machine.
fn is_local(config: &Config) -> bool {
    let addresses = config.get_hostaddrs();
    if !addresses.is_empty() {
        return addresses.iter().all(IpAddr::is_loopback);
    }
    config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            let address = name.parse::<IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
    })
}

fn verifying(authorities: Option<&Path>) -> Result<TlsClient, StoreError> {
    let Some(file) = authorities else {
        return Ok(TlsClient::verifying());
    };
    // Commands are run in any folder, and all of them read the same address.
    if file.is_relative() {
        return Err(refused_tls("`sslrootcert` has to be an absolute path"));
    }
    TlsClient::verifying_with(file).map_err(|problem| refused_tls(&problem))
}

fn refused(why: &str) -> StoreError {
    StoreError::Unusable(format!(
        "The `store.url` of the activity log cannot be used: {why}. Write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE"
    ))
}

fn refused_tls(why: &str) -> StoreError {
    StoreError::Unusable(format!(
        "The `store.url` of the activity log cannot be used: {why}. Write TLS as ?sslmode=verify-full&sslrootcert=/FILE.pem behind the name of the database; without `sslrootcert` public authorities are believed"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_urls_are_refused_without_repeating_them() {
        let check = |url: &str, expected: &str| {
            let Err(StoreError::Unusable(message)) = read(url).map(drop) else {
                panic!("{url} may work later");
            };
            assert!(message.contains(expected), "{url}: {message}");
            assert!(!message.contains("s3cret"), "{message}");
        };
        check("mysql://u:s3cret@host/db", "postgres://");
        check("host=h password=s3cret", "postgres://");
        check("postgres://u:s3cret@host:port/db", "port");
        check("postgres:///db?user=s3cret", "no host");
        check("postgres://u:s3cret@host/db?colour=red", "colour");
        for mode in ["prefer", "allow", "verify-ca", "s3cret", ""] {
            let allowed = "disable, require and verify-full";
            check(
                &format!("postgres://u:s3cret@host/db?sslmode={mode}"),
                allowed,
            );
        }
        let with = |parameters: &str| format!("postgres://u:s3cret@host/db?{parameters}");
        check(&with("sslmode=require&sslrootcert=/ca.pem"), "verify-full");
        check(&with("sslmode=disable&sslrootcert=/ca.pem"), "verify-full");
        check(&with("sslrootcert=ca.pem"), "absolute path");
        check(&with("sslrootcert=/does/not/exist.pem"), "does not exist");
    }

    #[test]
    fn tls_is_used_as_the_address_asks_or_as_the_place_of_the_database_demands() {
        use SslUse::{Disable, Require, VerifyFull};
        let ssl_use = |url: &str| {
            let (url, parameters) = take_ssl_parameters(url);
            parameters.ssl_use(&url.parse().unwrap()).unwrap()
        };
        for (url, expected) in [
            ("postgres://u@localhost/db", Disable),
            ("postgres://u@127.0.0.1/db", Disable),
            ("postgres://u@[::1]/db", Disable),
            ("postgres://u@%2Fvar%2Frun%2Fpostgresql/db", Disable),
            ("postgres://u@%2Fvar%2Frun/db?sslmode=verify-full", Disable),
            ("postgres://u@db.example/db?hostaddr=127.0.0.1", Disable),
            ("postgres://u@db.example/db", VerifyFull),
            ("postgres://u@10.0.0.7/db", VerifyFull),
            ("postgres://u@localhost.example/db", VerifyFull),
            ("postgres://u@localhost,db.example/db", VerifyFull),
            ("postgres://u@localhost/db?hostaddr=10.0.0.7", VerifyFull),
            ("postgres://u@localhost/db?sslrootcert=/ca.pem", VerifyFull),
            ("postgres://u@localhost/db?sslmode=verify-full", VerifyFull),
            ("postgres://u@localhost/db?sslmode=require", Require),
            ("postgres://u@db.example/db?sslmode=require", Require),
            ("postgres://u@db.example/db?sslmode=disable", Disable),
        ] {
            assert_eq!(ssl_use(url), expected, "{url}");
        }
    }

    #[test]
    fn parameters_of_tls_are_taken_out_and_the_others_stay() {
        let check = |url: &str, expected: &str, mode: Option<&str>, file: Option<&str>| {
            let (mode, authorities) = (mode.map(str::to_owned), file.map(PathBuf::from));
            let parameters = SslParameters { mode, authorities };
            let taken = take_ssl_parameters(url);
            assert_eq!(taken, (expected.to_owned(), parameters), "{url}");
        };
        let plain = "postgres://u:p?sslmode=x@h/d";
        check(plain, plain, None, None);
        let url = "postgres://h/d?sslmode=require";
        check(url, "postgres://h/d", Some("require"), None);
        let url = "postgres://u@h/d?a=b&sslrootcert=%2Fmy%20ca.pem&c=d&sslmode=verify-full";
        let kept = "postgres://u@h/d?a=b&c=d";
        check(url, kept, Some("verify-full"), Some("/my ca.pem"));
    }

    #[test]
    fn waiting_for_a_connection_has_an_end() {
        let timeout = |url: &str| read(url).unwrap().config.get_connect_timeout().copied();
        assert_eq!(timeout("postgres://u@host/db"), Some(CONNECTING));
        assert_eq!(
            timeout("postgresql://u@host/db?connect_timeout=2"),
            Some(Duration::from_secs(2))
        );
    }
}
