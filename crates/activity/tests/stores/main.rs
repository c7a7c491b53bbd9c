//! The two stores of the activity log, without the log.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

#[macro_use]
mod story;
mod postgres;
mod postgres_faults;
mod postgres_tls;
mod sqlite;
mod sqlite_file;

fn main() {
    mcpproxy_tests::run([
        postgres::trials(),
        postgres_faults::trials(),
        postgres_tls::trials(),
        sqlite::trials(),
        sqlite_file::trials(),
    ]);
}
