//! The story on PostgreSQL, where there is one.

use mcpproxy_activity::postgres;
use mcpproxy_activity::store::OpenStore;
use mcpproxy_tests::{Database, Postgres};

use crate::story::Place;

pub(crate) struct Server(pub(crate) Database);

impl Place for Server {
    async fn fresh() -> Self {
        Self(Postgres::find().database().await)
    }

    fn open(&self) -> OpenStore {
        postgres::open(self.0.url()).unwrap()
    }

    async fn tamper(&self, statement: &str) {
        let client = self.0.client().await;
        client.batch_execute(statement).await.unwrap();
    }
}

story!(Server);
