//! Configurations of clients, in the words of this program: files, entries of servers, their names, and files of variables.

pub(super) mod entries;
pub(super) mod env_file;
pub(super) mod files;
pub(super) mod listed;
pub(super) mod names;
