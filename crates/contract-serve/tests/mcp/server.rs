//! The tools of the tests on stdin and stdout.

mod tools;

use mcpproxy_contract_serve::{ServeError, serve_stdio};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ServeError> {
    serve_stdio(tools::service()).await
}
