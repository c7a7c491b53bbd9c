//! `mcpproxy activity list|show|watch|summary|export|verify`

mod export;
mod list;
mod show;
mod source;
mod summary;
mod verify;
mod watch;
mod words;

use std::process::ExitCode;

use crate::arguments::{ActivityCommand, Common};
use crate::error::CliError;
use crate::output::Output;

pub(crate) async fn run(
    common: &Common,
    activity: ActivityCommand,
    output: Output,
) -> Result<ExitCode, CliError> {
    match activity {
        ActivityCommand::List(list) => list::run(common, &list, output).await,
        ActivityCommand::Show { id, look } => show::run(common, &id, look, output).await,
        ActivityCommand::Watch(watch) => watch::run(common, &watch, output).await,
        ActivityCommand::Summary(summary) => summary::run(common, &summary, output).await,
        ActivityCommand::Export(export) => export::run(common, &export, output).await,
        ActivityCommand::Verify => verify::run(common, output).await,
    }
}
