//! The keys of the configuration file and the settings they become: the one place that lists them.

mod new_warnings;
pub(super) mod section;
mod servers;
mod tls;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use mcpproxy_policy::{AnonymousRole, Mode, Rules, Unannotated};
use mcpproxy_support::tls::ServerCertificate;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::section::section;
pub use self::servers::{
    AnnotationOverrides, ArgumentCheck, ServerSettings, ToolRateLimit, ToolSettings, Trust,
};
pub use self::tls::TlsSettings;
use super::rules::KeyRule::{AnyString, Choice, Flag, Nested, Servers, Span, Text, Unkept, Whole};
use super::rules::TextKind::{Address, Hidden, Store};
use super::secret::Secret;
use super::text::{ADDRESS, API_KEY, STORE, StoreAddress};

const MILLISECOND: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

section! {
    /// The configuration of mcpproxy. Every key may be left out.
    pub struct Settings {
        /// The JSON Schema of this file, for editors. The program ignores it.
        "$schema" schema: IgnoredAny = null, Unkept(&AnyString);
        /// The address of the HTTP endpoint, `host:port` with an IP address or `localhost`.
        /// Port 0 picks a free one. May hold references.
        "listen" pub listen: SocketAddr = "127.0.0.1:8080", Text(ADDRESS, Address);
        /// The key of the REST interface. Without it, one is generated on the first start and kept
        /// in the file `api_key` of the data folder. Beyond loopback it needs at least 24 characters. May hold references.
        "api_key" pub api_key: Option<Secret> = null, Text(API_KEY, Hidden);
        /// What an agent without a token may do on this machine: everything but administration (`full`), read (`read`),
        /// or nothing (`none`). Beyond this machine every agent needs a token.
        "anonymous" pub anonymous: AnonymousAccess = "full", Choice(&["full", "read", "none"]);
        /// The certificate of the HTTP endpoint, which is served by HTTPS alone with it. Changed files are taken up
        /// without a restart.
        "tls" pub tls: Option<TlsSettings> = null, Nested(&TlsSettings::SECTION);
        /// Whether plain HTTP may be served beyond loopback, for example behind a proxy that ends TLS. Not needed with `tls`.
        "allow_plain_http" pub allow_plain_http: bool = false, Flag;
        /// The MCP servers behind the gateway, by name.
        "mcpServers" pub servers: Vec<ServerSettings> = {}, Servers(&ServerSettings::SECTION);
        /// How many programs may be starting at once; the others wait, and their `start_timeout` has not begun. Without it,
        /// twice as many as there are processor cores, at least 4 and at most 16.
        "starts_at_once" pub starts_at_once: Option<usize> = null, Whole(1, 1024);
        /// How long a client may take to answer what a server asks it during a call: its user, its model or its folders.
        "input_timeout" pub input_timeout: Duration = "5m", Span(MILLISECOND, DAY);
        /// The direct endpoints, which list tools under their own names.
        "endpoints" pub endpoints: EndpointSettings = {}, Nested(&EndpointSettings::SECTION);
        /// How declared intent is checked.
        "intent_declaration" pub intent_declaration: IntentSettings = {}, Nested(&IntentSettings::SECTION);
        /// Whether arguments that say the right thing in another form are converted, with a warning: `"3"` where a schema
        /// wants 3, one value where it wants a list of such, JSON text where it wants a list or an object.
        "coerce" pub coerce: bool = true, Flag;
        /// What a search answers.
        "discovery" pub discovery: DiscoverySettings = {}, Nested(&DiscoverySettings::SECTION);
        /// The record of calls.
        "activity" pub activity: ActivitySettings = {}, Nested(&ActivitySettings::SECTION);
        /// Where state is kept.
        "store" pub store: StoreSettings = {}, Nested(&StoreSettings::SECTION);
        /// Hints that the gateway adds to results.
        "hints" pub hints: HintSettings = {}, Nested(&HintSettings::SECTION);
    }
    beside {
        /// The folder of all state.
        pub data_dir: PathBuf;
        /// The configuration file, whether or not it exists.
        pub config_file: PathBuf;
        /// Certificate that `tls` names, read from its files.
        #[serde(skip)]
        pub certificate: Option<ServerCertificate>;
        /// Whether the built-in sample server is added.
        pub demo: bool;
        /// Every key as `config show` shows it.
        pub(super) shown: Value;
        /// Every secret of the file.
        pub(super) secrets: Vec<Secret>;
        /// Names of the secrets of the data folder that references lead to, whether or not they are there.
        pub(super) secret_names: BTreeSet<String>;
        /// Remarks about what is allowed and dangerous, each with what to do. Holds no secret.
        pub warnings: Vec<String>;
        /// Those of them that are about the entry of a server, with its name.
        pub(super) entry_warnings: Vec<(String, String)>;
    }
}

section! {
    /// The direct endpoints, which list tools under their own names.
    pub struct EndpointSettings {
        /// Whether `/mcp/all` offers the tools of all servers.
        "all" pub all: bool = true, Flag;
        /// Whether `/mcp/s/{server}` offers the tools of one server.
        "server" pub server: bool = true, Flag;
    }
}

section! {
    /// How declared intent is checked.
    pub struct IntentSettings {
        /// Whether an agent declares the operation a second time (`two_key`) or the variant it calls is enough (`inferred`).
        "mode" pub mode: Mode = "two_key", Choice(&["two_key", "inferred"]);
        /// Whether a call that contradicts the server's annotations is refused. If not, it goes on with a warning.
        "strict_server_validation" pub strict_server_validation: bool = true, Flag;
        /// What a tool without annotations may be called with: any variant, at least `call_tool_write`, or `call_tool_destructive` only.
        "unannotated" pub unannotated: Unannotated = "trust_agent",
            Choice(&["trust_agent", "at_least_write", "require_destructive"]);
    }
}

section! {
    /// What a search answers.
    pub struct DiscoverySettings {
        /// How many tools a search answers when the agent does not say.
        "limit" pub limit: usize = 5, Whole(1, 50);
        /// How much a search says of each tool when the agent does not say: everything (`full`), a signature and a summary
        /// (`compact`), or everything of up to three tools and the short form of more (`auto`).
        "detail" pub detail: Detail = "auto", Choice(&["auto", "full", "compact"]);
        /// Whether a search also goes by meaning, beside words.
        "semantic" pub semantic: bool = true, Flag;
    }
}

section! {
    /// The record of calls.
    pub struct ActivitySettings {
        /// How many days a record is kept.
        "retention_days" pub retention_days: u32 = 90, Whole(1, 36_500);
        /// How many records are kept; by default, all within `retention_days`.
        "max_records" pub max_records: Option<u64> = null, Whole(1, 1_000_000_000);
        /// How many bytes of arguments and of a response are kept; the rest is cut off, its size is not.
        "max_payload_bytes" pub max_payload_bytes: usize = 65536, Whole(1024, 16 * 1024 * 1024);
        /// `strict`: a call that writes or destroys is on disk before it is sent, and its outcome before the answer
        /// leaves. `balanced`: every record is written within 100 ms, and no call waits for it.
        "durability" pub durability: Durability = "strict", Choice(&["strict", "balanced"]);
    }
}

section! {
    /// Where state is kept.
    pub struct StoreSettings {
        /// `sqlite` for a file in the data folder, or the `postgres://` address of a database that several
        /// gateways share. May hold references. A change takes effect at the next start.
        "url" pub url: StoreAddress = "sqlite", Text(STORE, Store);
    }
}

section! {
    /// Hints that the gateway adds to results.
    pub struct HintSettings {
        /// Where hints go that the gateway makes for tools whose servers send none: nowhere, into `_meta`, or
        /// into a text block at the end.
        "proxied" pub proxied: ProxiedHints = "meta", Choice(&["off", "meta", "content"]);
    }
}

/// What an agent without a token may do on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnonymousAccess {
    /// Everything but administration.
    Full,
    /// Read.
    Read,
    /// Nothing.
    None,
}

impl AnonymousAccess {
    /// Role of such an agent; nothing where it is not let in.
    pub fn role(self) -> Option<AnonymousRole> {
        match self {
            Self::Full => Some(AnonymousRole::Full),
            Self::Read => Some(AnonymousRole::Read),
            Self::None => None,
        }
    }
}

/// How much a search says of each tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// The whole definition of a few, and the short form of more.
    Auto,
    /// The whole definition.
    Full,
    /// A signature and a summary.
    Compact,
}

/// What a writing call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Its record is on disk.
    Strict,
    /// Nothing; its record is written soon after.
    Balanced,
}

/// Place of the agent hints that the gateway makes for tools whose servers send none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProxiedHints {
    /// Nowhere.
    Off,
    /// Into `_meta` of the result.
    Meta,
    /// Into a text block at the end.
    Content,
}

impl Settings {
    /// Rules by which declared intent is checked.
    pub fn rules(&self) -> Rules {
        Rules {
            mode: self.intent_declaration.mode,
            strict_server_validation: self.intent_declaration.strict_server_validation,
            unannotated: self.intent_declaration.unannotated,
        }
    }

    /// Names of the secrets that references lead to, whether or not they are there.
    pub fn secret_names(&self) -> &BTreeSet<String> {
        &self.secret_names
    }

    /// Tells the log what is dangerous about settings that can be used, but for what the settings before had as well.
    pub(crate) fn log_warnings(&self) {
        let of_tls = self.tls.iter().filter_map(TlsSettings::warning);
        let warnings = self.warnings.iter().cloned().chain(of_tls).collect();
        for warning in new_warnings::tell(warnings) {
            tracing::warn!("{warning}");
        }
    }

    /// Warnings about the entry of a server, in words that follow its name.
    pub fn entry_warnings(&self, server: &str) -> Vec<String> {
        let of_server = self
            .entry_warnings
            .iter()
            .filter(|(name, _)| name == server);
        let words = of_server.map(|(_, warning)| match warning.split_once("mcpServers") {
            // Its place in the file says little to who has not written the file.
            Some((_, behind)) => behind.split_once(": ").map_or(behind, |(_, words)| words),
            None => warning,
        });
        words.map(str::to_owned).collect()
    }

    /// Every text that would give a secret away, for masking.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        self.secrets.iter().flat_map(Secret::exposing_texts)
    }
}
