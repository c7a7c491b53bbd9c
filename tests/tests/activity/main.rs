//! What the log records, keeps and shows, over every face.

mod changes;
mod cli;
mod details;
mod events;
mod export;
mod records;
mod rest;
mod scene;
mod secrets;
mod secrets_encoded;
mod secrets_unknown;
mod session_ids;
mod stage;
mod traces;
mod watch;

use mcpproxy_tests::{Programs, programs};

const PROGRAMS: Programs = programs!();
