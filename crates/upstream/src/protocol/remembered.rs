//! Protocol that each server speaks, remembered between connections and between starts.
//!
//! The file is a convenience: without it, or with one that cannot be read, servers are asked
//! again. It must never hold anything of a server but a hash that names it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{fs, io};

use bytes::Bytes;
use mcpproxy_wire::Protocol;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::lock;
use crate::spec::{Spec, TransportSpec};

/// Format of the file. A file of another format is ignored, and written anew.
const FORMAT: u64 = 1;
/// Size beyond which a file is none of ours.
const FILE_LIMIT: u64 = 1024 * 1024;
/// Most servers that are kept in the file; those of now come first.
const SERVERS_LIMIT: usize = 4096;

/// Protocols of all servers, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct RememberedProtocols {
    file: Option<PathBuf>,
    known: Mutex<BTreeMap<ServerKey, Protocol>>,
    /// Held while the file is written, so that the newest state is the last one written.
    writing: Mutex<()>,
}

/// Name of a server by how it is reached.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ServerKey(String);

/// Content of the file.
#[derive(Serialize, Deserialize)]
struct ProtocolsFile {
    format: u64,
    servers: BTreeMap<String, String>,
}

// === impl RememberedProtocols ===

impl RememberedProtocols {
    /// Reads what is known from a file, if it can be.
    pub(crate) fn in_file(file: PathBuf) -> Self {
        let known = read(&file).unwrap_or_default();
        Self {
            file: Some(file),
            known: Mutex::new(known),
            writing: Mutex::default(),
        }
    }

    /// Protocol that the server spoke last.
    pub(crate) fn recall(&self, key: &ServerKey) -> Option<Protocol> {
        lock(&self.known).get(key).copied()
    }

    /// Forgets a server, which is to be probed again. The file keeps what it says until then.
    pub(crate) fn forget(&self, key: &ServerKey) {
        lock(&self.known).remove(key);
    }

    /// Remembers what a connection was opened with. Writes in the background where it is news.
    pub(crate) fn learn(self: &Arc<Self>, key: &ServerKey, protocol: Protocol) {
        if lock(&self.known).insert(key.clone(), protocol) == Some(protocol) || self.file.is_none()
        {
            return;
        }
        let remembered = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = remembered.write() {
                tracing::debug!(kind = %error.kind(), "what servers speak could not be kept");
            }
        });
    }

    fn write(&self) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let _one_at_a_time = lock(&self.writing);
        let mut all = lock(&self.known).clone();
        // Another process may have learned more meanwhile.
        for (key, protocol) in read(file).unwrap_or_default() {
            if all.len() < SERVERS_LIMIT {
                all.entry(key).or_insert(protocol);
            }
        }
        let servers = all.into_iter();
        let servers = servers.map(|(ServerKey(key), protocol)| (key, word(protocol).to_owned()));
        let content = ProtocolsFile {
            format: FORMAT,
            servers: servers.collect(),
        };
        let text = serde_json::to_vec(&content)?;
        // Under a name of its own first: whoever reads sees the old file or the new one.
        let draft = file.with_extension(format!("{}.tmp", Uuid::new_v4().simple()));
        let written = fs::write(&draft, text).and_then(|()| fs::rename(&draft, file));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written
    }
}

// === impl ServerKey ===

impl ServerKey {
    /// Key of a server; nothing for one that is part of this program.
    ///
    /// Values of headers and variables are left out: they are secrets, and do not decide
    /// what a server speaks.
    pub(crate) fn of(spec: &Spec) -> Option<Self> {
        let mut hash = Sha256::new();
        let mut add = |part: &str| {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(part);
        };
        let names = |pairs: &[(String, String)]| {
            let names: Vec<String> = pairs.iter().map(|(name, _)| name.clone()).collect();
            names.join("\n")
        };
        match &spec.transport {
            TransportSpec::Stdio(stdio) => {
                add("stdio");
                add(&stdio.command);
                stdio.args.iter().for_each(|argument| add(argument));
                add(&names(&stdio.env));
                let folder = stdio.working_dir.as_deref().map(Path::to_string_lossy);
                add(folder.as_deref().unwrap_or_default());
            }
            TransportSpec::Http(http) => {
                add("http");
                add(&http.url);
                add(&names(&http.headers));
            }
            TransportSpec::BuiltIn(_) => return None,
        }
        let digest = Bytes::copy_from_slice(&hash.finalize());
        Some(Self(format!("{digest:x}")))
    }
}

fn word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Session => "legacy",
        Protocol::Stateless => "modern",
    }
}

/// Content of the file; nothing if it is not one of ours.
fn read(file: &Path) -> Option<BTreeMap<ServerKey, Protocol>> {
    // A link is none of ours either: it is replaced, and not followed.
    let is_small =
        fs::symlink_metadata(file).is_ok_and(|data| data.is_file() && data.len() <= FILE_LIMIT);
    if !is_small {
        return None;
    }
    let content: ProtocolsFile = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    let servers = (content.format == FORMAT).then_some(content.servers)?;
    let known = servers.into_iter().filter_map(|(key, said)| {
        let protocols = [Protocol::Session, Protocol::Stateless];
        let protocol = protocols.into_iter().find(|one| said == word(*one))?;
        let is_ours = key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_ours.then_some((ServerKey(key), protocol))
    });
    Some(known.collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mcpproxy_redact::Mask;

    use super::*;
    use crate::{HttpSpec, ProtocolSetting};

    fn key(url: &str, secret: &str) -> ServerKey {
        let spec = Spec {
            name: "a".into(),
            transport: TransportSpec::Http(HttpSpec {
                url: url.into(),
                headers: vec![("Authorization".into(), secret.into())],
            }),
            protocol: ProtocolSetting::Auto,
            start_timeout: Duration::from_mins(1),
            timeout: Duration::ZERO,
            max_concurrent: 1,
            idle_stop: None,
            mask: Mask::default(),
        };
        ServerKey::of(&spec).expect("it is no built-in one")
    }

    #[test]
    fn a_key_names_the_address_and_holds_no_secret() {
        assert_eq!(key("http://a/", "x"), key("http://a/", "y"));
        assert_ne!(key("http://a/", "x"), key("http://b/", "x"));
        assert_eq!(key("http://a/", "x").0.len(), 64);
    }

    #[tokio::test]
    async fn what_is_learned_is_there_after_a_start_and_others_keep_theirs() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("eras.json");
        let (first, second) = (key("http://a/", ""), key("http://b/", ""));
        let one = Arc::new(RememberedProtocols::in_file(file.clone()));
        let other = Arc::new(RememberedProtocols::in_file(file.clone()));
        lock(&one.known).insert(first.clone(), Protocol::Session);
        one.write().expect("it is written");
        lock(&other.known).insert(second.clone(), Protocol::Stateless);
        other.write().expect("it is written");
        let later = RememberedProtocols::in_file(file);
        assert_eq!(later.recall(&first), Some(Protocol::Session));
        assert_eq!(later.recall(&second), Some(Protocol::Stateless));
        later.forget(&first);
        assert_eq!(later.recall(&first), None);
        let left: Vec<_> = fs::read_dir(folder.path()).expect("it is there").collect();
        assert_eq!(left.len(), 1, "no draft stays behind");
    }

    #[test]
    fn a_file_that_is_not_ours_is_ignored() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("eras.json");
        let known = key("http://a/", "").0;
        let foreign = [
            String::new(),
            "{".into(),
            "[]".into(),
            r#"{"format":2,"servers":{}}"#.into(),
            format!(r#"{{"format":2,"servers":{{"{known}":"modern"}}}}"#),
            format!(r#"{{"format":1,"servers":{{"{known}":"other","short":"modern"}}}}"#),
            format!(r#"{{"format":1,"servers":["{known}"]}}"#),
        ];
        for content in foreign {
            fs::write(&file, &content).expect("it is written");
            let remembered = RememberedProtocols::in_file(file.clone());
            assert!(lock(&remembered.known).is_empty(), "{content}");
        }
        let of_folder = RememberedProtocols::in_file(folder.path().into());
        assert!(lock(&of_folder.known).is_empty());
    }
}
