//! `mcpproxy config schema|show|check`

use std::process::ExitCode;

use mcpproxy_gateway::settings;
use serde_json::{Value, json};

use crate::arguments::{Common, ConfigCommand};
use crate::daemon::Daemon;
use crate::error::CliError;
use crate::output::Output;

pub(crate) async fn run(
    common: &Common,
    config: ConfigCommand,
    output: Output,
) -> Result<ExitCode, CliError> {
    match config {
        ConfigCommand::Schema => output.result(&settings::schema().to_string(), pretty),
        ConfigCommand::Show => {
            let sources = common.sources();
            let shown = match Daemon::find(&sources).await? {
                Some(daemon) => daemon.get("/api/v1/config").await?,
                None => settings::effective(&settings::load(&sources)?).to_string(),
            };
            output.result(&shown, pretty);
        }
        ConfigCommand::Check => {
            let settings = settings::load(&common.sources())?;
            let problems: Vec<Value> = settings
                .servers
                .iter()
                .filter_map(|server| {
                    Some(json!({ "server": server.name, "problem": server.problem.as_ref()? }))
                })
                .collect();
            let report = json!({
                "file": settings.config_file,
                "servers": settings.servers.len(),
                "server_problems": problems,
            });
            output.result(&report.to_string(), checked);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn checked(report: &Value) -> String {
    let mut shown = format!(
        "{} is valid, {} servers\n",
        report["file"].as_str().unwrap_or_default(),
        report["servers"]
    );
    for problem in report["server_problems"].as_array().unwrap_or(&Vec::new()) {
        let text = |name: &str| problem[name].as_str().unwrap_or_default();
        shown.push_str(&format!("server {}: {}\n", text("server"), text("problem")));
    }
    shown
}
