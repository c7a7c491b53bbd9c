//! Environment of a child process, and whether it can be started.
//!
//! The gateway's environment holds the secrets of every server. So a child gets an allow
//! list of it, and the variables its own entry in the configuration names.

use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use crate::spec::StdioSpec;

/// Folders in which programs are looked for when there is no `PATH`.
#[cfg(unix)]
const DEFAULT_PATH: &str = "/usr/local/bin:/bin:/usr/bin";
#[cfg(not(unix))]
const DEFAULT_PATH: &str = "";

/// Names passed on: what programs need to find their files, their language and the network.
const PASSED: &str = "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM TMPDIR TMP TEMP \
    HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy \
    SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS";

/// Names Windows programs do not run without.
const PASSED_ON_WINDOWS: &str = "APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA \
    NUMBER_OF_PROCESSORS OS PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES \
    PROGRAMFILES(X86) SYSTEMDRIVE SYSTEMROOT USERNAME USERPROFILE WINDIR";

/// Families of names passed on.
const PASSED_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Names that may hold the password of a proxy, in either case.
const PROXIES: &str = "HTTP_PROXY HTTPS_PROXY";

/// Whole environment of a child: the allow list of ours, then its own variables.
pub(crate) fn of_child(spec: &StdioSpec) -> Vec<(OsString, OsString)> {
    let ours = std::env::vars_os().filter_map(|(name, value)| {
        let passed = name.to_str().filter(|name| is_passed(name))?;
        let value = passed_value(passed, value);
        Some((name, value))
    });
    let own = spec
        .env
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    ours.chain(own).collect()
}

/// Checks what can be known before the start; the error is for people.
///
/// The check only serves a clear message: a guard stands between us and the program, so the
/// system's own answer would reach us as an exit code.
pub(crate) fn check(spec: &StdioSpec, environment: &[(OsString, OsString)]) -> Result<(), String> {
    let directory = spec.working_dir.as_deref();
    if directory.is_some_and(|directory| !directory.is_dir()) {
        return Err("its working_dir does not exist or is not a directory".to_owned());
    }
    if spec.command.is_empty() {
        return Err("its command is empty".to_owned());
    }
    if let Some((name, _)) = spec
        .env
        .iter()
        .find(|(name, value)| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0'))
    {
        return Err(format!("its variable '{name}' cannot be set"));
    }
    if spec.args.iter().any(|argument| argument.contains('\0')) {
        return Err("one of its args contains a null character".to_owned());
    }
    let path = environment
        .iter()
        .rev()
        .find(|(name, _)| name.eq_ignore_ascii_case("PATH"))
        .map_or_else(|| OsString::from(DEFAULT_PATH), |(_, path)| path.clone());
    // The program's name alone: agents see this, and paths of the host are not for them.
    let name = spec.command.rsplit(['/', '\\']).next().unwrap_or_default();
    let files = candidates(&spec.command, directory, &path).into_iter();
    let files = files.filter_map(|file| file.metadata().ok().filter(Metadata::is_file));
    match files.map(|file| is_executable(&file)).max() {
        Some(true) => Ok(()),
        Some(false) => Err(format!("command '{name}' is not executable")),
        None => Err(format!("command '{name}' was not found")),
    }
}

fn is_passed(name: &str) -> bool {
    if cfg!(windows) {
        let mut passed = PASSED.split(' ').chain(PASSED_ON_WINDOWS.split(' '));
        return passed.any(|one| one.eq_ignore_ascii_case(name));
    }
    PASSED.split(' ').any(|one| one == name)
        || PASSED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Value that a child gets of one of our variables: of the address of a proxy without user and password, which are the
/// gateway's. A server that needs them has them in its own `env`.
fn passed_value(name: &str, value: OsString) -> OsString {
    let is_proxy = |one: &str| one.eq_ignore_ascii_case(name);
    let shown = value.to_string_lossy();
    // Without a scheme, as many programs take it.
    let start = shown.find("://").map_or(0, |at| at + 3);
    let authority = shown[start..]
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default();
    match authority.rfind('@') {
        Some(at) if PROXIES.split(' ').any(is_proxy) => {
            format!("{}{}", &shown[..start], &shown[start + at + 1..]).into()
        }
        _ => value,
    }
}

/// Files that a command can mean.
fn candidates(command: &str, directory: Option<&Path>, path: &OsString) -> Vec<PathBuf> {
    let relative_to = |part: &Path| directory.map_or_else(|| part.to_owned(), |at| at.join(part));
    let files: Vec<PathBuf> = if Path::new(command).components().count() > 1 {
        vec![relative_to(Path::new(command))]
    } else {
        std::env::split_paths(path)
            .map(|entry| relative_to(&entry).join(command))
            .collect()
    };
    if cfg!(windows) {
        let extended = files.iter().flat_map(|file| {
            ["exe", "cmd", "bat", "com"].map(|extension| file.with_extension(extension))
        });
        return extended.chain(files.iter().cloned()).collect();
    }
    files
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(command: &str) -> StdioSpec {
        StdioSpec {
            command: command.into(),
            args: Vec::new(),
            env: vec![("OWN".into(), "value".into())],
            working_dir: None,
        }
    }

    #[test]
    fn a_child_gets_the_allow_list_and_its_own_variables() {
        for name in ["PATH", "LC_ALL", "XDG_CACHE_HOME", "https_proxy"] {
            assert!(is_passed(name), "{name}");
        }
        for name in [
            "GITHUB_TOKEN",
            "MCPPROXY_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "path",
            "LC",
        ] {
            assert!(!is_passed(name), "{name}");
        }
        let child = of_child(&spec("sh"));
        assert!(child.contains(&("OWN".into(), "value".into())));
        // Cargo sets this for tests, and it is on no list.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        assert!(child.iter().all(|(name, _)| name != "CARGO_MANIFEST_DIR"));
    }

    #[test]
    fn the_password_of_a_proxy_went_to_every_server() {
        for (name, value, expected) in [
            (
                "HTTP_PROXY",
                "http://me:hunter@proxy:3128/",
                "http://proxy:3128/",
            ),
            ("https_proxy", "http://me:p@ss@proxy", "http://proxy"),
            ("HTTPS_PROXY", "me:hunter@proxy:3128", "proxy:3128"),
            (
                "HTTP_PROXY",
                "http://proxy:3128/a@b",
                "http://proxy:3128/a@b",
            ),
            ("HTTP_PROXY", "", ""),
            ("NO_PROXY", "a@b", "a@b"),
        ] {
            assert_eq!(passed_value(name, value.into()), expected, "{name}={value}");
        }
    }

    #[test]
    fn what_cannot_start_is_named_without_paths_of_the_host() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        std::fs::write(folder.path().join("plain"), "").expect("a file for the test");
        let environment = vec![("PATH".into(), folder.path().as_os_str().to_owned())];
        let check = |spec: &StdioSpec| check(spec, &environment).unwrap_err();
        assert_eq!(check(&spec("foo")), "command 'foo' was not found");
        assert_eq!(
            check(&spec("/home/someone/bin/foo")),
            "command 'foo' was not found"
        );
        assert_eq!(check(&spec("plain")), "command 'plain' is not executable");
        let mut lost = spec("sh");
        lost.working_dir = Some(folder.path().join("gone"));
        assert_eq!(
            check(&lost),
            "its working_dir does not exist or is not a directory"
        );
    }
}
