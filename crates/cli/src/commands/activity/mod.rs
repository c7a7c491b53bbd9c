//! `mcpproxy activity list|show|watch|summary|export|verify`

mod export;
mod list;
mod show;
mod source;
mod summary;
mod verify;
mod watch;
mod words;

use crate::CommandResult;
use crate::arguments::{ActivityCommand, Common};

pub(crate) async fn run(common: &Common, activity: ActivityCommand) -> CommandResult {
    match activity {
        ActivityCommand::List(list) => list::run(common, &list).await,
        ActivityCommand::Show { id, look } => show::run(common, &id, look).await,
        ActivityCommand::Watch(watch) => watch::run(common, &watch).await,
        ActivityCommand::Summary(summary) => summary::run(common, &summary).await,
        ActivityCommand::Export(export) => export::run(common, &export).await,
        ActivityCommand::Verify => verify::run(common).await,
    }
}
