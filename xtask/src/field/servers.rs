//! Servers of the field trial, as `servers.json` lists them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Server that people use.
pub(crate) struct FieldServer {
    /// Name that the gateway knows it by.
    pub(crate) name: String,
    pub(crate) package: Package,
    pub(crate) version: String,
    /// Further Python packages, for servers that no longer fit the newest ones.
    pub(crate) with: Vec<String>,
    /// Program of the package that is the server.
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
}

/// Package by its registry.
pub(crate) struct Package {
    pub(crate) registry: Registry,
    pub(crate) name: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registry {
    Npm,
    Pypi,
}

pub(crate) fn read(file: &Path) -> Result<Vec<FieldServer>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    parse(&text).with_context(|| format!("{} is not a list of servers", file.display()))
}

fn parse(text: &str) -> Result<Vec<FieldServer>> {
    let list: Vec<Value> = serde_json::from_str(text)?;
    list.iter().map(server).collect()
}

fn server(entry: &Value) -> Result<FieldServer> {
    let text = |name: &str| entry[name].as_str().map(str::to_owned);
    let name = text("name").with_context(|| format!("{entry} has no name"))?;
    let (registry, package) = match (text("npm"), text("pypi")) {
        (Some(package), None) => (Registry::Npm, package),
        (None, Some(package)) => (Registry::Pypi, package),
        _ => bail!("{name} needs `npm` or `pypi`"),
    };
    let texts = |key: &str| -> Vec<String> {
        let items = entry[key].as_array().into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let env = entry["env"].as_object().into_iter().flatten();
    let env = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    Ok(FieldServer {
        version: text("version").with_context(|| format!("{name} has no version"))?,
        program: text("program").with_context(|| format!("{name} has no program"))?,
        package: Package {
            registry,
            name: package,
        },
        with: texts("with"),
        args: texts("args"),
        env: env.collect(),
        name,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_list_has_at_least_twenty_servers_of_both_registries_each_at_one_version() {
        let servers = parse(include_str!("servers.json")).unwrap();
        let names: BTreeSet<&str> = servers.iter().map(|server| &*server.name).collect();
        assert!(names.len() >= 20 && names.len() == servers.len());
        for registry in [Registry::Npm, Registry::Pypi] {
            let of_it = servers
                .iter()
                .filter(|one| one.package.registry == registry);
            assert!(of_it.count() >= 5);
        }
        for server in &servers {
            assert!(
                server
                    .version
                    .starts_with(|first: char| first.is_ascii_digit())
            );
            assert!(!server.name.contains("__"));
        }
    }

    #[test]
    fn an_entry_that_lacks_something_is_refused_by_name() {
        for (entry, said) in [
            ("[{}]", "has no name"),
            (r#"[{"name":"a"}]"#, "a needs `npm` or `pypi`"),
            (r#"[{"name":"a","npm":"b","pypi":"c"}]"#, "a needs"),
            (r#"[{"name":"a","npm":"b"}]"#, "a has no version"),
            (
                r#"[{"name":"a","npm":"b","version":"1"}]"#,
                "a has no program",
            ),
        ] {
            let error = parse(entry).err().unwrap().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
