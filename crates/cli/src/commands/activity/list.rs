//! `mcpproxy activity list`

use std::process::ExitCode;

use mcpproxy_activity::Archive;
use mcpproxy_gateway::records::{self, RecordQuery};
use mcpproxy_policy::RecordScope;
use mcpproxy_wire::json::decode_for_display;
use serde_json::Value;

use super::source::Source;
use super::words::{self, Icons};
use crate::CommandResult;
use crate::arguments::{Common, ListArguments, pairs};
use crate::error::CliError;
use crate::output::{Output, elements, note, text, wide_table};

pub(super) async fn run(common: &Common, list: &ListArguments) -> CommandResult {
    let pairs = pairs(list);
    RecordQuery::parse(&pairs, RecordScope::All).map_err(CliError::wrong)?;
    let source = Source::find(common).await?;
    let of_store = async |archive: &Archive| records::list(archive, &pairs, RecordScope::All).await;
    let listed = source.get(("/activity", &pairs), of_store).await?;
    let icons = Icons::wanted(list.look);
    common
        .output
        .result(&listed, |list| rows(list, icons, !pairs.is_empty()));
    if common.output == Output::Table
        && let Some(cursor) = decode_for_display(&listed)["next_cursor"].as_str()
    {
        note(&format!("There are more, next: --cursor {cursor}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(list: &Value, icons: Icons, is_filtered: bool) -> String {
    let records = elements(&list["activities"]);
    if records.is_empty() && is_filtered {
        return "No record matches. `mcpproxy activity list` shows all of them.\n".to_owned();
    }
    if records.is_empty() {
        return "Nothing has been recorded yet. `mcpproxy call` and connected agents make records.\n"
            .to_owned();
    }
    wide_table(
        &[
            "ID", "TIME", "SERVER", "TOOL", "INTENT", "STATUS", "DURATION",
        ],
        records.iter().map(|record| {
            vec![
                text(&record["id"]),
                words::time(&text(&record["timestamp"])),
                text(&record["server_name"]),
                words::tool(record),
                words::intent(&text(&record["intent_type"]), icons),
                words::status(&text(&record["status"]), icons),
                words::duration(&record["duration_ms"]),
            ]
        }),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// FR-034: the operation is a column by default.
    #[test]
    fn fr_034_the_operation_is_a_column() {
        let record = json!({
            "id": "01936f5e-7b2a-7c11-9d0e-0f5a3c2b1a99", "timestamp": "2026-01-31T12:00:00.123Z",
            "type": "tool_call", "server_name": "github", "tool_name": "delete_repo",
            "intent_type": "destructive", "status": "in_doubt", "duration_ms": null,
        });
        let search = json!({
            "id": "01936f5e-7b2a-7c11-9d0e-0f5a3c2b1a98", "timestamp": "2026-01-31T11:59:59.000Z",
            "type": "discovery", "server_name": null, "tool_name": null,
            "intent_type": null, "status": "success", "duration_ms": 1.5,
        });
        let list = json!({ "activities": [record, search] });
        insta::assert_snapshot!(rows(&list, Icons(false), false), @r"
        ID                                    TIME                  SERVER  TOOL         INTENT       STATUS        DURATION
        01936f5e-7b2a-7c11-9d0e-0f5a3c2b1a99  2026-01-31T12:00:00Z  github  delete_repo  destructive  in_doubt (!)
        01936f5e-7b2a-7c11-9d0e-0f5a3c2b1a98  2026-01-31T11:59:59Z          (discovery)               success       1.5ms
        ");
    }
}
