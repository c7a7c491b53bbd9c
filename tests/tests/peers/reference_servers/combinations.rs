//! What every client does at the reference servers, in this order, and what has to come of it.

use Expected::{Gives, Refused, RefusedAs, ToolError, Warns};

/// What has to come of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    /// The server's result, with this in one of its texts.
    Gives(&'static str),
    /// The same, with a warning of this code.
    Warns(&'static str, &'static str),
    /// The server's own error, with this in its text.
    ToolError(&'static str),
    /// An error of ours with this code and message.
    Refused(&'static str, &'static str),
    /// An error of ours with this code and this in its message.
    RefusedAs(&'static str, &'static str),
}

/// Variant, tool, arguments, declaration, outcome.
pub(crate) type Cell = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Expected,
);

/// The declaration that matches the variant.
pub(crate) const RIGHT: &str = "right";
/// Nothing declared.
const NONE: &str = "{}";
const SAYS_READ: &str = r#"{"intent":{"operation_type":"read"}}"#;
const SAYS_WRITE: &str = r#"{"intent":{"operation_type":"write"}}"#;
const SAYS_NOTHING: &str = r#"{"intent":{"reason":"to see"}}"#;
const FLAT_READ: &str = r#"{"intent_operation_type":"read","intent_reason":"to see"}"#;

const FIRST: &str = r#"{"path":"{files}/first.txt"}"#;
const OVERWRITE: &str = r#"{"path":"{files}/first.txt","content":"overwritten"}"#;
const REPOSITORY: &str = r#"{"repo_path":"{repository}"}"#;
const NEW_FILE: &str = r#"{"repo_path":"{repository}","files":["new.txt"]}"#;
const ENTITY: &str =
    r#"{"entities":[{"name":"Ada","entityType":"person","observations":["counts"]}]}"#;
const ADA: &str = r#"{"names":["Ada"]}"#;
const DELETE_ADA: &str = r#"{"entityNames":["Ada"]}"#;
const ALL_NOTES: &str = r#"{"query":"SELECT text FROM notes ORDER BY text"}"#;
const DROP_ROWS: &str = r#"{"query":"DELETE FROM notes"}"#;

/// Run in full by every SDK.
#[rustfmt::skip]
pub(crate) const CELLS: &[Cell] = &[
    ("read", "filesystem:read_text_file", FIRST, RIGHT, Gives("the first line")),
    ("write", "filesystem:read_text_file", FIRST, RIGHT, Warns("OVERLY_CAUTIOUS", "the first line")),
    ("destructive", "filesystem:read_text_file", FIRST, RIGHT, Gives("the first line")),
    ("read", "filesystem:read_text_file", r#"{"path":"{files}/absent.txt"}"#, RIGHT, ToolError("ENOENT")),
    ("read", "filesystem:read_text_file", r#"{"path":7}"#, RIGHT, RefusedAs("INVALID_ARGUMENTS", "/path")),
    ("read", "filesystem:create_directory", r#"{"path":"{files}/refused"}"#, RIGHT, Refused("SERVER_MISMATCH", "Tool 'filesystem:create_directory' is marked as not read-only by server, use call_tool_write")),
    ("write", "filesystem:create_directory", r#"{"path":"{files}/made"}"#, RIGHT, Gives("Successfully created directory")),
    ("destructive", "filesystem:create_directory", r#"{"path":"{files}/made/twice"}"#, RIGHT, Gives("Successfully created directory")),
    ("read", "filesystem:write_file", OVERWRITE, RIGHT, Refused("SERVER_MISMATCH", "Tool 'filesystem:write_file' is marked destructive by server, use call_tool_destructive")),
    ("write", "filesystem:write_file", OVERWRITE, RIGHT, Refused("SERVER_MISMATCH", "Tool 'filesystem:write_file' is marked destructive by server, use call_tool_destructive")),
    ("destructive", "filesystem:write_file", r#"{"path":"{files}/written.txt","content":"by the client"}"#, RIGHT, Gives("Successfully wrote")),

    ("read", "memory:create_entities", ENTITY, RIGHT, Refused("SERVER_MISMATCH", "Tool 'memory:create_entities' is marked as not read-only by server, use call_tool_write")),
    ("read", "memory:open_nodes", ADA, RIGHT, Gives(r#""entities": []"#)),
    ("write", "memory:create_entities", ENTITY, RIGHT, Gives("Ada")),
    ("read", "memory:delete_entities", DELETE_ADA, RIGHT, Refused("SERVER_MISMATCH", "Tool 'memory:delete_entities' is marked destructive by server, use call_tool_destructive")),
    ("write", "memory:delete_entities", DELETE_ADA, RIGHT, Refused("SERVER_MISMATCH", "Tool 'memory:delete_entities' is marked destructive by server, use call_tool_destructive")),
    ("read", "memory:open_nodes", ADA, RIGHT, Gives("counts")),
    ("destructive", "memory:delete_entities", DELETE_ADA, RIGHT, Gives("deleted successfully")),
    ("read", "memory:open_nodes", ADA, RIGHT, Gives(r#""entities": []"#)),
    ("write", "memory:create_entities", ENTITY, RIGHT, Gives("Ada")),

    ("read", "git:git_status", REPOSITORY, RIGHT, Gives("Untracked files")),
    ("read", "git:git_add", NEW_FILE, RIGHT, Refused("SERVER_MISMATCH", "Tool 'git:git_add' is marked as not read-only by server, use call_tool_write")),
    ("read", "git:git_status", REPOSITORY, RIGHT, Gives("Untracked files")),
    ("write", "git:git_add", NEW_FILE, RIGHT, Gives("staged successfully")),
    ("read", "git:git_reset", REPOSITORY, RIGHT, Refused("SERVER_MISMATCH", "Tool 'git:git_reset' is marked destructive by server, use call_tool_destructive")),
    ("write", "git:git_reset", REPOSITORY, RIGHT, Refused("SERVER_MISMATCH", "Tool 'git:git_reset' is marked destructive by server, use call_tool_destructive")),
    ("read", "git:git_status", REPOSITORY, RIGHT, Gives("Changes to be committed")),
    ("destructive", "git:git_reset", REPOSITORY, RIGHT, Gives("reset")),
    ("read", "git:git_status", REPOSITORY, RIGHT, Gives("Untracked files")),
    ("write", "git:git_add", NEW_FILE, RIGHT, Gives("staged successfully")),
    ("read", "git:git_commit", r#"{"repo_path":"{repository}","message":"Refused"}"#, RIGHT, Refused("SERVER_MISMATCH", "Tool 'git:git_commit' is marked as not read-only by server, use call_tool_write")),
    ("write", "git:git_commit", r#"{"repo_path":"{repository}","message":"By the client"}"#, RIGHT, Gives("committed successfully")),
    ("read", "git:git_log", REPOSITORY, RIGHT, Gives("By the client")),

    ("read", "time:get_current_time", r#"{"timezone":"Etc/UTC"}"#, RIGHT, Gives("Etc/UTC")),
    ("write", "time:get_current_time", r#"{"timezone":"Etc/UTC"}"#, RIGHT, Warns("OVERLY_CAUTIOUS", "Etc/UTC")),
    ("destructive", "time:get_current_time", r#"{"timezone":"Etc/UTC"}"#, RIGHT, Gives("Etc/UTC")),

    // No tool of this server has annotations, so its words count: "Execute" opens what it says
    // of both queries.
    ("read", "sqlite:list_tables", "{}", RIGHT, Gives("[]")),
    ("write", "sqlite:create_table", r#"{"query":"CREATE TABLE notes (text TEXT)"}"#, RIGHT, Gives("created successfully")),
    ("write", "sqlite:write_query", r#"{"query":"INSERT INTO notes VALUES ('a note by the client')"}"#, RIGHT, Warns("UNANNOTATED_RISK", "affected_rows")),
    ("read", "sqlite:read_query", ALL_NOTES, RIGHT, Gives("a note by the client")),
    ("write", "sqlite:read_query", ALL_NOTES, RIGHT, Gives("a note by the client")),
    ("destructive", "sqlite:read_query", ALL_NOTES, RIGHT, Gives("a note by the client")),
    ("read", "sqlite:write_query", DROP_ROWS, SAYS_WRITE, Refused("INTENT_MISMATCH", "Intent mismatch: tool is call_tool_read but intent declares write")),
    ("read", "sqlite:read_query", ALL_NOTES, RIGHT, Gives("a note by the client")),
    ("destructive", "sqlite:write_query", r#"{"query":"INSERT INTO notes VALUES ('another')"}"#, RIGHT, Gives("affected_rows")),
    ("read", "sqlite:write_query", r#"{"query":"UPDATE notes SET text = 'trusted' WHERE text = 'another'"}"#, RIGHT, Warns("UNANNOTATED_RISK", "affected_rows")),
    ("read", "sqlite:read_query", ALL_NOTES, RIGHT, Gives("trusted")),

    ("read", "everything:echo", r#"{"message":"grüß dich"}"#, RIGHT, Gives("Echo: grüß dich")),
    ("read", "everything:echo", r#"{"message":"flat"}"#, FLAT_READ, Gives("Echo: flat")),
    ("write", "everything:echo", r#"{"message":"hello"}"#, RIGHT, Warns("OVERLY_CAUTIOUS", "Echo: hello")),
    ("read", "everything:get-sum", r#"{"a":2,"b":3}"#, RIGHT, Gives("5")),
    ("read", "everything:get-tiny-image", "{}", RIGHT, Gives("image")),
    ("read", "everything:gzip-file-as-resource", "{}", RIGHT, Refused("SERVER_MISMATCH", "Tool 'everything:gzip-file-as-resource' is marked as not read-only by server, use call_tool_write")),

    ("read", "filesystem:read_text_file", FIRST, NONE, Refused("MISSING_INTENT", "intent parameter is required for call_tool_read")),
    ("write", "memory:create_entities", ENTITY, NONE, Refused("MISSING_INTENT", "intent parameter is required for call_tool_write")),
    ("destructive", "filesystem:write_file", OVERWRITE, NONE, Refused("MISSING_INTENT", "intent parameter is required for call_tool_destructive")),
    ("read", "filesystem:read_text_file", FIRST, SAYS_WRITE, Refused("INTENT_MISMATCH", "Intent mismatch: tool is call_tool_read but intent declares write")),
    ("destructive", "filesystem:write_file", OVERWRITE, SAYS_READ, Refused("INTENT_MISMATCH", "Intent mismatch: tool is call_tool_destructive but intent declares read")),
    ("write", "git:git_add", NEW_FILE, SAYS_NOTHING, Refused("MISSING_OPERATION_TYPE", "intent.operation_type is required")),
    ("read", "filesystem:read_text", FIRST, RIGHT, RefusedAs("UNKNOWN_TOOL", "filesystem:read_text_file")),
    ("read", "filesystems:read_text_file", FIRST, RIGHT, RefusedAs("UNKNOWN_SERVER", "filesystem")),
];

/// For the Inspector, which is a process for each call.
#[rustfmt::skip]
pub(crate) const CELLS_OF_INSPECTOR: &[Cell] = &[
    ("read", "filesystem:read_text_file", FIRST, RIGHT, Gives("the first line")),
    ("read", "filesystem:create_directory", r#"{"path":"{files}/refused"}"#, RIGHT, Refused("SERVER_MISMATCH", "Tool 'filesystem:create_directory' is marked as not read-only by server, use call_tool_write")),
    ("write", "git:git_add", NEW_FILE, RIGHT, Gives("staged successfully")),
    ("write", "filesystem:write_file", OVERWRITE, RIGHT, Refused("SERVER_MISMATCH", "Tool 'filesystem:write_file' is marked destructive by server, use call_tool_destructive")),
    ("destructive", "filesystem:write_file", r#"{"path":"{files}/written.txt","content":"by the client"}"#, RIGHT, Gives("Successfully wrote")),
    ("write", "time:get_current_time", r#"{"timezone":"Etc/UTC"}"#, RIGHT, Warns("OVERLY_CAUTIOUS", "Etc/UTC")),
    ("read", "everything:echo", r#"{"message":"hello"}"#, NONE, Refused("MISSING_INTENT", "intent parameter is required for call_tool_read")),
    ("destructive", "filesystem:write_file", OVERWRITE, SAYS_READ, Refused("INTENT_MISMATCH", "Intent mismatch: tool is call_tool_destructive but intent declares read")),
];

/// Query, the tool it has to find, the variant to call it with, whether it has annotations.
#[rustfmt::skip]
pub(crate) const SEARCHES: &[(&str, &str, &str, bool)] = &[
    ("read a text file", "filesystem:read_text_file", "call_tool_read", true),
    ("create a directory", "filesystem:create_directory", "call_tool_write", true),
    ("write a file", "filesystem:write_file", "call_tool_destructive", true),
    ("delete entities from the knowledge graph", "memory:delete_entities", "call_tool_destructive", true),
    ("commit changes to the repository", "git:git_commit", "call_tool_write", true),
    ("current time in a timezone", "time:get_current_time", "call_tool_read", true),
    ("insert into a sqlite database", "sqlite:write_query", "call_tool_write", false),
    ("echo a message", "everything:echo", "call_tool_read", true),
];
