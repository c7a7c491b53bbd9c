//! Credentials that are good now: the key, tokens, and having none.

mod guesses;

use std::sync::Arc;

use arc_swap::ArcSwap;
use mcpproxy_gateway::settings::{LiveSettings, Secret};
use mcpproxy_gateway::tokens::{Admission, Tokens};
use mcpproxy_gateway::{Code, Failure};
use mcpproxy_policy::{AnonymousRole, Rights};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

use self::guesses::Guesses;

/// Credentials of the HTTP faces that are no tokens, and the wrong ones that were shown.
pub(crate) struct Credentials {
    key: ArcSwap<Credential<Secret>>,
    anonymous: ArcSwap<Credential<Option<AnonymousRole>>>,
    settings: Arc<LiveSettings>,
    pub(crate) guesses: Guesses,
}

/// Credential, and the end of what was opened with it.
struct Credential<T> {
    value: T,
    ended: CancellationToken,
}

impl<T> Credential<T> {
    fn new(value: T) -> Arc<Self> {
        Arc::new(Self {
            value,
            ended: CancellationToken::new(),
        })
    }
}

impl Credentials {
    /// Credentials of a gateway with this key.
    pub(crate) fn new(key: Secret, settings: &Arc<LiveSettings>) -> Self {
        Self {
            key: ArcSwap::new(Credential::new(key)),
            anonymous: ArcSwap::new(Credential::new(settings.load().anonymous.role())),
            settings: Arc::clone(settings),
            guesses: Guesses::default(),
        }
    }

    /// Takes another key from now on; the old one is refused, and what was opened with it ends.
    pub(crate) fn set_key(&self, key: Secret) {
        if self.key.load().value.expose() != key.expose() {
            self.key.swap(Credential::new(key)).ended.cancel();
        }
    }

    /// Admission by credentials that are shown: nothing if there are none. All that is shown has to be good, and for
    /// the same.
    pub(crate) fn admit<'a>(
        &self,
        tokens: &Tokens,
        shown: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Option<Admission>, Failure> {
        let mut admitted: Option<Admission> = None;
        for one in shown {
            let admission = self.admit_one(tokens, one)?.ok_or_else(wrong)?;
            if admitted.is_some_and(|before| before.rights != admission.rights) {
                return Err(wrong());
            }
            admitted = Some(admission);
        }
        Ok(admitted)
    }

    fn admit_one(&self, tokens: &Tokens, shown: &[u8]) -> Result<Option<Admission>, Failure> {
        let key = self.key.load();
        // The comparison takes the same time either way.
        if bool::from(shown.ct_eq(key.value.expose().as_bytes())) {
            return Ok(Some(Admission {
                rights: Rights::Administrator,
                ended: key.ended.clone(),
            }));
        }
        tokens.admit(shown)
    }

    /// Ends what was opened without a credential before the operator thought otherwise.
    pub(crate) fn end_former_anonymous(&self) {
        let role = self.settings.load().anonymous.role();
        if self.anonymous.load().value != role {
            self.anonymous.swap(Credential::new(role)).ended.cancel();
        }
    }

    /// Admission without a credential, if the operator leaves that anything.
    pub(crate) fn anonymous(&self) -> Option<Admission> {
        self.end_former_anonymous();
        let anonymous = self.anonymous.load();
        Some(Admission {
            rights: Rights::Anonymous(anonymous.value?),
            ended: anonymous.ended.clone(),
        })
    }
}

fn wrong() -> Failure {
    Failure::new(
        Code::Unauthorized,
        "The credential is not valid: it is no token that is good now, and not the API key, which is in the file api_key \
         of the data directory or in the configuration",
    )
}
