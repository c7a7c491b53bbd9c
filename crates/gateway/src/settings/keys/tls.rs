//! The keys of TLS, and the files that they name.

use std::path::Path as FilePath;

use mcpproxy_support::tls::ServerCertificate;

use super::section::section;
use crate::settings::rules::KeyRule::Text;
use crate::settings::rules::TextKind::Path;
use crate::settings::secret::SettingText;
use crate::settings::text::NOT_EMPTY;

section! {
    /// The certificate of the HTTP endpoint.
    pub struct TlsSettings {
        /// The PEM file of the certificate, with those that lead to its authority behind it. A relative path is taken
        /// from the folder of this file. May hold references.
        "cert" pub cert: SettingText, Text(NOT_EMPTY, Path);
        /// The PEM file of its private key, which nobody else should be able to read. A relative path is taken from the
        /// folder of this file. May hold references.
        "key" pub key: SettingText, Text(NOT_EMPTY, Path);
    }
}

impl TlsSettings {
    /// Files of the certificate and of its key.
    pub(in crate::settings) fn files(&self) -> [&FilePath; 2] {
        [&self.cert, &self.key].map(|file| FilePath::new(file.expose()))
    }

    /// Reads the certificate and its key; the error says what is wrong with which file.
    pub(in crate::settings) fn read(&self) -> Result<ServerCertificate, String> {
        let [cert, key] = self.files();
        ServerCertificate::read(cert, key)
    }

    /// Warning about a key that others can read, with the command that mends it.
    pub fn warning(&self) -> Option<String> {
        let [_, key] = self.files();
        is_open(key).then(|| {
            let key = key.display();
            format!("other users can read the private key of `tls`: `chmod 600 {key}`")
        })
    }
}

/// Whether others than the owner can read or write a file. One that belongs to root may be lent to a group.
#[cfg(unix)]
fn is_open(file: &FilePath) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(file).is_ok_and(|found| {
        let lent = if found.uid() == 0 { 0o040 } else { 0 };
        found.mode() & 0o077 & !lent != 0
    })
}

#[cfg(not(unix))]
fn is_open(_: &FilePath) -> bool {
    false
}
