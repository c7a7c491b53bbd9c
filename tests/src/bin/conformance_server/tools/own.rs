//! Tools for tests of our own: what the suite never asks of one protocol on behalf of the other.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::{CallToolResult, ErrorData};

use super::rounds::form;
use super::{Call, Outcome, text};
use crate::log;
use crate::resources::WATCHED;
use crate::state::{Change, Shared};

/// Nobody should have to end the process for a call that was forgotten.
const LONGEST_WAIT: Duration = Duration::from_mins(10);

/// Waits until the call is cancelled, and counts that. Tells once that it has begun, if the client wants to know, and
/// logs it with the argument `log`.
pub(super) async fn wait(call: &Call<'_>) -> Outcome {
    call.shared().waits.fetch_add(1, Ordering::SeqCst);
    call.progress(0.0, 1.0).await;
    if call.arguments.get("log").is_some() {
        log::info(call.dialogue.context, call.session, "The call has begun").await;
    }
    tokio::select! {
        () = call.dialogue.context.ct.cancelled() => {
            call.shared().cancellations.fetch_add(1, Ordering::SeqCst);
            Err(ErrorData::internal_error("The call of 'wait' was cancelled", None).into())
        }
        () = tokio::time::sleep(LONGEST_WAIT) => Ok(text("Nobody cancelled this call.")),
    }
}

pub(super) fn waits(call: &Call<'_>) -> CallToolResult {
    let count = call.shared().waits.load(Ordering::SeqCst);
    text(count.to_string())
}

pub(super) fn cancellations(call: &Call<'_>) -> CallToolResult {
    let count = call.shared().cancellations.load(Ordering::SeqCst);
    text(count.to_string())
}

pub(super) fn unanswered(call: &Call<'_>) -> CallToolResult {
    let count = call.shared().unanswered.load(Ordering::SeqCst);
    text(count.to_string())
}

pub(super) fn add_tool(call: &Call<'_>) -> CallToolResult {
    if call.shared().has_added.swap(true, Ordering::SeqCst) {
        return text("The tool `added` is there already.");
    }
    call.shared().announce(Change::Tools);
    text("The tool `added` is there now.")
}

pub(super) fn has_added(shared: &Shared) -> bool {
    shared.has_added.load(Ordering::SeqCst)
}

pub(super) fn touch_resource(call: &Call<'_>) -> CallToolResult {
    let revision = call
        .shared()
        .resource_revision
        .fetch_add(1, Ordering::SeqCst)
        + 1;
    call.shared().announce(Change::Resource(WATCHED.to_owned()));
    text(format!("The resource {WATCHED} has revision {revision}."))
}

pub(super) async fn ask_name(call: &Call<'_>) -> Outcome {
    let question = form("name", "What is your name?", "name");
    let answers = call.dialogue.ask(&[question]).await?;
    let answer = &answers["name"];
    Ok(match answer["action"].as_str() {
        Some("accept") => {
            let name = answer["content"]["name"].as_str().ok_or_else(|| {
                ErrorData::invalid_params("The answer has no 'name'; give it as a string", None)
            })?;
            text(format!("hello {name}"))
        }
        Some("decline") => text("declined"),
        _ => text("cancelled"),
    })
}
