//! The settings that hold, as the file would say them, with secrets hidden.

use std::time::Duration;

use mcpproxy_redact::mask::MASKED;
use mcpproxy_redact::{OwnSecrets, Redactor};
use serde_json::{Map, Value, json};

use super::resolved::{ServerSettings, ServerTransport, Settings, StoreSettings, ToolSettings};
use super::secret::{Secret, SettingText};
use super::values::Words;

/// Every key with the value that holds, defaults included; each secret is `***`.
pub fn effective(settings: &Settings) -> Value {
    let servers: Map<String, Value> = settings
        .servers
        .iter()
        .map(|one| (one.name.to_string(), Value::Object(server(one))))
        .collect();
    let mut shown = Map::new();
    shown.insert("listen".into(), json!(settings.listen.to_string()));
    insert(&mut shown, "api_key", settings.api_key.as_ref().map(hidden));
    shown.extend(object(json!({
        "allow_plain_http": settings.allow_plain_http,
        "mcpServers": servers,
        "input_timeout": duration(settings.input_timeout),
        "intent_declaration": {
            "mode": settings.rules.mode.word(),
            "strict_server_validation": settings.rules.strict_server_validation,
            "unannotated": settings.rules.unannotated.word(),
        },
        "discovery": {
            "limit": settings.discovery.limit,
            "detail": settings.discovery.detail.word(),
            "semantic": settings.discovery.semantic,
        },
        "activity": {
            "retention_days": settings.activity.retention_days,
            "max_payload_bytes": settings.activity.max_payload_bytes,
            "durability": settings.activity.durability.word(),
        },
        "store": {
            "url": match &settings.store {
                StoreSettings::Sqlite => json!("sqlite"),
                StoreSettings::Postgres(address) => hidden(address),
            },
        },
        "hints": { "proxied": settings.hints.word() },
    })));
    if let Some(most) = settings.activity.max_records {
        shown["activity"]["max_records"] = json!(most);
    }
    Value::Object(shown)
}

fn server(server: &ServerSettings) -> Map<String, Value> {
    let mut shown = match &server.transport {
        ServerTransport::Stdio {
            command,
            args,
            env,
            working_dir,
        } => {
            let args: Vec<String> = args.iter().map(plain).collect();
            let mut shown = object(json!({
                "command": plain(command),
                "args": args,
                "env": hidden_map(env),
            }));
            let folder = working_dir.as_ref().map(|folder| json!(plain(folder)));
            insert(&mut shown, "working_dir", folder);
            shown
        }
        ServerTransport::Http { url, headers } => object(json!({
            "url": plain(url),
            "headers": hidden_map(headers),
        })),
        ServerTransport::BuiltIn => Map::new(),
    };
    shown.extend(object(json!({
        "protocol": server.protocol.word(),
        "enabled": server.enabled,
        "quarantined": server.quarantined,
        "trust": server.trust.word(),
        "timeout": duration(server.timeout),
        "max_concurrent": server.max_concurrent,
    })));
    insert(&mut shown, "idle_stop", server.idle_stop.map(duration));
    let tools: Map<String, Value> = server
        .tools
        .iter()
        .map(|(name, settings)| (name.clone(), tool(settings)))
        .collect();
    shown.insert("tools".into(), Value::Object(tools));
    shown
}

fn tool(tool: &ToolSettings) -> Value {
    let mut shown = object(json!({
        "enabled": tool.enabled,
        "annotations": tool.annotations,
    }));
    let limit = tool.rate_limit.map(|limit| {
        let window = u64::try_from(limit.window.as_millis()).unwrap_or(u64::MAX);
        json!({ "max_calls": limit.max_calls, "window_ms": window })
    });
    insert(&mut shown, "rate_limit", limit);
    Value::Object(shown)
}

/// A text as written; what looks like a credential in it is hidden all the same.
fn plain(text: &SettingText) -> String {
    let shown = text.to_string();
    let redactor = Redactor::default();
    redactor.text(&shown, &OwnSecrets::none()).into_owned()
}

fn hidden(_: &Secret) -> Value {
    json!(MASKED)
}

fn hidden_map(values: &[(String, Secret)]) -> Value {
    let shown = values
        .iter()
        .map(|(name, value)| (name.clone(), hidden(value)));
    Value::Object(shown.collect())
}

fn duration(duration: Duration) -> Value {
    json!(humantime::format_duration(duration).to_string())
}

/// A key without a value is left out, as it would be in the file.
fn insert(object: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value);
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
