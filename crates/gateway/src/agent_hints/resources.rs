//! Resources that a call named: in the content of its result, or as its `uri`.

use mcpproxy_contract::agent_hints::{RelatedResource, Share};
use mcpproxy_wire::CallResult;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Most resources that are named: those of a listing belong into the result itself.
const MOST_RESOURCES: usize = 10;

/// Size above which results are not looked through: it would take longer than the hint is worth.
const LARGEST_RESULT: usize = 64 * 1024;

/// Length of the longest address and label that are passed on, in characters.
const LONGEST_TEXT: usize = 1_000;

/// Text that every block that names a resource has in it.
const MARK: &[u8] = b"\"resource";

/// Block of the content that names a resource.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResourceBlock {
    ResourceLink(NamedResource),
    Resource { resource: NamedResource },
}

/// Address and labels of a resource, whatever a server sends in their place.
#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedResource {
    uri: Value,
    title: Value,
    name: Value,
}

/// Address that a call was given, if it was given one.
pub(super) fn requested(arguments: &Value) -> Option<String> {
    let address = arguments.get("uri")?.as_str()?;
    is_address(address).then(|| address.to_owned())
}

/// Resources that a call has to do with; those of its result first.
pub(super) fn named(result: &CallResult, requested: Option<&str>) -> Vec<RelatedResource> {
    let mut found = of_content(result);
    if let Some(address) = requested {
        found.push((address.to_owned(), None));
    }
    let mut resources: Vec<RelatedResource> = Vec::new();
    for (address, label) in &found {
        let is_named = resources.iter().any(|named| named.id == *address);
        if !is_named && resources.len() < MOST_RESOURCES {
            let label = label.as_ref().unwrap_or(address);
            resources.push(RelatedResource::new("resource", address, label, Share::ALL));
        }
    }
    resources
}

/// Addresses and labels in the resource blocks and resource links of the content.
fn of_content(result: &CallResult) -> Vec<(String, Option<String>)> {
    let text = result.json().text().as_bytes();
    if text.len() > LARGEST_RESULT || memchr::memmem::find(text, MARK).is_none() {
        return Vec::new();
    }
    let fields = result.json().fields().unwrap_or_default();
    let blocks = fields
        .given("content")
        .and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok())
        .unwrap_or_default();
    blocks.into_iter().filter_map(of_block).collect()
}

fn of_block(block: &RawValue) -> Option<(String, Option<String>)> {
    let named = match serde_json::from_str(block.get()).ok()? {
        ResourceBlock::ResourceLink(named) => named,
        ResourceBlock::Resource { resource } => resource,
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let address = text(&named.uri).filter(|address| is_address(address))?;
    let label = text(&named.title).or_else(|| text(&named.name));
    let label = label.filter(|label| !label.is_empty() && is_short(label));
    Some((address, label))
}

/// Whether a text is an address at all: it has a scheme.
fn is_address(text: &str) -> bool {
    is_short(text)
        && text
            .split_once(':')
            .is_some_and(|(scheme, _)| !scheme.is_empty())
}

fn is_short(text: &str) -> bool {
    text.len() <= LONGEST_TEXT || text.chars().count() <= LONGEST_TEXT
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::Json;
    use serde_json::json;

    use super::*;

    fn check(result: &Value, requested: Option<&str>, expected: &[(&str, &str)]) {
        let result = CallResult::parse(Json::of(result)).unwrap();
        let found: Vec<Value> = named(&result, requested)
            .iter()
            .map(|resource| json!(resource))
            .collect();
        let expected: Vec<Value> = expected
            .iter()
            .map(|(id, label)| {
                json!({ "type": "resource", "id": id, "label": label, "relevance": 1.0 })
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn links_and_embedded_resources_are_named_once() {
        let content = json!([
            { "type": "text", "text": "\"resource\" file:///not-this" },
            { "type": "resource_link", "uri": "file:///a", "name": "a", "title": "The A" },
            { "type": "resource", "resource": { "uri": "file:///b", "text": "…" } },
            { "type": "resource_link", "uri": "file:///a", "name": "again" },
            { "type": "resource_link", "uri": "no address", "name": "x" },
            { "type": "resource_link", "name": "x" },
            { "type": "resource" },
            7,
        ]);
        check(
            &json!({ "content": content }),
            Some("file:///c"),
            &[
                ("file:///a", "The A"),
                ("file:///b", "file:///b"),
                ("file:///c", "file:///c"),
            ],
        );
        check(&json!({ "content": "resource" }), None, &[]);
        check(&json!({}), Some("file:///c"), &[("file:///c", "file:///c")]);
    }

    #[test]
    fn a_listing_is_not_repeated() {
        let link = |number: usize| json!({ "type": "resource_link", "uri": format!("x:{number}"), "name": "n" });
        let content: Vec<Value> = (0..MOST_RESOURCES + 5).map(link).collect();
        let result = CallResult::parse(Json::of(&json!({ "content": content }))).unwrap();
        assert_eq!(named(&result, Some("x:y")).len(), MOST_RESOURCES);
        let large =
            json!({ "content": [link(1), { "type": "text", "text": "x".repeat(LARGEST_RESULT) }] });
        check(&large, None, &[]);
    }

    #[test]
    fn the_address_a_call_was_given_is_a_resource() {
        let table = [
            (json!({ "uri": "file:///a" }), Some("file:///a")),
            (json!({ "uri": "a" }), None),
            (json!({ "uri": 7 }), None),
            (json!({ "path": "file:///a" }), None),
            (
                json!({ "uri": format!("x:{}", "y".repeat(LONGEST_TEXT)) }),
                None,
            ),
        ];
        for (arguments, expected) in table {
            assert_eq!(requested(&arguments).as_deref(), expected, "{arguments}");
        }
    }
}
