//! Do the published examples hold?

use serde_json::Value;

use super::{Failures, call_examples, failed_example};
use mcpproxy_contract::Service;

/// Calls every example of every tool, those that change something included, each tool on a new
/// service, and compares the data with the published result: the same fields of the same kinds.
/// Values may differ, because moments and ids do.
pub async fn examples_hold(new_service: impl AsyncFn() -> Service) -> Result<(), Failures> {
    let mut found = Vec::new();
    let names: Vec<String> = new_service()
        .await
        .registry()
        .get_all()
        .map(|tool| tool.definition().name.clone())
        .collect();
    for name in names {
        let service = new_service().await;
        let Some(tool) = service.registry().get(&name) else {
            found.push(format!("{name}: a new service does not have it"));
            continue;
        };
        for (number, result) in call_examples(&service, tool).await {
            let example = &tool.definition().examples[number - 1];
            found.extend(failed_example(&name, number, &result));
            let Some(data) = result.data() else { continue };
            let wrong = differences(&example.expected_result, data, "data");
            found.extend(
                wrong
                    .into_iter()
                    .map(|one| format!("{name}: example {number}: {one}")),
            );
        }
    }
    Failures::none_or(found)
}

/// Places where a value is not of the kind that was published.
fn differences(published: &Value, given: &Value, path: &str) -> Vec<String> {
    match (published, given) {
        (Value::Object(published), Value::Object(given)) => {
            let missing = published
                .iter()
                .filter(|(name, _)| !given.contains_key(*name))
                .map(|(name, _)| format!("{path}.{name} is published and not given back"));
            let within = published.iter().filter_map(|(name, value)| {
                let given = given.get(name)?;
                Some(differences(value, given, &format!("{path}.{name}")))
            });
            missing.chain(within.flatten()).collect()
        }
        // The items of a list are of one kind; how many there are may differ.
        (Value::Array(published), Value::Array(given)) => {
            match (published.first(), given.first()) {
                (Some(published), Some(given)) => {
                    differences(published, given, &format!("{path}[0]"))
                }
                _ => Vec::new(),
            }
        }
        // What may be absent may be null in one of the two.
        (Value::Null, _) | (_, Value::Null) => Vec::new(),
        (published, given) if kind(published) == kind(given) => Vec::new(),
        (published, given) => vec![format!(
            "{path} is {} as published and {} as given back",
            kind(published),
            kind(given)
        )],
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_are_compared_and_values_are_not() {
        for (published, given, expected) in [
            (json!({ "a": 1 }), json!({ "a": 2, "more": true }), &[][..]),
            (
                json!({ "a": 1 }),
                json!({}),
                &["data.a is published and not given back"],
            ),
            (
                json!({ "a": [{ "b": "x" }] }),
                json!({ "a": [{ "b": 1 }] }),
                &["data.a[0].b is a text as published and a number as given back"],
            ),
            (json!({ "a": [] }), json!({ "a": [1, 2] }), &[]),
            (json!({ "a": null }), json!({ "a": 1 }), &[]),
        ] {
            assert_eq!(
                differences(&published, &given, "data"),
                expected,
                "{published} {given}"
            );
        }
    }
}
