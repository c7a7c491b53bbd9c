//! `mcpproxy config schema|show|check`

use std::process::ExitCode;

use mcpproxy_gateway::servers;
use mcpproxy_gateway::settings::{self, TlsSettings};
use serde_json::{Value, json};

use crate::CommandResult;
use crate::arguments::{Common, ConfigCommand};
use crate::daemon::Daemon;
use crate::error::configuration_exit;
use crate::output::{elements, text};

pub(crate) async fn run(common: &Common, config: ConfigCommand) -> CommandResult {
    Ok(match config {
        ConfigCommand::Schema => common
            .output
            .result(&settings::schema().to_string(), pretty),
        ConfigCommand::Show => {
            let sources = common.sources();
            let shown = match Daemon::find(&sources).await? {
                Some(daemon) => daemon.get("/api/v1/config").await?,
                None => settings::effective(&settings::load(&sources)?).to_string(),
            };
            common.output.result(&shown, pretty)
        }
        ConfigCommand::Check => {
            let settings = settings::load(&common.sources())?;
            settings::check_start(&settings, None)?;
            let (used, unused): (Vec<_>, Vec<_>) =
                settings.servers.iter().partition(|server| server.enabled);
            let of_unused = unused.into_iter().flat_map(|server| {
                let problems = server.problems.iter();
                problems.map(|problem| format!("server {} is disabled: {problem}", server.name))
            });
            let problems = used.into_iter().flat_map(|server| {
                let problems = server.problems.iter();
                problems.map(|problem| json!({ "server": server.name, "problem": problem }))
            });
            let problems: Vec<Value> = problems.collect();
            let code = if problems.is_empty() {
                ExitCode::SUCCESS
            } else {
                configuration_exit()
            };
            let of_servers = settings.servers.iter().flat_map(|server| {
                let warnings = servers::warnings(server).into_iter();
                warnings.map(move |warning| format!("server {} {warning}", server.name))
            });
            let of_tls = settings.tls.iter().filter_map(TlsSettings::warning);
            // One that cannot be looked at was refused above.
            let is_there = settings.config_file.try_exists().unwrap_or(true);
            let report = json!({
                "file": settings.config_file,
                "file_exists": is_there,
                "servers": settings.servers.len(),
                "server_problems": problems,
                "warnings": (settings.warnings.iter().cloned())
                    .chain(of_tls)
                    .chain(of_servers)
                    .chain(of_unused)
                    .collect::<Vec<_>>(),
            });
            common.output.result(&report.to_string(), checked);
            code
        }
    })
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn checked(report: &Value) -> String {
    let (file, servers) = (text(&report["file"]), &report["servers"]);
    let problems = elements(&report["server_problems"]).iter();
    let mut broken: Vec<&Value> = problems.map(|problem| &problem["server"]).collect();
    broken.dedup();
    let mut shown = match broken.len() {
        0 if report["file_exists"] == false => {
            format!("There is no {file}: the defaults hold, {servers} servers\n")
        }
        0 => format!("{file} is valid, {servers} servers\n"),
        count => format!("{file}: {count} of {servers} servers cannot be used\n"),
    };
    for problem in elements(&report["server_problems"]) {
        let (server, problem) = (text(&problem["server"]), text(&problem["problem"]));
        shown.push_str(&format!("server {server}: {problem}\n"));
    }
    for warning in elements(&report["warnings"]) {
        shown.push_str(&format!("warning: {}\n", text(warning)));
    }
    shown
}
