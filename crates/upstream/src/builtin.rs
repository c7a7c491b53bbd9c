//! Tools of this very program, reached without a connection.

use std::collections::HashSet;

use mcpproxy_wire::Tool;
use mcpproxy_wire::tool::{Rejected, ToolPage};
use tokio::time::{Instant, timeout_at};

use crate::pending::Answer;
use crate::{BuiltIn, CallError, Origin};

/// Its tools, each checked like those of any server.
pub(crate) fn list(built_in: &dyn BuiltIn) -> ToolPage {
    let mut page = ToolPage::default();
    let mut names = HashSet::new();
    for (index, raw) in built_in.tools().iter().enumerate() {
        match Tool::parse(raw) {
            Ok(tool) if names.insert(tool.name.clone()) => page.tools.push(tool),
            Ok(tool) => page.rejected.push(Rejected {
                index,
                name: Some(tool.name.to_string()),
                reason: "another tool of the list has the same name".to_owned(),
            }),
            Err(reason) => page.rejected.push(Rejected {
                index,
                name: None,
                reason,
            }),
        }
    }
    page
}

/// Calls one of its tools.
pub(crate) async fn call(
    built_in: &dyn BuiltIn,
    tool: &str,
    arguments: &str,
    origin: Origin<'_>,
    deadline: Instant,
) -> Answer {
    let started = Instant::now();
    match timeout_at(deadline, built_in.call(tool, arguments, origin)).await {
        Ok(answer) => answer.map_err(CallError::Rpc),
        Err(_) => Err(CallError::Timeout {
            after: started.elapsed(),
            sent: true,
        }),
    }
}
