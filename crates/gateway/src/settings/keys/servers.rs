//! The keys of a server.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_upstream::{InheritEnv, ProtocolSetting};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::section::section;
use super::{HOUR, MILLISECOND};
use crate::settings::reader::defaults;
use crate::settings::rules::KeyRule::{
    AnyString, Choice, Entries, Flag, List, ListOrWord, Milliseconds, Nested, Plain, ServerName,
    Span, Text, Unkept, Whole,
};
use crate::settings::rules::TextKind::{Path, Url, Visible};
use crate::settings::secret::{Secret, SettingText};
use crate::settings::text::{
    ANYTHING, HEADER_NAME, HEADER_VALUE, INHERITED_NAME, NOT_EMPTY, URL, VARIABLE_NAME,
};

section! {
    /// One MCP server: a `command` to start, or a `url` (Streamable HTTP or HTTP with a separate stream, as is found out).
    pub struct ServerSettings {
        /// The name of the server. Only in the array form, where it is needed; in the map form the key is the name.
        "name" pub name: Arc<str> = null, Unkept(&ServerName);
        /// How the server is reached, as many clients write it. It must agree with `command` or `url`; it may be left out.
        "type" kind: IgnoredAny = null, Unkept(&Choice(&["stdio", "http", "streamable-http", "sse"]));
        /// The program to start. May hold references.
        "command" pub command: Option<SettingText> = null, Text(NOT_EMPTY, Visible);
        /// The arguments of the program, which other users of the machine can see while it runs. May hold references.
        "args" pub args: Vec<SettingText> = [], List(&Text(ANYTHING, Visible));
        /// Environment variables of the program. Values under names such as `API_KEY` are treated as secrets. May hold
        /// references.
        "env" pub env: Vec<(String, SettingText)> = {}, Entries(VARIABLE_NAME, &Text(ANYTHING, Visible));
        /// The variables of the gateway that the program inherits besides the usual ones, by name; `"all"` for all but
        /// those that begin with `MCPPROXY_`.
        "inherit_env" pub inherit_env: InheritEnv = [], ListOrWord(&Plain(INHERITED_NAME), "all");
        /// The folder the program starts in, by default that of this file. A relative one is taken from there. May hold
        /// references.
        "working_dir" pub working_dir: Option<SettingText> = null, Text(NOT_EMPTY, Path);
        /// The address of the server, `http://` or `https://`. May hold references.
        "url" pub url: Option<SettingText> = null, Text(URL, Url);
        /// Headers of every request to `url`. Values under names such as `Authorization` are treated as secrets. May hold
        /// references.
        "headers" pub headers: Vec<(String, SettingText)> = {}, Entries(HEADER_NAME, &Text(HEADER_VALUE, Visible));
        /// Which revisions of MCP are spoken with the server: those up to 2025-11-25 (`legacy`), 2026-07-28 (`modern`),
        /// or the newest one it answers to (`auto`). The server is asked once and the answer is kept in the data folder.
        "protocol" pub protocol: ProtocolSetting = "auto", Choice(&["auto", "legacy", "modern"]);
        /// Whether the server is used at all.
        "enabled" pub enabled: bool = true, Flag;
        /// Whether the server is held back: its tools are neither shown nor callable.
        "quarantined" pub quarantined: bool = false, Flag;
        /// Whether new and changed tools of the server are used at once (`auto`), wait for approval once it is known
        /// (`changes`), or always wait (`manual`). Checked, without effect in this version.
        "trust" pub trust: Trust = "changes", Choice(&["auto", "changes", "manual"]);
        /// How long a program may show no sign of life while it starts: no output, and no processor time where the system
        /// tells. It is then ended and tried again. As long as it is busy, it has half an hour in all. How long a `url`
        /// may take to answer.
        "start_timeout" pub start_timeout: Duration = "5m", Span(MILLISECOND, HOUR);
        /// How long one call may take.
        "timeout" pub timeout: Duration = "30s", Span(MILLISECOND, HOUR);
        /// How many calls may be under way at once. While others wait, no caller gets more than half of them.
        "max_concurrent" pub max_concurrent: usize = 64, Whole(1, 1024);
        /// How long the server may be unused before it is stopped. Without it, the server is not stopped.
        "idle_stop" pub idle_stop: Option<Duration> = null, Span(Duration::from_millis(100), Duration::from_hours(7 * 24));
        /// Whether arguments that say the right thing in another form are converted, with a warning; without it, as the key
        /// `coerce` at the top level says.
        "coerce" pub coerce: Option<bool> = null, Flag;
        /// Whether arguments that do not match the schema of a tool are refused (`strict`) or left to the server
        /// (`lenient`). By default (`auto`) they are left to the server at its own endpoint `/mcp/s/{server}`, unless it
        /// announces the tool contract, and refused elsewhere.
        "check_arguments" pub check_arguments: ArgumentCheck = "auto", Choice(&["auto", "strict", "lenient"]);
        /// The only tools that are enabled, by name; without it, or with `"*"` alone, all are. An array under `tools` and
        /// `includeTools` mean the same.
        "enabled_tools" pub enabled_tools: Option<Vec<String>> = null, List(&AnyString);
        /// Tools that are disabled, by name. `disabledTools` and `excludeTools` mean the same.
        "disabled_tools" pub disabled_tools: Vec<String> = [], List(&AnyString);
        /// What the operator says about single tools, by the tool's name.
        "tools" pub tools: Vec<(String, ToolSettings)> = {}, Entries(NOT_EMPTY, &Nested(&ToolSettings::SECTION));
    }
    beside {
        /// Reasons why it cannot be used, for example a reference that is not set. They hold no secret.
        pub problems: Vec<String>;
        /// Number of these that are references which lead nowhere: the entry itself is well written.
        pub(crate) dangling: usize;
        /// Secrets of its keys.
        pub(crate) secrets: Vec<Secret>;
    }
}

section! {
    /// What the operator says about one tool of a server.
    pub struct ToolSettings {
        /// Whether the tool can be found and called.
        "enabled" pub enabled: bool = true, Flag;
        /// Annotations that win over the server's own, hint by hint.
        "annotations" pub annotations: AnnotationOverrides = {}, Nested(&AnnotationOverrides::SECTION);
        /// How often each caller may call the tool: a token, or all callers without one from the same address. Without it,
        /// there is no limit.
        "rate_limit" pub rate_limit: Option<ToolRateLimit> = null, Nested(&ToolRateLimit::SECTION);
    }
}

section! {
    /// Annotations of a tool, as MCP names them. A hint that is left out stays as the server gave it.
    #[derive(Serialize)]
    pub struct AnnotationOverrides {
        /// The title shown to people.
        "title" pub title: Option<String> = null, AnyString;
        /// The tool changes nothing.
        "readOnlyHint" pub read_only: Option<bool> = null, Flag;
        /// The tool may delete or overwrite.
        "destructiveHint" pub destructive: Option<bool> = null, Flag;
        /// Repeating a call has no further effect.
        "idempotentHint" pub idempotent: Option<bool> = null, Flag;
        /// The tool reaches beyond its own server.
        "openWorldHint" pub open_world: Option<bool> = null, Flag;
    }
}

section! {
    /// How often a tool may be called.
    #[derive(Copy)]
    pub struct ToolRateLimit {
        /// How many calls a window admits.
        "max_calls" pub max_calls: u32, Whole(1, 1_000_000);
        /// The length of the window in milliseconds.
        "window_ms" pub window: Duration = 60000, Milliseconds(1, 24 * 60 * 60 * 1000);
    }
}

/// Whether new and changed tools of a server wait for approval. Without effect in this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// They are used at once.
    Auto,
    /// Those of a server that is known wait.
    Changes,
    /// All of them wait.
    Manual,
}

/// Treatment of arguments that do not match the schema of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgumentCheck {
    /// They are left to the server at its own endpoint, and refused elsewhere.
    Auto,
    /// They are refused.
    Strict,
    /// They are left to the server.
    Lenient,
}

// === impl ServerSettings ===

impl ServerSettings {
    /// A server inside this program, with the defaults of the file. No file can say this.
    pub(crate) fn built_in(name: &Arc<str>) -> Self {
        let mut keys = defaults(&Self::SECTION);
        keys["name"] = json!(name);
        serde_json::from_value(keys).expect("the defaults are those of a server")
    }

    /// Whether it is part of this program.
    pub(crate) fn is_built_in(&self) -> bool {
        self.command.is_none() && self.url.is_none() && self.problems.is_empty()
    }

    /// Every reason why it cannot be used, in one text.
    pub fn problem(&self) -> Option<String> {
        (!self.problems.is_empty()).then(|| self.problems.join("; "))
    }

    /// Remedy for one of its tools that is disabled, in words that follow "a person has to".
    pub(crate) fn how_to_enable(&self, tool: &str) -> &'static str {
        let is_named = |names: &Vec<String>| names.iter().any(|name| name == tool);
        if is_named(&self.disabled_tools) {
            "take it out of \"disabled_tools\" of the server"
        } else if self
            .enabled_tools
            .as_ref()
            .is_some_and(|names| !is_named(names))
        {
            "add it to \"enabled_tools\" of the server"
        } else {
            "set \"enabled\": true for it"
        }
    }

    /// Rate limit of one of its tools, where there is one.
    pub(crate) fn rate_limit(&self, tool: &str) -> Option<ToolRateLimit> {
        let (_, settings) = self.tools.iter().find(|(name, _)| name == tool)?;
        settings.rate_limit
    }

    /// Whether a running server has to be started anew to become the one that is wanted; what the
    /// operator says about its tools and their arguments does not need it.
    pub(crate) fn needs_restart(&self, wanted: &Self) -> bool {
        let without_tools = |server: &Self| Self {
            coerce: None,
            check_arguments: ArgumentCheck::Auto,
            tools: Vec::new(),
            enabled_tools: None,
            disabled_tools: Vec::new(),
            ..server.clone()
        };
        without_tools(self) != without_tools(wanted)
    }
}

impl AnnotationOverrides {
    /// The annotations as MCP writes them; only what was given.
    pub fn to_map(&self) -> Map<String, Value> {
        let Value::Object(mut given) = json!(self) else {
            return Map::new();
        };
        given.retain(|_, value| !value.is_null());
        given
    }
}
