use std::borrow::Cow;

use rmcp::handler::server::router::Router;
use rmcp::handler::server::router::tool::{SyncTool, ToolBase, ToolRouter};
use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::{ErrorData, ServerHandler, ServiceExt, transport::stdio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Default, Deserialize, JsonSchema)]
struct Text {
    /// A text in English or German.
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Language {
    code: String,
}

struct LanguageServer;

impl ServerHandler for LanguageServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

struct DetectLanguage;

impl ToolBase for DetectLanguage {
    type Parameter = Text;
    type Output = Language;
    type Error = ErrorData;

    fn name() -> Cow<'static, str> {
        "detect-language".into()
    }

    fn description() -> Option<Cow<'static, str>> {
        Some("Tells whether a text is English or German".into())
    }
}

impl SyncTool<LanguageServer> for DetectLanguage {
    fn invoke(_: &LanguageServer, params: Text) -> Result<Language, ErrorData> {
        let words = params.text.split_whitespace();
        let count = |list: &[&str]| words.clone().filter(|word| list.contains(word)).count();
        let (en, de) = (count(&["the", "and", "is"]), count(&["der", "und", "ist"]));
        let code = if en > de { "en" } else { "de" };
        Ok(Language { code: code.into() })
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let tools = ToolRouter::new().with_sync_tool::<DetectLanguage>();
    let server = Router::new(LanguageServer).with_tools(tools);
    server.serve(stdio()).await?.waiting().await?;
    Ok(())
}
