//! What a person is told about the running gateway.

use serde_json::{Value, json};

use mcpproxy_activity::{Filter, Status};

use crate::Gateway;

impl Gateway {
    /// The state of the gateway and of every server, for `status`.
    pub async fn status(&self) -> Value {
        let activity = self.activity_status().await;
        let settings = self.settings.load();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "uptime_seconds": self.started.elapsed().as_secs(),
            "data_dir": settings.data_dir,
            "intent_declaration": {
                "mode": settings.intent_declaration.mode,
                "strict_server_validation": settings.intent_declaration.strict_server_validation,
                "unannotated": settings.intent_declaration.unannotated,
            },
            "configuration_problem": self.settings.problem(),
            "servers": self.servers.status(),
            "tools": self.servers.catalog().snapshot().tools().count(),
            "calls": self.records.counts(),
            "activity": activity,
        })
    }

    /// How the log is, and how many calls nobody saw the outcome of.
    async fn activity_status(&self) -> Value {
        let in_doubt = Filter {
            status: Some(Status::InDoubt),
            ..Filter::default()
        };
        let found = self.records.archive().count(&in_doubt).await;
        let mut health = json!(self.records.health());
        // Calls that are under way have no outcome on record either, but they will.
        let in_doubt = found
            .as_ref()
            .map(|count| count.saturating_sub(self.records.under_way()));
        health["in_doubt"] = json!(in_doubt.ok());
        if let Err(problem) = found
            && health["problem"].is_null()
        {
            health["problem"] = json!(problem.to_string());
        }
        health
    }
}
