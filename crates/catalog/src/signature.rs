//! A tool and its parameters on one line.
//!
//! ```text
//! signature = name "(" [ parameter { ", " parameter } ] ")" [ " !destructive" ] [ " !deprecated" [ "→" name ] ]
//! parameter = key [ "?" ] ": " type          required ones first, "?" marks the optional
//! key       = identifier | JSON string       a name that is no identifier is quoted
//! type      = alternative { "|" alternative }
//! alternative = "string" | "integer" | "number" | "boolean" | "null" | "object" | "any"
//!             | JSON literal                 of `const` and `enum`, "…" after eight
//!             | alternative "[]" | "(" type ")[]"
//! ```
//!
//! Required and optional parameters each keep the order of the schema. A `$ref` into the same
//! schema is followed once. What the schema does not say is `any`. A line of more than 200
//! characters is cut with `…`: at a parameter, if one fits, and then the last parameter is `…`.
//! A tool that destroys is marked, and so is one that is going to be removed, with the name of the tool to use instead;
//! marks are never cut off. For example:
//!
//! ```text
//! create_issue(title: string, body?: string, labels?: string[], state?: "open"|"closed")
//! delete_repo(name: string) !destructive
//! find-cards(text: string) !deprecated→search-cards
//! ```

use std::collections::HashSet;

use mcpproxy_policy::AnnouncedDeprecation;
use serde_json::Value;

use mcpproxy_support::one_line::one_line;
use mcpproxy_support::printable::is_hidden;

/// The longest signature, in characters.
const LIMIT: usize = 200;

/// The longest tool name that is shown whole, in characters.
const NAME_LIMIT: usize = 100;

/// The longest name of a replacement that is shown whole, in characters. Beside a name that is cut there is still room
/// for a parameter.
const REPLACEMENT_LIMIT: usize = 60;

/// Values of an `enum`, or alternatives of a union, that are shown, at most.
const ALTERNATIVES: usize = 8;

/// The longest value of an `enum` that is shown, in characters.
const LITERAL_LIMIT: usize = 40;

/// Parameters that are read, at most: more of them than fit on the line in any case.
const PARAMETERS: usize = 60;

/// Lists within lists that are spelled out, at most.
const DEPTH: usize = 4;

/// The signature of a tool with this input schema, and the marks of one that destroys and of one that is going to be
/// removed.
pub fn signature(
    name: &str,
    schema: &Value,
    is_destructive: bool,
    deprecation: Option<&AnnouncedDeprecation>,
) -> String {
    let destructive = if is_destructive { " !destructive" } else { "" };
    let mark = destructive.to_owned() + &deprecation.map(mark).unwrap_or_default();
    let limit = LIMIT - mark.chars().count();
    let mut line = one_line(name, NAME_LIMIT);
    line.push('(');
    let mut first = true;
    for parameter in parameters(schema) {
        let separator = if first { "" } else { ", " };
        let room = line.chars().count() + separator.len() + parameter.chars().count();
        line.push_str(separator);
        // Two more characters have to fit: the mark of what is left out, and the bracket; and
        // two for the separator in front of the mark.
        if room + 4 > limit {
            line.push('…');
            break;
        }
        line.push_str(&parameter);
        first = false;
    }
    line.push(')');
    one_line(&line, limit) + &mark
}

fn mark(deprecation: &AnnouncedDeprecation) -> String {
    let replacement = deprecation.replacement.as_deref().unwrap_or_default();
    match one_line(replacement, REPLACEMENT_LIMIT) {
        name if name.is_empty() => " !deprecated".to_owned(),
        name => format!(" !deprecated→{name}"),
    }
}

/// The parameters, required ones first, each group in the order of the schema.
fn parameters(schema: &Value) -> Vec<String> {
    let root = Root(schema);
    let object = root.resolved(schema);
    let required = object.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let required: HashSet<&str> = required.collect();
    let properties = object.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    let mut marked: Vec<_> = properties
        .map(|(name, schema)| (!required.contains(name.as_str()), name, schema))
        .collect();
    marked.sort_by_key(|(is_optional, ..)| *is_optional);
    let written = marked
        .into_iter()
        .take(PARAMETERS)
        .map(|(is_optional, name, schema)| {
            let mark = if is_optional { "?" } else { "" };
            format!("{}{mark}: {}", key(name), root.type_of(schema))
        });
    written.collect()
}

/// The whole schema, into which references point.
#[derive(Clone, Copy)]
struct Root<'a>(&'a Value);

impl<'a> Root<'a> {
    fn type_of(self, schema: &Value) -> String {
        let mut alternatives = Alternatives::default();
        self.collect(schema, DEPTH, &mut alternatives);
        alternatives.join()
    }

    /// The schema itself, or what its reference into the same document points at.
    fn resolved<'b>(self, schema: &'b Value) -> &'b Value
    where
        'a: 'b,
    {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
        let found = pointer.and_then(|pointer| self.0.pointer(pointer));
        found.unwrap_or(schema)
    }

    fn collect(self, schema: &Value, depth: usize, into: &mut Alternatives) {
        let schema = self.resolved(schema);
        if let Some(value) = schema.get("const") {
            into.add(literal(value));
        } else if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            for value in values.iter().take(ALTERNATIVES + 1) {
                into.add(literal(value));
            }
        } else if let Some(union) = union(schema).filter(|_| depth > 0) {
            for alternative in union.iter().take(ALTERNATIVES + 1) {
                self.collect(alternative, depth - 1, into);
            }
        } else {
            self.collect_types(schema, depth, into);
        }
    }

    fn collect_types(self, schema: &Value, depth: usize, into: &mut Alternatives) {
        let types: Vec<&str> = match schema.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ if schema.get("properties").is_some() => vec!["object"],
            _ if schema.get("items").is_some() => vec!["array"],
            _ => vec![],
        };
        if types.is_empty() {
            into.add("any".to_owned());
        }
        for name in types.into_iter().take(ALTERNATIVES) {
            into.add(match name {
                "string" | "integer" | "number" | "boolean" | "null" | "object" => name.to_owned(),
                "array" => self.list_of(schema.get("items"), depth),
                _ => "any".to_owned(),
            });
        }
    }

    fn list_of(self, items: Option<&Value>, depth: usize) -> String {
        let mut alternatives = Alternatives::default();
        match items {
            Some(items @ Value::Object(_)) if depth > 0 => {
                self.collect(items, depth - 1, &mut alternatives);
            }
            _ => alternatives.add("any".to_owned()),
        }
        match alternatives.0.as_slice() {
            [only] => format!("{only}[]"),
            _ => format!("({})[]", alternatives.join()),
        }
    }
}

/// The different alternatives of a type, in order.
#[derive(Default)]
struct Alternatives(Vec<String>);

impl Alternatives {
    fn add(&mut self, alternative: String) {
        if self.0.len() <= ALTERNATIVES && !self.0.contains(&alternative) {
            self.0.push(alternative);
        }
    }

    fn join(mut self) -> String {
        if self.0.len() > ALTERNATIVES {
            self.0.truncate(ALTERNATIVES);
            self.0.push("…".to_owned());
        }
        if self.0.is_empty() {
            self.0.push("any".to_owned());
        }
        self.0.join("|")
    }
}

fn union(schema: &Value) -> Option<&Vec<Value>> {
    ["anyOf", "oneOf"]
        .into_iter()
        .find_map(|keyword| schema.get(keyword)?.as_array())
        .filter(|alternatives| !alternatives.is_empty())
}

fn literal(value: &Value) -> String {
    match value {
        Value::Array(_) => "any[]".to_owned(),
        Value::Object(_) => "object".to_owned(),
        Value::String(text) => Value::from(one_line(text, LITERAL_LIMIT)).to_string(),
        simple => simple.to_string(),
    }
}

fn key(name: &str) -> String {
    let is_identifier = name
        .chars()
        .all(|character| character.is_alphanumeric() || matches!(character, '_' | '$'))
        && name.starts_with(|character: char| !character.is_numeric());
    if is_identifier {
        return name.to_owned();
    }
    let visible = name.chars().filter(|character| !is_hidden(*character));
    Value::from(visible.collect::<String>()).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(schema: &str, expected: &str) {
        let schema: Value = serde_json::from_str(schema).unwrap();
        assert_eq!(
            signature("t", &schema, false, None),
            format!("t({expected})"),
            "{schema}"
        );
    }

    #[test]
    fn parameters_are_written_as_the_grammar_says() {
        check("{}", "");
        check("null", "");
        check(r#"{"properties":[]}"#, "");
        check(
            r#"{"properties":{"body":{"type":"string"},"title":{"type":"string"},
                "labels":{"type":"array","items":{"type":"string"}},
                "state":{"enum":["open","closed"]}},"required":["title"]}"#,
            r#"title: string, body?: string, labels?: string[], state?: "open"|"closed""#,
        );
        check(
            r#"{"properties":{"a":{"type":["integer","null"]},"b":{"type":"array"},
                "c":{"anyOf":[{"type":"number"},{"type":"boolean"},{"type":"number"}]},
                "d":true,"e":{"type":"any"},"f":{"const":7},"g":{"properties":{}}}}"#,
            "a?: integer|null, b?: any[], c?: number|boolean, d?: any, e?: any, f?: 7, g?: object",
        );
        check(
            r#"{"properties":{"a":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"null"}]}},
                "b":{"type":"array","items":{"type":"array","items":{"type":"object"}}}}}"#,
            "a?: (string|null)[], b?: object[][]",
        );
        check(
            r##"{"$defs":{"s":{"type":"string"},"twice":{"$ref":"#/$defs/s"}},
                "properties":{"a":{"$ref":"#/$defs/s"},"b":{"$ref":"#/$defs/twice"},
                "c":{"$ref":"https://elsewhere/x"},"d":{"type":"array","items":{"$ref":"#"}}}}"##,
            "a?: string, b?: any, c?: any, d?: object[]",
        );
        check(
            r#"{"properties":{"a":{"enum":[1,2,3,4,5,6,7,8,9,10]}}}"#,
            "a?: 1|2|3|4|5|6|7|8|…",
        );
        check(
            r#"{"properties":{"":{},"two words":{},"1st":{},"größe":{},"x-y":{},"q\"\n":{}}}"#,
            r#"""?: any, "two words"?: any, "1st"?: any, größe?: any, "x-y"?: any, "q\"\n"?: any"#,
        );
    }

    #[test]
    fn a_long_signature_ends_at_a_parameter() {
        let properties: serde_json::Map<String, Value> = (0..100)
            .map(|number| {
                (
                    format!("parameter_{number}"),
                    serde_json::json!({"type":"string"}),
                )
            })
            .collect();
        let line = signature(
            "t",
            &serde_json::json!({ "properties": properties }),
            false,
            None,
        );
        assert!(line.chars().count() <= LIMIT, "{line}");
        assert!(line.ends_with(": string, …)"), "{line}");
    }

    #[test]
    fn a_deprecated_tool_looked_like_any_other() {
        let schema = serde_json::json!({ "properties": { "text": { "type": "string" } } });
        let mut notice = AnnouncedDeprecation {
            since: None,
            replacement: Some("search-cards".to_owned()),
            removal_date: None,
        };
        assert_eq!(
            signature("find-cards", &schema, false, Some(&notice)),
            "find-cards(text?: string) !deprecated→search-cards"
        );
        notice.replacement = None;
        assert_eq!(
            signature("find-cards", &schema, false, Some(&notice)),
            "find-cards(text?: string) !deprecated"
        );
        assert_eq!(
            signature("find-cards", &schema, true, Some(&notice)),
            "find-cards(text?: string) !destructive !deprecated"
        );
        assert_eq!(
            signature("wipe", &schema, true, None),
            "wipe(text?: string) !destructive"
        );
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            prop::sample::select(vec!["string", "array", "#", "#/properties", "#/$defs/a"])
                .prop_map(Value::from),
        ];
        let name = prop_oneof![
            prop::sample::select(vec![
                "properties",
                "required",
                "type",
                "items",
                "enum",
                "const",
                "anyOf",
                "oneOf",
                "$ref",
                "$defs",
                "a",
            ])
            .prop_map(str::to_owned),
            any::<String>(),
        ];
        leaf.prop_recursive(6, 60, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((name.clone(), inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_schema_gives_one_bounded_line(name in any::<String>(), schema in json()) {
            let notice = AnnouncedDeprecation { since: None, replacement: Some(name.clone()), removal_date: None };
            let line = signature(&name, &schema, true, Some(&notice));
            prop_assert!(line.contains(" !destructive !deprecated"));
            prop_assert!(line.chars().count() <= LIMIT);
            prop_assert!(!line.chars().any(|c| c.is_control() || is_hidden(c)));
        }
    }
}
