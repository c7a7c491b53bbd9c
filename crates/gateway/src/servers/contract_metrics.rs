//! Metrics of the contract services inside this program, and of what all servers break of the contract.

use std::sync::Arc;

use mcpproxy_contract::{Rule, Service};
use mcpproxy_wire::CallResult;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::Servers;
use crate::failure::Failure;

pub use mcpproxy_contract::METRICS_FORMAT;

/// Line that ends a text of metrics.
const END: &str = "# EOF\n";

impl Servers {
    /// Counts of all tools of the contract services inside this program, and of the rules that each server broke, as
    /// `OpenMetrics` text.
    pub fn contract_metrics(&self) -> String {
        let services = Service::metrics_of(self.contract_services());
        let services = services.strip_suffix(END).unwrap_or(&services);
        [services, &violations(self.contract.counts())].concat()
    }

    /// Counts the outcome of a call that is about to be closed, where the gateway refused it for a contract service
    /// inside this program: the service never saw it. `name` is that of the server and of the tool.
    pub(crate) fn count_refusal(
        &self,
        name: Option<(&str, &str)>,
        result: &Result<CallResult, Failure>,
    ) {
        if let (Some((server, tool)), Err(failure)) = (name, result)
            && failure.is_refusal()
            && let Some((_, service)) = self.contract_services().find(|(name, _)| *name == server)
        {
            service.count_refusal(tool, failure.code.as_str());
        }
    }

    /// Contract services inside this program, by the names that they answer to. One in the file wins over a built-in
    /// one of its name.
    fn contract_services(&self) -> impl Iterator<Item = (&str, &Service)> {
        let settings = self.settings.load();
        let services = self.built_ins.iter().filter_map(|built_in| {
            let service = built_in.service.as_ref()?;
            Some((&*built_in.name, &**service))
        });
        services.filter(move |(name, _)| {
            let mut configured = settings.servers.iter();
            !configured.any(|server| *server.name == **name)
        })
    }
}

/// Metrics of violations of the contract, by server and rule. Servers are those of the configuration and rules those of
/// the contract, so nothing that anybody sends becomes a label.
fn violations(counts: Vec<(Arc<str>, Rule, u64)>) -> String {
    let family = Family::<Vec<(&'static str, String)>, Counter>::default();
    for (server, rule, count) in counts {
        let labels = vec![("server", server.to_string()), ("rule", rule.name())];
        family.get_or_create(&labels).inc_by(count);
    }
    let mut registry = Registry::default();
    let help = "Violations of the tool contract that servers announce";
    registry.register("mcp_contract_violations", help, family);
    let mut text = String::new();
    // Writing into a string does not fail.
    let _ = encode(&mut text, &registry);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_are_counted_by_server_and_rule() {
        let counts = vec![
            ("cards".into(), Rule::HintsRoi, 3),
            ("a\"b".into(), Rule::NameKept, 1),
        ];
        let text = violations(counts);
        for line in [
            "# TYPE mcp_contract_violations counter",
            r#"mcp_contract_violations_total{server="cards",rule="hints-roi"} 3"#,
            r#"mcp_contract_violations_total{server="a\"b",rule="name-kept"} 1"#,
        ] {
            assert!(text.lines().any(|one| one == line), "{line}: {text}");
        }
        assert!(text.ends_with(END), "{text}");
        assert!(violations(Vec::new()).ends_with(END));
    }
}
