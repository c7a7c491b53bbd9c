//! A log in a place of its own, on each engine.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mcpproxy_activity::{
    Archive, Engine, Filter, Log, LogOptions, LogRole, OpenRecord, Record, RecordKind,
    RecordOutcome, RecordingPolicy, Status,
};
use mcpproxy_policy::{AgentToken, Caller, Operation, Rights, TokenGrant};
use mcpproxy_redact::Redactor;
use mcpproxy_tests::{Database, Postgres};
use tempfile::TempDir;
use uuid::Uuid;

/// A data directory and a store.
pub(crate) struct Place {
    folder: TempDir,
    database: Option<Database>,
    pub(crate) engine: Engine,
    /// Kept, because to connect takes longer than what is then asked.
    archive: OnceLock<Archive>,
    client: tokio::sync::OnceCell<tokio_postgres::Client>,
}

impl Place {
    pub(crate) fn sqlite() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            database: None,
            engine: Engine::Sqlite,
            archive: OnceLock::new(),
            client: tokio::sync::OnceCell::new(),
        }
    }

    pub(crate) async fn postgres() -> Self {
        let database = Postgres::find().database().await;
        Self {
            folder: tempfile::tempdir().unwrap(),
            engine: Engine::Postgres(database.url().to_owned()),
            database: Some(database),
            archive: OnceLock::new(),
            client: tokio::sync::OnceCell::new(),
        }
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub(crate) fn options(&self) -> LogOptions {
        LogOptions {
            data_dir: self.data_dir(),
            engine: self.engine.clone(),
            role: LogRole::Daemon,
            policy: policy(),
        }
    }

    pub(crate) fn log(&self) -> Log {
        self.log_with(&[])
    }

    pub(crate) fn log_with(&self, secrets: &[&str]) -> Log {
        let secrets = secrets.iter().map(|secret| (*secret).to_owned());
        Log::start(&self.options(), Arc::new(Redactor::new(secrets))).unwrap()
    }

    pub(crate) fn archive(&self) -> Archive {
        let open = || Archive::open(&self.data_dir(), &self.engine).unwrap();
        self.archive.get_or_init(open).clone()
    }

    /// Changes the table behind the log's back.
    pub(crate) async fn sql(&self, statements: &str) {
        if let Some(database) = &self.database {
            let client = self.client.get_or_init(|| database.client()).await;
            return client.batch_execute(statements).await.unwrap();
        }
        let file = self.data_dir().join("state.db");
        let connection = rusqlite::Connection::open(file).unwrap();
        connection.execute_batch(statements).unwrap();
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.database.is_none()
    }

    /// Everything on record, oldest first.
    pub(crate) async fn records(&self) -> Vec<Record> {
        let page = self.archive().page(&Filter::default(), None, 10_000).await;
        let mut records = page.unwrap().records;
        records.reverse();
        records
    }
}

pub(crate) fn policy() -> RecordingPolicy {
    RecordingPolicy {
        max_payload_bytes: 1_000,
        is_strict: true,
        retention: Duration::from_hours(24),
        max_records: None,
    }
}

pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_mins(2)
}

/// A caller without a credential.
pub(crate) fn anonymous() -> Caller {
    Caller {
        session_id: Some("session".to_owned()),
        client_name: Some("agent".to_owned()),
        client_version: Some("1".to_owned()),
        ..Caller::default()
    }
}

/// The same client with a token.
pub(crate) fn with_token(name: &str) -> Caller {
    Caller {
        rights: Rights::Token(Arc::new(AgentToken {
            id: format!("id of {name}").into(),
            name: name.into(),
            grant: TokenGrant::default(),
        })),
        ..anonymous()
    }
}

/// Opens the record of a call of `files:write`.
pub(crate) fn open(log: &Log, operation: Operation) -> OpenRecord {
    open_as(log, anonymous(), operation)
}

/// Opens the record of a call that somebody makes.
pub(crate) fn open_as(log: &Log, caller: Caller, operation: Operation) -> OpenRecord {
    let mut entry = log.open(RecordKind::ToolCall, &Arc::new(caller), Some(operation));
    entry.set_tool("files", "write");
    entry.set_declared_intent(serde_json::json!({
        "operation_type": operation.as_str(), "reason": "a test",
    }));
    entry.set_arguments(r#"{"path":"a"}"#);
    entry
}

pub(crate) const WORKED: RecordOutcome<'static> = RecordOutcome {
    status: Status::Success,
    error: None,
    response: Some(r#"{"content":[]}"#),
};

pub(crate) const REFUSED: RecordOutcome<'static> = RecordOutcome {
    status: Status::Blocked,
    error: Some(("INTENT_MISMATCH", "Intent mismatch")),
    response: None,
};

/// Makes a call and records it.
pub(crate) async fn call(log: &Log, operation: Operation) -> Uuid {
    call_as(log, anonymous(), operation).await
}

/// Makes a call as somebody and records it.
pub(crate) async fn call_as(log: &Log, caller: Caller, operation: Operation) -> Uuid {
    let mut entry = open_as(log, caller, operation);
    let id = entry.id();
    entry.begin_sending(soon()).await.unwrap();
    entry.close(WORKED).await.unwrap();
    id
}
