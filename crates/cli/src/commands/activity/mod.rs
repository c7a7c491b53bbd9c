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

use crate::arguments::{Activity, Common};
use crate::failed::Failed;
use crate::output::Output;

pub(crate) async fn run(
    common: &Common,
    activity: Activity,
    output: Output,
) -> Result<ExitCode, Failed> {
    match activity {
        Activity::List(list) => list::run(common, &list, output).await,
        Activity::Show { id, look } => show::run(common, &id, look, output).await,
        Activity::Watch(watch) => watch::run(common, &watch, output).await,
        Activity::Summary(summary) => summary::run(common, &summary, output).await,
        Activity::Export(export) => export::run(common, &export, output).await,
        Activity::Verify => verify::run(common, output).await,
    }
}
