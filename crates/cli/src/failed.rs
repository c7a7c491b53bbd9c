//! How a command fails: with a message, and the exit code that goes with it.

use std::process::ExitCode;

use mcpproxy_gateway::Failure;
use mcpproxy_gateway::settings::SettingsError;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::output::Output;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct Failed {
    kind: Kind,
    /// The error object that every face shows.
    error: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Refused,
    Usage,
    NotReachable,
    Configuration,
}

impl Failed {
    /// The gateway refused, or something failed.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(Kind::Refused, "FAILED", &message.into())
    }

    /// What was typed cannot be used.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, "USAGE", &message.into())
    }

    /// What was typed is refused by the gateway's own rules.
    pub(crate) fn wrong(failure: &Failure) -> Self {
        Self {
            kind: Kind::Usage,
            error: failure.to_json(Uuid::now_v7()),
        }
    }

    /// The running gateway that the command needs is not there.
    pub(crate) fn not_reachable(message: impl Into<String>) -> Self {
        Self::new(Kind::NotReachable, "DAEMON_NOT_REACHABLE", &message.into())
    }

    /// The configuration cannot be used.
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::new(
            Kind::Configuration,
            "INVALID_CONFIGURATION",
            &message.into(),
        )
    }

    /// An error object of the gateway.
    pub(crate) fn of_gateway(error: Value) -> Self {
        Self {
            kind: Kind::Refused,
            error,
        }
    }

    /// A failure of a gateway in this process.
    pub(crate) fn of_failure(failure: &Failure, request_id: Uuid) -> Self {
        Self::of_gateway(failure.to_json(request_id))
    }

    /// There is neither a server nor a file of that name.
    pub(crate) fn unknown_server(name: &str, servers: &[String]) -> Self {
        let configured = match servers {
            [] => "No server is configured".to_owned(),
            _ => format!("Configured servers: {}", servers.join(", ")),
        };
        Self::of_gateway(json!({
            "code": "UNKNOWN_SERVER",
            "message": format!("There is no server '{name}' and no file of that name. {configured}"),
            "category": "validation",
            "retryable": false,
            "details": { "server": name, "servers": servers },
            "request_id": Uuid::now_v7(),
        }))
    }

    /// The error object.
    pub(crate) fn error(&self) -> &Value {
        &self.error
    }

    fn new(kind: Kind, code: &str, message: &str) -> Self {
        let category = match kind {
            Kind::Usage | Kind::Configuration => "validation",
            Kind::Refused | Kind::NotReachable => "system",
        };
        Self {
            kind,
            error: json!({
                "code": code,
                "message": message,
                "category": category,
                "retryable": kind == Kind::NotReachable,
                "details": {},
                "request_id": Uuid::now_v7(),
            }),
        }
    }

    /// Tells the person, and gives the exit code.
    pub(crate) fn report(&self, output: Output) -> ExitCode {
        output.error(&self.error);
        match self.kind {
            Kind::Refused => ExitCode::from(1),
            Kind::Usage => ExitCode::from(2),
            Kind::NotReachable => ExitCode::from(3),
            Kind::Configuration => ExitCode::from(4),
        }
    }
}

impl From<SettingsError> for Failed {
    fn from(error: SettingsError) -> Self {
        Self::configuration(error.to_string())
    }
}
