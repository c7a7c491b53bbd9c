//! The test suite of JSON Schema, which others wrote.

use mcpproxy_schema::{Schema, Verdict};
use serde_json::{Value, json};

/// Reasons for which schemas of the suite are not used: they are about more than one document.
const UNUSABLE: [&str; 3] = [
    "only parts of the schema itself can be referred to",
    "it is written in a language other than JSON Schema",
    "a part of it has an `$id` of its own",
];

/// Judges all values of a draft's tests. `judged` is the least number of them, `unusable` the most schemas that may
/// be left out.
fn judge(draft: &str, suite: &str, judged: usize, unusable: usize) {
    let suite: Value = serde_json::from_str(suite).expect("JSON");
    let (mut wrong, mut count, mut left_out) = (Vec::new(), 0, 0);
    for group in suite
        .as_object()
        .expect("an object")
        .values()
        .flat_map(list)
    {
        let mut schema = group["schema"].clone();
        if let Value::Object(fields) = &mut schema {
            fields.entry("$schema").or_insert_with(|| json!(draft));
        }
        let schema = match Schema::compile(&schema) {
            Ok(schema) => schema,
            Err(reason) => {
                let is_known = UNUSABLE.iter().any(|known| reason.contains(known));
                assert!(is_known, "{}: {reason}", group["description"]);
                left_out += 1;
                continue;
            }
        };
        for test in list(&group["tests"]) {
            count += 1;
            let value = &test["data"];
            let is_valid = test["valid"] == true;
            let is_right = (schema.check(value) == Verdict::Valid) == is_valid
                && schema.mismatches(value, 50).is_empty() == is_valid;
            if !is_right {
                wrong.push(format!("{}: {}", group["description"], test["description"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(
        count >= judged && left_out <= unusable,
        "{count} {left_out}"
    );
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[test]
fn draft_2020_12() {
    let draft = "https://json-schema.org/draft/2020-12/schema";
    judge(draft, include_str!("suite/draft2020-12.json"), 1_140, 40);
}

#[test]
fn draft_7() {
    let draft = "http://json-schema.org/draft-07/schema#";
    judge(draft, include_str!("suite/draft7.json"), 850, 20);
}
