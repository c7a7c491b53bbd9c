//! The keys of the configuration file: the one place that lists them.

mod servers;

use mcpproxy_policy::{Mode, Unannotated};
use mcpproxy_upstream::ProtocolSetting;

pub use self::servers::ADMIN_SERVER;
pub(super) use self::servers::{NAME_PATTERN, NamedServer};
use self::servers::{ServerName, WrittenServers};
use super::content::{
    Address, ApiKey, HeaderName, HeaderValue, NotEmpty, StoreAddress, Url, VariableName,
};
use super::resolved::{
    DEFAULT_INPUT_TIMEOUT, DEFAULT_MAX_CONCURRENT, DEFAULT_TIMEOUT, DEFAULT_TRUST, Detail,
    Durability, ProxiedHints, Trust,
};
use super::section::section;
use super::shape::Preset::{Defaults, Required, Value};
use super::values::{Choice, Map, RawText, Span, Whole, Words};

/// Where the gateway listens when nothing else is said.
pub(super) const DEFAULT_LISTEN: &str = "127.0.0.1:8080";

const HOUR_MS: u64 = 60 * 60 * 1000;
const DAY_MS: u64 = 24 * HOUR_MS;

section! {
    /// The configuration of mcpproxy. Every key may be left out.
    struct WrittenFile {
        /// The JSON Schema of this file, for editors. The program ignores it.
        "$schema" schema: Option<String> = Value(None);
        /// The address of the HTTP endpoint, `host:port` with an IP address or `localhost`.
        /// Port 0 picks a free one. May hold references.
        "listen" listen: RawText<Address> = Value(RawText::preset(DEFAULT_LISTEN));
        /// The key of the REST interface. Without it, one is generated on the first start and kept
        /// in the file `api_key` of the data folder. May hold references.
        "api_key" api_key: Option<RawText<ApiKey>> = Value(None);
        /// Whether plain HTTP may be served beyond loopback, for example behind a proxy that ends TLS.
        "allow_plain_http" allow_plain_http: bool = Value(false);
        /// The MCP servers behind the gateway, by name.
        "mcpServers" servers: WrittenServers = Value(WrittenServers::default());
        /// How long a client may take to answer what a server asks it during a call: its user, its model or its folders.
        "input_timeout" input_timeout: Span<1, DAY_MS> = Value(Span(DEFAULT_INPUT_TIMEOUT));
        /// How declared intent is checked.
        "intent_declaration" intent_declaration: WrittenIntentDeclaration = Defaults;
        /// What a search answers.
        "discovery" discovery: WrittenDiscovery = Defaults;
        /// The record of calls.
        "activity" activity: WrittenActivity = Defaults;
        /// Where state is kept.
        "store" store: WrittenStore = Defaults;
        /// Hints that the gateway adds to results.
        "hints" hints: WrittenHints = Defaults;
    }
}

section! {
    /// One MCP server. It has either `command` (a process that is started) or `url` (Streamable HTTP, or HTTP with a separate event stream; which one is found out).
    struct WrittenServer {
        /// The name of the server. Only in the array form, where it is needed; in the map form the key is the name.
        "name" name: Option<ServerName> = Value(None);
        /// How the server is reached, as many clients write it. It must agree with `command` or `url`; it may be left out.
        "type" kind: Option<Choice<TransportKind>> = Value(None);
        /// The program to start. May hold references.
        "command" command: Option<RawText<NotEmpty>> = Value(None);
        /// The arguments of the program. May hold references.
        "args" args: Vec<RawText> = Value(Vec::new());
        /// Environment variables of the program. The values are treated as secrets and may hold references.
        "env" env: Map<RawText, VariableName> = Value(Map::default());
        /// The folder the program starts in. A relative one is taken from the folder of this file. May hold references.
        "working_dir" working_dir: Option<RawText<NotEmpty>> = Value(None);
        /// The address of the server, `http://` or `https://`. May hold references.
        "url" url: Option<RawText<Url>> = Value(None);
        /// Headers of every request to `url`. The values are treated as secrets and may hold references.
        "headers" headers: Map<RawText<HeaderValue>, HeaderName> = Value(Map::default());
        /// Which revisions of MCP are spoken with the server: those up to 2025-11-25 (`legacy`), 2026-07-28 (`modern`),
        /// or the newest one it answers to (`auto`). The server is asked once and the answer is kept in the data folder.
        "protocol" protocol: Choice<ProtocolSetting> = Value(Choice(ProtocolSetting::Auto));
        /// Whether the server is used at all.
        "enabled" enabled: bool = Value(true);
        /// Whether the server is held back: its tools are neither shown nor callable.
        "quarantined" quarantined: bool = Value(false);
        /// Whether new and changed tools of the server are used at once (`auto`) or wait for approval (`manual`).
        /// Checked, without effect in this version.
        "trust" trust: Choice<Trust> = Value(Choice(DEFAULT_TRUST));
        /// How long one call may take.
        "timeout" timeout: Span<1, HOUR_MS> = Value(Span(DEFAULT_TIMEOUT));
        /// How many calls may be under way at once.
        "max_concurrent" max_concurrent: Whole<1, 1024> = Value(Whole(DEFAULT_MAX_CONCURRENT as u64));
        /// How long the server may be unused before it is stopped. Without it, the server is not stopped.
        "idle_stop" idle_stop: Option<Span<100, { 7 * DAY_MS }>> = Value(None);
        /// What the operator says about single tools, by the tool's name.
        "tools" tools: Map<WrittenTool> = Value(Map::default());
    }
}

section! {
    /// What the operator says about one tool of a server.
    struct WrittenTool {
        /// Whether the tool can be found and called.
        "enabled" enabled: bool = Value(true);
        /// Annotations that win over the server's own, hint by hint.
        "annotations" annotations: WrittenAnnotations = Defaults;
        /// How often the tool may be called. Without it, there is no limit.
        "rate_limit" rate_limit: Option<WrittenRateLimit> = Value(None);
    }
}

section! {
    /// Annotations of a tool, as MCP names them. A hint that is left out stays as the server gave it.
    struct WrittenAnnotations {
        /// The title shown to people.
        "title" title: Option<String> = Value(None);
        /// The tool changes nothing.
        "readOnlyHint" read_only: Option<bool> = Value(None);
        /// The tool may delete or overwrite.
        "destructiveHint" destructive: Option<bool> = Value(None);
        /// Repeating a call has no further effect.
        "idempotentHint" idempotent: Option<bool> = Value(None);
        /// The tool reaches beyond its own server.
        "openWorldHint" open_world: Option<bool> = Value(None);
    }
}

section! {
    /// How often a tool may be called.
    struct WrittenRateLimit {
        /// How many calls a window admits.
        "max_calls" max_calls: Whole<1, 1_000_000> = Required;
        /// The length of the window in milliseconds.
        "window_ms" window_ms: Whole<1, DAY_MS> = Value(Whole(60_000));
    }
}

section! {
    /// How declared intent is checked.
    struct WrittenIntentDeclaration {
        /// Whether an agent declares the operation a second time (`two_key`) or the variant it calls is enough (`inferred`).
        "mode" mode: Choice<Mode> = Value(Choice(Mode::TwoKey));
        /// Whether a call that contradicts the server's annotations is refused. If not, it goes on with a warning.
        "strict_server_validation" strict_server_validation: bool = Value(true);
        /// What a tool without annotations may be called with: any variant, at least `call_tool_write`, or `call_tool_destructive` only.
        "unannotated" unannotated: Choice<Unannotated> = Value(Choice(Unannotated::TrustAgent));
    }
}

section! {
    /// What a search answers.
    struct WrittenDiscovery {
        /// How many tools a search answers when the agent does not say.
        "limit" limit: Whole<1, 50> = Value(Whole(5));
        /// How much a search says of each tool when the agent does not say: everything, or a signature and a summary.
        "detail" detail: Choice<Detail> = Value(Choice(Detail::Full));
        /// Whether a search also looks at meaning, beside words. Checked, without effect in this version.
        "semantic" semantic: bool = Value(true);
    }
}

section! {
    /// The record of calls.
    struct WrittenActivity {
        /// How many days a record is kept.
        "retention_days" retention_days: Whole<1, 36_500> = Value(Whole(90));
        /// How many records are kept; by default, all within `retention_days`.
        "max_records" max_records: Option<Whole<1, 1_000_000_000>> = Value(None);
        /// How many bytes of arguments and of a response are kept; the rest is cut off, its size is not.
        "max_payload_bytes" max_payload_bytes: Whole<1024, { 16 * 1024 * 1024 }> = Value(Whole(65_536));
        /// `strict`: a call that writes or destroys is on disk before it is sent, and its outcome before the answer
        /// leaves. `balanced`: every record is written within 100 ms, and no call waits for it.
        "durability" durability: Choice<Durability> = Value(Choice(Durability::Strict));
    }
}

section! {
    /// Where state is kept.
    struct WrittenStore {
        /// `sqlite` for a file in the data folder, or the `postgres://` address of a database that several
        /// gateways share. May hold references. A change takes effect at the next start.
        "url" url: RawText<StoreAddress> = Value(RawText::preset("sqlite"));
    }
}

section! {
    /// Hints that the gateway adds to results.
    struct WrittenHints {
        /// Where hints go that the gateway makes for tools whose servers send none: nowhere, into `_meta`, or
        /// into a text block at the end.
        "proxied" proxied: Choice<ProxiedHints> = Value(Choice(ProxiedHints::Meta));
    }
}

/// How a client's configuration says a server is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TransportKind {
    Stdio,
    Http,
    StreamableHttp,
    Sse,
}

// === impl Words ===

impl Words for TransportKind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("stdio", Self::Stdio),
        ("http", Self::Http),
        ("streamable-http", Self::StreamableHttp),
        ("sse", Self::Sse),
    ];
}

impl Words for Trust {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("manual", Self::Manual)];
}

impl Words for ProtocolSetting {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("legacy", Self::Legacy),
        ("modern", Self::Modern),
    ];
}

impl Words for Mode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("two_key", Self::TwoKey), ("inferred", Self::Inferred)];
}

impl Words for Unannotated {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("trust_agent", Self::TrustAgent),
        ("at_least_write", Self::AtLeastWrite),
        ("require_destructive", Self::RequireDestructive),
    ];
}

impl Words for Detail {
    const WORDS: &'static [(&'static str, Self)] =
        &[("full", Self::Full), ("compact", Self::Compact)];
}

impl Words for Durability {
    const WORDS: &'static [(&'static str, Self)] =
        &[("strict", Self::Strict), ("balanced", Self::Balanced)];
}

impl Words for ProxiedHints {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("off", Self::Off),
        ("meta", Self::Meta),
        ("content", Self::Content),
    ];
}
