//! `mcpproxy tools search|list|show`

use std::process::ExitCode;

use mcpproxy_builtin::admin_tools;
use mcpproxy_gateway::ServersToStart;
use mcpproxy_gateway::request::split_name;
use serde_json::Value;

use crate::arguments::{Common, ToolsCommand};
use crate::backend::Backend;
use crate::error::CliError;
use crate::output::{Output, elements, printable, table};

pub(crate) async fn run(
    common: &Common,
    tools: ToolsCommand,
    output: Output,
) -> Result<ExitCode, CliError> {
    match tools {
        ToolsCommand::Search { query, server } => {
            list(common, Some(&query), server.as_deref(), output).await
        }
        ToolsCommand::List { server } => list(common, None, server.as_deref(), output).await,
        ToolsCommand::Show { tool } => show(common, &tool, output).await,
    }
}

async fn list(
    common: &Common,
    query: Option<&str>,
    server: Option<&str>,
    output: Output,
) -> Result<ExitCode, CliError> {
    let backend = Backend::find(&common.sources(), wanted(server)).await?;
    let listed = backend.tools(query, server).await;
    backend.finish().await;
    let is_all = query.is_none() && server.is_none();
    output.result(&listed?, |value| {
        let mut shown = rows(value, query.is_some());
        if is_all && has_only_own(value) {
            shown.push_str("These are the gateway's own. Add servers under \"mcpServers\" in the configuration; `mcpproxy status` shows how they are.\n");
        }
        shown
    });
    Ok(ExitCode::SUCCESS)
}

async fn show(common: &Common, name: &str, output: Output) -> Result<ExitCode, CliError> {
    let (server, tool) = split_name(name)?;
    let backend = Backend::find(&common.sources(), wanted(Some(server))).await?;
    let shown = backend.tool(server, tool).await;
    backend.finish().await;
    output.result(&shown?, page);
    Ok(ExitCode::SUCCESS)
}

fn wanted(server: Option<&str>) -> ServersToStart {
    server.map_or(ServersToStart::All, |server| {
        ServersToStart::Only(server.to_owned())
    })
}

fn rows(value: &Value, is_search: bool) -> String {
    let tools = elements(&value["tools"]);
    if tools.is_empty() && is_search {
        return "No tool matches. `mcpproxy tools list` shows all of them.\n".to_owned();
    }
    if tools.is_empty() {
        return "No tools. Add servers under \"mcpServers\" in the configuration; `mcpproxy status` shows how they are.\n".to_owned();
    }
    let cell = |tool: &Value, name: &str| tool[name].as_str().unwrap_or_default().to_owned();
    let mut shown = table(
        &["NAME", "CLASS", "CALL WITH", "STATUS", "SUMMARY"],
        tools.iter().map(|tool| {
            ["name", "class", "call_with", "status", "summary"]
                .iter()
                .map(|name| cell(tool, name))
                .collect()
        }),
    );
    let total = value["total"].as_u64().unwrap_or_default();
    if total > tools.len() as u64 {
        shown.push_str(&format!("{} of {total} shown\n", tools.len()));
    }
    shown
}

/// Whether no other server has a tool.
fn has_only_own(value: &Value) -> bool {
    let tools = value["tools"].as_array();
    tools.is_some_and(|tools| tools.iter().all(|tool| tool["server"] == admin_tools::NAME))
}

fn page(tool: &Value) -> String {
    let text = |name: &str| printable(tool[name].as_str().unwrap_or_default());
    let mut page = String::new();
    for (label, name) in [
        ("Name", "name"),
        ("Server", "server"),
        ("Class", "class"),
        ("Call with", "call_with"),
        ("Status", "status"),
    ] {
        page.push_str(&format!("{label:<12}{}\n", text(name)));
    }
    if !tool["annotations"].is_null() {
        page.push_str(&format!(
            "Annotations {}\n",
            printable(&tool["annotations"].to_string())
        ));
    }
    page.push_str(&format!("\n{}\n", text("description")));
    page.push_str(&format!(
        "\nArguments\n{}\n",
        printable(&format!("{:#}", tool["inputSchema"]))
    ));
    page
}
