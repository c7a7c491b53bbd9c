//! Wording of records for people.

use std::io::IsTerminal;

use serde_json::Value;

use crate::arguments::Look;
use crate::output::text;

/// Whether icons and blocks are shown: on a terminal, unless somebody does not want them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Icons(pub(super) bool);

impl Icons {
    pub(super) fn wanted(look: Look) -> Self {
        Self(!look.no_icons && std::io::stdout().is_terminal())
    }
}

/// An operation, with the icon that people look for.
pub(super) fn intent(operation: &str, icons: Icons) -> String {
    let icon = match operation {
        "read" if icons.0 => "📖 ",
        "write" if icons.0 => "✏️ ",
        "destructive" if icons.0 => "⚠️ ",
        _ => "",
    };
    format!("{icon}{operation}")
}

/// Status of a record; that of a call whose outcome nobody saw stands out.
pub(super) fn status(status: &str, icons: Icons) -> String {
    match (status, icons.0) {
        ("in_doubt", true) => "❓ in_doubt".to_owned(),
        ("in_doubt", false) => "in_doubt (!)".to_owned(),
        _ => status.to_owned(),
    }
}

/// The tool, or what kind of thing happened where there is none.
pub(super) fn tool(record: &Value) -> String {
    let kind = text(&record["type"]);
    match (
        record["tool_name"].as_str(),
        record["metadata"]["event"].as_str(),
    ) {
        (Some(tool), _) => tool.to_owned(),
        // What happened to it says more than what kind of thing happened.
        (None, Some(event)) => format!("({kind}: {event})"),
        (None, None) => format!("({kind})"),
    }
}

/// A time to the second.
pub(super) fn time(timestamp: &str) -> String {
    match timestamp.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => timestamp.to_owned(),
    }
}

/// Time that something took; nothing if that is not known.
pub(super) fn duration(milliseconds: &Value) -> String {
    match milliseconds.as_f64() {
        None => String::new(),
        Some(time) if time < 10.0 => format!("{time:.1}ms"),
        Some(time) if time < 1_000.0 => format!("{time:.0}ms"),
        Some(time) if time < 60_000.0 => format!("{:.1}s", time / 1_000.0),
        Some(time) => {
            let seconds = time / 1_000.0;
            format!("{:.0}m {:02.0}s", (seconds / 60.0).floor(), seconds % 60.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// FR-035: the operation is shown with an icon, and as a plain word where icons are not wanted.
    #[test]
    fn fr_035_operations_have_an_icon() {
        for (operation, with_icon) in [
            ("read", "📖 read"),
            ("write", "✏️ write"),
            ("destructive", "⚠️ destructive"),
            ("", ""),
        ] {
            assert_eq!(intent(operation, Icons(true)), with_icon);
            assert_eq!(intent(operation, Icons(false)), operation);
        }
        assert_eq!(status("in_doubt", Icons(false)), "in_doubt (!)");
        assert_eq!(status("error", Icons(true)), "error");
    }

    #[test]
    fn times_and_durations_are_short() {
        assert_eq!(time("2026-01-31T12:00:00.123Z"), "2026-01-31T12:00:00Z");
        for (milliseconds, expected) in [
            (json!(null), ""),
            (json!(0.25), "0.2ms"),
            (json!(245.4), "245ms"),
            (json!(1_250), "1.2s"),
            (json!(125_000), "2m 05s"),
        ] {
            assert_eq!(duration(&milliseconds), expected);
        }
    }
}
