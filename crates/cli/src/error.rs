//! Error of a command: a message, and the exit code that goes with it.

use std::process::ExitCode;

use mcpproxy_gateway::Failure;
use mcpproxy_gateway::failure::{ErrorObject, FailureCategory};
use mcpproxy_gateway::settings::SettingsError;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::output::Output;

/// Reason why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct CliError {
    kind: ExitKind,
    /// The error object that every face shows.
    error: Value,
}

/// Kind of an error, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExitKind {
    Refused,
    Usage,
    NotReachable,
    Configuration,
}

impl CliError {
    /// Error of a call that was refused, or of something that failed.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(ExitKind::Refused, "FAILED", &message.into())
    }

    /// Error of something typed that cannot be used.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitKind::Usage, "USAGE", &message.into())
    }

    /// Error of something typed that the gateway's own rules refuse.
    pub(crate) fn wrong(failure: &Failure) -> Self {
        Self {
            kind: ExitKind::Usage,
            error: failure.to_json(Uuid::now_v7()),
        }
    }

    /// Error of a command that needs a running gateway, where there is none.
    pub(crate) fn not_reachable(message: impl Into<String>) -> Self {
        Self::new(
            ExitKind::NotReachable,
            "DAEMON_NOT_REACHABLE",
            &message.into(),
        )
    }

    /// Error of a configuration that cannot be used.
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::new(
            ExitKind::Configuration,
            "INVALID_CONFIGURATION",
            &message.into(),
        )
    }

    /// Error with an error object of the gateway.
    pub(crate) fn of_gateway(error: Value) -> Self {
        Self {
            kind: ExitKind::Refused,
            error,
        }
    }

    /// Error of a gateway in this process.
    pub(crate) fn of_failure(failure: &Failure, request_id: Uuid) -> Self {
        Self::of_gateway(failure.to_json(request_id))
    }

    /// Error of a name that neither a server nor a file has.
    pub(crate) fn unknown_server(name: &str, servers: &[String]) -> Self {
        let configured = match servers {
            [] => "No server is configured".to_owned(),
            _ => format!("Configured servers: {}", servers.join(", ")),
        };
        let mut details = Map::new();
        details.insert("server".to_owned(), json!(name));
        details.insert("servers".to_owned(), json!(servers));
        Self::of_gateway(json!(ErrorObject {
            code: "UNKNOWN_SERVER",
            message: &format!("There is no server '{name}' and no file of that name. {configured}"),
            category: FailureCategory::Validation,
            retryable: false,
            details,
            request_id: Uuid::now_v7(),
        }))
    }

    /// The error object.
    pub(crate) fn error(&self) -> &Value {
        &self.error
    }

    fn new(kind: ExitKind, code: &str, message: &str) -> Self {
        let category = match kind {
            ExitKind::Usage | ExitKind::Configuration => FailureCategory::Validation,
            ExitKind::Refused | ExitKind::NotReachable => FailureCategory::System,
        };
        Self {
            kind,
            error: json!(ErrorObject {
                code,
                message,
                category,
                retryable: kind == ExitKind::NotReachable,
                details: Map::new(),
                request_id: Uuid::now_v7(),
            }),
        }
    }

    /// Tells the person, and gives the exit code.
    pub(crate) fn report(&self, output: Output) -> ExitCode {
        output.error(&self.error);
        match self.kind {
            ExitKind::Refused => ExitCode::from(1),
            ExitKind::Usage => ExitCode::from(2),
            ExitKind::NotReachable => ExitCode::from(3),
            ExitKind::Configuration => ExitCode::from(4),
        }
    }
}

impl From<SettingsError> for CliError {
    fn from(error: SettingsError) -> Self {
        Self::configuration(error.to_string())
    }
}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> Self {
        Self::of_failure(&failure, Uuid::now_v7())
    }
}
