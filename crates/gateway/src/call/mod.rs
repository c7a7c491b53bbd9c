//! One call, in a straight line.
//!
//! Every face enters at [`Gateway::call`] with the same types, so none can skip a check. Reading it
//! is reading the product.

mod arguments;
mod outcome;
mod record;
mod refusal;

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpproxy_catalog::CatalogTool;
use mcpproxy_policy::{
    AccessTo, Caller, Decision, Effect, Intent, LimitKey, Operation, Permit, Rights, Rules,
    Subject, Warning, decide, may_be_proposed,
};
use mcpproxy_upstream::client::ClientLink;
use mcpproxy_upstream::{CallError, CallHead};
use mcpproxy_wire::{CallResult, Json};
use uuid::Uuid;

use self::arguments::text_warning;
pub use self::outcome::CallOutcome;
pub(crate) use self::record::{CallRecord, not_recorded, record_if_slow};
use crate::Gateway;
use crate::agent_hints::{AnsweredCall, PlacedHints, vetting};
use crate::contract_check::CONTRACT_VIOLATED;
use crate::failure::{Code, Failure};
use crate::menu;
use crate::request::{CallRequest, SHOWN_NAME, UnreadableCall, cut, is_bounded, split_name};
use crate::servers::{ReachableServer, check_permissions};

impl Gateway {
    /// Makes a call, or refuses it; either way it is on the record.
    ///
    /// Intent, tool, decision, arguments, record, upstream, what it answered, record.
    ///
    /// Boxed here, so that the way to the upstream is compiled in this crate alone and not once more
    /// in every crate that awaits a call.
    pub fn call<'a>(
        &'a self,
        request: CallRequest,
        caller: &'a Arc<Caller>,
        client: Option<&'a Arc<ClientLink>>,
    ) -> BoxFuture<'a, CallOutcome> {
        Box::pin(async move {
            let rules = self.settings.load().rules();
            let name = split_name(&request.name);
            let known = name.as_ref().ok().copied();
            let mut record =
                CallRecord::open(&self.records, &self.servers, &request, known, caller);
            let mut warnings = Vec::from_iter(text_warning(&request));
            let mut answered = None;
            let steps = async {
                let rights = &caller.rights;
                check_operation(request.variant, caller)?;
                let declared = record.declared_intent(&request, rules.mode)?;
                let name = name.map_err(|error| self.with_nearest(error, &request, rights, rules));
                let (server_name, tool) = name?;
                let server = self.servers.reachable(server_name, rights)?;
                let deadline = Instant::now() + server.settings.timeout;
                let slot = server.call_slot(caller, deadline).await;
                let slot = slot.map_err(|error| self.failed(&server, record.operation(), error))?;
                self.tokens.check(rights)?;
                let tool =
                    self.found_tool((server_name, tool), &request, rules, rights, &mut warnings)?;
                record.set_arguments(&tool, &request.arguments);
                let intent = declared.map_or_else(|| record.intent_of_tool(&tool), Ok)?;
                let permit = permitted(&intent, &tool, rules, &mut warnings)?;
                check_permissions(&tool, rights)?;
                self.admit(caller, &server, &tool)?;
                let arguments = self.sent_arguments(&tool, &request, &server, &mut warnings)?;
                if let Cow::Owned(arguments) = &arguments {
                    record.replace_arguments(&tool, arguments);
                }
                let deadline = self.hints.deadline(&tool, caller, &permit, deadline);

                record.begin_sending(deadline).await?;
                let place = server.cache_place(&tool, caller, &arguments);
                if let Some(cached) = place.as_ref().and_then(|one| one.answer(Instant::now())) {
                    let result = self.checked_answer(&tool, caller, cached, false, &mut warnings);
                    record.hide_secrets_of(&tool, &result);
                    return Ok(result);
                }
                let _changing = server.changing(&tool);
                self.tell_of_call(client, &server, caller, record.id())
                    .await;
                let (sent, mark) = (Instant::now(), server.upstream.change_mark());
                let head = CallHead {
                    caller,
                    request_id: record.request_id(),
                    announces_contract: tool.announces_contract(),
                };
                let answer = pin!(slot.call(&permit, &arguments, &head, client, deadline));
                let answer = record.answered(answer).await;
                let answer =
                    answer.map_err(|error| self.failed(&server, permit.operation(), error));
                // Cached as it came: what it suggests is vetted for whoever gets it, when it gets it.
                if let (Ok(answer), Some(place)) = (&answer, place) {
                    place.put(answer, Instant::now());
                }
                let has_changed = mark.is_followed_by_change(&server.upstream.change_mark());
                let answer = answer
                    .inspect_err(|failure| self.check_error(&tool, failure, &mut warnings))
                    .map(|one| self.checked_answer(&tool, caller, one, has_changed, &mut warnings));
                answered = AnsweredCall::of(&tool, &arguments, sent.elapsed(), &answer);
                answer.inspect(|result| record.hide_secrets_of(&tool, result))
            };
            // A panic is a bug of ours; it costs this one call and nothing else.
            let result = AssertUnwindSafe(steps).catch_unwind().await;
            let result = result.unwrap_or_else(|_| Err(incident()));
            let result = result.map_err(|failure| self.refusal(failure, &request, &record));
            log_warnings(&warnings, &request.name, record.request_id());
            self.servers.count_refusal(known, &result);
            let outcome = record.close(result, warnings).await;
            // What is learned of this call counts for how sure the hints of its failure are.
            let hints = self.hints_after(&outcome, answered.as_ref(), caller);
            let outcome = self.completed(outcome, &request.name, caller).await;
            CallOutcome { hints, ..outcome }
        })
    }

    /// Refuses a call through a variant whose arguments could not be read; it is on record with what could.
    pub fn refuse_call<'a>(
        &'a self,
        call: Box<UnreadableCall>,
        caller: &Arc<Caller>,
    ) -> BoxFuture<'a, CallOutcome> {
        let record = CallRecord::open_unreadable(&self.records, &call, caller);
        // What the caller lacks comes first: the variant is not in its menu, and so its parameters are none either.
        let refused = Err(match check_operation(Some(call.variant), caller) {
            Err(failure) => failure.with("variant", call.variant.variant()),
            Ok(()) => self.with_menu_schema(call.failure, Some(call.variant)),
        });
        let (name, caller) = (call.name.unwrap_or_default(), Arc::clone(caller));
        self.servers.count_refusal(split_name(&name).ok(), &refused);
        Box::pin(async move {
            let outcome = record.close(refused, Vec::new()).await;
            self.completed(outcome, &name, &caller).await
        })
    }

    /// Refuses a call of a tool that the menu does not have; it is on record under the name that it was called by.
    pub fn refuse_unknown<'a>(
        &'a self,
        name: &str,
        arguments: &Json,
        caller: &Arc<Caller>,
    ) -> BoxFuture<'a, CallOutcome> {
        let record = CallRecord::begin(&self.records, None, caller);
        let record = record.about(None, &cut(name, SHOWN_NAME));
        let record = record.with_arguments_size(arguments.text().len());
        let message = menu::unknown_tool(name, &caller.rights);
        let failure = Failure::new(Code::UnknownTool, message);
        Box::pin(record.close(Err(failure), Vec::new()))
    }

    /// Refuses a call that says no tool or no variant; it is on record under a name that says as much of it as is known.
    pub fn refuse_unread<'a>(
        &'a self,
        name: &str,
        size: usize,
        failure: Failure,
        caller: &Arc<Caller>,
    ) -> BoxFuture<'a, CallOutcome> {
        let record = CallRecord::begin(&self.records, None, caller).with_arguments_size(size);
        let record = match split_name(name) {
            Ok((server, tool)) if is_bounded(name) => record.about(Some(server), tool),
            _ => record.about(None, &cut(name, SHOWN_NAME)),
        };
        Box::pin(record.close(Err(failure), Vec::new()))
    }

    /// Refusal of a name that cannot be split, with the tools that are near it.
    fn with_nearest(
        &self,
        failure: Failure,
        request: &CallRequest,
        rights: &Rights,
        rules: Rules,
    ) -> Failure {
        let may_be_meant = |tool: &CatalogTool| may_be_meant(tool, request, rules);
        self.servers
            .with_nearest_tools(failure, &request.name, rights, may_be_meant)
    }

    /// Failure of a call that a server did not answer.
    fn failed(&self, server: &ReachableServer, operation: Operation, error: CallError) -> Failure {
        let name = server.upstream.name();
        self.servers.failure_of(name, operation, error)
    }

    /// Tells the link to the client which call comes next, for what its server may ask meanwhile.
    async fn tell_of_call(
        &self,
        client: Option<&Arc<ClientLink>>,
        server: &ReachableServer,
        caller: &Arc<Caller>,
        record: Uuid,
    ) {
        if let Some(client) = client {
            let name = server.upstream.name();
            self.records.begin_call(client, name, caller, record).await;
        }
    }

    /// Failure with the tool and the variant that were called.
    fn refusal(&self, failure: Failure, request: &CallRequest, record: &CallRecord) -> Failure {
        let failure = failure
            .with("tool", request.name.as_str())
            .with("variant", record.operation().variant());
        self.with_menu_schema(failure, request.variant)
    }

    /// Agent hints of what was learned from this call and those before.
    fn hints_after(
        &self,
        outcome: &CallOutcome,
        answered: Option<&AnsweredCall>,
        caller: &Caller,
    ) -> Option<PlacedHints> {
        let place = self.settings.load().hints.proxied;
        let catalog = self.servers.catalog();
        self.hints
            .after(answered?, caller, &outcome.result, place, catalog)
    }

    /// Adds the schema of the variant, where it is the variant's own arguments that are wrong.
    fn with_menu_schema(&self, failure: Failure, variant: Option<Operation>) -> Failure {
        let Some(variant) = variant else {
            return failure;
        };
        failure.with_menu_schema(variant.variant(), self.settings.load().rules().mode)
    }

    /// Warning of a tool that is going to be removed, to a caller with these rights.
    fn deprecation_warning(&self, tool: &CatalogTool, rights: &Rights) -> Option<Warning> {
        tool.deprecation()?;
        let snapshot = self.servers.catalog().snapshot();
        let deprecation = snapshot.deprecation_for(tool, rights)?;
        Some(deprecation.warning(tool.server(), tool.name()))
    }

    /// Counts a call of a tool that has a rate limit; refuses it if it is one too many.
    fn admit(
        &self,
        caller: &Caller,
        server: &ReachableServer,
        tool: &CatalogTool,
    ) -> Result<(), Failure> {
        let Some(limit) = server.rate_limit(tool) else {
            return Ok(());
        };
        let tool = tool.qualified();
        let key: (LimitKey, String) = (caller.limit_key(), tool.to_owned());
        let (most, now) = (limit.max_calls, Instant::now());
        let admitted = self.rates.admit(key, most, limit.window, now);
        admitted.map_err(|wait| {
            let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
            let message = format!("Tool '{tool}' was called too often, try again in {wait} ms");
            Failure::new(Code::RateLimited, message).with("retry_after_ms", wait)
        })
    }

    /// Warns of an error of the protocol, where a tool of the contract answered with one.
    fn check_error(&self, tool: &CatalogTool, failure: &Failure, warnings: &mut Vec<Warning>) {
        if let Some(error) = failure.rpc_error().filter(|_| tool.announces_contract()) {
            self.servers.contract().check_error(tool, error, warnings);
        }
    }

    /// Tool that a caller may use, with warnings of its end: that it is going to be removed, that its server still offers
    /// it although the day of its removal has come, or no more although callers rely on it.
    fn found_tool(
        &self,
        (server, tool): (&str, &str),
        request: &CallRequest,
        rules: Rules,
        rights: &Rights,
        warnings: &mut Vec<Warning>,
    ) -> Result<Arc<CatalogTool>, Failure> {
        let may_be_meant = |tool: &CatalogTool| may_be_meant(tool, request, rules);
        let found = self
            .servers
            .tool_or_near(server, tool, rights, may_be_meant);
        match &found {
            Ok(entry) => {
                warnings.extend(self.deprecation_warning(entry, rights));
                if !entry.announces_contract() {
                    self.servers.contract().check_kept(server, tool, warnings);
                }
            }
            Err(failure) if failure.code == Code::UnknownTool => {
                self.warn_of_lost(server, tool, rights, warnings);
            }
            Err(failure) if failure.code == Code::ToolRemoved => {
                let snapshot = self.servers.catalog().snapshot();
                if let Some(entry) = snapshot.find(server, tool) {
                    self.servers.contract().check_removed(entry, warnings);
                }
            }
            Err(_) => {}
        }
        found
    }

    /// Warns a caller with these rights of a tool that is not there, if its server published it.
    pub(crate) fn warn_of_lost(
        &self,
        server: &str,
        tool: &str,
        rights: &Rights,
        warnings: &mut Vec<Warning>,
    ) {
        // Nobody knows any more what it did, so only who may do everything may know that there was one.
        let is_within = rights.allow(AccessTo::Tool {
            server,
            qualified: &format!("{server}:{tool}"),
            effect: Effect::Destructive,
        });
        let snapshot = self.servers.catalog().snapshot();
        if is_within && snapshot.find(server, tool).is_none() {
            self.servers.contract().check_kept(server, tool, warnings);
        }
    }

    /// Answer of a server as it is passed on. From one that announces the tool contract its hints are vetted, and what
    /// breaks the contract is warned of; the answers of all others stay as they are.
    fn checked_answer(
        &self,
        tool: &CatalogTool,
        caller: &Caller,
        answer: CallResult,
        has_changed: bool,
        warnings: &mut Vec<Warning>,
    ) -> CallResult {
        if !tool.announces_contract() || answer.asks_for_input() {
            return answer;
        }
        let contract = self.servers.contract();
        let hints = contract.check_answer(tool, &answer, has_changed, warnings);
        let catalog = self.servers.catalog().snapshot();
        let (server, rights) = (tool.server(), &caller.rights);
        if self.servers.is_built_in(server) {
            return vetting::vetted_own(answer, hints, server, &catalog, rights);
        }
        let (answer, warning) = vetting::vetted(answer, hints, server, &catalog, rights);
        warnings.extend(warning);
        answer
    }
}

/// Refuses a variant whose operation the caller lacks, before anything is looked up for it.
fn check_operation(variant: Option<Operation>, caller: &Caller) -> Result<(), Failure> {
    let lacks = |variant: &Operation| !caller.rights.allow(AccessTo::Operation(*variant));
    let Some(variant) = variant.filter(lacks) else {
        return Ok(());
    };
    let who = match caller.rights.token() {
        Some(token) => format!("the token '{}'", token.name),
        None => "a caller without a token".to_owned(),
    };
    let message = format!(
        "{} needs the operation '{variant}', which {who} does not have; a person can make a token with it",
        variant.variant()
    );
    Err(Failure::new(Code::Forbidden, message).with("operation", variant.as_str()))
}

/// Tells the log what the caller is warned of. What breaks the tool contract is told there once, and not with each call.
fn log_warnings(warnings: &[Warning], tool: &str, request_id: Uuid) {
    let of_this_call = warnings.iter().filter(|one| one.code != CONTRACT_VIOLATED);
    for Warning { code, message } in of_this_call {
        tracing::warn!(tool, %request_id, "{code}: {message}");
    }
}

/// Permit of a call, where the decision allows it; what it warns of is added.
fn permitted(
    intent: &Intent,
    tool: &CatalogTool,
    rules: Rules,
    warnings: &mut Vec<Warning>,
) -> Result<Permit, Failure> {
    match decide(intent, &subject(tool), rules) {
        Decision::Allow(permit, notes) => {
            warnings.extend(notes);
            Ok(permit)
        }
        Decision::Deny(denial) => Err(denial.into()),
    }
}

/// Whether a tool may be proposed for one that does not exist: through the menu only what the variant could call.
fn may_be_meant(tool: &CatalogTool, request: &CallRequest, rules: Rules) -> bool {
    let variant = request.variant;
    variant.is_none_or(|variant| may_be_proposed(variant, &subject(tool), rules))
}

/// Tool as a decision looks at it.
fn subject(tool: &CatalogTool) -> Subject<'_> {
    Subject {
        server: tool.server(),
        tool: tool.name(),
        description: &tool.tool().description,
        annotations: tool.annotations(),
    }
}

/// Failure of our side. The panic itself is in the log, just before this.
fn incident() -> Failure {
    let id = Uuid::now_v7();
    tracing::error!(incident = %id, "a call ended in a panic");
    let message = format!("The gateway failed inside; its log has the cause under incident {id}");
    Failure::new(Code::Internal, message).with("incident", id.to_string())
}
