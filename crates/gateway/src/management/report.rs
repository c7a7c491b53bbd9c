//! Everything about one server, for administrators.

use std::path::PathBuf;

use mcpproxy_catalog::{ServerState, present};
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::servers::ServerStatus;
use crate::settings;
use crate::{Gateway, log_files};

/// Everything about one server.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ServerReport {
    /// Its state.
    #[serde(flatten)]
    pub status: ServerStatus,
    /// Its entry with every key that holds, secrets hidden; null for a server inside this program.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>, required))]
    pub entry: Value,
    /// Its tools.
    pub offered: Vec<OfferedTool>,
    /// File with what it wrote for people; null for one that is no process.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required))]
    pub log: Option<PathBuf>,
}

/// Tool of a server, in short.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// What it does: `read`, `write`, `destructive` or `unknown`.
    pub effect: &'static str,
    /// The variant to call it with.
    pub call_with: &'static str,
    /// Whether it can be called.
    pub callable: bool,
    /// What it is for, in a line.
    pub summary: String,
}

impl Gateway {
    /// Everything about one server, for administrators.
    pub fn server_report(&self, name: &str) -> Result<ServerReport, Failure> {
        self.check_listed(name)?;
        let Some(mut status) = self.servers.server_status(name) else {
            // It was taken away in this moment.
            return Err(self.unlisted(name));
        };
        let settings = self.settings.load();
        status.warnings.extend(settings.entry_warnings(name));
        let shown = settings::effective(&settings);
        let snapshot = self.servers.catalog().snapshot();
        let tools = snapshot
            .server(name)
            .into_iter()
            .flat_map(ServerState::tools);
        let offered = tools.map(|tool| OfferedTool {
            name: tool.name().to_string(),
            effect: tool.effect().as_str(),
            call_with: tool.call_with().variant(),
            callable: tool.is_callable(),
            summary: present::summary(&tool.tool().description),
        });
        let mut configured = settings.servers.iter();
        let process = configured.find(|server| *server.name == *name && server.command.is_some());
        Ok(ServerReport {
            status,
            entry: shown["mcpServers"][name].clone(),
            offered: offered.collect(),
            log: process.and_then(|_| log_files::current(&settings.data_dir, name)),
        })
    }
}
