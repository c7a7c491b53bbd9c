//! TLS: the one place that makes configurations of it, for clients of ours and for servers that we are a client of.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, InconsistentKeys, RootCertStore,
    ServerConfig, SignatureScheme, WantsVerifier,
};
use tokio_rustls::{Accept, Connect, TlsAcceptor, TlsConnector};
pub use tokio_rustls::{client, server};

/// Largest file of certificates or keys. A bundle of all public authorities has some hundred kilobytes.
const FILE_LIMIT: u64 = 1024 * 1024;

/// Certificate that is shown to clients, with its private key.
#[derive(Clone)]
pub struct ServerCertificate {
    /// The certificate itself, and those that lead to its authority.
    chain: Vec<CertificateDer<'static>>,
    config: Arc<ServerConfig>,
}

/// TLS to a server that we are a client of.
#[derive(Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
}

// === impl ServerCertificate ===

impl ServerCertificate {
    /// Reads the PEM files of a certificate, with those that lead to its authority behind it, and of its key. The error
    /// says which file is wrong and why, and repeats nothing that is in it.
    pub fn read(cert: &Path, key: &Path) -> Result<Self, String> {
        let chain = certificates(cert)?;
        let config = server_config(chain.clone(), private_key(key)?).map_err(|error| {
            let [cert, key] = [cert, key].map(shown);
            match error {
                Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                    format!("the key in {key} does not belong to the first certificate in {cert}")
                }
                Error::InvalidCertificate(error) => {
                    format!("the first certificate in {cert} cannot be used: {error}")
                }
                _ => format!("the key in {key} is of a kind that cannot be used"),
            }
        })?;
        let config = Arc::new(config);
        Ok(Self { chain, config })
    }

    /// Greeting of a client that has connected. It lasts as long as the client takes.
    pub fn accept<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> Accept<S> {
        TlsAcceptor::from(Arc::clone(&self.config)).accept(stream)
    }
}

impl PartialEq for ServerCertificate {
    /// A certificate has one key only, so that the key need not be looked at.
    fn eq(&self, other: &Self) -> bool {
        self.chain == other.chain
    }
}

impl fmt::Debug for ServerCertificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ServerCertificate")
    }
}

// === impl TlsClient ===

impl TlsClient {
    /// Client that believes a server with a certificate for its name, given by a public authority.
    pub fn verifying() -> Self {
        Self::believing(public_authorities())
    }

    /// Client that believes the authorities in a PEM file as well.
    pub fn verifying_with(file: &Path) -> Result<Self, String> {
        let mut authorities = public_authorities();
        for certificate in certificates(file)? {
            let added = authorities.add(certificate);
            added.map_err(|error| {
                format!("a certificate in {} cannot be used: {error}", shown(file))
            })?;
        }
        Ok(Self::believing(authorities))
    }

    fn believing(authorities: RootCertStore) -> Self {
        let config = client_builder().with_root_certificates(authorities);
        let config = Arc::new(config.with_no_client_auth());
        Self { config }
    }

    /// Client that believes every server: nobody can listen, but who stands in between is not found out.
    pub fn encrypting_only() -> Self {
        let algorithms = provider().signature_verification_algorithms;
        let verifier = Arc::new(AnyCertificate(algorithms));
        let builder = client_builder().dangerous();
        let config = builder.with_custom_certificate_verifier(verifier);
        let config = Arc::new(config.with_no_client_auth());
        Self { config }
    }

    /// Configuration for who makes connections of its own.
    pub fn config(&self) -> ClientConfig {
        ClientConfig::clone(&self.config)
    }

    /// Greeting of the server of this name, or at this address. The error is for a name that no server has.
    pub fn connect<S>(&self, host: &str, stream: S) -> io::Result<Connect<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = ServerName::try_from(host.to_owned());
        let name =
            name.map_err(|_| io::Error::other(format!("'{host}' is no name of a server")))?;
        Ok(TlsConnector::from(Arc::clone(&self.config)).connect(name, stream))
    }
}

impl fmt::Debug for TlsClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TlsClient")
    }
}

/// Check that passes every certificate; the server still has to prove that it has the key of the one it shows.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

fn server_config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, Error> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth();
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn public_authorities() -> RootCertStore {
    let public = webpki_roots::TLS_SERVER_ROOTS.iter().cloned();
    public.collect()
}

fn client_builder() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("the provider has what both versions of TLS need")
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Certificates of a PEM file, at least one.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let content = read(file)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&content).collect();
    let certificates = certificates.ok().filter(|found| !found.is_empty());
    certificates.ok_or_else(|| {
        let file = shown(file);
        format!("{file} holds no certificate in PEM format (-----BEGIN CERTIFICATE-----)")
    })
}

/// Private key of a PEM file.
fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(&read(file)?).map_err(|_| {
        let file = shown(file);
        format!(
            "{file} holds no private key in PEM format (-----BEGIN PRIVATE KEY-----); an encrypted one cannot be used"
        )
    })
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |error: io::Error| {
        let what = match error.kind() {
            ErrorKind::NotFound => "does not exist",
            ErrorKind::PermissionDenied => "may not be read by this user",
            _ => "cannot be read",
        };
        format!("{} {what}", shown(file))
    };
    // Opening a named pipe would wait for somebody to write to it.
    if !fs::metadata(file).map_err(unreadable)?.is_file() {
        return Err(format!("{} is not a regular file", shown(file)));
    }
    let mut content = Vec::new();
    let opened = File::open(file).map_err(unreadable)?;
    let mut bounded = opened.take(FILE_LIMIT + 1);
    bounded.read_to_end(&mut content).map_err(unreadable)?;
    if bounded.limit() == 0 {
        return Err(format!("{} is larger than the 1 MiB allowed", shown(file)));
    }
    Ok(content)
}

fn shown(file: &Path) -> String {
    format!("the file '{}'", file.display())
}
