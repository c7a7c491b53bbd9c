//! Streams of changes.

use serde_json::Value;

use crate::initialize;
use crate::meta::{SERVER_INFO, SUBSCRIPTION_ID};
use crate::method::SUBSCRIPTION_ACKNOWLEDGED;
use crate::rpc::{Id, notification};

/// Notification that opens a stream of changes, with what will be told on it.
pub fn subscription_opened(id: Id<'_>, promised: &Value) -> String {
    notification(
        SUBSCRIPTION_ACKNOWLEDGED,
        &format!(
            r#"{{"_meta":{{"{SUBSCRIPTION_ID}":{}}},"notifications":{promised}}}"#,
            id.text()
        ),
    )
}

/// Notification on a stream of changes; of a resource it names the address.
pub fn stream_notification(id: Id<'_>, method: &str, uri: Option<&str>) -> String {
    let uri = uri.map_or_else(String::new, |uri| format!(r#","uri":{}"#, Value::from(uri)));
    let params = format!(r#"{{"_meta":{{"{SUBSCRIPTION_ID}":{}}}{uri}}}"#, id.text());
    notification(method, &params)
}

/// The result that ends a stream of changes in order.
pub fn subscription_ended(id: Id<'_>, version: &str) -> String {
    let server_info = initialize::server_info(version);
    format!(
        r#"{{"resultType":"complete","_meta":{{"{SUBSCRIPTION_ID}":{},"{SERVER_INFO}":{server_info}}}}}"#,
        id.text()
    )
}
