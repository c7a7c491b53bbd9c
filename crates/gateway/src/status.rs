//! Status of the running gateway, for people.

use std::path::PathBuf;
use std::sync::Arc;

use mcpproxy_activity::{Counts, Filter, Status};
use mcpproxy_catalog::directory::collisions::{CollisionKind, Collisions};
use mcpproxy_catalog::directory::qualify;
use mcpproxy_policy::{Effect, Rights, Rules, Unannotated};
use serde::Serialize;

use crate::Gateway;
use crate::search::SearchStatus;
use crate::servers::ServerStatus;

/// The running gateway.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GatewayStatus {
    version: &'static str,
    pid: u32,
    uptime_seconds: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    data_dir: PathBuf,
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, Value>))]
    intent_declaration: Rules,
    /// Why the file on disk is not what runs.
    #[cfg_attr(feature = "openapi", schema(required))]
    configuration_problem: Option<String>,
    /// What is allowed and dangerous in the configuration, and what to do about it.
    configuration_warnings: Vec<String>,
    servers: Vec<ServerStatus>,
    /// Resources and templates that have to be named with their server.
    resource_collisions: CollisionStatus,
    /// How many tools are known.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    tools: usize,
    /// Whether search goes by meaning.
    search: SearchStatus,
    calls: Counts,
    activity: LogStatus,
    /// The address it listens on.
    pub listen: String,
    /// Whether it is reached by HTTPS, and not by HTTP.
    tls: bool,
}

/// Resources and templates that others could be meant by as well.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
struct CollisionStatus {
    /// How many there are.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    total: usize,
    /// The first of them.
    shown: Vec<ShownCollision>,
}

/// A resource or template that has to be named with its server.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
struct ShownCollision {
    /// `same_address`: another server lists it first; `same_claim`: a template of another server fits the same
    /// addresses; `no_claim`: a template without a scheme of its own.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    kind: CollisionKind,
    /// The address or template.
    address: String,
    /// Its server.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    server: Arc<str>,
    /// The other server, if it is one.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>))]
    other: Option<Arc<str>>,
    /// The address or template that is good for it alone.
    named: String,
}

impl From<&Collisions> for CollisionStatus {
    fn from(collisions: &Collisions) -> Self {
        let shown = collisions.shown.iter().cloned();
        let shown = shown.map(|collision| ShownCollision {
            kind: collision.kind,
            named: qualify(&collision.server, &collision.address),
            address: collision.address,
            server: collision.server,
            other: collision.other,
        });
        Self {
            total: collisions.total,
            shown: shown.collect(),
        }
    }
}

/// How the activity log is.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
struct LogStatus {
    #[cfg_attr(feature = "openapi", schema(value_type = StoreName))]
    store: &'static str,
    /// Why it cannot be written.
    #[cfg_attr(feature = "openapi", schema(required))]
    problem: Option<String>,
    /// How many records wait to be written.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    queued: usize,
    /// How many refusals are not in the log, because it could not be written.
    unrecorded_refusals: u64,
    /// Of how many calls nobody saw the outcome; null while the log cannot be read.
    #[cfg_attr(feature = "openapi", schema(required))]
    in_doubt: Option<u64>,
}

/// Where records are kept.
#[cfg(feature = "openapi")]
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "it only says which words there are")]
enum StoreName {
    Sqlite,
    Postgres,
}

impl Gateway {
    /// Line that says how many tools have no annotations, and what may call them; nothing while there are no tools.
    pub fn unannotated_notice(&self) -> Option<String> {
        let snapshot = self.servers.catalog().snapshot();
        let callable = snapshot.tools().filter(|tool| tool.is_callable());
        let (mut unannotated, mut all) = (0, 0);
        for tool in callable {
            all += 1;
            unannotated += usize::from(matches!(tool.effect(), Effect::Unknown { .. }));
        }
        let rule = self.settings.load().intent_declaration.unannotated;
        (all > 0).then(|| unannotated_notice(unannotated, all, rule))
    }

    /// State of the gateway and of every server, for `status`.
    pub async fn status(&self, listen: String) -> GatewayStatus {
        let in_doubt = Filter {
            status: Some(Status::InDoubt),
            ..Filter::default()
        };
        let found = self.records.archive().count(&in_doubt).await;
        let health = self.records.health();
        let unreadable = found.as_ref().err().map(ToString::to_string);
        let activity = LogStatus {
            store: health.store,
            problem: health.problem.or(unreadable),
            queued: health.queued,
            unrecorded_refusals: health.unrecorded_refusals,
            // Calls that are under way have no outcome on record either, but they will.
            in_doubt: found
                .ok()
                .map(|count| count.saturating_sub(self.records.log().under_way())),
        };
        let settings = self.settings.load();
        let directory = self.direct.named_directory(&Rights::Administrator).await;
        GatewayStatus {
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            uptime_seconds: self.started.elapsed().as_secs(),
            data_dir: settings.data_dir.clone(),
            intent_declaration: settings.rules(),
            configuration_problem: self.settings.problem(),
            configuration_warnings: settings.warnings.clone(),
            servers: self.servers.status(),
            resource_collisions: directory.collisions().into(),
            tools: self.servers.catalog().snapshot().tools().count(),
            search: self.search.status(),
            calls: self.records.log().counts(),
            activity,
            listen,
            tls: settings.certificate.is_some(),
        }
    }
}

fn unannotated_notice(unannotated: usize, all: usize, rule: Unannotated) -> String {
    if unannotated == 0 {
        return format!("all {all} tools have annotations");
    }
    let (callers, rule) = match rule {
        Unannotated::TrustAgent => ("any variant may call them", "trust_agent"),
        Unannotated::AtLeastWrite => (
            "call_tool_write and call_tool_destructive may call them",
            "at_least_write",
        ),
        Unannotated::RequireDestructive => (
            "call_tool_destructive may call them, and call_tool_write those said not to be destructive",
            "require_destructive",
        ),
    };
    let have = if unannotated == 1 { "has" } else { "have" };
    format!(
        "{unannotated} of {all} tools {have} no annotations: {callers} (intent_declaration.unannotated: {rule})"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_was_told_what_may_call_tools_without_annotations() {
        use Unannotated::{AtLeastWrite, RequireDestructive, TrustAgent};
        for (unannotated, rule, expected) in [
            (0, TrustAgent, "all 40 tools have annotations"),
            (
                12,
                TrustAgent,
                "12 of 40 tools have no annotations: any variant may call them (intent_declaration.unannotated: trust_agent)",
            ),
            (
                1,
                AtLeastWrite,
                "1 of 40 tools has no annotations: call_tool_write and call_tool_destructive may call them (intent_declaration.unannotated: at_least_write)",
            ),
            (
                2,
                RequireDestructive,
                "2 of 40 tools have no annotations: call_tool_destructive may call them, and call_tool_write those said not to be destructive (intent_declaration.unannotated: require_destructive)",
            ),
        ] {
            assert_eq!(unannotated_notice(unannotated, 40, rule), expected);
        }
    }
}
