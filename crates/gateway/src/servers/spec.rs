//! Settings of a server as the catalog and its upstream need them.

use std::path::Path;
use std::sync::Arc;

use mcpproxy_catalog::{Operator, ToolOverride};
use mcpproxy_redact::Mask;
use mcpproxy_upstream::{HttpSpec, Spec, StdioSpec, TransportSpec};

use crate::settings::{Secret, ServerSettings, SettingText};

/// Operator's settings of a server and its tools.
pub(super) fn operator(server: &ServerSettings) -> Operator {
    let tools = server.tools.iter().map(|(name, tool)| {
        let word = ToolOverride {
            annotations: tool.annotations.to_map(),
            enabled: tool.enabled,
        };
        (name.clone(), word)
    });
    Operator {
        enabled: server.enabled,
        quarantined: server.quarantined,
        is_broken: !server.problems.is_empty(),
        tools: tools.collect(),
        enabled_tools: (server.enabled_tools.as_ref()).map(|names| names.iter().cloned().collect()),
        disabled_tools: server.disabled_tools.iter().cloned().collect(),
    }
}

/// Specification of an upstream that is reached in this way.
pub(super) fn spec(server: &ServerSettings, transport: TransportSpec) -> Spec {
    Spec {
        name: Arc::clone(&server.name),
        transport,
        protocol: server.protocol,
        start_timeout: server.start_timeout,
        timeout: server.timeout,
        max_concurrent: server.max_concurrent,
        idle_stop: server.idle_stop,
        mask: Mask::new(server.secrets.iter().flat_map(Secret::exposing_texts)),
    }
}

/// Transport to a server of a configuration file; none to one inside this program.
pub(super) fn transport(server: &ServerSettings, config_file: &Path) -> Option<TransportSpec> {
    let exposed = |pairs: &[(String, SettingText)]| {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(name, value)| (name.clone(), value.expose().to_owned()));
        pairs.collect()
    };
    match (&server.command, &server.url) {
        (Some(command), _) => {
            let args = server.args.iter();
            let folder = server.working_dir.as_ref();
            Some(TransportSpec::Stdio(StdioSpec {
                command: command.expose().to_owned(),
                args: args.map(|one| one.expose().to_owned()).collect(),
                env: exposed(&server.env),
                inherit_env: server.inherit_env.clone(),
                working_dir: folder.map(|folder| folder.expose().into()),
                config_dir: config_file.parent().map(Path::to_owned),
            }))
        }
        (None, Some(url)) => Some(TransportSpec::Http(HttpSpec {
            url: url.expose().to_owned(),
            headers: exposed(&server.headers),
        })),
        (None, None) => None,
    }
}
