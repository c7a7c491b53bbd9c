//! TLS to the server, with a certificate that it shows for the name `localhost` alone.

use std::path::PathBuf;

use mcpproxy_activity::Filter;
use mcpproxy_activity::chain::ChainHead;
use mcpproxy_activity::postgres;
use mcpproxy_activity::store::StoreError;
use mcpproxy_tests::{Database, Postgres, TestCertificate, trials};
use tempfile::TempDir;

use crate::story::sketch::chain;

trials![
    the_line_to_the_database_could_not_be_encrypted,
    a_server_that_cannot_prove_its_name_is_not_believed,
    a_server_without_tls_is_not_talked_to_in_the_open,
];

/// A database, and its server's certificate in a file.
struct Scene {
    database: Database,
    folder: TempDir,
}

impl Scene {
    async fn new() -> Self {
        let database = Postgres::find().database().await;
        let folder = tempfile::tempdir().unwrap();
        let client = database.client().await;
        let read = "SELECT pg_read_file('server.crt')";
        let certificate: String = client.query_one(read, &[]).await.unwrap().get(0);
        std::fs::write(folder.path().join("server.pem"), certificate).unwrap();
        Self { database, folder }
    }

    /// Path of the server's certificate.
    fn certificate(&self) -> PathBuf {
        self.folder.path().join("server.pem")
    }

    /// URL with another name of the server and these parameters.
    fn url(&self, host: &str, parameters: &str) -> String {
        let url = self
            .database
            .url()
            .replace("@127.0.0.1:", &format!("@{host}:"));
        format!("{url}?{parameters}")
    }

    /// Whether each of the connections to a URL is encrypted, as the server knows it.
    async fn is_encrypted(&self, url: &str) -> Result<Vec<bool>, StoreError> {
        let mut opened = postgres::open(url)?;
        assert_eq!(opened.journal.head(chain(1))?, ChainHead::EMPTY);
        opened.store.count(&Filter::default()).await?;
        let connected = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                         WHERE datname = current_database() AND application_name = 'mcpproxy'";
        let rows = self.database.client().await.query(connected, &[]).await;
        Ok(rows.unwrap().iter().map(|row| row.get(0)).collect())
    }
}

async fn the_line_to_the_database_could_not_be_encrypted() {
    let scene = Scene::new().await;
    let certificate = scene.certificate();
    let root = format!("sslrootcert={}", certificate.display());
    let verified = format!("sslmode=verify-full&{root}");
    for (host, parameters, expected) in [
        ("127.0.0.1", "sslmode=require", true),
        ("localhost", &verified, true),
        ("localhost", &root, true),
        ("127.0.0.1", "sslmode=disable", false),
        ("localhost", "application_name=mcpproxy", false),
    ] {
        let url = scene.url(host, parameters);
        let encrypted = scene.is_encrypted(&url).await;
        let encrypted = encrypted.unwrap_or_else(|error| panic!("{host} {parameters}: {error}"));
        assert_eq!(encrypted, [expected; 2], "{host} {parameters}");
    }
}

async fn a_server_that_cannot_prove_its_name_is_not_believed() {
    let scene = Scene::new().await;
    let own = scene.certificate();
    let others = TestCertificate::new(&["localhost"]);
    let other = scene.folder.path().join("other.pem");
    std::fs::write(&other, others.pem()).unwrap();
    for (host, authorities) in [
        // Of no authority that is believed.
        ("localhost", String::new()),
        ("localhost", format!("&sslrootcert={}", other.display())),
        // Of another name.
        ("127.0.0.1", format!("&sslrootcert={}", own.display())),
    ] {
        let url = scene.url(host, &format!("sslmode=verify-full{authorities}"));
        let problem = scene.is_encrypted(&url).await.unwrap_err();
        let StoreError::Unusable(message) = &problem else {
            panic!("{host}: {problem:?}");
        };
        assert!(
            message.contains("cannot be reached by TLS: invalid peer certificate"),
            "{message}"
        );
        assert!(message.contains("`sslrootcert`"), "{message}");
    }
}

async fn a_server_without_tls_is_not_talked_to_in_the_open() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 8];
        stream.read_exact(&mut request).await.unwrap();
        // No, as PostgreSQL says it.
        stream.write_all(b"N").await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        rest
    });
    let url = format!("postgres://me:s3cret@127.0.0.1:{port}/db?sslmode=require");
    let mut opened = postgres::open(&url).unwrap();
    let problem = opened.journal.head(chain(1)).unwrap_err();
    assert!(matches!(problem, StoreError::Unusable(_)), "{problem:?}");
    assert!(
        problem.to_string().contains("does not support TLS"),
        "{problem}"
    );
    assert_eq!(server.await.unwrap(), b"", "nothing was sent in the open");
}
