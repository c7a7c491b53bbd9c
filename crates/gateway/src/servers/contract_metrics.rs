//! Metrics of the contract services inside this program.

use mcpproxy_contract::Service;
use mcpproxy_wire::CallResult;

use super::Servers;
use crate::failure::Failure;

pub use mcpproxy_contract::METRICS_FORMAT;

impl Servers {
    /// Counts of all tools of the contract services inside this program, as `OpenMetrics` text.
    pub fn contract_metrics(&self) -> String {
        Service::metrics_of(self.contract_services())
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
