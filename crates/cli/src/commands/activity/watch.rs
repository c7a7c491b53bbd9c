//! `mcpproxy activity watch`

use std::process::ExitCode;
use std::time::Duration;

use http::HeaderValue;
use mcpproxy_gateway::records::{self, Pair};
use mcpproxy_policy::RecordScope;
use mcpproxy_wire::sse::SseReader;
use serde_json::Value;

use super::source::records_path;
use super::words::{self, Icons};
use crate::CommandResult;
use crate::arguments::{Common, FilteredArguments, pairs};
use crate::commands::serve::interrupted;
use crate::daemon::{Daemon, LAST_EVENT_ID, Stream};
use crate::error::CliError;
use crate::output::{note, on_one_line, text};

/// Wait before a stream that broke is opened again.
const PAUSE: Duration = Duration::from_millis(200);

/// Times that this is tried before a gateway that does not listen counts as gone.
const MOST_TRIES: u32 = 10;

/// Times that this is tried with a gateway that listens and yet gives no stream.
const MOST_TRIES_OF_A_LISTENER: u32 = 150;

/// The largest event that is read; a record is far smaller.
const EVENT_LIMIT: usize = 16 * 1024 * 1024;

pub(super) async fn run(common: &Common, watch: &FilteredArguments) -> CommandResult {
    let pairs = pairs(watch);
    records::parse_filter(&pairs, RecordScope::All).map_err(CliError::wrong)?;
    let daemon = Daemon::require(&common.sources()).await?;
    let icons = Icons::wanted(watch.look);
    let show = |data: &str| common.output.item(data, |record| line(record, icons));
    tokio::select! {
        followed = follow(&daemon, &pairs, show) => followed?,
        () = interrupted() => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows records until nobody wants to see them any more; a stream that breaks is opened again
/// where it broke.
async fn follow(
    daemon: &Daemon,
    pairs: &[Pair],
    mut show: impl FnMut(&str) -> bool,
) -> Result<(), CliError> {
    let path = records_path("/events", pairs);
    let mut last_id: Option<HeaderValue> = None;
    let mut tries = 0;
    loop {
        let headers = last_id.clone().map(|id| (LAST_EVENT_ID, id));
        match daemon.open(&path, headers.into_iter().collect()).await {
            Ok(stream) => {
                let stream = stream.successful().await?;
                if last_id.is_none() {
                    note("watching; Ctrl-C ends it");
                }
                tries = 0;
                last_id = stream.headers.get(LAST_EVENT_ID).cloned().or(last_id);
                if !read(stream, &mut last_id, &mut show).await {
                    return Ok(());
                }
            }
            Err(reason) => {
                tries += 1;
                let most = if daemon.listens().await {
                    MOST_TRIES_OF_A_LISTENER
                } else {
                    MOST_TRIES
                };
                if tries >= most {
                    return Err(CliError::not_reachable(reason));
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Shows what comes until the stream breaks; false when nobody wants to see more.
async fn read(
    mut stream: Stream,
    last_id: &mut Option<HeaderValue>,
    show: &mut impl FnMut(&str) -> bool,
) -> bool {
    let mut reader = SseReader::new(EVENT_LIMIT);
    while let Ok(Some(bytes)) = stream.next().await {
        let Ok(events) = reader.feed(&bytes) else {
            return true;
        };
        for event in events {
            if !show(&event.data) {
                return false;
            }
            let id = event.id.and_then(|id| HeaderValue::try_from(id).ok());
            *last_id = id.or(last_id.take());
        }
    }
    true
}

fn line(record: &Value, icons: Icons) -> String {
    let what = match (record["server_name"].as_str(), record["tool_name"].as_str()) {
        (Some(server), Some(tool)) => format!("{server}:{tool}"),
        (Some(server), None) => format!("{server} {}", words::tool(record)),
        _ => words::tool(record),
    };
    let cells = [
        words::time(&text(&record["timestamp"])),
        words::status(&text(&record["status"]), icons),
        words::intent(&text(&record["intent_type"]), icons),
        what,
        text(&record["error"]["code"]),
        words::duration(&record["duration_ms"]),
        text(&record["id"]),
    ];
    let shown: Vec<String> = cells
        .iter()
        .filter(|cell| !cell.is_empty())
        .map(|cell| on_one_line(cell))
        .collect();
    shown.join("  ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_is_one_line() {
        let call = json!({
            "id": "01", "type": "tool_call", "timestamp": "2026-01-31T12:00:00.123Z",
            "status": "success", "intent_type": "write", "server_name": "s",
            "tool_name": "a\nb\u{1b}", "duration_ms": 12.0, "error": null,
        });
        assert_eq!(
            line(&call, Icons(false)),
            "2026-01-31T12:00:00Z  success  write  s:a b\\u001b  12ms  01"
        );
        let change = json!({
            "id": "02", "type": "server_change", "timestamp": "2026-01-31T12:00:00.123Z",
            "status": "success", "intent_type": null, "server_name": "s", "tool_name": null,
            "duration_ms": null, "error": null,
        });
        assert_eq!(
            line(&change, Icons(false)),
            "2026-01-31T12:00:00Z  success  s (server_change)  02"
        );
    }
}
