//! Certificates, made anew for each test, and clients that believe them.

use std::path::Path;
use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A certificate that vouches for itself, with its key.
pub struct TestCertificate(CertifiedKey<KeyPair>);

impl TestCertificate {
    /// A certificate for these names and addresses.
    pub fn new(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        Self(generate_simple_self_signed(names).expect("a certificate can be made"))
    }

    /// The certificate as a PEM file has it.
    pub fn pem(&self) -> String {
        self.0.cert.pem()
    }

    /// The key as a PEM file has it.
    pub fn key_pem(&self) -> String {
        self.0.signing_key.serialize_pem()
    }

    /// Writes `cert.pem` and `key.pem` into a folder, each at once and the key for its owner alone.
    pub fn write_to(&self, folder: &Path) {
        use std::os::unix::fs::PermissionsExt;
        for (name, content) in [("cert.pem", self.pem()), ("key.pem", self.key_pem())] {
            let draft = folder.join(format!("{name}.new"));
            std::fs::write(&draft, content).expect("the file can be written");
            let mode = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&draft, mode).expect("the file has a mode");
            std::fs::rename(&draft, folder.join(name)).expect("the file can be replaced");
        }
    }

    /// TLS of a client that believes this certificate and no other.
    pub fn believed(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        let added = roots.add(self.0.cert.der().clone());
        added.expect("the certificate can be believed");
        believing(roots)
    }
}

impl std::fmt::Debug for TestCertificate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TestCertificate")
    }
}

/// TLS of a client that believes nobody, for connections without TLS.
pub(crate) fn believing_nobody() -> ClientConfig {
    believing(RootCertStore::empty())
}

fn believing(roots: RootCertStore) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has what TLS needs")
        .with_root_certificates(roots)
        .with_no_client_auth()
}
