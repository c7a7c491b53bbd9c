//! Arguments of a call: what is checked of them, and in which form they are sent.

use std::borrow::Cow;

use mcpproxy_catalog::{CatalogTool, CoercedArguments, Violation};
use mcpproxy_policy::{Operation, Warning};
use mcpproxy_support::one_line::one_line;
use mcpproxy_wire::json::InexactNumber;
use mcpproxy_wire::{Json, JsonObject};

use crate::Gateway;
use crate::failure::{Failure, violation};
use crate::request::{CallRequest, UnreadableCall};
use crate::servers::ReachableServer;
use crate::settings::{ArgumentCheck, ServerSettings};

/// Code of the warning that arguments were read in another form than they had.
const COERCED_ARGUMENTS: &str = "COERCED_ARGUMENTS";

/// The most paths that a warning names, and the most characters of each.
const PATHS_NAMED: usize = 10;
const LONGEST_PATH: usize = 100;

impl Gateway {
    /// Reads what a `call_tool_*` variant was given, by the rules of the server that it names.
    pub fn read_call(
        &self,
        variant: Operation,
        given: &Json,
    ) -> Result<CallRequest, Box<UnreadableCall>> {
        CallRequest::parse(variant, given, |name| {
            let server = name.split_once(':').map_or(name, |(server, _)| server);
            self.coerces_for(server)
        })
    }

    /// Whether arguments for a server that say the right thing in another form are converted.
    pub(crate) fn coerces_for(&self, server: &str) -> bool {
        let settings = self.settings.load();
        let server = settings.servers.iter().find(|one| *one.name == *server);
        let of_server = server.and_then(|server| server.coerce);
        of_server.unwrap_or(settings.coerce)
    }

    /// Arguments to send: as they were given, or, where only that makes them fit the tool's own schema, converted with a
    /// warning. Those that do not fit are refused before anything is sent, unless that is left to the server.
    pub(super) fn sent_arguments<'a>(
        &self,
        tool: &CatalogTool,
        request: &'a CallRequest,
        server: &ReachableServer,
        warnings: &mut Vec<Warning>,
    ) -> Result<Cow<'a, JsonObject>, Failure> {
        let (schema, arguments) = (tool.arguments(), &request.arguments);
        let number = schema
            .compares_numbers()
            .then(|| arguments.inexact_number());
        if let Some(number) = number.flatten() {
            return Err(refused(tool, &[inexact(number)]));
        }
        if is_left_to_server(&server.settings, tool, request) {
            return Ok(Cow::Borrowed(arguments));
        }
        let Err(violations) = schema.check(Some(arguments.value())) else {
            return Ok(Cow::Borrowed(arguments));
        };
        let may_convert = self.coerces_for(tool.server());
        let converted = may_convert.then(|| schema.coerce(arguments));
        let Some(CoercedArguments { arguments, paths }) = converted.flatten() else {
            return Err(refused(tool, &violations));
        };
        warnings.push(conversion_warning(tool.qualified(), &paths));
        Ok(Cow::Owned(arguments))
    }
}

/// Warning of parameters that came as JSON text of an object; nothing where none did.
pub(super) fn text_warning(request: &CallRequest) -> Option<Warning> {
    let names = request.from_text.join(" and ");
    let (is, objects) = match request.from_text.len() {
        0 => return None,
        1 => ("was", "an object"),
        _ => ("were", "objects"),
    };
    Some(Warning {
        code: COERCED_ARGUMENTS,
        message: format!("{names} {is} JSON text and {is} read as {objects}, send {objects}"),
    })
}

/// Warning of arguments that were converted. It names places and no values.
fn conversion_warning(tool: &str, paths: &[String]) -> Warning {
    let named = paths.iter().take(PATHS_NAMED);
    let mut named: Vec<String> = named.map(|path| one_line(path, LONGEST_PATH)).collect();
    if paths.len() > PATHS_NAMED {
        named.push(format!("{} more", paths.len() - PATHS_NAMED));
    }
    let named = named.join(", ");
    Warning {
        code: COERCED_ARGUMENTS,
        message: format!(
            "Arguments for '{tool}' were converted to the types of its input schema: {named}"
        ),
    }
}

/// Whether arguments that only the published schema refuses are left to the server.
fn is_left_to_server(settings: &ServerSettings, tool: &CatalogTool, request: &CallRequest) -> bool {
    match settings.check_arguments {
        // What a tool of the contract publishes is what it enforces, so leaving it to the server would gain nothing.
        ArgumentCheck::Auto => request.is_at_own_endpoint && !tool.announces_contract(),
        ArgumentCheck::Strict => false,
        ArgumentCheck::Lenient => true,
    }
}

/// Refusal of arguments that do not fit, with all that is needed to repair them.
fn refused(tool: &CatalogTool, violations: &[Violation]) -> Failure {
    Failure::invalid_arguments(tool.qualified(), violations)
        .with("input_schema", tool.tool().input_schema.to_value())
}

/// Violation by a number that would be checked as another one than the server gets.
fn inexact(
    InexactNumber {
        path,
        written,
        decoded,
    }: InexactNumber,
) -> Violation {
    let message = format!(
        "the number {written} would be checked as {decoded}; send a number that 64 bits can hold, or a string if the tool takes one"
    );
    violation(path, message)
}
