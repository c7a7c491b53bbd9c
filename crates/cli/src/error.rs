//! Error of a command: a message, and the exit code that goes with it.

use std::process::ExitCode;

use mcpproxy_gateway::Failure;
use mcpproxy_gateway::failure::{Code, ErrorAnswer, ErrorObject, FailureCategory};
use mcpproxy_gateway::settings::SettingsError;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::output::Output;

/// Reason why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct CliError {
    kind: ExitKind,
    /// The answer that every face gives: the error object, and what stands beside it.
    answer: Value,
}

/// Kind of an error, whose number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExitKind {
    Refused = 1,
    Usage = 2,
    NotReachable = 3,
    Configuration = 4,
}

/// Exit code of a configuration with mistakes that were shown already.
pub(crate) fn configuration_exit() -> ExitCode {
    ExitCode::from(ExitKind::Configuration as u8)
}

impl CliError {
    /// Error of a call that was refused, or of something that failed.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(ExitKind::Refused, &message.into())
    }

    /// Error of something typed that cannot be used.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitKind::Usage, &message.into())
    }

    /// Error of a command that needs a running gateway, where there is none.
    pub(crate) fn not_reachable(message: impl Into<String>) -> Self {
        Self::new(ExitKind::NotReachable, &message.into())
    }

    /// Error of a configuration that cannot be used.
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::new(ExitKind::Configuration, &message.into())
    }

    /// Error of something typed that the gateway's own rules refuse.
    pub(crate) fn wrong(failure: Failure) -> Self {
        Self {
            kind: ExitKind::Usage,
            ..Self::from(failure)
        }
    }

    /// Error that is one of usage, if what it says is that something typed cannot be read.
    #[must_use]
    pub(crate) fn wrong_if_invalid(self) -> Self {
        let is_invalid = self.error()["code"] == Code::InvalidArguments.as_str();
        let kind = if is_invalid {
            ExitKind::Usage
        } else {
            self.kind
        };
        Self { kind, ..self }
    }

    /// Error with the exit code that goes with the code of the gateway's answer: what was typed may be wrong, or the
    /// configuration.
    #[must_use]
    pub(crate) fn by_code(self) -> Self {
        if self.error()["code"] == Code::InvalidConfiguration.as_str() {
            let kind = ExitKind::Configuration;
            return Self { kind, ..self };
        }
        self.wrong_if_invalid()
    }

    /// Error with an answer of the gateway.
    pub(crate) fn of_gateway(answer: Value) -> Self {
        let kind = ExitKind::Refused;
        Self { kind, answer }
    }

    /// The error object that every face shows.
    pub(crate) fn error(&self) -> &Value {
        &self.answer["error"]
    }

    /// Error of a name that neither a server nor a file has.
    pub(crate) fn unknown_server(name: &str, servers: &[String]) -> Self {
        let configured = match servers {
            [] => "No server is configured".to_owned(),
            _ => format!("Configured servers: {}", servers.join(", ")),
        };
        let message = format!("There is no server '{name}' and no file of that name. {configured}");
        let failure = Failure::new(Code::UnknownServer, message);
        Self::from(
            failure
                .with("server", name)
                .with("servers", servers.to_vec()),
        )
    }

    fn new(kind: ExitKind, message: &str) -> Self {
        let (code, category) = match kind {
            ExitKind::Refused => ("FAILED", FailureCategory::System),
            ExitKind::Usage => ("INVALID_USAGE", FailureCategory::Validation),
            ExitKind::NotReachable => ("DAEMON_NOT_REACHABLE", FailureCategory::System),
            ExitKind::Configuration => ("INVALID_CONFIGURATION", FailureCategory::Validation),
        };
        let answer = json!(ErrorAnswer::new(ErrorObject {
            code,
            message,
            category,
            retryable: kind == ExitKind::NotReachable,
            details: Map::new(),
            request_id: Uuid::now_v7(),
        }));
        Self { kind, answer }
    }

    /// Tells the person, and gives the exit code.
    pub(crate) fn report(&self, output: Output) -> ExitCode {
        output.error(&self.answer);
        ExitCode::from(self.kind as u8)
    }
}

impl From<SettingsError> for CliError {
    fn from(error: SettingsError) -> Self {
        Self::configuration(error.to_string())
    }
}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> Self {
        Self::of_gateway(json!(failure.to_answer(Uuid::now_v7())))
    }
}
