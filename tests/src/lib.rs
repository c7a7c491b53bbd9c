//! Tests of the whole product over real sockets and processes.
//!
//! A test starts the real program ([`Product`], or [`Home`] for commands without a running
//! gateway) with scriptable servers behind it ([`Fixture`], [`HttpFixture`]) and talks to it as a client would
//! ([`HttpClient`], [`StdioClient`], [`conversation`], [`Home::run`]). What is around it can be real too: a database
//! ([`Postgres`]), a full disk ([`SmallDisk`]), a slow one ([`SlowDisk`]). Nothing here knows the inside of the product,
//! nothing sleeps for luck, and no wait is without a deadline: a test that cannot go on
//! fails with what it waited for. A test that this machine has nothing for is reported as ignored, see [`trial()`].

#![expect(
    clippy::missing_panics_doc,
    reason = "panicking is how a harness fails the test that uses it"
)]

pub mod agent_hints;
mod certificate;
pub mod clients;
pub mod conformance;
mod disk;
mod fixture;
mod home;
mod http_fixture;
mod listening;
pub mod peers;
mod postgres;
mod product;
pub mod script;
mod scripted;
mod trial;
mod wait;
pub mod web;

pub use certificate::TestCertificate;
pub use clients::{
    Afterwards, Client, HttpClient, HttpResponse, RawResponse, StatelessClient, StdioClient,
    conversation, decode, field, fields, raw_exchange, stateless_client,
};
pub use disk::{SlowDisk, SmallDisk};
pub use fixture::{APPEND, Fixture};
pub use home::{Home, Ran};
pub use http_fixture::{HttpFixture, HttpTransport};
pub use listening::Listening;
pub use postgres::{Database, Postgres};
pub use product::Product;
pub use scripted::{ScriptedServer, read_variable};
pub use trial::{Trial, run, trial};
pub use wait::{DEADLINE, eventually, within};

/// The programs the tests run, as cargo built them.
#[derive(Debug, Clone, Copy)]
pub struct Programs {
    /// The product.
    pub mcpproxy: &'static str,
    /// The scriptable server.
    pub fixture_server: &'static str,
}

/// The [`Programs`] of this build; cargo tells their paths to integration tests only.
#[macro_export]
macro_rules! programs {
    () => {
        $crate::Programs {
            mcpproxy: env!("CARGO_BIN_EXE_mcpproxy-under-test"),
            fixture_server: env!("CARGO_BIN_EXE_fixture-server"),
        }
    };
}
