//! Rate limits: how often a caller may call a tool.

use std::time::{Duration, Instant};

use mcpproxy_policy::Caller;
use mcpproxy_support::rate::RateLimiter;

use crate::failure::{Code, Failure};
use crate::settings::ToolRateLimit;

/// Calls of every caller to tools that have a limit, by caller and tool.
#[derive(Debug, Default)]
pub(crate) struct RateLimits(RateLimiter<(String, String)>);

impl RateLimits {
    /// Counts a call; refuses it if it is one too many.
    pub(crate) fn admit(
        &self,
        caller: &Caller,
        tool: &str,
        limit: ToolRateLimit,
    ) -> Result<(), Failure> {
        let key = (caller_key(caller), tool.to_owned());
        self.0
            .admit(key, limit.max_calls, limit.window, Instant::now())
            .map_err(|wait| rate_limited(tool, wait))
    }
}

/// Key under which calls count together: the client's name and session.
fn caller_key(caller: &Caller) -> String {
    format!(
        "{}\n{}",
        caller.client_name.as_deref().unwrap_or_default(),
        caller.session_id.as_deref().unwrap_or_default()
    )
}

fn rate_limited(tool: &str, wait: Duration) -> Failure {
    let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    let message = format!("Tool '{tool}' was called too often, try again in {milliseconds} ms");
    Failure::new(Code::RateLimited, message).with("retry_after_ms", milliseconds)
}
