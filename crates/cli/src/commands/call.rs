//! `mcpproxy call tool-read|tool-write|tool-destructive`

use std::io::Read;
use std::process::ExitCode;

use mcpproxy_gateway::ServersToStart;
use mcpproxy_policy::Operation;
use mcpproxy_wire::json::decode_for_display;
use serde_json::{Value, json};

use crate::CommandResult;
use crate::arguments::{CallArguments, CallCommand, Common};
use crate::backend::Backend;
use crate::error::CliError;
use crate::output::{elements, warn};

/// The most that is read from a file or standard input.
const ARGUMENTS_LIMIT: u64 = 8 * 1024 * 1024;

pub(crate) async fn run(common: &Common, call: CallCommand) -> CommandResult {
    let (variant, call) = match call {
        CallCommand::ToolRead(call) => (Operation::Read, call),
        CallCommand::ToolWrite(call) => (Operation::Write, call),
        CallCommand::ToolDestructive(call) => (Operation::Destructive, call),
    };
    let name = call.tool.as_deref().or(call.tool_name.as_deref());
    let name = name.unwrap_or_default();
    let request = request(variant, name, &call)?;
    let server = name.split(':').next().unwrap_or_default();
    let backend = Backend::find(&common.sources(), ServersToStart::Only(server.to_owned())).await?;
    let result = backend.call(variant, request).await;
    backend.finish().await;
    let result = result?;
    common.output.result(&result, text_content);
    let result = decode_for_display(&result);
    warn(&result);
    let is_error = result["isError"] == json!(true);
    Ok(ExitCode::from(u8::from(is_error)))
}

/// Call, with the operation that the command itself declares.
fn request(variant: Operation, name: &str, call: &CallArguments) -> Result<Value, CliError> {
    let mut request = json!({ "name": name, "intent": { "operation_type": variant.as_str() } });
    if let Some(sensitivity) = &call.sensitivity {
        request["intent"]["data_sensitivity"] = json!(sensitivity);
    }
    if let Some(reason) = &call.reason {
        request["intent"]["reason"] = json!(reason);
    }
    if let Some(args) = &call.args {
        // As text, so that numbers and the order of keys stay as they were typed.
        request["args_json"] = json!(read_object(args)?);
    }
    Ok(request)
}

/// Text of a JSON object, from wherever `given` says.
fn read_object(given: &str) -> Result<String, CliError> {
    let mut text = String::new();
    let read = match given.strip_prefix('@') {
        _ if given == "-" => std::io::stdin()
            .take(ARGUMENTS_LIMIT)
            .read_to_string(&mut text),
        Some(path) => std::fs::File::open(path)
            .and_then(|file| file.take(ARGUMENTS_LIMIT).read_to_string(&mut text)),
        None => {
            given.clone_into(&mut text);
            Ok(0)
        }
    };
    read.map_err(|error| CliError::usage(format!("--args {given} could not be read: {error}")))?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| CliError::usage(format!("--args is not valid JSON: {error}")))?;
    if value.is_object() {
        return Ok(text);
    }
    Err(CliError::usage(
        "--args must be a JSON object, such as '{\"key\": 1}'",
    ))
}

/// Content of a result as a person wants to see it: its text, and a line for what is not text.
fn text_content(result: &Value) -> String {
    let blocks = elements(&result["content"]);
    if blocks.is_empty() && !result["structuredContent"].is_null() {
        return format!("{:#}", result["structuredContent"]);
    }
    let lines: Vec<String> = blocks.iter().map(block).collect();
    lines.join("\n")
}

fn block(block: &Value) -> String {
    if let Some(text) = block["text"].as_str() {
        return text.to_owned();
    }
    let kind = block["type"].as_str().unwrap_or("unknown");
    let about = ["mimeType", "uri", "name"]
        .iter()
        .filter_map(|name| block[*name].as_str())
        .collect::<Vec<_>>()
        .join(" ");
    format!("[{kind} {about}]").replace(" ]", "]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_shown_as_text() {
        let check = |result: Value, expected: &str| assert_eq!(text_content(&result), expected);
        check(
            json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }),
            "a\nb",
        );
        check(
            json!({ "content": [{ "type": "image", "mimeType": "image/png", "data": "…" }, { "type": "odd" }] }),
            "[image image/png]\n[odd]",
        );
        check(
            json!({ "structuredContent": { "n": 1 } }),
            "{\n  \"n\": 1\n}",
        );
        check(json!({}), "");
        check(json!({ "content": [7] }), "[unknown]");
    }
}
