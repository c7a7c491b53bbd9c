//! From the settings of a server to what the catalog and its upstream need of them.

use std::sync::Arc;

use mcpproxy_catalog::{Operator, ToolOverride};
use mcpproxy_upstream::{HttpSpec, Spec, StdioSpec, TransportSpec};

use crate::settings::{ServerSettings, ServerTransport};

/// Operator's settings of a server and its tools.
pub(super) fn operator(server: &ServerSettings) -> Operator {
    Operator {
        enabled: server.enabled,
        quarantined: server.quarantined,
        tools: server
            .tools
            .iter()
            .map(|(name, tool)| {
                let word = ToolOverride {
                    annotations: tool.annotations.clone(),
                    enabled: tool.enabled,
                };
                (name.clone(), word)
            })
            .collect(),
    }
}

/// Specification of an upstream; none for a server inside this program.
pub(super) fn spec(server: &ServerSettings) -> Option<Spec> {
    let exposed = |pairs: &[(String, crate::settings::Secret)]| {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), value.expose().to_owned()))
            .collect()
    };
    let transport = match &server.transport {
        ServerTransport::Stdio {
            command,
            args,
            env,
            working_dir,
        } => TransportSpec::Stdio(StdioSpec {
            command: command.expose().to_owned(),
            args: args.iter().map(|one| one.expose().to_owned()).collect(),
            env: exposed(env),
            working_dir: working_dir.as_ref().map(|folder| folder.expose().into()),
        }),
        ServerTransport::Http { url, headers } => TransportSpec::Http(HttpSpec {
            url: url.expose().to_owned(),
            headers: exposed(headers),
        }),
        ServerTransport::BuiltIn => return None,
    };
    Some(Spec {
        name: Arc::clone(&server.name),
        transport,
        protocol: server.protocol,
        timeout: server.timeout,
        max_concurrent: server.max_concurrent,
        idle_stop: server.idle_stop,
    })
}
