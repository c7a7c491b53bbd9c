//! Log messages to the client, as far as it wants them.
#![expect(
    deprecated,
    reason = "logging goes away with a later revision, and is part of these"
)]

use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::service::RequestContext;
use serde_json::Value;

use crate::ask::is_stateless;
use crate::state::Session;

pub(crate) type Level = LoggingLevel;

/// Sends a message of the level `info` with the answer to a request, unless the client does not want that level. In a
/// session it gets everything until it sets a level; without one it gets what the request asks for, by default nothing.
pub(crate) async fn info(context: &RequestContext<RoleServer>, session: &Session, text: &str) {
    let least = if is_stateless(context) {
        context.meta.log_level()
    } else {
        Some(session.level().unwrap_or(LoggingLevel::Debug))
    };
    let wanted = matches!(least, Some(LoggingLevel::Debug | LoggingLevel::Info));
    if wanted {
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, Value::from(text))
            .with_logger("conformance-server");
        // A client that has gone does not need it.
        let _ = context.peer.notify_logging_message(message).await;
    }
}
