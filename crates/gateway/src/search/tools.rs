//! Tools as the REST interface and the command line show them.

use std::sync::Arc;

use mcpproxy_catalog::deprecation::ShownDeprecation;
use mcpproxy_catalog::{Availability, CatalogTool, Hit, SearchQuery, Snapshot, present};
use mcpproxy_policy::{AccessTo, Rights};
use mcpproxy_wire::Json;
use serde_json::{Value, json};

use super::Search;
use crate::failure::Failure;
use crate::servers::FailedServer;

/// Most tools that a search of a person returns.
const SHOWN: usize = 50;

/// Request for a list of tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolListRequest<'a> {
    /// Query for what the tools should do; all tools without it.
    pub query: Option<&'a str>,
    /// The only server whose tools are wanted.
    pub server: Option<&'a str>,
    /// Whether each tool that a search finds comes with the reasons for its score.
    pub explain: bool,
}

impl Search {
    /// Tools that match a query, or all of them, of those that a caller with these rights may use; optionally of one
    /// server.
    pub async fn list_tools(
        &self,
        request: ToolListRequest<'_>,
        rights: &Rights,
    ) -> Result<Value, Failure> {
        let server = request.server;
        if let Some(server) = server {
            self.servers.check_known(server, rights)?;
        }
        let Some(text) = request.query else {
            let snapshot = self.servers.catalog().snapshot();
            let tools = snapshot.tools();
            // A person sees what is switched off, an agent what it can call.
            let is_person = rights.allow(AccessTo::Administration);
            let tools = tools.filter(|tool| {
                server.is_none_or(|server| **tool.server() == *server)
                    && tool.is_within(rights)
                    && (is_person || tool.is_callable())
            });
            let tools = tools.map(|tool| row(&snapshot, tool, None, rights));
            let tools: Vec<Value> = tools.collect();
            let mut answer = json!({ "total": tools.len(), "tools": tools });
            let (starting, failed) = self.servers.missing(rights, server);
            put_missing(&mut answer, &starting, &failed);
            return Ok(answer);
        };
        let query = SearchQuery {
            server,
            rights,
            explain: request.explain,
            ..SearchQuery::new(text, SHOWN)
        };
        let searched = self.search(query).await;
        let hits = searched.found.hits.iter();
        let tools = hits.map(|hit| row(&searched.snapshot, &hit.tool, Some(hit), rights));
        let tools: Vec<Value> = tools.collect();
        let mut answer = json!({
            "query": text, "total": searched.found.total, "search": searched.mode, "tools": tools,
        });
        if let Some(notice) = searched.notice(rights) {
            answer["notice"] = json!(notice);
        }
        let (_, failed) = self.servers.missing(rights, server);
        put_missing(&mut answer, &searched.starting, &failed);
        Ok(answer)
    }

    /// One tool, whole.
    pub fn show_tool(&self, name: &str, rights: &Rights) -> Result<Value, Failure> {
        let (server, tool) = self.servers.split_name(name, rights)?;
        let snapshot = self.servers.catalog().snapshot();
        // A person may look at a tool that is switched off, but not at one that is withheld.
        let entry = match snapshot.find(server, tool) {
            Some(entry)
                if entry.availability() != Availability::ServerQuarantined
                    && rights.allow(AccessTo::Administration) =>
            {
                Arc::clone(entry)
            }
            _ => self.servers.tool(server, tool, rights)?,
        };
        let deprecation = snapshot.deprecation_for(&entry, rights);
        let mut shown = json!(present::described(&entry, deprecation.as_ref()));
        let own = entry.tool().raw_annotations.as_ref();
        if entry.shown_annotations().map(Json::text) != own.map(Json::text) {
            // The operator has the last word on calls; what the server itself says is still to be seen.
            shown["server_annotations"] = own.map_or_else(|| json!({}), Json::to_value);
        }
        shown["class"] = json!(entry.effect().as_str());
        shown["status"] = json!(status_word(entry.availability()));
        Ok(shown)
    }
}

/// Names the servers without which the answer is not whole.
fn put_missing(answer: &mut Value, starting: &[String], failed: &[FailedServer]) {
    // One that failed and is tried again is named once.
    let is_first = |name: &&String| failed.iter().all(|one| one.server != **name);
    let starting: Vec<&String> = starting.iter().filter(is_first).collect();
    if !starting.is_empty() {
        answer["starting"] = json!(starting);
    }
    if !failed.is_empty() {
        answer["failed"] = json!(failed);
    }
}

fn row(snapshot: &Snapshot, entry: &CatalogTool, hit: Option<&Hit>, rights: &Rights) -> Value {
    let mut row = json!({
        "name": entry.qualified(),
        "server": entry.server(),
        "class": entry.effect().as_str(),
        "call_with": entry.call_with().variant(),
        "status": status_word(entry.availability()),
        "summary": present::summary(&entry.tool().description),
    });
    if let Some(announced) = snapshot.deprecation_for(entry, rights) {
        row["deprecated"] = json!(ShownDeprecation::of(&announced, entry.server()));
    }
    if let Some(hit) = hit {
        row["score"] = json!(present::rounded(hit.score));
        if let Some(explanation) = &hit.explanation {
            row["explanation"] = json!(explanation);
        }
    }
    row
}

/// Whether a tool can be called, in a word for people.
fn status_word(availability: Availability) -> &'static str {
    match availability {
        Availability::Callable => "callable",
        Availability::ToolDisabled => "disabled",
        Availability::ToolRemoved => "removed",
        Availability::ServerDisabled => "server disabled",
        Availability::ServerBroken => "server failed",
        Availability::ServerQuarantined => "quarantined",
    }
}
