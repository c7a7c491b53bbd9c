//! Description of the REST interface, made from its handlers.
//!
//! Every handler says beside its code what it takes and answers. The types that are answered
//! describe themselves, those of other servers are in `described`, as is what a handler takes and how it refuses.

use mcpproxy_gateway::failure::ErrorAnswer;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::rest::{activity, events, index, openapi, servers, status, tokens, tools};

/// Description of the REST interface.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "mcpproxy",
        description = "One safe, fast endpoint in front of every MCP server: its administration and its record of what agents did. MCP itself is at `/mcp`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    servers((url = "/", description = "Where this description came from")),
    tags(
        (name = "activity", description = "What agents did"),
        (name = "tools", description = "What agents can call"),
        (name = "servers", description = "What is behind the gateway"),
        (name = "tokens", description = "Credentials of agents"),
        (name = "gateway", description = "The gateway itself"),
    ),
    paths(
        activity::list, activity::summary, activity::export, activity::verify, activity::show, events::events,
        tools::list_tools, tools::show_tool, tools::call_tool, servers::list, servers::add, servers::show, servers::merge,
        servers::remove, servers::disable, servers::enable, servers::restart, servers::show_contract, servers::accept_contract,
        tokens::list, tokens::create, tokens::show, tokens::rotate, tokens::revoke,
        index::list, status::status, status::config, openapi::document, status::healthz, status::readyz, status::metrics,
    ),
    components(schemas(ErrorAnswer<'_>)),
    security(("api_key" = []), ("bearer" = [])),
    modifiers(&Keys),
)]
struct OpenApiDocument;

/// Both ways to send the key.
struct Keys;

impl Modify for Keys {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let about = "The key of the configuration, or of the file `api_key` in the data directory; for tools, calls, activity, events and servers also the token of an agent";
        let header = ApiKeyValue::with_description("X-API-Key", about);
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(about))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("api_key", SecurityScheme::ApiKey(ApiKey::Header(header)));
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    }
}

/// Text of the description, made from the handlers: what the file in the repository has to be.
#[expect(
    clippy::missing_panics_doc,
    reason = "plain data with text as keys can always be written"
)]
pub fn text() -> String {
    let document = OpenApiDocument::openapi().to_pretty_json();
    document.expect("a description is plain data with text as keys") + "\n"
}
