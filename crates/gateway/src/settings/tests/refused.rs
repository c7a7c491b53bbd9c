//! Files that are not allowed, with the exact words a person reads.

use super::Scene;

const SERVER_KEYS: &str = "name, type, command, args, env, inherit_env, working_dir, url, headers, protocol, enabled, quarantined, trust, start_timeout, timeout, max_concurrent, idle_stop, coerce, check_arguments, enabled_tools, disabled_tools, tools";
const TOP_KEYS: &str = "$schema, listen, api_key, anonymous, tls, allow_plain_http, mcpServers, starts_at_once, input_timeout, endpoints, intent_declaration, coerce, discovery, activity, store, hints";

#[track_caller]
fn check(config: &str, expected: &[&str]) {
    let error = Scene::with(config).load().expect_err("must be refused");
    let expected: Vec<String> = expected
        .iter()
        .map(|line| format!("mcp_config.json:{line}"))
        .collect();
    assert_eq!(error.to_string(), expected.join("\n"));
}

/// Problems of servers, which stop those servers and not the start.
#[track_caller]
fn check_entries(config: &str, expected: &[&str]) {
    let settings = Scene::with(config).settings();
    let problems = settings.servers.into_iter().flat_map(|one| one.problems);
    let expected: Vec<String> = expected
        .iter()
        .map(|line| format!("mcp_config.json:{line}"))
        .collect();
    assert_eq!(problems.collect::<Vec<_>>(), expected);
}

/// A server in the map form, on one line.
#[track_caller]
fn check_server(server: &str, expected: &str) {
    let expected: Vec<&str> = expected.split('\n').collect();
    let config = format!("{{\"mcpServers\":{{\"a\":\n{server}}}}}");
    check_entries(&config, &expected);
}

#[test]
fn unknown_keys() {
    check_entries(
        "{ \"mcpServers\": {\n \"files\": {\n  \"command\": \"x\",\n    \"qarantined\": true } } }",
        &[&format!(
            "4:5: unknown key 'qarantined' in mcpServers.files, did you mean 'quarantined'? Allowed: {SERVER_KEYS}"
        )],
    );
    check(
        "{ \"Listen\": \"x\" }",
        &[&format!(
            "1:3: unknown key 'Listen' at the top level, did you mean 'listen'? Allowed: {TOP_KEYS}"
        )],
    );
    check(
        "{ \"telemetry\": {} }",
        &[&format!(
            "1:3: unknown key 'telemetry' at the top level. Allowed: {TOP_KEYS}"
        )],
    );
    check_entries(
        "{ \"mcpServers\": [ { \"name\": \"a\", \"command\": \"x\", \"tools\": { \"t\": { \"annotations\": { \"readOnly\": true } } } } ] }",
        &[
            "1:85: unknown key 'readOnly' in mcpServers[0].tools.t.annotations, did you mean 'readOnlyHint'? Allowed: title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint",
        ],
    );
}

#[test]
fn duplicate_keys() {
    check(
        "{ \"hints\": {},\n\"hints\": {} }",
        &["2:1: duplicate key 'hints' at the top level, first given on line 1"],
    );
    check(
        "{ \"mcpServers\": { \"a\": { \"command\": \"x\" },\n\"a\": { \"command\": \"x\" } } }",
        &["2:1: duplicate key 'a' in mcpServers, first given on line 1"],
    );
    check(
        "{ \"mcpServers\": [ { \"name\": \"a\", \"command\": \"x\" },\n{ \"name\": \"a\", \"command\": \"x\" } ] }",
        &["2:11: duplicate server name 'a', first given on line 1"],
    );
    check_server(
        "{ \"command\": \"x\", \"env\": { \"A\": \"1\", \"A\": \"2\" } }",
        "2:38: duplicate key 'A' in mcpServers.a.env, first given on line 2",
    );
}

#[test]
fn wrong_types() {
    check("[]", &["1:1: the file: found an array, allowed: an object"]);
    check(
        "{ \"allow_plain_http\": \"yes\" }",
        &["1:23: allow_plain_http: found a string, allowed: true or false"],
    );
    check(
        "{ \"discovery\": { \"limit\": \"five\" } }",
        &["1:27: discovery.limit: found a string, allowed: a whole number from 1 to 50"],
    );
    check(
        "{ \"store\": null }",
        &["1:12: store: found null, allowed: an object"],
    );
    check(
        "{ \"mcpServers\": true }",
        &[
            "1:17: mcpServers: found true or false, allowed: an object with a key for each server, or an array of objects with a name",
        ],
    );
    // The number is a secret that somebody forgot to quote.
    check(
        "{ \"api_key\": 12345 }",
        &[
            "1:14: api_key: found a number, allowed: a string of visible ASCII characters without spaces that is not empty",
        ],
    );
    check_server(
        "{ \"command\": \"x\", \"args\": \"a b\" }",
        "2:27: mcpServers.a.args: found a string, allowed: an array, each item a string without a NUL character",
    );
    check_server(
        "{ \"command\": \"x\", \"args\": [\"a\", []] }",
        "2:33: mcpServers.a.args[1]: found an array, allowed: a string without a NUL character",
    );
}

#[test]
fn values_out_of_bounds() {
    let limit = "discovery.limit: found";
    let allowed = "allowed: a whole number from 1 to 50";
    for number in ["0", "51", "-1", "2.5", "1e1", "99999999999999999999999"] {
        check(
            &format!("{{ \"discovery\": {{ \"limit\": {number} }} }}"),
            &[&format!("1:27: {limit} {number}, {allowed}")],
        );
    }
    check(
        "{ \"activity\": { \"retention_days\": 0, \"max_payload_bytes\": 1 } }",
        &[
            "1:35: activity.retention_days: found 0, allowed: a whole number from 1 to 36500",
            "1:59: activity.max_payload_bytes: found 1, allowed: a whole number from 1024 to 16777216",
        ],
    );
    let timeout = "allowed: a duration from 1ms to 1h such as \"30s\"";
    for text in ["", "soon", "30", "0s", "2h", "-1s", "99999999999999999999y"] {
        check_server(
            &format!("{{ \"command\": \"x\", \"timeout\": \"{text}\" }}"),
            &format!("2:30: mcpServers.a.timeout: found \"{text}\", {timeout}"),
        );
    }
    check_server(
        "{ \"command\": \"x\", \"idle_stop\": \"1ms\" }",
        "2:32: mcpServers.a.idle_stop: found \"1ms\", allowed: a duration from 100ms to 7days such as \"30s\"",
    );
    check_server(
        "{ \"command\": \"x\", \"max_concurrent\": 1025 }",
        "2:37: mcpServers.a.max_concurrent: found 1025, allowed: a whole number from 1 to 1024",
    );
    check_server(
        "{ \"command\": \"x\", \"tools\": { \"t\": { \"rate_limit\": { \"window_ms\": 0 } } } }",
        "2:51: missing key 'max_calls' in mcpServers.a.tools.t.rate_limit, allowed: a whole number from 1 to 1000000\n\
         2:66: mcpServers.a.tools.t.rate_limit.window_ms: found 0, allowed: a whole number from 1 to 86400000",
    );
}

#[test]
fn words_that_are_not_known() {
    check(
        "{ \"intent_declaration\": { \"mode\": \"two-key\", \"unannotated\": \"x\" } }",
        &[
            "1:35: intent_declaration.mode: found \"two-key\" (did you mean \"two_key\"?), allowed: \"two_key\", \"inferred\"",
            "1:61: intent_declaration.unannotated: found \"x\", allowed: \"trust_agent\", \"at_least_write\", \"require_destructive\"",
        ],
    );
    check(
        "{ \"discovery\": { \"detail\": \"brief\" }, \"activity\": { \"durability\": \"\" }, \"hints\": { \"proxied\": \"on\" } }",
        &[
            "1:28: discovery.detail: found \"brief\", allowed: \"auto\", \"full\", \"compact\"",
            "1:67: activity.durability: found \"\", allowed: \"strict\", \"balanced\"",
            "1:95: hints.proxied: found \"on\", allowed: \"off\", \"meta\", \"content\"",
        ],
    );
    check_server(
        "{ \"command\": \"x\", \"trust\": \"always\" }",
        "2:28: mcpServers.a.trust: found \"always\", allowed: \"auto\", \"changes\", \"manual\"",
    );
    check_server(
        "{ \"command\": \"x\", \"protocol\": \"newest\" }",
        "2:31: mcpServers.a.protocol: found \"newest\", allowed: \"auto\", \"legacy\", \"modern\"",
    );
}

#[test]
fn addresses() {
    let listen = "an address such as \"127.0.0.1:8080\", \"[::1]:8080\" or \"localhost:8080\"";
    for text in [
        "8080",
        ":8080",
        "localhost",
        "example.com:80",
        "127.0.0.1:99999",
        "localhost:+1",
    ] {
        check(
            &format!("{{ \"listen\": \"{text}\" }}"),
            &[&format!(
                "1:13: listen: found \"{text}\", allowed: {listen}"
            )],
        );
    }
    // These may hold credentials, so they are not repeated.
    for text in ["mysql://u:p@h", "postgres://", "SQLITE"] {
        check(
            &format!("{{ \"store\": {{ \"url\": \"{text}\" }} }}"),
            &[
                "1:21: store.url: found another string, allowed: \"sqlite\", or an address that begins with postgres://",
            ],
        );
    }
    for text in [
        "ftp://h",
        "h/mcp",
        "http://",
        "http:///mcp",
        "http://h:port/",
        "http://h:99999",
        "http://a b/",
        "http://[::1/",
    ] {
        check_server(
            &format!("{{ \"url\": \"{text}\" }}"),
            "2:10: mcpServers.a.url: found another string, allowed: an address that begins with http:// or https://",
        );
    }
}

#[test]
fn servers() {
    let one = "allowed: exactly one of them";
    check_server(
        "{ \"command\": \"x\", \"url\": \"http://h/\" }",
        &format!("2:19: mcpServers.a: found both 'command' and 'url', {one}"),
    );
    check_server(
        "{}",
        &format!("2:1: mcpServers.a: found neither 'command' nor 'url', {one}"),
    );
    check_server(
        "{ \"type\": \"stdio\", \"url\": \"http://h/\" }",
        "2:3: mcpServers.a: 'type' contradicts 'url', allowed: \"http\", \"streamable-http\", \"sse\"",
    );
    check_server(
        "{ \"type\": \"streamable-http\", \"command\": \"x\" }",
        "2:3: mcpServers.a: 'type' contradicts 'command', allowed: \"stdio\"",
    );
    check_server(
        "{ \"type\": \"ws\", \"url\": \"http://h/\" }",
        "2:11: mcpServers.a.type: found \"ws\", allowed: \"stdio\", \"http\", \"streamable-http\", \"sse\"",
    );
    check_entries(
        "{ \"mcpServers\": [{ \"command\": \"x\" }] }",
        &[
            "1:18: missing key 'name' in mcpServers[0], allowed: 1 to 64 of the characters A-Z, a-z, 0-9, '_', '.' and '-', without '__', not 'mcpproxy'",
        ],
    );
    check_server(
        "{ \"command\": \"\" }",
        "2:14: mcpServers.a.command: found an empty string, allowed: a string that is not empty, without a NUL character",
    );
    check_server(
        "{ \"command\": \"x\", \"env\": { \"A=B\": \"1\" } }",
        "2:28: mcpServers.a.env: found the name 'A=B', allowed: a name that is not empty, without '=' and NUL",
    );
    check_server(
        "{ \"url\": \"http://h/\", \"headers\": { \"A b\": \"1\" } }",
        "2:36: mcpServers.a.headers: found the name 'A b', allowed: a header name of letters, digits and !#$%&'*+-.^_`|~",
    );
    check_server(
        "{ \"url\": \"http://h/\", \"headers\": { \"A\": \"1\\r\\nX: 2\" } }",
        "2:41: mcpServers.a.headers.A: found another string, allowed: a string of visible ASCII characters and spaces",
    );
}

#[test]
fn references_that_are_not_well_formed() {
    check_server(
        "{ \"command\": \"${env:X\" }",
        "2:14: mcpServers.a.command: a reference has no closing }, write $${ for a literal ${",
    );
    let allowed =
        "${env:NAME}, ${NAME}, ${NAME:-default}, ${file:PATH}, ${secret:NAME}, ${workspaceFolder}";
    for reference in ["${env:}", "${vault:x}", "${}", "${A B}", "${A:+x}"] {
        check_server(
            &format!("{{ \"command\": \"{reference}\" }}"),
            &format!(
                "2:14: mcpServers.a.command: found the reference {reference}, allowed: {allowed}; write $${{ for a literal ${{"
            ),
        );
    }
}

#[test]
fn syntax() {
    check(
        "",
        &["1:1: the file holds no JSON value, allowed: an object, {} for all defaults"],
    );
    check(
        "// nothing\n",
        &["1:1: the file holds no JSON value, allowed: an object, {} for all defaults"],
    );
    check(
        "{\n  \"listen\" 1\n}",
        &["2:12: syntax error: expected colon after the string or word in object property"],
    );
    check(
        "{\n  \"ä\": 1 \"b\": 2\n}",
        &["2:9: syntax error: expected comma"],
    );
    check(
        "{ listen: 1 }",
        &["1:3: syntax error: expected string for object property"],
    );
    check("{", &["1:1: syntax error: unterminated object"]);
    check(
        "{} {}",
        &["1:4: syntax error: text cannot contain more than one json value"],
    );
}

#[test]
fn all_problems_are_reported_at_once_those_of_servers_after_what_stops_the_start() {
    check(
        "{\n\"x\": 1,\n\"listen\": \"y\",\n\"mcpServers\": {\n\"a\": {},\n\"b\": { \"args\": [], \"timeout\": \"z\" }\n},\n\"hints\": 1\n}",
        &[
            &format!("2:1: unknown key 'x' at the top level. Allowed: {TOP_KEYS}"),
            "3:11: listen: found \"y\", allowed: an address such as \"127.0.0.1:8080\", \"[::1]:8080\" or \"localhost:8080\"",
            "8:10: hints: found a number, allowed: an object",
            "5:6: mcpServers.a: found neither 'command' nor 'url', allowed: exactly one of them",
            "6:6: mcpServers.b: found neither 'command' nor 'url', allowed: exactly one of them",
            "6:31: mcpServers.b.timeout: found \"z\", allowed: a duration from 1ms to 1h such as \"30s\"",
        ],
    );
}
