//! Tools from a file.

use std::fs::File;
use std::io::Read;

use mcpproxy_contract_check as check;
use mcpproxy_contract_check::published::{PublishedTool, listed};
use serde_json::Value;

use crate::error::CliError;
use crate::output::note;

/// The largest file that is read.
const FILE_LIMIT: u64 = 64 * 1024 * 1024;

/// Description of what a file should hold.
const EXPECTED: &str =
    "it must hold the JSON of a tools/list result, {\"tools\": […]}, or a list of tools";

/// The tools in a file.
pub(super) fn tools(path: &str) -> Result<Vec<Value>, CliError> {
    let value = read(path)?;
    let tools = listed(&value).map(<[Value]>::to_vec);
    tools
        .ok_or_else(|| CliError::usage(format!("the file {path} has no list of tools; {EXPECTED}")))
}

/// The tools in a file as they were published.
pub(super) fn published(path: &str) -> Result<Vec<PublishedTool>, CliError> {
    let tools = check::published::published(&read(path)?);
    tools.ok_or_else(|| {
        CliError::usage(format!(
            "the file {path} has no list of tools; {EXPECTED}, or a snapshot that the test kit wrote"
        ))
    })
}

fn read(path: &str) -> Result<Value, CliError> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(FILE_LIMIT).read_to_string(&mut text))
        .map_err(|error| {
            CliError::usage(format!(
                "the file {path} cannot be read: {error}; {EXPECTED}"
            ))
        })?;
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        CliError::usage(format!("the file {path} is not JSON: {error}; {EXPECTED}"))
    })?;
    if is_a_part(&value) {
        note("the file holds one page of several; only its tools are checked");
    }
    Ok(value)
}

/// Whether more pages follow.
fn is_a_part(value: &Value) -> bool {
    value["nextCursor"].is_string() || value["result"]["nextCursor"].is_string()
}
