//! Files as clients write them: VS Code calls the list of servers `servers`, and asks people for `inputs`.

use std::collections::HashSet;

use jsonc_parser::ast::{Object, ObjectProp, ObjectPropName, Value};
use jsonc_parser::common::{Range, Ranged};

use super::entries::property;
use super::listed::KEYS;
use super::names;

/// Our name of the list of servers, and another one.
const SERVERS: &str = KEYS[0];
const MORE_SERVERS: &str = KEYS[1];

/// Puts the top level of a file into our words, and gives what to say of it, each with its place.
pub(in crate::settings) fn rewrite(tree: &mut Value<'_>) -> Vec<(Range, String)> {
    let Value::Object(file) = tree else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    if let Some(inputs) = take(file, "inputs") {
        let warning = "'inputs' is not used here: nobody is asked for them, write ${env:NAME}, ${file:PATH} or ${secret:NAME} in place of ${input:NAME}";
        warnings.push((inputs.name.range(), warning.to_owned()));
    }
    if let Some(servers) = take(file, MORE_SERVERS) {
        add_servers(file, servers, &mut warnings);
    }
    warnings
}

/// Adds servers to those that are there. Of two lists in two forms the second stays what it is, a key that is not known.
fn add_servers<'a>(
    file: &mut Object<'a>,
    servers: ObjectProp<'a>,
    warnings: &mut Vec<(Range, String)>,
) {
    let mut properties = file.properties.iter_mut();
    let there = properties.find(|one| one.name.as_str() == SERVERS);
    match (there.map(|there| &mut there.value), servers) {
        (None, servers) => {
            let renamed = property(servers.name.range(), SERVERS, servers.value);
            file.properties.push(renamed);
        }
        (
            Some(Value::Object(there)),
            ObjectProp {
                value: Value::Object(more),
                ..
            },
        ) => {
            let name_of = |server: &ObjectProp<'_>| server.name.as_str().to_owned();
            let there_already: HashSet<String> = there.properties.iter().map(name_of).collect();
            let both = there.properties.iter().chain(&more.properties);
            let names: Vec<&str> = both.map(|server| server.name.as_str()).collect();
            let names = names::usable(&names).split_off(there.properties.len());
            for (mut server, name) in more.properties.into_iter().zip(names) {
                // The same name in both lists is no mistake of anybody: each client has its own.
                if there_already.contains(server.name.as_str()) {
                    let at = server.name.range();
                    let warning = format!(
                        "a server of this name is in '{SERVERS}' too, this one is called '{name}' here"
                    );
                    warnings.push((at, warning));
                    server = property(at, &name, server.value);
                }
                there.properties.push(server);
            }
        }
        (
            Some(Value::Array(there)),
            ObjectProp {
                value: Value::Array(more),
                ..
            },
        ) => there.elements.extend(more.elements),
        (Some(_), servers) => file.properties.push(servers),
    }
}

/// Takes a key out of the top level, unless it is there twice, which is a mistake.
fn take<'a>(file: &mut Object<'a>, name: &str) -> Option<ObjectProp<'a>> {
    let is_it = |one: &&ObjectPropName<'_>| one.as_str() == name;
    let names = file.properties.iter().map(|one| &one.name);
    if names.filter(is_it).count() != 1 {
        return None;
    }
    let mut properties = file.properties.iter();
    let place = properties.position(|one| one.name.as_str() == name)?;
    Some(file.properties.remove(place))
}
