//! Tokens of agents: made, shown, rotated and revoked by an administrator, and looked up for every request.
//!
//! The store has them, hashed; what is looked up is a table in memory. Other processes may change the store, so the table
//! is read anew every moment: elsewhere a revoked token is good for that long.

mod live;
mod secret;
mod wanted;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use jiff::Timestamp;
use mcpproxy_activity::{Inserted, StoredToken, TokenStore};
use mcpproxy_policy::{Rights, TokenGrant};
use mcpproxy_support::nearest::nearest_keyword;
use serde::Serialize;
use uuid::Uuid;

pub use self::live::Admission;
use self::live::LiveTokens;
pub use self::secret::TokenSecret;
pub use self::wanted::WantedToken;
use crate::background::Background;
use crate::failure::{Code, Failure};
use crate::records::Records;
use crate::servers::Servers;

/// Time after which tokens that another process made or revoked are known here.
const REFRESH: Duration = Duration::from_secs(2);

/// Tokens of agents.
pub struct Tokens {
    store: TokenStore,
    /// Table that requests are looked up in; nothing before the store was read once.
    live: ArcSwapOption<LiveTokens>,
    servers: Arc<Servers>,
    records: Arc<Records>,
    /// Held by whoever reads the store into the table, so that an older reading never replaces a newer one.
    reading: tokio::sync::Mutex<()>,
}

/// Token as it is shown. Its secret is not in here.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Token))]
pub struct ShownToken {
    name: String,
    /// Servers, operations, tools, permissions, records and tools without annotations that it may use. `servers` is null
    /// for all configured ones.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    grant: TokenGrant,
    /// Lifetime that was asked for.
    expires: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    created: Timestamp,
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>))]
    last_used: Option<Timestamp>,
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>))]
    expires_at: Option<Timestamp>,
}

/// Token with its secret, shown this once.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = NewToken))]
pub struct ShownSecret {
    #[serde(flatten)]
    shown: ShownToken,
    /// Secret that the agent sends as the key is sent. Nobody can show it again.
    token: String,
}

/// All tokens.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = TokenList))]
pub struct ShownTokens {
    tokens: Vec<ShownToken>,
}

impl Tokens {
    pub(crate) fn new(servers: &Arc<Servers>, records: &Arc<Records>) -> Self {
        Self {
            store: records.log().tokens(),
            live: ArcSwapOption::empty(),
            servers: Arc::clone(servers),
            records: Arc::clone(records),
            reading: tokio::sync::Mutex::default(),
        }
    }

    /// Admission of whoever sends this; nothing if no token is like that. An error as long as the store could not be
    /// read at all.
    pub fn admit(&self, sent: &[u8]) -> Result<Option<Admission>, Failure> {
        let Some(secret) = TokenSecret::parse(sent) else {
            return Ok(None);
        };
        let live = self.live.load();
        let live = live.as_ref().ok_or_else(|| {
            let message =
                "The tokens cannot be read now; a person finds the reason with `mcpproxy status`";
            Failure::new(Code::StoreUnavailable, message)
        })?;
        Ok(live.admit(&secret, Timestamp::now()))
    }

    /// Refuses rights of a token that was good when the request came, and is not any more: the call has waited.
    pub(crate) fn check(&self, rights: &Rights) -> Result<(), Failure> {
        let (Rights::Token(token), Some(live)) = (rights, &*self.live.load()) else {
            return Ok(());
        };
        if live.is_good(token, Timestamp::now()) {
            return Ok(());
        }
        let message = format!("The token '{}' is not valid any more", token.name);
        Err(Failure::new(Code::Unauthorized, message))
    }

    /// Reads the store into the table that requests are looked up in.
    pub async fn load(&self) -> Result<(), Failure> {
        let _reading = self.reading.lock().await;
        let stored = self.store.all().await?;
        let before = self.live.load_full().unwrap_or_default();
        self.live.store(Some(Arc::new(before.updated(stored))));
        Ok(())
    }

    /// Keeps the table like the store, and the store told of uses, for as long as the gateway runs.
    pub(crate) fn keep_current(self: &Arc<Self>, background: &Background) {
        let (tokens, stopping) = (Arc::clone(self), background.stopping.clone());
        background.spawn(async move {
            let mut due = tokio::time::interval(REFRESH);
            due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            let mut was_read = true;
            while stopping.run_until_cancelled(due.tick()).await.is_some() {
                let read = tokens.refresh().await;
                // Told once for each time that it stops to work, and not every two seconds.
                if let (Err(failure), true) = (&read, was_read) {
                    tracing::warn!(problem = failure.message, "the tokens cannot be read");
                }
                was_read = read.is_ok();
            }
            tokens.store_uses().await;
        });
    }

    async fn refresh(&self) -> Result<(), Failure> {
        if let Some(live) = &*self.live.load() {
            live.end_expired(Timestamp::now());
        }
        self.store_uses().await;
        self.load().await
    }

    async fn store_uses(&self) {
        let uses = self.live.load().as_ref().map(|live| live.take_uses());
        let uses = uses.unwrap_or_default();
        if uses.is_empty() {
            return;
        }
        if let Err(error) = self.store.touch(&uses).await {
            tracing::debug!(%error, "the last use of tokens was not stored");
        }
    }

    /// Makes a token and shows its secret, this once.
    pub async fn create(&self, wanted: &WantedToken) -> Result<ShownSecret, Failure> {
        let grant = wanted.grant(&self.servers.names())?;
        let now = Timestamp::now();
        let secret = random_secret()?;
        let token = StoredToken {
            id: Uuid::new_v4().to_string(),
            name: wanted.name.clone(),
            hash: secret.hash(),
            grant,
            created: now,
            expires: wanted.expires(now)?,
            last_used: None,
        };
        match self.store.insert(&token).await? {
            Inserted::Done => {}
            Inserted::NameTaken => {
                let message = format!(
                    "There is a token '{}' already; revoke it first, or give it another secret with `mcpproxy token rotate`",
                    token.name
                );
                return Err(Failure::new(Code::NameTaken, message));
            }
            Inserted::TooMany => {
                let message = "There are as many tokens as there may be; revoke one first";
                return Err(Failure::new(Code::Forbidden, message));
            }
        }
        self.records
            .token_changed(&token.name, "created", Some(&token.grant));
        self.load().await?;
        Ok(ShownSecret::new(token, &secret))
    }

    /// All tokens.
    pub async fn list(&self) -> Result<ShownTokens, Failure> {
        let tokens = self.current().await?.into_iter();
        Ok(ShownTokens {
            tokens: tokens.map(ShownToken::from).collect(),
        })
    }

    /// Token of this name.
    pub async fn show(&self, name: &str) -> Result<ShownToken, Failure> {
        self.find(name).await.map(ShownToken::from)
    }

    /// Gives a token another secret; the one before is good for nothing from now on.
    pub async fn rotate(&self, name: &str, expires: Option<&str>) -> Result<ShownSecret, Failure> {
        let before = self.find(name).await?;
        let now = Timestamp::now();
        let same = wanted::lifetime(before.created, before.expires);
        let secret = random_secret()?;
        let token = StoredToken {
            hash: secret.hash(),
            created: now,
            expires: wanted::expiry(Some(expires.unwrap_or(&same)), now)?,
            last_used: None,
            ..before
        };
        if !self.store.rotate(&token).await? {
            return Err(self.not_found(name).await);
        }
        self.records.token_changed(name, "rotated", None);
        self.load().await?;
        Ok(ShownSecret::new(token, &secret))
    }

    /// Revokes a token; it is good for nothing from now on.
    pub async fn revoke(&self, name: &str) -> Result<(), Failure> {
        if !self.store.remove(name).await? {
            return Err(self.not_found(name).await);
        }
        self.records.token_changed(name, "revoked", None);
        self.load().await
    }

    async fn find(&self, name: &str) -> Result<StoredToken, Failure> {
        let tokens = self.current().await?;
        match tokens.into_iter().find(|token| token.name == name) {
            Some(token) => Ok(token),
            None => Err(self.not_found(name).await),
        }
    }

    /// Tokens as the store has them now, with uses that it does not know yet.
    async fn current(&self) -> Result<Vec<StoredToken>, Failure> {
        self.load().await?;
        let live = self.live.load();
        Ok(live.as_ref().map(|live| live.by_name()).unwrap_or_default())
    }

    async fn not_found(&self, name: &str) -> Failure {
        let tokens = self.current().await.unwrap_or_default();
        let names: Vec<&str> = tokens.iter().map(|token| &*token.name).collect();
        let hint = nearest_keyword(name, &names).map_or_else(
            || "; `mcpproxy token list` shows those there are".to_owned(),
            |near| format!(", did you mean '{near}'?"),
        );
        let shown: String = name.chars().take(100).collect();
        Failure::new(Code::NotFound, format!("There is no token '{shown}'{hint}"))
    }
}

fn random_secret() -> Result<TokenSecret, Failure> {
    TokenSecret::random().map_err(|error| {
        let message = format!("The operating system gives no random numbers: {error}");
        Failure::new(Code::Internal, message)
    })
}

// === impl ShownToken ===

impl From<StoredToken> for ShownToken {
    fn from(token: StoredToken) -> Self {
        Self {
            expires: wanted::lifetime(token.created, token.expires),
            name: token.name,
            grant: token.grant,
            created: token.created,
            last_used: token.last_used,
            expires_at: token.expires,
        }
    }
}

// === impl ShownSecret ===

impl ShownSecret {
    fn new(token: StoredToken, secret: &TokenSecret) -> Self {
        Self {
            shown: token.into(),
            token: secret.expose().to_owned(),
        }
    }
}
