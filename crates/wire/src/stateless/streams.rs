//! Streams of changes.

use serde::Serialize;
use serde_json::Value;

use crate::initialize;
use crate::json::{JsonText, to_text};
use crate::method::SUBSCRIPTION_ACKNOWLEDGED;
use crate::rpc::{Id, notification};

/// Parameters of a message on a stream, or the result that ends one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StreamMessage<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(rename = "_meta")]
    meta: StreamMeta<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notifications: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
}

#[derive(Serialize)]
struct StreamMeta<'a> {
    // Names of `meta::SUBSCRIPTION_ID` and `meta::SERVER_INFO`; an attribute takes no constant.
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    subscription_id: JsonText<'a>,
    #[serde(
        rename = "io.modelcontextprotocol/serverInfo",
        skip_serializing_if = "Option::is_none"
    )]
    server_info: Option<Value>,
}

/// Notification that opens a stream of changes, with the kinds of changes that are sent on it.
pub fn subscription_opened(id: Id<'_>, promised: &Value) -> String {
    let mut params = StreamMessage::of(id);
    params.notifications = Some(promised);
    notification(SUBSCRIPTION_ACKNOWLEDGED, &to_text(&params))
}

/// Notification on a stream of changes; of a resource it names the address.
pub fn stream_notification(id: Id<'_>, method: &str, uri: Option<&str>) -> String {
    let mut params = StreamMessage::of(id);
    params.uri = uri;
    notification(method, &to_text(&params))
}

/// Result that ends a stream of changes in order.
pub fn subscription_ended(id: Id<'_>, version: &str) -> String {
    let mut result = StreamMessage::of(id);
    result.result_type = Some("complete");
    result.meta.server_info = Some(initialize::server_info(version));
    to_text(&result)
}

impl<'a> StreamMessage<'a> {
    fn of(id: Id<'a>) -> Self {
        Self {
            result_type: None,
            meta: StreamMeta {
                subscription_id: JsonText(id.text()),
                server_info: None,
            },
            notifications: None,
            uri: None,
        }
    }
}
