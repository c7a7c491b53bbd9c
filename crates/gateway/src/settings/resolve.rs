//! From what was merged to the settings the program uses.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_policy::Rules;
use mcpproxy_wire::ToolAnnotations;
use serde_json::json;

use super::content::{Address, ApiKey, ContentRule, StoreAddress, parse_address};
use super::merge::{Given, Merged};
use super::problem::{ProblemPlace, SettingsProblem, shown};
use super::references::{Expanded, References};
use super::resolved::{
    ActivitySettings, DiscoverySettings, ServerSettings, ServerTransport, Settings, StoreSettings,
    ToolRateLimit, ToolSettings,
};
use super::secret::{Secret, SettingText};
use super::shape::SettingsReader;
use super::values::{Map, RawText};
use super::written::{NamedServer, WrittenStore, WrittenTool};

/// Replaces references and builds the settings. `None` means that the reader knows why.
pub(super) fn resolve(
    merged: Merged,
    references: &References<'_>,
    reader: &mut SettingsReader<'_>,
) -> Option<Settings> {
    let mut globals = Globals { references, reader };
    let listen = globals.listen(merged.listen);
    let api_key = merged.api_key.map(|given| globals.api_key(given));
    let store = globals.store(&merged.file.store);
    let file = merged.file;
    Some(Settings {
        data_dir: merged.data_dir,
        config_file: merged.config_file,
        listen: listen?,
        api_key: match api_key {
            Some(key) => Some(key?),
            None => None,
        },
        allow_plain_http: file.allow_plain_http,
        demo: merged.demo,
        servers: file
            .servers
            .0
            .into_iter()
            .map(|entry| server(entry, references))
            .collect(),
        input_timeout: file.input_timeout.0,
        rules: Rules {
            mode: file.intent_declaration.mode.0,
            strict_server_validation: file.intent_declaration.strict_server_validation,
            unannotated: file.intent_declaration.unannotated.0,
        },
        discovery: DiscoverySettings {
            limit: small(file.discovery.limit.0),
            detail: file.discovery.detail.0,
            semantic: file.discovery.semantic,
        },
        activity: ActivitySettings {
            retention_days: small(file.activity.retention_days.0),
            max_records: file.activity.max_records.map(|most| most.0),
            max_payload_bytes: small(file.activity.max_payload_bytes.0),
            durability: file.activity.durability.0,
        },
        store: store?,
        hints: file.hints.proxied.0,
    })
}

/// A number whose bounds in the file fit the type it is used as.
fn small<T: TryFrom<u64>>(number: u64) -> T
where
    T::Error: std::fmt::Debug,
{
    T::try_from(number).expect("the bounds of the key are within the type")
}

/// Keys outside of server entries: what is wrong with one stops the start.
struct Globals<'g, 'd> {
    references: &'g References<'g>,
    reader: &'g mut SettingsReader<'d>,
}

impl Globals<'_, '_> {
    fn listen(&mut self, given: Given<Address>) -> Option<std::net::SocketAddr> {
        let text = self.text(given)?.value;
        parse_address(&text)
    }

    fn api_key(&mut self, given: Given<ApiKey>) -> Option<Secret> {
        self.text(given).map(Expanded::into_secret)
    }

    fn store(&mut self, store: &WrittenStore) -> Option<StoreSettings> {
        let url = Given::<StoreAddress>::File(store.url.clone());
        let url = self.text(url)?;
        Some(match url.value.as_str() {
            "sqlite" => StoreSettings::Sqlite,
            _ => StoreSettings::Postgres(url.into_secret()),
        })
    }

    fn text<C: ContentRule>(&mut self, given: Given<C>) -> Option<Expanded> {
        match given {
            Given::File(text) => match expand(&text, self.references) {
                Ok(expanded) => Some(expanded),
                Err(problem) => {
                    self.reader.report_at(text.offset, problem);
                    None
                }
            },
            Given::Outside { value, .. } if C::is_valid(&value) => Some(Expanded::literal(value)),
            Given::Outside { name, value } => {
                let found = if C::IS_SHOWN {
                    format!("\"{}\"", shown(&value))
                } else {
                    "another string".to_owned()
                };
                let allowed = C::ALLOWED;
                self.reader.problems.push_with(|| SettingsProblem {
                    place: ProblemPlace::Given(name),
                    message: format!("found {found}, allowed: {allowed}"),
                });
                None
            }
        }
    }
}

/// Replaces the references of a string and checks what has become of it.
fn expand<C: ContentRule>(
    text: &RawText<C>,
    references: &References<'_>,
) -> Result<Expanded, String> {
    let path = &text.path;
    let expanded = references
        .expand(&text.raw)
        .map_err(|problem| format!("{path}: {problem}"))?;
    if C::is_valid(&expanded.value) {
        return Ok(expanded);
    }
    let allowed = C::ALLOWED;
    Err(format!(
        "{path}: its references give a value that is not allowed, allowed: {allowed}"
    ))
}

/// A server; what its references lack becomes its problem and no other server's.
fn server(entry: NamedServer, references: &References<'_>) -> ServerSettings {
    let mut strings = Strings {
        references,
        problems: Vec::new(),
    };
    let written = entry.server;
    let transport = match (&written.command, &written.url) {
        (_, Some(url)) => ServerTransport::Http {
            url: strings.text(url),
            headers: strings.secrets(&written.headers),
        },
        (command, None) => ServerTransport::Stdio {
            command: command.as_ref().map_or_else(
                || SettingText::Plain(String::new()),
                |one| strings.text(one),
            ),
            args: written.args.iter().map(|one| strings.text(one)).collect(),
            env: strings.secrets(&written.env),
            working_dir: written
                .working_dir
                .as_ref()
                .map(|folder| strings.folder(folder)),
        },
    };
    let tools = written.tools.entries.into_iter();
    ServerSettings {
        name: Arc::from(entry.name),
        transport,
        protocol: written.protocol.0,
        enabled: written.enabled,
        quarantined: written.quarantined,
        trust: written.trust.0,
        timeout: written.timeout.0,
        max_concurrent: small(written.max_concurrent.0),
        idle_stop: written.idle_stop.map(|span| span.0),
        tools: tools.map(|(name, written)| (name, tool(written))).collect(),
        problem: (!strings.problems.is_empty()).then(|| strings.problems.join("; ")),
    }
}

/// The strings of one server, and what is wrong with them.
struct Strings<'s> {
    references: &'s References<'s>,
    problems: Vec<String>,
}

impl Strings<'_> {
    fn text<C: ContentRule>(&mut self, raw: &RawText<C>) -> SettingText {
        match expand(raw, self.references) {
            Ok(expanded) => expanded.into_text(),
            Err(problem) => {
                self.problems.push(problem);
                SettingText::Plain(raw.raw.clone())
            }
        }
    }

    fn secrets<C: ContentRule, N>(&mut self, map: &Map<RawText<C>, N>) -> Vec<(String, Secret)> {
        let mut secrets = Vec::with_capacity(map.entries.len());
        for (name, raw) in &map.entries {
            let secret = match expand(raw, self.references) {
                Ok(expanded) => expanded.into_secret(),
                Err(problem) => {
                    self.problems.push(problem);
                    Secret::new(String::new())
                }
            };
            secrets.push((name.clone(), secret));
        }
        secrets
    }

    fn folder<C: ContentRule>(&mut self, raw: &RawText<C>) -> SettingText {
        let text = self.text(raw);
        if Path::new(text.expose()).is_absolute() {
            return text;
        }
        let Some(full) = self
            .references
            .folder
            .join(text.expose())
            .to_str()
            .map(str::to_owned)
        else {
            let path = &raw.path;
            self.problems.push(format!(
                "{path}: the folder of the configuration is not valid UTF-8, write an absolute path"
            ));
            return text;
        };
        text.replaced_by(full)
    }
}

fn tool(written: WrittenTool) -> ToolSettings {
    let given = written.annotations;
    let hints = ToolAnnotations {
        read_only: given.read_only,
        destructive: given.destructive,
        idempotent: given.idempotent,
        open_world: given.open_world,
    };
    let annotations = [
        ("title", given.title.map(|title| json!(title))),
        ("readOnlyHint", hints.read_only.map(|hint| json!(hint))),
        ("destructiveHint", hints.destructive.map(|hint| json!(hint))),
        ("idempotentHint", hints.idempotent.map(|hint| json!(hint))),
        ("openWorldHint", hints.open_world.map(|hint| json!(hint))),
    ];
    ToolSettings {
        hints,
        annotations: annotations
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?)))
            .collect(),
        enabled: written.enabled,
        rate_limit: written.rate_limit.map(|limit| ToolRateLimit {
            max_calls: small(limit.max_calls.0),
            window: Duration::from_millis(limit.window_ms.0),
        }),
    }
}
