//! Warnings about servers that can be used all the same.

use std::net::IpAddr;

use http::uri::Authority;
use mcpproxy_redact::{OwnSecrets, Redactor, is_secret_name};
use mcpproxy_support::nearest::nearest_keyword;
use mcpproxy_support::printable::printable_line;

use crate::settings::{ServerSettings, SettingText};

/// Most names that are warned of.
const MOST_UNKNOWN: usize = 5;

/// Warnings about the settings of a server, in words that follow its name.
pub fn warnings(server: &ServerSettings) -> Vec<String> {
    let in_the_open = server.url.as_ref().and_then(beyond_this_machine);
    let sends_credential = in_the_open.is_some_and(|(url, rest)| {
        let mut headers = server.headers.iter();
        has_credential(url, rest) || headers.any(|(name, value)| is_credential(name, value))
    });
    let warning = "sends a credential over plain HTTP; use https://";
    Vec::from_iter(sends_credential.then(|| warning.to_owned()))
}

/// Warnings about settings for tools that a server does not have: one that was misspelt forbids nothing.
pub(super) fn unknown_tools(server: &ServerSettings, listed: &[&str]) -> Vec<String> {
    let settings = server.tools.iter().map(|(name, _)| ("tools", name));
    let enabled = server.enabled_tools.iter().flatten();
    let enabled = enabled.map(|name| ("enabled_tools", name));
    let disabled = server.disabled_tools.iter();
    let disabled = disabled.map(|name| ("disabled_tools", name));
    let named = settings.chain(enabled).chain(disabled);
    let unknown = named.filter(|(_, name)| !listed.contains(&name.as_str()));
    let unknown = unknown.take(MOST_UNKNOWN).map(|(key, name)| {
        let meant = nearest_keyword(name, listed);
        let hint = meant.map_or_else(String::new, |meant| {
            format!(", did you mean '{}'?", printable_line(meant))
        });
        let name = printable_line(name);
        format!("has no tool '{name}', which '{key}' of its entry names{hint}")
    });
    unknown.collect()
}

/// URL that leads beyond this machine by plain HTTP, with what stands in it behind the host.
fn beyond_this_machine(url: &SettingText) -> Option<(&SettingText, &str)> {
    let rest = url.expose().strip_prefix("http://")?;
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let authority = authority.rsplit('@').next().unwrap_or(authority);
    let host = authority.parse::<Authority>().ok()?;
    let host = host.host().trim_matches(['[', ']']);
    let address = host.parse::<IpAddr>();
    let is_here = host.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.is_loopback());
    (!is_here).then_some((url, rest))
}

/// Whether a URL has a credential: in front of its host, in a reference behind the host, or by its looks.
fn has_credential(url: &SettingText, behind_host: &str) -> bool {
    let text = url.expose();
    let before = text.strip_suffix(behind_host).unwrap_or(text);
    let in_rest = |part: &String| !part.is_empty() && behind_host.contains(part.as_str());
    let by_reference = match url {
        SettingText::Plain(_) => false,
        SettingText::Secret(secret) => secret.referenced_parts().iter().any(in_rest),
    };
    before.contains('@') || by_reference || looks_secret(text)
}

/// Whether a header carries a credential: by its name, by where its value comes from, or by its looks.
fn is_credential(name: &str, value: &SettingText) -> bool {
    let text = value.expose();
    let is_hidden = matches!(value, SettingText::Secret(_));
    let is_secret = is_hidden || is_secret_name(name) || looks_secret(text);
    !text.is_empty() && is_secret
}

fn looks_secret(text: &str) -> bool {
    Redactor::default().text(text, &OwnSecrets::none()) != text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::settings::{self, Environment, Sources};

    fn is_warned_about(server: &Value) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let config = json!({ "mcpServers": { "one": server } });
        std::fs::write(folder.path().join("mcp_config.json"), config.to_string()).unwrap();
        let settings = settings::load(&Sources {
            data_dir: Some(folder.path().to_owned()),
            environment: Environment::of_variables([("HOST", "h.example"), ("WORD", "fluffy")]),
            ..Sources::default()
        });
        !warnings(&settings.unwrap().servers[0]).is_empty()
    }

    #[test]
    fn a_setting_for_a_misspelt_tool_forbade_nothing_and_nobody_was_told() {
        let folder = tempfile::tempdir().unwrap();
        let server = json!({
            "command": "x", "disabled_tools": ["delete_file", "write_file"],
            "tools": { "wirte_file": { "enabled": false } },
        });
        let config = json!({ "mcpServers": { "one": server } });
        std::fs::write(folder.path().join("mcp_config.json"), config.to_string()).unwrap();
        let settings = settings::load(&Sources {
            data_dir: Some(folder.path().to_owned()),
            ..Sources::default()
        });
        let server = &settings.unwrap().servers[0];
        assert_eq!(
            unknown_tools(server, &["write_file", "read_file"]),
            [
                "has no tool 'wirte_file', which 'tools' of its entry names, did you mean 'write_file'?",
                "has no tool 'delete_file', which 'disabled_tools' of its entry names",
            ]
        );
        assert!(unknown_tools(server, &["write_file", "wirte_file", "delete_file"]).is_empty());
    }

    #[test]
    fn a_credential_went_over_plain_http_without_a_word() {
        let key = json!({ "Authorization": "Bearer abc" });
        for server in [
            json!({ "url": "http://h.example/mcp", "headers": key }),
            json!({ "url": "http://h.example/mcp", "headers": { "X-Tenant": "${env:WORD}" } }),
            json!({ "url": "http://10.0.0.7:8080/mcp", "headers": { "x-api-key": "abc" } }),
            json!({ "url": "http://[2001:db8::1]/mcp", "headers": key }),
            json!({ "url": "http://me:pass@h.example/mcp" }),
            json!({ "url": "http://h.example/mcp/${env:WORD}" }),
            json!({ "url": "http://h.example/mcp?api_key=0123456789abcdef0123" }),
            json!({ "url": "http://localhost.h.example/mcp", "headers": key }),
        ] {
            assert!(is_warned_about(&server), "{server}");
        }
        for server in [
            json!({ "url": "https://h.example/mcp", "headers": key }),
            json!({ "url": "http://h.example/mcp" }),
            json!({ "url": "http://${env:HOST}/mcp" }),
            json!({ "url": "http://h.example/mcp", "headers": { "Accept-Language": "de", "Authorization": "" } }),
            json!({ "url": "http://localhost:8080/mcp", "headers": key }),
            json!({ "url": "http://127.0.0.1/mcp/${env:WORD}", "headers": key }),
            json!({ "url": "http://[::1]:1/mcp", "headers": key }),
            json!({ "command": "npx", "env": { "TOKEN": "abc" } }),
        ] {
            assert!(!is_warned_about(&server), "{server}");
        }
    }
}
