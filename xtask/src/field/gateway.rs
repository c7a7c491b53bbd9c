//! The product in front of all servers, asked over HTTP as its clients do.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use super::Folders;
use super::compare::Row;
use super::direct::Listed;
use super::http::{self, Answer};
use super::protocol::{
    Era, PAGE_LIMIT, SESSION, STATELESS, Tools, hello, initialized, list_params, read_page, request,
};
use crate::place::Place;
use crate::process;

/// Builds the product; its program.
pub(crate) fn build(place: &Place) -> Result<PathBuf> {
    process::run(process::cargo(&place.root).args(["build", "--quiet", "--package", "mcpproxy"]))?;
    Ok(place.target.join("debug/mcpproxy"))
}

/// Gateway with all servers behind it.
pub(crate) struct Gateway {
    process: Child,
    address: String,
    path: String,
}

impl Gateway {
    /// Starts the gateway with the servers that started by themselves, by the same commands.
    pub(crate) fn start(
        program: &Path,
        rows: &[(&Row, &Listed)],
        folders: &Folders,
    ) -> Result<Self> {
        let config = folders.data.join("mcp_config.json");
        fs::write(&config, configuration(rows).to_string())?;
        let mut process = Command::new(program)
            .args([
                "serve",
                "-o",
                "json",
                "--listen",
                "127.0.0.1:0",
                "--data-dir",
            ])
            .arg(&folders.data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folders.data.join("log"))?)
            .spawn()
            .context("the gateway cannot be started")?;
        let output = process.stdout.take().context("its output is not piped")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let announced: Value = serde_json::from_str(&line).with_context(|| {
            format!(
                "the gateway did not start, see {}",
                folders.data.join("log").display()
            )
        })?;
        let endpoint = announced["endpoint"].as_str().unwrap_or_default();
        let endpoint = endpoint
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once('/'));
        let (address, path) = endpoint.context("the gateway names no endpoint")?;
        Ok(Self {
            address: address.to_owned(),
            path: format!("/{path}"),
            process,
        })
    }

    /// Tools that an endpoint lists, such as `/s/git` or `/all`.
    pub(crate) fn tools(&self, endpoint: &str, era: Era) -> Result<Tools> {
        let path = format!("{}{endpoint}", self.path);
        let session = match era {
            Era::Stateless => None,
            Era::Session => Some(self.open_session(&path)?),
        };
        let mut tools = Tools::new();
        let mut cursor = None;
        for id in (2..).take(PAGE_LIMIT) {
            let message = request(id, "tools/list", &list_params(era, cursor.as_deref()));
            let page = self.post(&path, session.as_deref(), "tools/list", &message)?;
            cursor = read_page(&page.message, &mut tools)?;
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        bail!("its list has more than {PAGE_LIMIT} pages")
    }

    fn open_session(&self, path: &str) -> Result<String> {
        let answer = http::post(
            &self.address,
            path,
            &[],
            &request(1, "initialize", &hello()),
        )?;
        let session = answer.header("mcp-session-id");
        let session = session.context("the gateway opened no session")?.to_owned();
        self.post(
            path,
            Some(&session),
            "notifications/initialized",
            &initialized(),
        )?;
        Ok(session)
    }

    fn post(
        &self,
        path: &str,
        session: Option<&str>,
        method: &str,
        message: &str,
    ) -> Result<Answer> {
        let headers = match session {
            Some(session) => [
                ("Mcp-Session-Id", session),
                ("MCP-Protocol-Version", SESSION),
            ],
            None => [("Mcp-Method", method), ("MCP-Protocol-Version", STATELESS)],
        };
        http::post(&self.address, path, &headers, message)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // Its guards end the servers with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Configuration with the servers as they were started by themselves, in the same revision.
fn configuration(rows: &[(&Row, &Listed)]) -> Value {
    let servers = rows.iter().map(|(row, listed)| {
        let command = &listed.command;
        let protocol = match listed.era {
            Era::Stateless => "modern",
            Era::Session => "legacy",
        };
        let entry = json!({
            "command": command.program, "args": command.args, "env": command.env,
            "working_dir": command.folder, "protocol": protocol, "timeout": "5m",
        });
        (row.server.clone(), entry)
    });
    let servers: Map<String, Value> = servers.collect();
    json!({ "mcpServers": servers, "discovery": { "semantic": false } })
}
