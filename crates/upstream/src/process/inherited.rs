//! Variables of the gateway that a server inherits.
//!
//! The gateway's environment holds the secrets of every server, so a server gets those that are harmless, and others
//! only where the operator names them. Nothing here reads the environment: variables come in as arguments.

use std::ffi::{OsStr, OsString};

use mcpproxy_redact::{credentials, is_credential_name};

use crate::spec::InheritEnv;

/// Names passed on: what programs need to find their files, their language, a screen and the network.
const USUAL: &str = "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM COLORTERM TMPDIR TMP TEMP \
    DISPLAY WAYLAND_DISPLAY AWS_REGION AWS_DEFAULT_REGION NO_PROXY no_proxy \
    SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE AWS_CA_BUNDLE PIP_CERT \
    GIT_SSL_CAINFO CARGO_HTTP_CAINFO";

/// Addresses of proxies, in either case. One may hold a password.
const PROXIES: &str = "HTTP_PROXY HTTPS_PROXY ALL_PROXY";

/// End of the names in a family that hold the address of a proxy.
const PROXY_END: &str = "proxy";

/// Names Windows programs do not run without.
const USUAL_ON_WINDOWS: &str = "APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA \
    NUMBER_OF_PROCESSORS OS PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES \
    PROGRAMFILES(X86) SYSTEMDRIVE SYSTEMROOT USERNAME USERPROFILE WINDIR";

/// Families of names passed on. Those of `npm` and `uv` say where packages come from; npm reads its own in either case.
const FAMILIES: &[&str] = &["LC_", "XDG_", "UV_", "npm_config_", "NPM_CONFIG_"];

/// Ends of names in a family that hold a credential and that no rule for names knows: a one-time password, and the half
/// of a login that is a token with some registries.
const CREDENTIAL_ENDS: &[&str] = &["otp", "username"];

/// Fewest letters and digits in a row that look like a key in an address: names of packages and of their sources are
/// shorter, or words.
const SHORTEST_KEY: usize = 20;

/// Beginning of our own variables, the key of the gateway among them.
const OURS: &str = "MCPPROXY_";

/// Names that shells set for themselves: no server asks for them.
const OF_SHELLS: &str = "SHLVL OLDPWD HOSTNAME COLUMNS LINES";

/// Shortest name that is looked for in what a server writes: shorter ones are words.
const SHORTEST_MENTIONED: usize = 5;

/// Most names that an advice has.
const MOST_ADVISED: usize = 3;

/// Fate of a variable on the way to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inheritance {
    Passed,
    /// One of the usual names, with a credential in it.
    HasCredential,
    /// One that a server gets if its settings name it.
    IfNamed,
    /// One of ours, which no server gets.
    Never,
}

/// Decides on one variable of the gateway.
pub(crate) fn inheritance(name: &OsStr, value: &OsStr, inherit: &InheritEnv) -> Inheritance {
    let shown = name.to_string_lossy();
    if is_ours(&shown) {
        return Inheritance::Never;
    }
    let is_named = match inherit {
        InheritEnv::All(_) => true,
        InheritEnv::Named(names) => names.iter().any(|one| is_same(one, &shown)),
    };
    if is_named {
        return Inheritance::Passed;
    }
    let value = value.to_string_lossy();
    let is_proxy = |one: &str| one.eq_ignore_ascii_case(&shown);
    let has_credential = if PROXIES.split_ascii_whitespace().any(is_proxy) {
        has_user(&value, true)
    } else if is_in_family(&shown) {
        let name = shown.to_ascii_lowercase();
        CREDENTIAL_ENDS.iter().any(|end| name.ends_with(end))
            || is_credential_name(&shown)
            || has_user(&value, name.ends_with(PROXY_END))
            || has_key_in_path(&value)
            || !credentials(&value).is_empty()
    } else if is_usual(&shown) {
        false
    } else {
        return Inheritance::IfNamed;
    };
    if has_credential {
        Inheritance::HasCredential
    } else {
        Inheritance::Passed
    }
}

/// Advice for a server that failed and wrote these lines: which variables it speaks of that the gateway has and did not
/// pass on. `has` says whether the server's own entry sets one.
pub(crate) fn advice(
    lines: &[String],
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    inherit: &InheritEnv,
    has: impl Fn(&str) -> bool,
) -> Option<String> {
    let InheritEnv::Named(given) = inherit else {
        return None;
    };
    let withheld = ours.into_iter().filter_map(|(name, value)| {
        let inheritance = inheritance(&name, &value, inherit);
        let name = name.into_string().ok()?;
        let is_withheld = !matches!(inheritance, Inheritance::Passed | Inheritance::Never);
        let is_meant = is_withheld && is_mentionable(&name) && !has(&name);
        (is_meant && lines.iter().any(|line| mentions(line, &name))).then_some(name)
    });
    let mut names: Vec<String> = withheld.collect();
    names.sort_unstable();
    names.truncate(MOST_ADVISED);
    if names.is_empty() {
        return None;
    }
    let verb = if names.len() == 1 { "is" } else { "are" };
    let added: Vec<String> = given.iter().chain(&names).map(quoted).collect();
    Some(format!(
        "it mentions {}, which {verb} not passed on: add \"inherit_env\": [{}]",
        names.join(", "),
        added.join(", ")
    ))
}

/// Whether a name is of the gateway itself.
fn is_ours(name: &str) -> bool {
    name.get(..OURS.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(OURS))
}

fn is_usual(name: &str) -> bool {
    let mut usual = USUAL.split_ascii_whitespace();
    let mut on_windows = USUAL_ON_WINDOWS.split_ascii_whitespace();
    usual.any(|one| is_same(one, name))
        || (cfg!(windows) && on_windows.any(|one| is_same(one, name)))
}

/// Whether two names mean one variable: Windows does not look at case.
fn is_same(one: &str, other: &str) -> bool {
    one == other || (cfg!(windows) && one.eq_ignore_ascii_case(other))
}

fn is_in_family(name: &str) -> bool {
    FAMILIES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether an address in a text has a user in front of its host, and so maybe a password. Programs take a proxy
/// without a scheme as well.
fn has_user(text: &str, may_lack_scheme: bool) -> bool {
    let is_between = |one: char| one.is_whitespace() || one == ',';
    text.split(is_between).any(|address| {
        let start = match address.find("://") {
            Some(at) => at + 3,
            None if may_lack_scheme => 0,
            None => return false,
        };
        let authority = address[start..].split(['/', '?', '#']).next();
        authority.is_some_and(|authority| authority.contains('@'))
    })
}

/// Whether what follows the host of an address in a text looks like a key: some sources of packages have one there.
fn has_key_in_path(text: &str) -> bool {
    let is_between = |one: char| one.is_whitespace() || one == ',';
    let addresses = text.split(is_between);
    let mut behind = addresses.filter_map(|address| {
        let (_, rest) = address.split_once("://")?;
        Some(&rest[rest.find(['/', '?', '#'])?..])
    });
    behind.any(|path| {
        path.split(['/', '?', '&', '=', '#'])
            .any(|part| is_key(part) || is_hexadecimal_key(part))
    })
}

/// Whether a text has so many letters and digits in a row, and both of them.
fn is_key(text: &str) -> bool {
    let mut runs = text.split(|one: char| !one.is_ascii_alphanumeric());
    runs.any(|run| run.len() >= SHORTEST_KEY && is_mixed(run))
}

/// Whether a text is hexadecimal digits in groups, as a UUID is.
fn is_hexadecimal_key(text: &str) -> bool {
    let digits = text.bytes().filter(|one| *one != b'-');
    let is_hexadecimal = digits.clone().all(|one| one.is_ascii_hexdigit());
    is_hexadecimal && digits.count() >= SHORTEST_KEY && is_mixed(text)
}

fn is_mixed(text: &str) -> bool {
    let has = |is_meant: fn(&u8) -> bool| text.as_bytes().iter().any(is_meant);
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// Whether a name can be found in a text without being taken for a word of it.
fn is_mentionable(name: &str) -> bool {
    let is_allowed = |one: u8| one.is_ascii_uppercase() || one.is_ascii_digit() || one == b'_';
    let is_of_shells = || OF_SHELLS.split(' ').any(|one| one == name);
    name.len() >= SHORTEST_MENTIONED && name.bytes().all(is_allowed) && !is_of_shells()
}

/// Whether a line has a name that is not a part of a longer one.
fn mentions(line: &str, name: &str) -> bool {
    let is_part = |one: Option<char>| one.is_some_and(|one| one.is_alphanumeric() || one == '_');
    line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

fn quoted(name: &String) -> String {
    format!("\"{name}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::AllVariables;

    fn named(names: &[&str]) -> InheritEnv {
        InheritEnv::Named(names.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_server_inherits_what_is_harmless() {
        use Inheritance::{HasCredential, IfNamed, Never, Passed};
        for (name, value, expected) in [
            ("PATH", "/bin", Passed),
            ("LC_ALL", "C", Passed),
            ("XDG_RUNTIME_DIR", "/run/user/1", Passed),
            ("DISPLAY", ":0", Passed),
            ("WAYLAND_DISPLAY", "wayland-0", Passed),
            ("AWS_REGION", "eu-central-1", Passed),
            ("REQUESTS_CA_BUNDLE", "/etc/ca.pem", Passed),
            ("UV_CACHE_DIR", "/tmp/uv", Passed),
            ("UV_KEYRING_PROVIDER", "subprocess", Passed),
            ("UV_INDEX_URL", "https://pypi.example/simple", Passed),
            ("npm_config_registry", "https://npm.example/", Passed),
            ("NPM_CONFIG_USERCONFIG", "/home/me/.npmrc", Passed),
            ("XDG_SESSION_COOKIE", "c", HasCredential),
            (
                "UV_INDEX_URL",
                "https://me:pw@pypi.example/simple",
                HasCredential,
            ),
            (
                "UV_INDEX",
                "a=https://a.example b=https://t@b.example",
                HasCredential,
            ),
            ("UV_PUBLISH_TOKEN", "t", HasCredential),
            ("UV_INDEX_CORP_PASSWORD", "p", HasCredential),
            ("UV_INDEX_CORP_USERNAME", "u", HasCredential),
            ("npm_config__auth", "a", HasCredential),
            ("npm_config_//npm.example/:_authToken", "a", HasCredential),
            ("npm_config_otp", "1", HasCredential),
            (
                "npm_config_registry",
                "https://me@npm.example",
                HasCredential,
            ),
            (
                "npm_config_note",
                "ghp_0123456789abcdefghijABCDEFGHIJ012345",
                HasCredential,
            ),
            ("SSH_AUTH_SOCK", "/run/ssh", IfNamed),
            ("DOCKER_HOST", "unix:///x", IfNamed),
            ("KUBECONFIG", "/k", IfNamed),
            ("AWS_PROFILE", "p", IfNamed),
            ("AWS_SECRET_ACCESS_KEY", "s", IfNamed),
            ("GITHUB_TOKEN", "t", IfNamed),
            ("path", "/bin", IfNamed),
            ("LC", "C", IfNamed),
            ("MCPPROXY_API_KEY", "k", Never),
            ("mcpproxy_token", "k", Never),
        ] {
            let found = inheritance(name.as_ref(), value.as_ref(), &InheritEnv::default());
            assert_eq!(found, expected, "{name}={value}");
        }
    }

    #[test]
    fn the_password_of_a_proxy_went_to_every_server() {
        for (value, expected) in [
            ("http://me:hunter@proxy:3128/", Inheritance::HasCredential),
            ("http://me:p@ss@proxy", Inheritance::HasCredential),
            ("http://me@proxy", Inheritance::HasCredential),
            ("me:hunter@proxy:3128", Inheritance::HasCredential),
            ("http://proxy:3128/a@b", Inheritance::Passed),
            ("proxy:3128", Inheritance::Passed),
            ("", Inheritance::Passed),
        ] {
            for name in ["HTTP_PROXY", "https_proxy", "all_proxy"] {
                let usual = inheritance(name.as_ref(), value.as_ref(), &InheritEnv::default());
                assert_eq!(usual, expected, "{name}={value}");
                let given = inheritance(name.as_ref(), value.as_ref(), &named(&[name]));
                assert_eq!(given, Inheritance::Passed, "{name}={value}");
            }
        }
        let exempt = inheritance("NO_PROXY".as_ref(), "a@b".as_ref(), &InheritEnv::default());
        assert_eq!(exempt, Inheritance::Passed);
    }

    #[test]
    fn a_proxy_of_npm_without_a_scheme_took_its_password_to_every_server() {
        for (name, value, expected) in [
            (
                "npm_config_https_proxy",
                "u:p@h:1",
                Inheritance::HasCredential,
            ),
            (
                "npm_config_https-proxy",
                "u:p@h:1",
                Inheritance::HasCredential,
            ),
            (
                "NPM_CONFIG_PROXY",
                "http://u:p@h",
                Inheritance::HasCredential,
            ),
            ("UV_HTTP_PROXY", "u@h", Inheritance::HasCredential),
            ("npm_config_proxy", "h:1", Inheritance::Passed),
            ("npm_config_email", "u@h", Inheritance::Passed),
        ] {
            let found = inheritance(name.as_ref(), value.as_ref(), &InheritEnv::default());
            assert_eq!(found, expected, "{name}={value}");
        }
    }

    #[test]
    fn a_key_in_the_path_of_an_index_went_to_every_server() {
        use Inheritance::{HasCredential, Passed};
        for (value, expected) in [
            (
                "https://dl.example.io/a1B2c3D4e5F6g7H8i9J0/simple",
                HasCredential,
            ),
            (
                "https://dl.example.io/x?key=a1B2c3D4e5F6g7H8i9J0",
                HasCredential,
            ),
            ("https://dl.example.io?a1B2c3D4e5F6g7H8i9J0", HasCredential),
            (
                "https://a.example/ c=https://b.example/tok-a1B2c3D4e5F6g7H8i9J0/",
                HasCredential,
            ),
            (
                "https://a.example/0f8fad5b-d9cb-469f-a165-70867728950e/s",
                HasCredential,
            ),
            ("https://a.example/a1B2c3D4e5F6g7H8i9J/simple", Passed),
            ("https://a.example/internationalization/simple", Passed),
            ("https://a.example/12345678901234567890", Passed),
            (
                "https://a.example/private-registry-of-2024-in-europe",
                Passed,
            ),
            ("https://a1b2c3d4e5f6g7h8i9j0k1.example/simple", Passed),
            ("/home/me/a1B2c3D4e5F6g7H8i9J0", Passed),
        ] {
            let found = inheritance(
                "UV_DEFAULT_INDEX".as_ref(),
                value.as_ref(),
                &InheritEnv::default(),
            );
            assert_eq!(found, expected, "{value}");
        }
    }

    #[test]
    fn settings_add_names_and_never_the_gateways_own() {
        let all = InheritEnv::All(AllVariables::All);
        let found = |name: &str, inherit: &InheritEnv| {
            inheritance(name.as_ref(), "value".as_ref(), inherit)
        };
        for inherit in [&named(&["KUBECONFIG", "MCPPROXY_API_KEY"]), &all] {
            assert_eq!(found("KUBECONFIG", inherit), Inheritance::Passed);
            assert_eq!(found("PATH", inherit), Inheritance::Passed);
            assert_eq!(found("MCPPROXY_API_KEY", inherit), Inheritance::Never);
        }
        assert_eq!(found("GITHUB_TOKEN", &all), Inheritance::Passed);
        assert_eq!(
            found("GITHUB_TOKEN", &named(&["KUBECONFIG"])),
            Inheritance::IfNamed
        );
    }

    #[test]
    fn a_failed_server_is_given_the_variables_that_it_speaks_of() {
        let ours = || {
            let names = [
                "KUBECONFIG",
                "AWS_PROFILE",
                "AWS",
                "PATH",
                "SHLVL",
                "MCPPROXY_API_KEY",
                "OWN_NAME",
                "HTTP_PROXY",
            ];
            names.map(|name| (name.into(), "http://me:pw@host".into()))
        };
        let check = |line: &str, given: &[&str], expected: Option<&str>| {
            let lines = ["first".to_owned(), line.to_owned()];
            let found = advice(&lines, ours(), &named(given), |name| name == "OWN_NAME");
            assert_eq!(found.as_deref(), expected, "{line}");
        };
        check(
            "error: KUBECONFIG is not set",
            &[],
            Some(
                "it mentions KUBECONFIG, which is not passed on: add \"inherit_env\": [\"KUBECONFIG\"]",
            ),
        );
        check(
            "set $AWS_PROFILE or ${KUBECONFIG}!",
            &["A"],
            Some(
                "it mentions AWS_PROFILE, KUBECONFIG, which are not passed on: add \"inherit_env\": [\"A\", \"AWS_PROFILE\", \"KUBECONFIG\"]",
            ),
        );
        check(
            "HTTP_PROXY=?",
            &[],
            Some(
                "it mentions HTTP_PROXY, which is not passed on: add \"inherit_env\": [\"HTTP_PROXY\"]",
            ),
        );
        for silent in [
            "MY_KUBECONFIG and KUBECONFIG_FILE",
            "AWS PATH SHLVL",
            "MCPPROXY_API_KEY",
            "OWN_NAME",
            "GITHUB_TOKEN",
            "kubeconfig",
        ] {
            check(silent, &[], None);
        }
        check("KUBECONFIG", &["KUBECONFIG"], None);
    }
}
