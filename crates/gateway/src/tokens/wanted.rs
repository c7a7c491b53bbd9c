//! Token that a person asks for, read and checked.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mcpproxy_policy::rights::ADMIN_SERVER;
use mcpproxy_policy::{ActivityAccess, Operation, OperationSet, TokenGrant, ToolGlob};
use mcpproxy_support::nearest::nearest_keyword;
use serde::Deserialize;

use crate::failure::{Code, Failure};

/// Most characters of a token's name.
const LONGEST_NAME: usize = 64;

/// Most servers, patterns or permissions of one token: more than anybody reads.
const MOST_ITEMS: usize = 100;

/// Lifetime of a token for which nothing else is said.
const LIFETIME: Duration = Duration::from_hours(90 * 24);

/// Longest lifetime that can be asked for; `never` goes beyond it.
const LONGEST_LIFETIME: Duration = Duration::from_hours(3_650 * 24);

/// Word for a token that does not expire.
const NEVER: &str = "never";

/// Token as it is asked for. What is left out is the least.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = TokenRequest))]
pub struct WantedToken {
    /// Name: letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// Servers that it may use; all configured ones, but not `mcpproxy`, without.
    #[serde(default)]
    pub servers: Option<Vec<String>>,
    /// Operations of its calls, `read` without: read, write, destructive.
    #[serde(default)]
    pub operations: Option<Vec<String>>,
    /// Patterns of which `server:tool` has to match one; all tools without.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// Permissions for tools of the contract, each `resource:action`; none without.
    #[serde(default)]
    pub permissions: Option<Vec<String>>,
    /// Records that it may see: `own`, without, or `all`.
    #[serde(default)]
    pub activity: Option<String>,
    /// Time until it expires, such as `30d`; 90 days without, or `never`.
    #[serde(default)]
    pub expires: Option<String>,
    /// Whether it may call tools without annotations although it lacks `destructive`.
    #[serde(default)]
    pub unannotated: Option<bool>,
}

impl WantedToken {
    /// Grant of the token, if all that it names exists.
    pub(super) fn grant(&self, known_servers: &[String]) -> Result<TokenGrant, Failure> {
        check_name(&self.name)?;
        for (parameter, items) in [
            ("servers", &self.servers),
            ("tools", &self.tools),
            ("permissions", &self.permissions),
        ] {
            if items.as_ref().is_some_and(|items| items.len() > MOST_ITEMS) {
                let message = format!("{parameter} has more than {MOST_ITEMS} items");
                return Err(invalid(parameter, message));
            }
        }
        let servers = self.servers.iter().flatten();
        for server in servers {
            check_server("servers", server, known_servers)?;
        }
        if self.servers.as_ref().is_some_and(Vec::is_empty) {
            let message = "servers names none: leave it out for all configured ones";
            return Err(invalid("servers", message.to_owned()));
        }
        let tools = self.tools.iter().flatten().map(|text| {
            let glob = ToolGlob::parse(text).map_err(|problem| invalid("tools", problem))?;
            if let Some(server) = glob.server() {
                check_server("tools", server, known_servers)?;
            }
            Ok(glob)
        });
        let permissions = self.permissions.iter().flatten();
        Ok(TokenGrant {
            servers: self.servers.clone(),
            operations: self.operations()?,
            tools: tools.collect::<Result<_, Failure>>()?,
            permissions: permissions
                .map(|permission| check_permission(permission))
                .collect::<Result<_, _>>()?,
            activity: self.activity()?,
            unannotated: self.unannotated.unwrap_or_default(),
        })
    }

    /// Moment at which the token expires, from now on.
    pub(super) fn expires(&self, now: Timestamp) -> Result<Option<Timestamp>, Failure> {
        expiry(self.expires.as_deref(), now)
    }

    fn operations(&self) -> Result<OperationSet, Failure> {
        let Some(words) = &self.operations else {
            return Ok(OperationSet::of(&[Operation::Read]));
        };
        if words.is_empty() {
            let message = "operations names none: a token without any can call nothing".to_owned();
            return Err(invalid("operations", message));
        }
        let operations = words.iter().map(|word| {
            let all = Operation::ALL.map(Operation::as_str);
            let must = "must be read, write, or destructive";
            Operation::parse(word).ok_or_else(|| wrong("operations", word, must, &all))
        });
        Ok(OperationSet::of(
            &operations.collect::<Result<Vec<_>, _>>()?,
        ))
    }

    fn activity(&self) -> Result<ActivityAccess, Failure> {
        match self.activity.as_deref() {
            None | Some("own") => Ok(ActivityAccess::Own),
            Some("all") => Ok(ActivityAccess::All),
            Some(word) => Err(wrong(
                "activity",
                word,
                "must be own or all",
                &["own", "all"],
            )),
        }
    }
}

/// Moment at which a token expires whose lifetime is given in words.
pub(super) fn expiry(given: Option<&str>, now: Timestamp) -> Result<Option<Timestamp>, Failure> {
    let lifetime = match given {
        Some(NEVER) => return Ok(None),
        None => LIFETIME,
        Some(text) => {
            let read = humantime::parse_duration(text).ok();
            let read = read.filter(|read| !read.is_zero() && *read <= LONGEST_LIFETIME);
            read.ok_or_else(|| {
                let must = "must be a time such as 30d or 12h, at most 3650d, or never";
                wrong("expires", text, must, &[NEVER])
            })?
        }
    };
    let lifetime = SignedDuration::try_from(lifetime).unwrap_or(SignedDuration::MAX);
    Ok(now.checked_add(lifetime).ok())
}

/// Lifetime in the largest unit that it is a whole number of, as it could be asked for.
pub(super) fn lifetime(created: Timestamp, expires: Option<Timestamp>) -> String {
    let Some(expires) = expires else {
        return NEVER.to_owned();
    };
    let seconds = expires.duration_since(created).as_secs();
    let units = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let unit = units.into_iter().find(|(unit, _)| seconds % unit == 0);
    let (unit, word) = unit.unwrap_or((1, "s"));
    format!("{}{word}", seconds / unit)
}

fn check_name(name: &str) -> Result<(), Failure> {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '_' | '-');
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        return Ok(());
    }
    let message = format!(
        "Invalid name '{}': must be 1 to {LONGEST_NAME} letters, digits, '.', '_' or '-'",
        shown(name)
    );
    Err(invalid("name", message))
}

fn check_server(parameter: &str, name: &str, known: &[String]) -> Result<(), Failure> {
    if known.iter().any(|one| one == name) || name == ADMIN_SERVER {
        return Ok(());
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = nearest_keyword(name, &known);
    let hint = near.map_or_else(
        || "; `mcpproxy status` names those there are".to_owned(),
        |near| format!(", did you mean '{near}'?"),
    );
    let message = format!("Server '{}' does not exist{hint}", shown(name));
    let failure = Failure::new(Code::UnknownServer, message).with("parameter", parameter);
    Err(failure.with("nearest", near.into_iter().collect::<Vec<_>>()))
}

fn check_permission(permission: &str) -> Result<String, Failure> {
    let is_plain = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|one| one.is_ascii_alphanumeric() || matches!(one, b'-' | b'_'))
    };
    let is_whole = permission
        .split_once(':')
        .is_some_and(|(resource, action)| is_plain(resource) && is_plain(action));
    if is_whole && permission.len() <= 2 * LONGEST_NAME {
        return Ok(permission.to_owned());
    }
    let must = "must be resource:action, such as cards:read";
    Err(wrong("permissions", permission, must, &[]))
}

fn wrong(parameter: &str, value: &str, must: &str, allowed: &[&'static str]) -> Failure {
    let near = nearest_keyword(value, allowed);
    let hint = near.map_or_else(String::new, |near| format!(", did you mean '{near}'?"));
    let message = format!("Invalid {parameter} '{}': {must}{hint}", shown(value));
    invalid(parameter, message)
}

fn invalid(parameter: &str, message: String) -> Failure {
    Failure::new(Code::InvalidArguments, message).with("parameter", parameter)
}

fn shown(value: &str) -> String {
    value.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> WantedToken {
        WantedToken {
            name: "ci".to_owned(),
            ..WantedToken::default()
        }
    }

    fn list(items: &[&str]) -> Vec<String> {
        items.iter().map(|&item| item.to_owned()).collect()
    }

    #[test]
    fn without_flags_a_token_is_the_least() {
        assert_eq!(wanted().grant(&[]).unwrap(), TokenGrant::default());
        let now = Timestamp::from_second(0).unwrap();
        let expires = wanted().expires(now).unwrap().unwrap();
        assert_eq!(expires.as_second(), 90 * 86_400);
        assert_eq!(lifetime(now, Some(expires)), "90d");
        assert_eq!(lifetime(now, None), "never");
    }

    #[test]
    fn what_does_not_exist_is_refused_with_what_is_near() {
        let servers = ["github".to_owned(), "files".to_owned()];
        let refused = |change: fn(&mut WantedToken)| {
            let mut token = wanted();
            change(&mut token);
            let expires = token.expires(Timestamp::UNIX_EPOCH);
            let failure = token.grant(&servers).and_then(|_| expires.map(drop));
            failure.unwrap_err().message
        };
        assert_eq!(
            refused(|token| token.servers = Some(list(&["githib"]))),
            "Server 'githib' does not exist, did you mean 'github'?"
        );
        assert_eq!(
            refused(|token| token.tools = Some(list(&["githib:get_*"]))),
            "Server 'githib' does not exist, did you mean 'github'?"
        );
        assert_eq!(
            refused(|token| token.operations = Some(list(&["wirte"]))),
            "Invalid operations 'wirte': must be read, write, or destructive, did you mean 'write'?"
        );
        assert_eq!(
            refused(|token| token.expires = Some("nevre".to_owned())),
            "Invalid expires 'nevre': must be a time such as 30d or 12h, at most 3650d, or never, did you mean 'never'?"
        );
        assert!(refused(|token| token.expires = Some("0s".to_owned())).contains("30d"));
        assert!(refused(|token| token.activity = Some("mine".to_owned())).contains("own or all"));
        assert!(
            refused(|token| token.permissions = Some(list(&["cards"]))).contains("resource:action")
        );
        assert!(refused(|token| token.operations = Some(list(&[]))).contains("names none"));
        assert!(refused(|token| token.servers = Some(list(&[]))).contains("names none"));
        assert!(refused(|token| token.name = "a b".to_owned()).contains("letters"));
        assert!(refused(|token| token.name = String::new()).contains("letters"));
        assert!(refused(|token| token.tools = Some(list(&["x"; 101]))).contains("more than 100"));
    }

    #[test]
    fn all_that_can_be_granted_is() {
        let token = WantedToken {
            servers: Some(list(&["github", "mcpproxy"])),
            operations: Some(list(&["read", "write"])),
            tools: Some(list(&["github:get_*", "*:list-*"])),
            permissions: Some(list(&["cards:read"])),
            activity: Some("all".to_owned()),
            expires: Some("never".to_owned()),
            unannotated: Some(true),
            ..wanted()
        };
        let grant = token.grant(&["github".to_owned()]).unwrap();
        assert_eq!(grant.operations.iter().count(), 2);
        assert_eq!((grant.tools.len(), grant.permissions.len()), (2, 1));
        assert_eq!(grant.activity, ActivityAccess::All);
        assert!(grant.unannotated);
        assert_eq!(token.expires(Timestamp::UNIX_EPOCH).unwrap(), None);
    }
}
