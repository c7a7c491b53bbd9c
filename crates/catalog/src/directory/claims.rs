//! Claims of templates on addresses that nobody lists, where all servers are offered together. This module is pure.
//!
//! A template claims addresses that begin as it does, up to its first expression. That beginning has to have a scheme,
//! or the template would claim the resources of others. One that leaves open what follows the scheme (`notes://{id}`)
//! claims the scheme, and only if no other server uses it.

use std::collections::HashMap;
use std::sync::Arc;

use super::address::looks_qualified;
use super::collisions::{CollisionKind, Collisions};
use super::template::Template;

/// Claims of all templates.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// Templates in the order of servers.
    templates: Vec<ServerTemplate>,
    /// Server of each template that claims something, by its text; nothing if two servers have it.
    owners: HashMap<Arc<str>, Option<Arc<str>>>,
}

/// Template of a server.
#[derive(Debug)]
struct ServerTemplate {
    server: Arc<str>,
    template: Template,
    is_claiming: bool,
}

/// Servers that use a scheme: the first one, and another one if there is one.
#[derive(Debug, Default)]
pub(crate) struct SchemeUsers(HashMap<String, (Arc<str>, Option<Arc<str>>)>);

// === impl Claims ===

impl Claims {
    /// Claims of templates, given with their servers in the order of servers.
    pub(crate) fn of<'a>(
        templates: impl Iterator<Item = (&'a Arc<str>, &'a Arc<str>)>,
        users: &SchemeUsers,
        collisions: &mut Collisions,
    ) -> Self {
        let mut claims = Self::default();
        let mut claimed: HashMap<Box<str>, Arc<str>> = HashMap::new();
        for (server, text) in templates {
            let template = Template::parse(text);
            let claim = claim(&template, server, users);
            match &claim {
                Ok(beginning) => {
                    let first = claimed.entry((*beginning).into());
                    let first = first.or_insert_with(|| Arc::clone(server));
                    if first != server {
                        collisions.add(CollisionKind::SameClaim, text, server, Some(first));
                    }
                    let owner = claims.owners.entry(Arc::clone(text));
                    let owner = owner.or_insert_with(|| Some(Arc::clone(server)));
                    if owner.as_ref() != Some(server) {
                        *owner = None;
                    }
                }
                Err(other) => {
                    collisions.add(CollisionKind::NoClaim, text, server, other.as_ref());
                }
            }
            claims.templates.push(ServerTemplate {
                server: Arc::clone(server),
                is_claiming: claim.is_ok(),
                template,
            });
        }
        claims
    }

    /// Server whose template a text is, if the template claims something and no other server has it.
    pub(crate) fn owner(&self, text: &str) -> Option<&Arc<str>> {
        self.owners.get(text)?.as_ref()
    }

    /// Server whose claim on an address is the strongest: its template has the longest beginning. Two servers with
    /// equal claims have none.
    pub(crate) fn claimant(&self, address: &str) -> Option<&Arc<str>> {
        let mut strongest = 0;
        let mut claimant = None;
        for own in self.templates.iter().filter(|own| own.is_claiming) {
            let length = own.template.beginning().len();
            if length < strongest || !own.template.matches(address) {
                continue;
            }
            if length > strongest {
                claimant = Some(&own.server);
                strongest = length;
            } else if claimant != Some(&own.server) {
                claimant = None;
            }
        }
        claimant
    }

    /// Servers that have a template which an address fits, whether or not it claims anything.
    pub(crate) fn fitting(&self, address: &str) -> Vec<&Arc<str>> {
        let fitting = self.templates.iter();
        let fitting = fitting.filter(|own| own.template.matches(address));
        let mut servers: Vec<&Arc<str>> = fitting.map(|own| &own.server).collect();
        servers.dedup();
        servers
    }
}

/// Beginning of the addresses that a template claims; as an error, that it claims none, with the other server that
/// uses its scheme if that is the reason.
fn claim<'a>(
    template: &'a Template,
    server: &Arc<str>,
    users: &SchemeUsers,
) -> Result<&'a str, Option<Arc<str>>> {
    let beginning = template.beginning();
    match scheme(beginning) {
        Some(_) if looks_qualified(beginning) => Err(None),
        Some(_) if template.has_authority() => Ok(beginning),
        Some(scheme) => match users.other_than(server, scheme) {
            Some(other) => Err(Some(Arc::clone(other))),
            None => Ok(beginning),
        },
        None => Err(None),
    }
}

// === impl SchemeUsers ===

impl SchemeUsers {
    /// Notes who uses the schemes of these addresses and templates.
    pub(crate) fn add<'a>(&mut self, used: impl Iterator<Item = (&'a Arc<str>, &'a Arc<str>)>) {
        for (server, address) in used {
            let Some(scheme) = scheme(address) else {
                continue;
            };
            // However it is spelt, it is the same scheme.
            let users = self.0.entry(scheme.to_ascii_lowercase());
            let (first, other) = users.or_insert_with(|| (Arc::clone(server), None));
            if first != server {
                other.get_or_insert_with(|| Arc::clone(server));
            }
        }
    }

    fn other_than(&self, server: &Arc<str>, scheme: &str) -> Option<&Arc<str>> {
        let (first, other) = self.0.get(&scheme.to_ascii_lowercase())?;
        if first == server {
            other.as_ref()
        } else {
            Some(first)
        }
    }
}

/// Scheme that an address begins with.
pub(crate) fn scheme(address: &str) -> Option<&str> {
    let (scheme, _) = address.split_once(':')?;
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    (is_scheme && scheme.bytes().all(is_part)).then_some(scheme)
}
