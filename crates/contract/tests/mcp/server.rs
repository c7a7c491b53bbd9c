//! The tools of the tests on stdin and stdout.

mod tools;

use mcpproxy_contract::mcp;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), mcp::ServeError> {
    mcp::serve_stdio(tools::service()).await
}
