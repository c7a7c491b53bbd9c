//! `mcpproxy activity show`

use mcpproxy_activity::Archive;
use mcpproxy_gateway::records;
use mcpproxy_policy::RecordScope;
use serde_json::Value;

use super::source::Source;
use super::words::{self, Icons};
use crate::CommandResult;
use crate::arguments::{Common, Look};
use crate::daemon::encode;
use crate::error::CliError;
use crate::output::{elements, printable, text};

/// Distance of the values from the margin.
const LABEL: usize = 14;

pub(super) async fn run(common: &Common, id: &str, look: Look) -> CommandResult {
    records::parse_id(id).map_err(CliError::wrong)?;
    let path = format!("/activity/{}", encode(id));
    let of_store = async |archive: &Archive| records::show(archive, id, &RecordScope::All).await;
    let source = Source::find(common).await?;
    let shown = source.get((&path, &[]), of_store).await?;
    let icons = Icons::wanted(look);
    Ok(common.output.result(&shown, |record| page(record, icons)))
}

fn page(record: &Value, icons: Icons) -> String {
    let mut page = RecordText::default();
    page.lines(&[
        ("Record", text(&record["id"])),
        ("Type", text(&record["type"])),
        ("Time", text(&record["timestamp"])),
        ("Duration", words::duration(&record["duration_ms"])),
        ("Status", words::status(&text(&record["status"]), icons)),
        ("Server", text(&record["server_name"])),
        ("Tool", text(&record["tool_name"])),
        ("Agent", text(&record["agent"])),
        ("Request", text(&record["request_id"])),
        ("Session", text(&record["session_id"])),
        ("Trace", text(&record["trace_id"])),
        ("Belongs to", text(&record["parent_id"])),
    ]);
    intent(&mut page, record, icons);
    page.section(
        "Error",
        &[
            ("Code", text(&record["error"]["code"])),
            ("Message", text(&record["error"]["message"])),
        ],
    );
    let warnings = elements(&record["warnings"]);
    if !warnings.is_empty() {
        let lines: Vec<String> = warnings.iter().map(warning).collect();
        page.text("Warnings", &lines.join("\n"));
    }
    payload(&mut page, record, "Arguments", "arguments");
    payload(&mut page, record, "Response", "response");
    // Metadata besides what is shown elsewhere.
    let metadata = record["metadata"].as_object().into_iter().flatten();
    let more = metadata.filter(|(name, _)| !["intent", "tool_variant"].contains(&name.as_str()));
    let more: Vec<_> = more
        .map(|(name, value)| (name.as_str(), text(value)))
        .collect();
    page.section("More", &more);
    page.section(
        "Chain",
        &[
            ("Chain", text(&record["chain"])),
            ("Number", text(&record["seq"])),
            ("Opened as", text(&record["opened_seq"])),
            ("Hash", text(&record["hash"])),
            ("Hash before", text(&record["prev_hash"])),
        ],
    );
    page.0
}

/// Intent of the call: what was declared, and the variant it came through.
fn intent(page: &mut RecordText, record: &Value, icons: Icons) {
    let (declared, of_variant) = (&record["intent"], text(&record["intent_type"]));
    if declared.is_null() && of_variant.is_empty() {
        return;
    }
    let operation = match declared["operation_type"].as_str() {
        Some(operation) => words::intent(operation, icons),
        None => format!("{} (of the variant)", words::intent(&of_variant, icons)),
    };
    let known = ["operation_type", "data_sensitivity", "reason"];
    let is_known = |name: &String| known.contains(&name.as_str());
    let fields = declared.as_object();
    let is_plain = declared.is_null() || fields.is_some_and(|fields| fields.keys().all(is_known));
    let odd = (!is_plain).then(|| declared.to_string());
    page.section(
        "Intent",
        &[
            ("Operation", operation),
            ("Variant", text(&record["tool_variant"])),
            ("Sensitivity", text(&record["data_sensitivity"])),
            ("Reason", text(&declared["reason"])),
            ("As declared", odd.unwrap_or_default()),
        ],
    );
}

fn warning(warning: &Value) -> String {
    match (warning["code"].as_str(), warning["message"].as_str()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        _ => warning.to_string(),
    }
}

fn payload(page: &mut RecordText, record: &Value, title: &str, name: &str) {
    let Some(size) = record[format!("{name}_size")].as_u64() else {
        return;
    };
    let is_cut = record[format!("{name}_truncated")] == Value::Bool(true);
    let cut = if is_cut { ", cut" } else { "" };
    let shown = match &record[name] {
        Value::String(text) => text.clone(),
        value => format!("{value:#}"),
    };
    page.text(&format!("{title} ({size} bytes{cut})"), &shown);
}

/// Text of a record for a person; nothing in it can steer the terminal.
#[derive(Default)]
struct RecordText(String);

impl RecordText {
    /// Labels and their values; what has no value is left out.
    fn lines(&mut self, lines: &[(&str, String)]) {
        for (label, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
            // Text of an agent or a server must not look like a line of ours.
            let value = printable(value).replace('\n', &format!("\n{:1$}", "", LABEL + 2));
            self.0
                .push_str(&format!("  {:<LABEL$}{value}\n", printable(label)));
        }
    }

    /// Labels and their values below a title, if there are any.
    fn section(&mut self, title: &str, lines: &[(&str, String)]) {
        if lines.iter().any(|(_, value)| !value.is_empty()) {
            self.0.push_str(&format!("\n{title}\n"));
            self.lines(lines);
        }
    }

    /// Text below a title.
    fn text(&mut self, title: &str, text: &str) {
        self.0.push_str(&format!("\n{title}\n"));
        for line in printable(text).lines() {
            self.0.push_str(&format!("  {line}\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record() -> Value {
        json!({
            "id": "01936f5e-7b2a-7c11-9d0e-0f5a3c2b1a99", "type": "tool_call",
            "timestamp": "2026-01-31T12:00:00.123Z", "duration_ms": 245.0, "status": "error",
            "server_name": "github", "tool_name": "delete_repo",
            "tool_variant": "call_tool_destructive", "intent_type": "destructive",
            "intent": { "operation_type": "destructive", "data_sensitivity": "private", "reason": "User requested\ncleanup\u{1b}[2J" },
            "data_sensitivity": "private",
            "arguments": { "repo": "a" }, "arguments_size": 12, "arguments_truncated": false,
            "response": "{\"conte", "response_size": 99_999, "response_truncated": true,
            "error": { "code": "UPSTREAM_ERROR", "message": "no" },
            "warnings": [{ "code": "OVERLY_CAUTIOUS", "message": "a read would do" }],
            "metadata": { "intent": {}, "tool_variant": "call_tool_destructive", "client": { "name": "c" } },
            "chain": "c", "seq": 8, "opened_seq": 7, "hash": "ab", "prev_hash": "cd",
        })
    }

    /// FR-036: everything that was declared is in a section of its own.
    #[test]
    fn fr_036_the_intent_is_shown_whole() {
        insta::assert_snapshot!(page(&record(), Icons(false)), @r#"
          Record        01936f5e-7b2a-7c11-9d0e-0f5a3c2b1a99
          Type          tool_call
          Time          2026-01-31T12:00:00.123Z
          Duration      245ms
          Status        error
          Server        github
          Tool          delete_repo

        Intent
          Operation     destructive
          Variant       call_tool_destructive
          Sensitivity   private
          Reason        User requested
                        cleanup\u001b[2J

        Error
          Code          UPSTREAM_ERROR
          Message       no

        Warnings
          OVERLY_CAUTIOUS: a read would do

        Arguments (12 bytes)
          {
            "repo": "a"
          }

        Response (99999 bytes, cut)
          {"conte

        More
          client        {"name":"c"}

        Chain
          Chain         c
          Number        8
          Opened as     7
          Hash          ab
          Hash before   cd
        "#);
    }

    #[test]
    fn what_was_not_declared_is_told_apart() {
        let mut undeclared = record();
        undeclared["intent"] = Value::Null;
        assert!(
            page(&undeclared, Icons(true))
                .contains("  Operation     ⚠️ destructive (of the variant)\n")
        );
        let mut odd = record();
        odd["intent"] = json!("delete it");
        assert!(page(&odd, Icons(false)).contains("  As declared   \"delete it\"\n"));
        let change = json!({ "type": "server_change", "intent": null, "intent_type": null });
        assert!(!page(&change, Icons(false)).contains("Intent"));
    }
}
