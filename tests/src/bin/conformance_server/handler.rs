//! What the SDK asks of the server, handed on to where it is answered.
#![expect(
    deprecated,
    reason = "what goes away with a later revision is part of these"
)]

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, DiscoverResult,
    ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig,
    SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{Peer, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::ask::{Dialogue, Stop, is_stateless};
use crate::state::{Change, Session, Shared};
use crate::{Protocol, prompts, resources, tools};

/// One session, or one request without a session.
#[derive(Clone)]
pub(crate) struct Fixture {
    pub(crate) shared: Arc<Shared>,
    pub(crate) session: Arc<Session>,
}

impl Fixture {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
            session: Arc::default(),
        }
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let this_server = Implementation::new("conformance-server", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(this_server)
            .with_instructions("Everything that the conformance suite asks for.")
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        match self.shared.protocol {
            Protocol::Both => Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS),
            Protocol::Session => {
                let known = ProtocolVersion::KNOWN_VERSIONS.iter();
                known
                    .filter(|version| version.has_initialize())
                    .cloned()
                    .collect()
            }
            Protocol::Stateless => Cow::Borrowed(&[ProtocolVersion::V_2026_07_28]),
        }
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.negotiate_initialize(&request)?;
        let changes = self.shared.changes.subscribe();
        tokio::spawn(tell(
            context.peer.clone(),
            Arc::clone(&self.session),
            changes,
        ));
        context.peer.set_peer_info(request);
        Ok(result)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_stateless(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.session.set_level(request.level);
        Ok(())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all(&self.shared)
            .into_iter()
            .find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all(&self.shared)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = tools::Call {
            session: &self.session,
            arguments: request.arguments.unwrap_or_default(),
            dialogue: Dialogue {
                shared: &self.shared,
                context: &context,
                owner: &request.name,
                responses: request.input_responses,
                state: request.request_state,
            },
        };
        match tools::run(&call).await {
            Ok(result) => Ok(result.into()),
            Err(Stop::Needed(needed)) => Ok((*needed).into()),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::all(
            &self.shared,
        )))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let dialogue = Dialogue {
            shared: &self.shared,
            context: &context,
            owner: &request.name,
            responses: request.input_responses,
            state: request.request_state,
        };
        match prompts::get(&dialogue, &request.arguments.unwrap_or_default()).await {
            Ok(result) => Ok(result.into()),
            Err(Stop::Needed(needed)) => Ok((*needed).into()),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        prompts::complete(&request)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::all()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = resources::templates();
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&self.shared, &request.uri).map(Into::into)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        resources::read(&self.shared, &request.uri)?;
        self.session.watch(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session.unwatch(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.session
            .open_subscription(self.shared.changes.subscribe());
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let opened = self.session.opened_subscription();
        let mut changes = opened.unwrap_or_else(|| self.shared.changes.subscribe());
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            let change = match change {
                Ok(change) => change,
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => return Ok(()),
            };
            let accepted = context.accepted();
            let sink = context.sink();
            let sent = match change {
                Change::Tools if accepted.tools_list_changed == Some(true) => {
                    sink.notify_tool_list_changed().await
                }
                Change::Prompts if accepted.prompts_list_changed == Some(true) => {
                    sink.notify_prompt_list_changed().await
                }
                Change::Resource(uri)
                    if accepted
                        .resource_subscriptions
                        .iter()
                        .flatten()
                        .any(|one| *one == uri) =>
                {
                    sink.notify_resource_updated(uri).await
                }
                _ => Ok(()),
            };
            if sent.is_err() {
                return Ok(());
            }
        }
    }
}

/// Tells a session of changes until its client is gone.
async fn tell(peer: Peer<RoleServer>, session: Arc<Session>, mut changes: Receiver<Change>) {
    while !peer.is_transport_closed() {
        let change = match changes.recv().await {
            Ok(change) => change,
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let told = match change {
            Change::Tools => peer.notify_tool_list_changed().await,
            Change::Prompts => peer.notify_prompt_list_changed().await,
            Change::Resource(uri) if session.watches(&uri) => {
                let update = ResourceUpdatedNotificationParam::new(uri);
                peer.notify_resource_updated(update).await
            }
            Change::Resource(_) => Ok(()),
        };
        if told.is_err() {
            return;
        }
    }
}
