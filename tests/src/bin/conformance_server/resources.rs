//! The resources and the template that the suite reads.

use std::sync::atomic::Ordering;

use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::state::Shared;
use crate::tools::content::RED_PIXEL;

/// The resource that changes when the tool `touch_resource` is called.
pub(crate) const WATCHED: &str = "test://watched-resource";

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const TEMPLATE: &str = "test://template/{id}/data";

/// The resources with a URI of their own.
pub(crate) fn all() -> Vec<Resource> {
    vec![
        Resource::new(TEXT, "static-text")
            .with_description("A text that never changes.")
            .with_mime_type("text/plain"),
        Resource::new(BINARY, "static-binary")
            .with_description("An image of one red pixel.")
            .with_mime_type("image/png"),
        Resource::new(WATCHED, "watched-resource")
            .with_description("A text that changes when `touch_resource` is called.")
            .with_mime_type("text/plain"),
    ]
}

/// The families of resources.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(TEMPLATE, "template")
            .with_description("Data made from the id in its URI.")
            .with_mime_type("application/json"),
    ]
}

/// The contents of a resource.
pub(crate) fn read(shared: &Shared, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let contents = match uri {
        TEXT => ResourceContents::text("This is the content of the static text resource.", uri),
        BINARY => ResourceContents::blob(RED_PIXEL, uri).with_mime_type("image/png"),
        WATCHED => {
            let revision = shared.resource_revision.load(Ordering::SeqCst);
            ResourceContents::text(format!("Watched resource, revision {revision}."), uri)
        }
        _ => {
            let Some(id) = id(uri) else {
                let data = json!({ "uri": uri });
                let message = format!("Resource not found: {uri}");
                return Err(ErrorData::resource_not_found(message, Some(data)));
            };
            ResourceContents::text(data(id), uri).with_mime_type("application/json")
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

/// The id in a URI that the template makes.
fn id(uri: &str) -> Option<&str> {
    let (before, after) = TEMPLATE.split_once("{id}")?;
    let id = uri.strip_prefix(before)?.strip_suffix(after)?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}

fn data(id: &str) -> String {
    let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
    data.to_string()
}
