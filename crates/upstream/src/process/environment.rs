//! Environment of a child process, and whether it can be started.
//!
//! The gateway's environment holds the secrets of every server. So a child gets an allow
//! list of it (see [`inherited`]), and the variables its own entry in the configuration names.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use mcpproxy_support::one_line::one_line;

use super::inherited::{self, Inheritance};
use crate::lock;
use crate::spec::{StdioSpec, TransportSpec};

/// Folders in which programs are looked for when there is no `PATH`.
#[cfg(unix)]
const DEFAULT_PATH: &str = "/usr/local/bin:/bin:/usr/bin";
#[cfg(not(unix))]
const DEFAULT_PATH: &str = "";

/// Most characters of a command that a message quotes: enough for the paths that people have.
const QUOTED_CHARACTERS: usize = 300;

/// Whole environment of a child: what it inherits of ours, then its own variables.
pub(crate) fn of_child(spec: &StdioSpec) -> Vec<(OsString, OsString)> {
    let mut withheld = Vec::new();
    let ours = std::env::vars_os().filter(|(name, value)| {
        let inheritance = inherited::inheritance(name, value, &spec.inherit_env);
        if inheritance == Inheritance::HasCredential {
            withheld.push(name.to_string_lossy().into_owned());
        }
        inheritance == Inheritance::Passed
    });
    let own = spec
        .env
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let environment = ours.chain(own).collect();
    tell_of(&withheld);
    environment
}

/// Says of each variable once that servers would inherit it if there were no credential in it.
fn tell_of(withheld: &[String]) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let news: Vec<&str> = {
        let mut told = lock(&TOLD);
        let withheld = withheld.iter();
        withheld
            .filter(|name| told.insert((*name).clone()))
            .map(String::as_str)
            .collect()
    };
    if !news.is_empty() {
        let variables = news.join(", ");
        tracing::warn!(
            variables,
            "not passed on to servers, for there is a credential in them; \"inherit_env\" of a server can name them"
        );
    }
}

/// Reason why a server failed, with the variables that would have helped it as far as its last lines tell.
pub(crate) fn with_advice(reason: &str, transport: &TransportSpec, lines: &[String]) -> String {
    let advice = match transport {
        TransportSpec::Stdio(spec) => {
            let is_own = |name: &str| spec.env.iter().any(|(own, _)| own == name);
            inherited::advice(lines, std::env::vars_os(), &spec.inherit_env, is_own)
        }
        TransportSpec::Http(_) | TransportSpec::BuiltIn(_) => None,
    };
    advice.map_or_else(|| reason.to_owned(), |advice| format!("{reason}; {advice}"))
}

/// Folder in which a server runs; that of the gateway if there is none.
pub(crate) fn folder(spec: &StdioSpec) -> Option<&Path> {
    let usual = spec.config_dir.as_deref().filter(|folder| folder.is_dir());
    spec.working_dir.as_deref().or(usual)
}

/// Checks what can be known before the start; the error is for people.
///
/// The check only serves a clear message: a guard stands between us and the program, so the
/// system's own answer would reach us as an exit code.
pub(crate) fn check(spec: &StdioSpec, environment: &[(OsString, OsString)]) -> Result<(), String> {
    let directory = folder(spec);
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
    let files = candidates(&spec.command, directory, &path).into_iter();
    let files = files.filter_map(|file| file.metadata().ok().filter(Metadata::is_file));
    match files.map(|file| is_executable(&file)).max() {
        Some(true) => Ok(()),
        Some(false) => Err(unusable(&spec.command, "is not executable")),
        None => Err(unusable(&spec.command, "was not found")),
    }
}

/// Message about a command, as it is written. People read it: what agents are told passes `without_host_files`.
fn unusable(command: &str, why: &str) -> String {
    let quoted = one_line(command, QUOTED_CHARACTERS);
    // A shell would put the home folder there, and none is between.
    let advice = if command.starts_with('~') {
        ": `~` is not expanded, write the path or ${HOME} in its place"
    } else {
        ""
    };
    format!("command '{quoted}' {why}{advice}")
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
    use crate::spec::InheritEnv;

    fn spec(command: &str) -> StdioSpec {
        StdioSpec {
            command: command.into(),
            args: Vec::new(),
            env: vec![("OWN".into(), "value".into())],
            working_dir: None,
            config_dir: None,
            inherit_env: InheritEnv::default(),
        }
    }

    #[test]
    fn a_child_gets_the_allow_list_and_its_own_variables() {
        let child = of_child(&spec("sh"));
        assert!(child.contains(&("OWN".into(), "value".into())));
        // Cargo sets this for tests, and it is on no list.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        assert!(child.iter().all(|(name, _)| name != "CARGO_MANIFEST_DIR"));
        let mut spec = spec("sh");
        spec.inherit_env = InheritEnv::Named(vec!["CARGO_MANIFEST_DIR".into()]);
        assert!(
            of_child(&spec)
                .iter()
                .any(|(name, _)| name == "CARGO_MANIFEST_DIR")
        );
    }

    #[test]
    fn a_server_runs_in_the_folder_of_the_configuration_if_there_is_one() {
        let place = tempfile::tempdir().expect("a folder for the test");
        let (config, own) = (place.path().to_owned(), place.path().join("own"));
        let mut spec = spec("sh");
        assert_eq!(folder(&spec), None);
        spec.config_dir = Some(config.clone());
        assert_eq!(folder(&spec), Some(&*config));
        spec.working_dir = Some(own.clone());
        assert_eq!(folder(&spec), Some(&*own));
        spec.working_dir = None;
        spec.config_dir = Some(own);
        assert_eq!(folder(&spec), None);
    }

    #[test]
    fn a_command_that_cannot_start_is_quoted_as_it_is_written() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        std::fs::write(folder.path().join("plain"), "").expect("a file for the test");
        let environment = vec![("PATH".into(), folder.path().as_os_str().to_owned())];
        let check = |spec: &StdioSpec| check(spec, &environment).unwrap_err();
        assert_eq!(check(&spec("foo")), "command 'foo' was not found");
        assert_eq!(
            check(&spec("/home/someone/bin/foo")),
            "command '/home/someone/bin/foo' was not found"
        );
        assert_eq!(
            check(&spec("~/bin/foo")),
            "command '~/bin/foo' was not found: `~` is not expanded, write the path or ${HOME} in its place"
        );
        assert_eq!(
            check(&spec("~foo")),
            "command '~foo' was not found: `~` is not expanded, write the path or ${HOME} in its place"
        );
        let long = check(&spec(&"long/".repeat(1000)));
        assert!(long.starts_with("command 'long/long/"), "{long}");
        assert!(long.len() < 350, "{long}");
        assert_eq!(check(&spec("plain")), "command 'plain' is not executable");
        let mut lost = spec("sh");
        lost.working_dir = Some(folder.path().join("gone"));
        assert_eq!(
            check(&lost),
            "its working_dir does not exist or is not a directory"
        );
    }
}
