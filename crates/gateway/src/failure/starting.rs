//! Words for a server that is starting or failed, as callers and people are told. This module is pure.

use std::time::SystemTime;

use jiff::Timestamp;
use mcpproxy_upstream::{StartAttempt, StartWait};

/// Progress of the start of a server, in words that follow its name, with why the attempt before failed.
pub(crate) fn told_start(start: &StartAttempt, last_error: Option<&str>) -> String {
    let (attempt, since) = (start.attempt, utc(start.since));
    let waiting = match start.waiting_for {
        StartWait::Installation => "it is installing".to_owned(),
        wait => format!("it waits for {}", wait.as_str()),
    };
    let last = last_error.map_or_else(String::new, |last| format!("; its last failure: {last}"));
    format!("is still starting, attempt {attempt}, since {since}: {waiting}{last}")
}

/// A moment as JSON has it.
pub(crate) fn utc(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or_default();
    format!("{time:.3}")
}

/// Reason why a server does not run, without files of the host: agents are not told of those.
pub fn without_host_files(problem: &str) -> &str {
    // An address on the network is no file.
    let is_address = |word: &str| {
        ["http://", "https://"]
            .iter()
            .any(|one| word.starts_with(one))
    };
    let mut words = problem.split_whitespace();
    if words.any(|word| word.contains(['/', '\\']) && !is_address(word)) {
        "a person finds the reason with `mcpproxy status`"
    } else {
        problem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_host_are_not_named() {
        for problem in [
            "it is gone",
            "it cannot be reached at http://host/mcp: refused",
        ] {
            assert_eq!(without_host_files(problem), problem);
        }
        let hidden = "a person finds the reason with `mcpproxy status`";
        for problem in ["no /etc/x", r"no C:\x"] {
            assert_eq!(without_host_files(problem), hidden);
        }
    }
}
