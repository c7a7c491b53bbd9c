//! `mcpproxy status`

use std::process::ExitCode;

use mcpproxy_gateway::settings;
use serde_json::Value;

use crate::arguments::Common;
use crate::backend::answered;
use crate::daemon::Daemon;
use crate::failed::Failed;
use crate::output::{Output, printable, table};

pub(crate) async fn run(common: &Common, output: Output) -> Result<ExitCode, Failed> {
    let data_dir = settings::data_dir(&common.sources())?;
    let Some(daemon) = Daemon::find(&data_dir).await else {
        return Err(Failed::not_reachable(format!(
            "no gateway runs on the data directory {}; start one with `mcpproxy serve`",
            data_dir.display()
        )));
    };
    let status = answered(daemon.get("/api/v1/status").await)?;
    output.result(&status, page);
    Ok(ExitCode::SUCCESS)
}

fn page(status: &Value) -> String {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let calls = &status["calls"];
    let mut page = format!(
        "mcpproxy {} on http://{}/mcp, process {}, up {} s\n",
        text(&status["version"]),
        text(&status["listen"]),
        status["pid"],
        status["uptime_seconds"],
    );
    page.push_str(&format!(
        "calls: {} done, {} failed, {} refused, {} in doubt; tools: {}\n",
        calls["success"], calls["error"], calls["blocked"], calls["in_doubt"], status["tools"],
    ));
    if let Some(problem) = status["configuration_problem"].as_str() {
        page.push_str(&format!(
            "The changed configuration is not in force: {}\n",
            printable(problem)
        ));
    }
    let servers = status["servers"].as_array().map_or(&[][..], Vec::as_slice);
    if servers.is_empty() {
        page.push_str("No servers. Add them under \"mcpServers\" in the configuration.\n");
        return page;
    }
    page.push('\n');
    page.push_str(&table(
        &["SERVER", "STATE", "TOOLS", "REASON"],
        servers.iter().map(|server| {
            vec![
                text(&server["name"]),
                text(&server["state"]),
                server["tools"].to_string(),
                server["reason"].as_str().unwrap_or_default().to_owned(),
            ]
        }),
    ));
    for server in servers {
        for line in server["stderr"].as_array().map_or(&[][..], Vec::as_slice) {
            page.push_str(&printable(&format!(
                "{}: {}\n",
                text(&server["name"]),
                text(line)
            )));
        }
    }
    page
}
