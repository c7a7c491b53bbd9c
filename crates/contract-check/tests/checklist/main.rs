//! The verification checklist of the contract, line by line, and what must never and must always
//! be. Each test has the name of its line. What a type refuses is in `refused/` of the contract, and is named here.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod lines;
mod never_and_always;
#[path = "../../../contract/tests/sample/mod.rs"]
mod sample;
mod support;

use mcpproxy_contract::prelude::*;
use mcpproxy_contract_check::checklist::{self, ServiceEvidence};
use mcpproxy_contract_check::testing;
use sample::*;
use support::*;

/// The day of the check.
fn today() -> jiff::civil::Date {
    jiff::Zoned::now().date()
}

/// Every line of the checklist that is decided by what is published holds for our tools, so that a
/// test below which breaks one line shows that line and not another.
#[tokio::test]
async fn the_sample_keeps_every_line() {
    testing::conforms(&service(), async || String::new())
        .await
        .unwrap();
    let service = service();
    let mut seen = Vec::new();
    for tool in service.registry().get_all() {
        let name = &tool.definition().name;
        seen.push((name.clone(), call(&service, name).await.to_json()));
        let refused = service.call(name, json!({}), &agent()).await;
        seen.push((name.clone(), refused.to_json()));
    }
    let evidence = ServiceEvidence {
        results: &seen,
        ..ServiceEvidence::none(today())
    };
    let report = checklist::report(&published(), &evidence);
    assert!(report.conforms(), "{report:#?}");
    assert!(report.tools.iter().all(|tool| tool.lines.len() == 29));
}
