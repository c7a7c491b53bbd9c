//! `mcpproxy activity verify`

use std::process::ExitCode;

use mcpproxy_activity::Archive;
use mcpproxy_gateway::records;
use mcpproxy_wire::json::decode_for_display;
use serde_json::Value;

use super::source::Source;
use crate::CommandResult;
use crate::arguments::Common;
use crate::output::elements;
use crate::progress_bar::TerminalProgress;

pub(super) async fn run(common: &Common) -> CommandResult {
    let source = Source::find(common).await?;
    let progress = TerminalProgress::start("checking");
    // A running gateway does not tell how far it is.
    let of_store = async |archive: &Archive| {
        records::verify(archive, |checked, total| progress.at(checked, total)).await
    };
    let verdict = source.get(("/activity/verify", &[]), of_store).await;
    progress.end();
    let verdict = verdict?;
    common.output.result(&verdict, sentence);
    let is_whole = decode_for_display(&verdict)["ok"] == Value::Bool(true);
    Ok(ExitCode::from(u8::from(!is_whole)))
}

fn sentence(verdict: &Value) -> String {
    let records = verdict["records"].as_u64().unwrap_or(0);
    let chains = verdict["chains"].as_array().map_or(0, Vec::len);
    let checked = format!(
        "{} in {}",
        counted(records, "record"),
        counted(chains as u64, "chain")
    );
    let problems = elements(&verdict["problems"]);
    if verdict["ok"] == Value::Bool(true) {
        return format!("{checked}: nothing altered\n");
    }
    let mut sentence = format!("{checked}: ALTERED\n");
    for problem in problems {
        let message = problem["message"].as_str().unwrap_or_default();
        sentence.push_str(&format!("  {message}\n"));
    }
    sentence
}

fn counted(count: u64, of: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {of}{plural}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_person_is_told_what_was_altered() {
        assert_eq!(
            sentence(&json!({ "ok": true, "records": 7, "chains": [{}, {}], "problems": [] })),
            "7 records in 2 chains: nothing altered\n"
        );
        assert_eq!(
            sentence(&json!({ "ok": false, "records": 1, "chains": [{}],
                "problems": [{ "message": "Record 1 is missing" }] })),
            "1 record in 1 chain: ALTERED\n  Record 1 is missing\n"
        );
    }
}
