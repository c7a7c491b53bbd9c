//! What is published of nested parameters, and which arguments it refuses.

use std::collections::BTreeMap;

use garde::Validate;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::params::parse;
use super::super::schema_of;
use super::{close, open_objects};

#[derive(Debug, Serialize, Deserialize, JsonSchema, Validate)]
struct Search {
    /// When.
    #[serde(default)]
    #[garde(dive)]
    due: Range,
    /// When it was made.
    #[garde(dive)]
    made: Option<Range>,
    /// Several.
    #[serde(default)]
    #[garde(dive, length(max = 9))]
    ranges: Vec<Range>,
    /// By name, whatever the names are.
    #[serde(default)]
    #[garde(dive, length(max = 9))]
    named: BTreeMap<String, Range>,
    /// One of two kinds.
    #[garde(skip)]
    shape: Option<Shape>,
    /// A tree.
    #[garde(skip)]
    tree: Option<Tree>,
    /// A part with a kind among its own fields.
    #[garde(skip)]
    part: Option<Part>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema, Validate)]
struct Range {
    /// The begin.
    #[garde(length(max = 9))]
    from: Option<String>,
    /// The end.
    #[garde(length(max = 9))]
    to: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { radius: u32 },
    Square { side: u32 },
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Tree {
    label: String,
    #[serde(default)]
    branches: Vec<Tree>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Part {
    name: String,
    #[serde(flatten)]
    shape: Shape,
}

fn published() -> Value {
    let mut schema = schema_of::<Search>(SchemaSettings::draft2020_12().for_deserialize());
    close(&mut schema);
    schema
}

/// The violations that parsing tells, as `path: message`.
fn wrong(arguments: Value) -> Vec<String> {
    let Err(error) = parse::<Search>(arguments, &published()) else {
        return Vec::new();
    };
    let violations = error.published().details["violations"].as_array();
    let told = violations.into_iter().flatten().map(|one| {
        let [path, message] = ["path", "message"].map(|key| one[key].as_str().unwrap_or("?"));
        format!("{path}: {message}")
    });
    told.collect()
}

#[test]
fn every_object_of_the_parameters_is_published_as_closed() {
    let schema = published();
    assert_eq!(open_objects(&schema), [""; 0], "{schema:#}");
    assert_eq!(schema["properties"]["due"]["additionalProperties"], false);
    let items = &schema["properties"]["ranges"]["items"];
    assert_eq!(items["additionalProperties"], false, "{items}");
    let named = &schema["properties"]["named"]["additionalProperties"];
    assert_eq!(named["additionalProperties"], false, "{named}");
}

#[test]
fn unknown_names_in_nested_parameters_were_accepted() {
    for (arguments, expected) in [
        (json!({}), &[][..]),
        (
            json!({ "due": { "from": "a" }, "made": { "to": "b" }, "ranges": [{ "from": "c" }],
                "named": { "any name": { "to": "d" } }, "shape": { "kind": "circle", "radius": 1 },
                "tree": { "label": "a", "branches": [{ "label": "b", "branches": [] }] },
                "part": { "name": "p", "kind": "square", "side": 2 } }),
            &[],
        ),
        (json!({ "made": null, "shape": null }), &[]),
        (
            json!({ "due": { "fro": "a" } }),
            &["/due/fro: unknown parameter, did you mean 'from'?"],
        ),
        (
            json!({ "made": { "zzz": 1 }, "ranges": [{}, { "form": "a" }] }),
            &[
                "/made/zzz: unknown parameter",
                "/ranges/1/form: unknown parameter, did you mean 'from'?",
            ],
        ),
        (
            json!({ "named": { "x": { "too": "a" } } }),
            &["/named/x/too: unknown parameter, did you mean 'to'?"],
        ),
        // A name of the other kind is unknown in this one.
        (
            json!({ "shape": { "kind": "circle", "radius": 1, "side": 2 } }),
            &["/shape/side: unknown parameter"],
        ),
        (
            json!({ "tree": { "label": "a", "branches": [{ "label": "b", "branch": [] }] } }),
            &["/tree/branches/0/branch: unknown parameter, did you mean 'branches'?"],
        ),
        (
            json!({ "tree": { "branches": [] } }),
            &["/tree/label: is required"],
        ),
        (
            json!({ "part": { "nam": "p", "name": "p", "kind": "square", "side": 2 } }),
            &["/part/nam: unknown parameter, did you mean 'name'?"],
        ),
    ] {
        assert_eq!(wrong(arguments.clone()), expected, "{arguments}");
    }
}

#[test]
fn what_is_published_refuses_the_same() {
    let validator = jsonschema::validator_for(&published()).unwrap();
    for (arguments, passes) in [
        (json!({ "due": { "from": "a" } }), true),
        (json!({ "due": { "fro": "a" } }), false),
        (json!({ "named": { "any name": { "to": "d" } } }), true),
        (json!({ "named": { "any name": { "too": "d" } } }), false),
        (
            json!({ "part": { "name": "p", "kind": "square", "side": 2 } }),
            true,
        ),
        (
            json!({ "part": { "name": "p", "kind": "square", "side": 2, "x": 1 } }),
            false,
        ),
    ] {
        assert_eq!(validator.is_valid(&arguments), passes, "{arguments}");
    }
}

#[test]
fn many_unknown_names_are_counted_and_the_first_are_told() {
    let names = (0..1_000).map(|number| (format!("x{number}"), json!(1)));
    let arguments = json!({ "due": names.collect::<serde_json::Map<_, _>>() });
    let error = parse::<Search>(arguments, &published()).unwrap_err();
    let details = &error.published().details;
    assert_eq!(details["violations"].as_array().map(Vec::len), Some(20));
    assert_eq!(details["violation_count"], 1_000);
}

#[test]
fn open_objects_of_others_are_found_at_any_depth() {
    for (schema, expected) in [
        (json!({ "type": "object" }), &[""][..]),
        (
            json!({ "type": "object", "additionalProperties": false, "properties": {
                "due": { "type": "object", "properties": { "from": {} } },
                "list": { "type": "array", "items": { "type": ["object", "null"] } },
                "free": { "type": "object", "additionalProperties": true },
                "leaky": { "properties": { "a": {} }, "additionalProperties": true },
                "map": { "type": "object", "additionalProperties": { "type": "object" } },
                "text": { "type": "string" } } }),
            &[
                "/properties/due",
                "/properties/list/items",
                "/properties/leaky",
                "/properties/map/additionalProperties",
            ],
        ),
        (json!(true), &[]),
    ] {
        assert_eq!(open_objects(&schema), expected, "{schema}");
    }
}
