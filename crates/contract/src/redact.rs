//! Parameters as the log may show them.
//!
//! Hidden is what the schema marks as secret and what stands under a name that says so. Where a
//! bound is reached nothing further is shown, so that neither a deep value nor a schema that refers
//! to itself lets a secret through.

use serde_json::{Map, Value};

/// What stands in place of a secret.
const HIDDEN: &str = "***";

/// What stands in place of everything that is left out for its size.
const LEFT_OUT: &str = "…";

/// The most characters of a text that are shown.
const LONGEST_TEXT: usize = 200;

/// The most items of an array that are shown.
const MOST_ITEMS: usize = 20;

/// The most fields of an object that are shown.
const MOST_FIELDS: usize = 50;

/// How deep values are shown.
const DEEPEST: usize = 16;

/// The most values of one call that are shown, whatever their arrangement.
const MOST_VALUES: usize = 1000;

/// The most subschemas that are looked at for one value.
const MOST_SCHEMAS: usize = 64;

/// Words that make a name secret.
const SECRET_WORDS: &[&str] = &[
    "apikey",
    "authorization",
    "bearer",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "jwt",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "pin",
    "privatekey",
    "pwd",
    "secret",
    "secrets",
    "token",
    "tokens",
];

/// Words that make a name secret as the end of a longer word: `dbpassword`, `accesstoken`.
const SECRET_ENDINGS: &[&str] = &["apikey", "passwd", "password", "secret", "token"];

/// Words that make a following `key` secret: `private_key`, but not `sortKey`.
const SECRET_KEYS: &[&str] = &[
    "access",
    "account",
    "api",
    "auth",
    "encryption",
    "master",
    "private",
    "secret",
    "shared",
    "signing",
    "ssh",
];

/// The parameters as the log may show them, given the schema of the tool.
pub(crate) fn redact(params: &Value, schema: &Value) -> Value {
    let mut redaction = Redaction {
        root: schema,
        values_left: MOST_VALUES,
    };
    redaction.value(params, vec![schema], DEEPEST)
}

/// One set of parameters on its way to the log.
struct Redaction<'a> {
    root: &'a Value,
    values_left: usize,
}

// === impl Redaction ===

impl<'a> Redaction<'a> {
    fn value(&mut self, value: &Value, schemas: Vec<&'a Value>, depth_left: usize) -> Value {
        let Some(schemas) = self.resolve(schemas) else {
            return HIDDEN.into();
        };
        if schemas.iter().any(|schema| is_marked(schema)) {
            return HIDDEN.into();
        }
        if self.values_left == 0 || depth_left == 0 {
            return LEFT_OUT.into();
        }
        self.values_left -= 1;
        match value {
            Value::String(text) => shortened(text).into(),
            Value::Array(items) => self.array(items, &schemas, depth_left - 1),
            Value::Object(fields) => self.object(fields, &schemas, depth_left - 1),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn array(
        &mut self,
        items: &[Value],
        schemas: &[&'a Map<String, Value>],
        depth: usize,
    ) -> Value {
        let mut shown: Vec<Value> = items
            .iter()
            .take(MOST_ITEMS)
            .enumerate()
            .map(|(index, item)| self.value(item, item_schemas(schemas, index), depth))
            .collect();
        if items.len() > MOST_ITEMS {
            let more = items.len() - MOST_ITEMS;
            shown.push(format!("{LEFT_OUT} {more} more items").into());
        }
        shown.into()
    }

    fn object(
        &mut self,
        fields: &Map<String, Value>,
        schemas: &[&'a Map<String, Value>],
        depth: usize,
    ) -> Value {
        let mut shown = Map::new();
        for (name, value) in fields.iter().take(MOST_FIELDS) {
            let value = if says_secret(name) {
                HIDDEN.into()
            } else {
                self.value(value, field_schemas(schemas, name), depth)
            };
            shown.insert(shortened(name), value);
        }
        if fields.len() > MOST_FIELDS {
            let more = fields.len() - MOST_FIELDS;
            shown.insert(LEFT_OUT.to_owned(), format!("{more} more fields").into());
        }
        shown.into()
    }

    /// The schemas and all that they refer to or combine; none if there are too many to say that
    /// no secret is among them. Of alternatives each counts, because it is not known which is meant.
    fn resolve(&self, mut open: Vec<&'a Value>) -> Option<Vec<&'a Map<String, Value>>> {
        let mut resolved: Vec<&'a Map<String, Value>> = Vec::new();
        while let Some(schema) = open.pop() {
            let Value::Object(schema) = schema else {
                continue;
            };
            if resolved.iter().any(|seen| std::ptr::eq(*seen, schema)) {
                continue;
            }
            if resolved.len() == MOST_SCHEMAS {
                return None;
            }
            resolved.push(schema);
            let reference = schema.get("$ref").and_then(Value::as_str);
            let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
            open.extend(pointer.and_then(|pointer| self.root.pointer(pointer)));
            for combination in ["allOf", "anyOf", "oneOf"] {
                let parts = schema.get(combination).and_then(Value::as_array);
                open.extend(parts.into_iter().flatten());
            }
            open.extend(
                ["if", "then", "else"]
                    .iter()
                    .filter_map(|key| schema.get(*key)),
            );
        }
        Some(resolved)
    }
}

/// Whether a schema says that what it describes is not to be shown.
fn is_marked(schema: &Map<String, Value>) -> bool {
    schema.get("writeOnly") == Some(&Value::Bool(true))
        || schema.get("format").and_then(Value::as_str) == Some("password")
}

/// What schemas say about the field of an object.
fn field_schemas<'a>(schemas: &[&'a Map<String, Value>], name: &str) -> Vec<&'a Value> {
    let mut found = Vec::new();
    for schema in schemas {
        if let Some(own) = schema.get("properties").and_then(|all| all.get(name)) {
            found.push(own);
            continue;
        }
        // Which patterns match is not looked at: hiding too much is the lesser harm.
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        found.extend(patterns.into_iter().flat_map(Map::values));
        found.extend(schema.get("additionalProperties"));
    }
    found
}

/// What schemas say about the item of an array.
fn item_schemas<'a>(schemas: &[&'a Map<String, Value>], index: usize) -> Vec<&'a Value> {
    let of_schema = |schema: &&'a Map<String, Value>| {
        schema
            .get("prefixItems")
            .and_then(|items| items.get(index))
            .or_else(|| schema.get("items"))
    };
    schemas.iter().filter_map(of_schema).collect()
}

/// Whether a name says that its value is secret.
fn says_secret(name: &str) -> bool {
    let words = words_of(name);
    let is_secret_word = |word: &String| {
        SECRET_WORDS.contains(&word.as_str())
            || SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending))
    };
    let is_secret_key = |pair: &[String]| {
        SECRET_KEYS.contains(&pair[0].as_str()) && matches!(pair[1].as_str(), "key" | "keys")
    };
    words.iter().any(is_secret_word) || words.windows(2).any(is_secret_key)
}

/// The words of a name in small letters: `apiKey`, `api-key`, `API_KEY` and `APIKey` are all
/// "api" and "key".
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (index, letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| letters.get(index));
        let after = letters.get(index + 1);
        let begins_word = letter.is_uppercase()
            && (before.is_some_and(|before| !before.is_uppercase())
                || after.is_some_and(|after| after.is_lowercase()));
        if (begins_word || !letter.is_alphabetic()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphabetic() {
            word.extend(letter.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The beginning of a text.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}{LEFT_OUT}", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
