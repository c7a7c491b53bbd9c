//! Arguments of `mcpproxy activity`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mcpproxy_activity::{RecordKind, Status};
use mcpproxy_gateway::records::{ExportFormat, Pair};
use mcpproxy_policy::{Operation, Sensitivity};
use serde::Serialize;

#[derive(Debug, Subcommand)]
pub(crate) enum ActivityCommand {
    /// List records, newest first
    #[command(
        after_help = "Examples:\n  mcpproxy activity list --intent-type destructive\n  mcpproxy activity list --status in_doubt\n  mcpproxy activity list --server github --from 24h --limit 200 -o json"
    )]
    List(ListArguments),
    /// Show everything about one record
    #[command(
        after_help = "Example:\n  mcpproxy activity show 01936f5e-7b2a-7c11-9d0e-0f5a3c2b1a99"
    )]
    Show {
        /// The record's id, as `activity list` shows it
        id: String,
        #[command(flatten)]
        look: Look,
    },
    /// Show records as they are written, until Ctrl-C
    #[command(
        after_help = "Needs a running gateway.\n\nExamples:\n  mcpproxy activity watch\n  mcpproxy activity watch --intent-type destructive -o json"
    )]
    Watch(FilteredArguments),
    /// Count records by status, intent, server and tool
    #[command(
        after_help = "Examples:\n  mcpproxy activity summary --from 7d\n  mcpproxy activity summary --agent claude-code -o json"
    )]
    Summary(FilteredArguments),
    /// Write records to standard output or a new file
    #[command(
        after_help = "Examples:\n  mcpproxy activity export > activity.jsonl\n  mcpproxy activity export --format csv --from 2026-01-01 --to 2026-02-01 --file january.csv"
    )]
    Export(ExportArguments),
    /// Check that no record was changed, removed or inserted
    #[command(
        after_help = "Exit code 0 if everything is as it was written, 1 if not.\n\nExample:\n  mcpproxy activity verify"
    )]
    Verify,
}

#[derive(Debug, Args, Serialize)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) filters: FilterArguments,
    /// How many records, from 1 to 1000 [default: 50]
    #[arg(long, value_name = "NUMBER")]
    limit: Option<String>,
    /// Go on after an earlier page, with the cursor it ended with
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) look: Look,
}

#[derive(Debug, Args, Serialize)]
pub(crate) struct FilteredArguments {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) filters: FilterArguments,
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) look: Look,
}

#[derive(Debug, Args, Serialize)]
pub(crate) struct ExportArguments {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) filters: FilterArguments,
    /// JSON lines, or CSV that is safe to open in a spreadsheet
    #[arg(long, default_value = ExportFormat::JsonLines.as_str(), value_parser = ExportFormat::ALL.map(ExportFormat::as_str))]
    pub(crate) format: String,
    /// A file that does not exist yet; - is standard output
    #[arg(long, value_name = "PATH", default_value = "-")]
    #[serde(skip)]
    pub(crate) file: PathBuf,
}

/// How people see it.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Look {
    /// Plain words instead of icons, as when the output is no terminal
    #[arg(long)]
    pub(crate) no_icons: bool,
}

/// Which records are meant; all of the filters have to hold. Fields are named as in the REST interface.
#[derive(Debug, Args, Serialize)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArguments {
    /// What kind of thing happened
    #[arg(long = "type", value_parser = RecordKind::ALL.map(RecordKind::as_str))]
    r#type: Option<String>,
    /// The server it was about
    #[arg(long)]
    server: Option<String>,
    /// The tool it was about, without its server
    #[arg(long)]
    tool: Option<String>,
    /// What came of it
    #[arg(long, value_parser = Status::ALL.map(Status::as_str))]
    status: Option<String>,
    /// The operation it declared
    #[arg(long, value_parser = Operation::ALL.map(Operation::as_str))]
    intent_type: Option<String>,
    /// The request it answers
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    /// The session it came in
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,
    /// How sensitive the data is
    #[arg(long, value_parser = Sensitivity::ALL.map(Sensitivity::as_str))]
    sensitivity: Option<String>,
    /// Who asked: the token's name, else the client's
    #[arg(long)]
    agent: Option<String>,
    /// Not before this: a time, a date (UTC), or so long ago, such as 24h or 7d
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Before this
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Words that server, tool, reason, error or arguments have
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,
}

/// Parameters of the REST interface that ask for what was typed.
pub(crate) fn pairs(arguments: &impl Serialize) -> Vec<Pair> {
    let given = serde_json::to_value(arguments).unwrap_or_default();
    let given = given.as_object().into_iter().flatten();
    given
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use mcpproxy_activity::Filter;

    use crate::arguments::{Command, CommandLine};

    use super::*;

    #[test]
    fn every_filter_of_the_log_is_a_flag_of_every_command_that_takes_filters() {
        let command = CommandLine::command();
        let activity = command.find_subcommand("activity").unwrap();
        for name in ["list", "watch", "summary", "export"] {
            let command = activity.find_subcommand(name).unwrap();
            for filter in Filter::NAMES {
                let flag = filter.replace('_', "-");
                let has = command
                    .get_arguments()
                    .any(|one| one.get_long() == Some(&flag));
                assert!(has, "`activity {name}` has no --{flag}");
            }
        }
    }

    #[test]
    fn flags_become_the_parameters_of_the_rest_interface() {
        let typed = [
            "mcpproxy",
            "activity",
            "list",
            "--type",
            "tool_call",
            "--server",
            "s",
            "--tool",
            "t",
            "--status",
            "error",
            "--intent-type",
            "read",
            "--request-id",
            "r",
            "--session-id",
            "x",
            "--sensitivity",
            "private",
            "--agent",
            "a",
            "--from",
            "1d",
            "--to",
            "1h",
            "--text",
            "w",
            "--limit",
            "7",
            "--cursor",
            "c",
        ];
        let Command::Activity(typed) = CommandLine::try_parse_from(typed).unwrap().command else {
            panic!("something else was typed");
        };
        let ActivityCommand::List(list) = *typed else {
            panic!("something else was typed");
        };
        let names: Vec<String> = pairs(&list).into_iter().map(|(name, _)| name).collect();
        let expected = Filter::NAMES.iter().chain(&["limit", "cursor"]);
        assert!(names.iter().eq(expected), "{names:?}");
    }
}
