//! Servers that `upstream add` was asked for, made of its arguments and of what was pasted.

use std::path::Path;

use mcpproxy_gateway::settings::edit::{self, SnippetServer};
use mcpproxy_gateway::settings::secret_files;
use serde_json::{Map, Value, json};

use crate::arguments::AddArguments;

/// Server to add.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WantedServer {
    pub(super) name: String,
    pub(super) entry: Map<String, Value>,
    /// Secrets that its entry refers to, by their names.
    pub(super) secrets: Vec<(String, String)>,
}

/// Pair of a name and a value, as `--env` and `--header` have it.
struct NamedText<'a> {
    name: &'a str,
    value: Option<&'a str>,
}

/// Members of an entry that hold pairs.
#[derive(Clone, Copy)]
struct NamedTextKind {
    member: &'static str,
    separator: char,
    form: &'static str,
}

const ENV: NamedTextKind = NamedTextKind {
    member: "env",
    separator: '=',
    form: "NAME=VALUE",
};

const HEADER: NamedTextKind = NamedTextKind {
    member: "headers",
    separator: ':',
    form: "'Name: value'",
};

/// Servers to add. `snippet` is the text of `--json`; `ask` gives the value of a secret that was given without one.
pub(super) fn servers(
    arguments: &AddArguments,
    snippet: Option<&str>,
    mut ask: impl FnMut(&str) -> Result<String, String>,
) -> Result<Vec<WantedServer>, String> {
    let mut servers = match (snippet, &arguments.url, arguments.command.as_slice()) {
        (Some(snippet), ..) => of_snippet(snippet, arguments.name.as_deref())?,
        (None, Some(url), _) => {
            edit::check_url(url)?;
            vec![named(arguments, json!({ "url": url }))?]
        }
        (None, None, [command, args @ ..]) => {
            let mut entry = json!({ "command": command });
            if !args.is_empty() {
                entry["args"] = json!(args);
            }
            vec![named(arguments, entry)?]
        }
        (None, None, []) => {
            return Err(
                "say what to add: a URL, a command behind --, or an entry with --json".to_owned(),
            );
        }
    };
    let lists = [
        &arguments.env,
        &arguments.header,
        &arguments.secret_env,
        &arguments.secret_header,
    ];
    let has_more = arguments.cwd.is_some() || lists.iter().any(|list| !list.is_empty());
    match &mut servers[..] {
        [one] => {
            check_fitting(&one.entry, arguments)?;
            complete(one, arguments, &mut ask)?;
        }
        several if has_more => {
            return Err(format!(
                "the snippet has {} servers; --env, --header, --cwd and secrets are for one",
                several.len()
            ));
        }
        _ => {}
    }
    Ok(servers)
}

/// Refuses flags that have no meaning for a server that is reached in this way: somebody just typed them.
fn check_fitting(entry: &Map<String, Value>, arguments: &AddArguments) -> Result<(), String> {
    let has_env = !(arguments.env.is_empty() && arguments.secret_env.is_empty());
    let has_headers = !(arguments.header.is_empty() && arguments.secret_header.is_empty());
    let of_process = [("--env", has_env), ("--cwd", arguments.cwd.is_some())];
    let (way, unfitting): (_, &[_]) = if entry.contains_key("command") {
        ("command", &[("--header", has_headers)])
    } else {
        ("url", &of_process)
    };
    match unfitting.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(format!("{flag} has no meaning for a server with '{way}'")),
        None => Ok(()),
    }
}

fn named(arguments: &AddArguments, entry: Value) -> Result<WantedServer, String> {
    let name = arguments.name.clone().ok_or("give the server a name")?;
    edit::check_name(&name)?;
    let Value::Object(entry) = entry else {
        return Err("an entry is an object".to_owned());
    };
    Ok(WantedServer {
        name,
        entry,
        secrets: Vec::new(),
    })
}

fn of_snippet(snippet: &str, name: Option<&str>) -> Result<Vec<WantedServer>, String> {
    let servers = edit::servers_of_snippet(snippet)?;
    let is_one = servers.len() == 1;
    if let (Some(name), false) = (name, is_one) {
        return Err(format!(
            "the snippet has {} servers with names of their own, and '{name}' is one name",
            servers.len()
        ));
    }
    let servers = servers
        .into_iter()
        .map(|SnippetServer { name: own, entry }| {
            let name = match (name, own) {
                (Some(name), _) => {
                    edit::check_name(name)?;
                    name.to_owned()
                }
                (None, Some(own)) => edit::usable_name(&own),
                (None, None) => {
                    return Err(
                        "the snippet does not name its server: write `upstream add NAME --json …`"
                            .to_owned(),
                    );
                }
            };
            Ok(WantedServer {
                name,
                entry,
                secrets: Vec::new(),
            })
        });
    servers.collect()
}

/// Adds what the other flags say to the entry of one server.
fn complete(
    server: &mut WantedServer,
    arguments: &AddArguments,
    ask: &mut impl FnMut(&str) -> Result<String, String>,
) -> Result<(), String> {
    if let Some(folder) = &arguments.cwd {
        server
            .entry
            .insert("working_dir".to_owned(), json!(absolute(folder)?));
    }
    for (kind, plain, secret) in [
        (ENV, &arguments.env, &arguments.secret_env),
        (HEADER, &arguments.header, &arguments.secret_header),
    ] {
        for text in plain {
            let NamedText { name, value } = kind.parse(text)?;
            let Some(value) = value else {
                return Err(format!("a value of --{} is not {}", kind.flag(), kind.form));
            };
            let is_secret = edit::looks_secret(name, value);
            server.put(kind, name, value, is_secret)?;
        }
        for text in secret {
            let NamedText { name, value } = kind.parse(text)?;
            let value = match value {
                Some(value) => value.to_owned(),
                None => ask(name)?,
            };
            server.put(kind, name, &value, true)?;
        }
    }
    Ok(())
}

fn absolute(folder: &Path) -> Result<String, String> {
    let full = std::path::absolute(folder)
        .map_err(|error| format!("the folder of --cwd cannot be used: {error}"))?;
    let full = full.into_os_string().into_string();
    full.map_err(|_| "the folder of --cwd is not valid UTF-8".to_owned())
}

impl NamedTextKind {
    fn flag(self) -> &'static str {
        if self.member == "env" {
            "env"
        } else {
            "header"
        }
    }

    fn parse(self, text: &str) -> Result<NamedText<'_>, String> {
        let (name, value) = match text.split_once(self.separator) {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let is_header = self.separator == ':';
        let name = if is_header { name.trim() } else { name };
        let value = if is_header {
            value.map(str::trim)
        } else {
            value
        };
        if name.is_empty() {
            return Err(format!("a value of --{} is not {}", self.flag(), self.form));
        }
        Ok(NamedText { name, value })
    }
}

impl WantedServer {
    /// Puts a value into the entry, or a reference to it.
    fn put(
        &mut self,
        kind: NamedTextKind,
        name: &str,
        value: &str,
        is_secret: bool,
    ) -> Result<(), String> {
        let pairs = self.entry.entry(kind.member).or_insert_with(|| json!({}));
        let Value::Object(pairs) = pairs else {
            return Err(format!("'{}' of the entry is no object", kind.member));
        };
        // Of a name that was given before, the last value counts.
        let before = pairs.get(name).and_then(Value::as_str);
        self.secrets
            .retain(|(secret, _)| before != Some(&*reference(secret)));
        let written = if is_secret {
            let is_taken = |secret: &str| self.secrets.iter().any(|(other, _)| other == secret);
            let secret = secret_files::name_for(&self.name, name, is_taken);
            let written = reference(&secret);
            self.secrets.push((secret, value.to_owned()));
            written
        } else {
            value.to_owned()
        };
        pairs.insert(name.to_owned(), json!(written));
        Ok(())
    }
}

fn reference(secret: &str) -> String {
    format!("${{secret:{secret}}}")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::{Command, CommandLine, UpstreamCommand};

    fn wanted(words: &[&str]) -> Result<Vec<WantedServer>, String> {
        let words = [&["mcpproxy", "upstream", "add"], words].concat();
        let parsed = CommandLine::try_parse_from(words).map_err(|error| error.to_string())?;
        let Command::Upstream(UpstreamCommand::Add(arguments)) = parsed.command else {
            panic!("another command")
        };
        let snippet = arguments.json.clone();
        servers(&arguments, snippet.as_deref(), |name| {
            Ok(format!("asked-for-{name}"))
        })
    }

    #[track_caller]
    fn check(words: &[&str], name: &str, entry: &Value, secrets: &[(&str, &str)]) {
        let servers = wanted(words).unwrap_or_else(|problem| panic!("{problem}: {words:?}"));
        let [server] = &servers[..] else {
            panic!("{servers:?}")
        };
        assert_eq!((&*server.name, json!(server.entry)), (name, entry.clone()));
        let found = server
            .secrets
            .iter()
            .map(|(name, value)| (&**name, &**value));
        assert_eq!(found.collect::<Vec<_>>(), secrets);
    }

    #[test]
    fn entries_are_made_of_arguments() {
        let npx = json!({ "command": "npx", "args": ["-y", "pkg", "--flag"] });
        check(&["a", "--", "npx", "-y", "pkg", "--flag"], "a", &npx, &[]);
        check(
            &["a", "--", "server"],
            "a",
            &json!({ "command": "server" }),
            &[],
        );
        check(
            &["a", "https://h/mcp"],
            "a",
            &json!({ "url": "https://h/mcp" }),
            &[],
        );
        check(
            &["--json", r#""b": { "command": "x" }"#],
            "b",
            &json!({ "command": "x" }),
            &[],
        );
        check(
            &["a", "--json", r#"{ "command": "x" }"#],
            "a",
            &json!({ "command": "x" }),
            &[],
        );
        check(
            &["--json", r#"{ "My Server": { "url": "https://h" } }"#],
            "My-Server",
            &json!({ "url": "https://h" }),
            &[],
        );
        check(
            &["a", "--cwd", "/srv", "--env", "REGION=eu=1", "--", "x"],
            "a",
            &json!({ "command": "x", "working_dir": "/srv", "env": { "REGION": "eu=1" } }),
            &[],
        );
    }

    #[test]
    fn secrets_are_taken_out_of_entries() {
        check(
            &[
                "a",
                "--env",
                "GH_TOKEN=abc-secret",
                "--env",
                "N=${env:N}",
                "--secret-env",
                "PIN",
                "--",
                "x",
            ],
            "a",
            &json!({ "command": "x", "env": { "GH_TOKEN": "${secret:a.GH_TOKEN}", "N": "${env:N}", "PIN": "${secret:a.PIN}" } }),
            &[("a.GH_TOKEN", "abc-secret"), ("a.PIN", "asked-for-PIN")],
        );
        check(
            &[
                "a",
                "https://h",
                "--header",
                "Authorization: Bearer abc",
                "--header",
                "X-Region: eu",
                "--secret-header",
                "X-Pin: 12",
            ],
            "a",
            &json!({ "url": "https://h", "headers": { "Authorization": "${secret:a.Authorization}", "X-Region": "eu", "X-Pin": "${secret:a.X-Pin}" } }),
            &[("a.Authorization", "Bearer abc"), ("a.X-Pin", "12")],
        );
    }

    #[test]
    fn names_that_looked_alike_shared_one_secret() {
        let secrets = ["--secret-env", "X.Y=one", "--secret-env", "X_Y=two"];
        let entry = json!({ "command": "x", "env": { "X.Y": "${secret:a.X_Y}", "X_Y": "${secret:a.X_Y-2}" } });
        let words = [&["a"][..], &secrets, &["--", "x"]].concat();
        check(&words, "a", &entry, &[("a.X_Y", "one"), ("a.X_Y-2", "two")]);
        // The last value of one name counts.
        let words = [
            &["a"][..],
            &secrets,
            &["--secret-env", "X_Y=three", "--", "x"],
        ]
        .concat();
        check(
            &words,
            "a",
            &entry,
            &[("a.X_Y", "one"), ("a.X_Y-2", "three")],
        );
        let words = [
            "a",
            "--env",
            "API_KEY=not-to-be-seen-1",
            "--env",
            "API_KEY=${env:OTHER}",
            "--",
            "x",
        ];
        check(
            &words,
            "a",
            &json!({ "command": "x", "env": { "API_KEY": "${env:OTHER}" } }),
            &[],
        );
    }

    #[test]
    fn what_cannot_be_added_is_told_without_values() {
        for (words, expected) in [
            (&[][..], "say what to add"),
            (&["a"], "say what to add"),
            (&["--", "x"], "give the server a name"),
            (&["a b", "--", "x"], "found the server name 'a b'"),
            (
                &["mcpproxy", "https://h"],
                "found the server name 'mcpproxy'",
            ),
            (&["a", "ftp://s3cr3t"], "the URL is not valid"),
            (&["a", "https://"], "the URL is not valid"),
            (&["a", "--json", "{"], "syntax error"),
            (
                &["--json", r#"{ "command": "x" }"#],
                "does not name its server",
            ),
            (
                &[
                    "a",
                    "--json",
                    r#"{ "b": { "command": "x" }, "c": { "command": "x" } }"#,
                ],
                "'a' is one name",
            ),
            (
                &[
                    "--cwd",
                    "/",
                    "--json",
                    r#"{ "b": { "command": "x" }, "c": { "command": "x" } }"#,
                ],
                "are for one",
            ),
            (
                &["a", "--env", "s3cr3t", "--", "x"],
                "a value of --env is not NAME=VALUE",
            ),
            (
                &["a", "--env", "=s3cr3t", "--", "x"],
                "a value of --env is not NAME=VALUE",
            ),
            (
                &["a", "https://h", "--header", "s3cr3t"],
                "a value of --header is not 'Name: value'",
            ),
            (&["a", "https://h", "--", "x"], "cannot be used with"),
        ] {
            let problem = wanted(words).unwrap_err();
            assert!(problem.contains(expected), "{words:?}: {problem}");
            assert!(!problem.contains("s3cr3t"), "{problem}");
        }
    }
}
