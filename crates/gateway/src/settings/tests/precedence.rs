//! Flags over environment over file over defaults.

use std::fs;

use super::Scene;
use crate::settings::{Environment, SettingsError, Sources, data_dir, environment, load};

#[track_caller]
fn check_listen(flag: Option<&str>, variable: Option<&str>, file: Option<&str>, expected: &str) {
    let mut scene = match file {
        Some(address) => Scene::with(&format!(r#"{{ "listen": "{address}" }}"#)),
        None => Scene::empty(),
    };
    if let Some(value) = variable {
        scene = scene.variable(environment::LISTEN, value);
    }
    scene.sources.listen = flag.map(str::to_owned);
    assert_eq!(scene.settings().listen.to_string(), expected);
}

#[test]
fn the_address_to_listen_on() {
    let (flag, variable, file) = ("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3");
    check_listen(Some(flag), Some(variable), Some(file), flag);
    check_listen(Some(flag), None, None, flag);
    check_listen(None, Some(variable), Some(file), variable);
    check_listen(None, Some(""), Some(file), file);
    check_listen(None, None, Some(file), file);
    check_listen(None, None, None, "127.0.0.1:8080");
    // What is overridden need not lead anywhere.
    check_listen(Some(flag), None, Some("${env:NOT_SET}"), flag);
}

#[test]
fn the_key() {
    let key = |scene: Scene| scene.settings().api_key.map(|key| key.expose().to_owned());
    let file = r#"{ "api_key": "of-file" }"#;
    assert_eq!(key(Scene::with(file)).as_deref(), Some("of-file"));
    let both = Scene::with(file).variable(environment::API_KEY, "${env:X}");
    assert_eq!(key(both).as_deref(), Some("${env:X}"));
    assert_eq!(key(Scene::empty()), None);
}

#[test]
fn the_demo_is_a_flag() {
    let mut scene = Scene::empty();
    assert!(!scene.settings().demo);
    scene.sources.demo = true;
    assert!(scene.settings().demo);
}

#[test]
fn the_data_folder() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    for name in ["flag", "variable"] {
        fs::create_dir(path(name)).unwrap();
    }
    let check = |flag: Option<&str>, names: &[(&str, &str)], expected: &str| {
        let variables = names.iter().map(|(name, value)| (*name, path(value)));
        let sources = Sources {
            data_dir: flag.map(path),
            environment: Environment::of_variables(variables),
            ..Sources::default()
        };
        let settings = load(&sources).unwrap();
        assert_eq!(settings.data_dir, path(expected));
        assert_eq!(
            settings.config_file,
            settings.data_dir.join("mcp_config.json")
        );
    };
    let variable = (environment::DATA_DIR, "variable");
    let home = (environment::HOME, "home");
    check(Some("flag"), &[variable, home], "flag");
    check(None, &[variable, home], "variable");
    // That of the home folder is made.
    check(None, &[home], "home/.mcpproxy");
    let nothing = Sources {
        environment: Environment::of_variables::<String, String>([]),
        ..Sources::default()
    };
    let error = load(&nothing).unwrap_err().to_string();
    assert_eq!(
        error,
        "the data folder is not known because HOME is not set: give it with --data-dir or MCPPROXY_DATA_DIR"
    );
}

#[test]
fn a_mistyped_data_folder_was_another_gateway_with_nothing_in_it() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("file"), "").unwrap();
    for name in ["nowhere", "file", "file/below"] {
        let given = place.path().join(name);
        let by_flag = Sources {
            data_dir: Some(given.clone()),
            environment: Environment::of_variables::<String, String>([]),
            ..Sources::default()
        };
        let by_variable = Sources {
            data_dir: None,
            environment: Environment::of_variables([(environment::DATA_DIR, given.clone())]),
            ..by_flag.clone()
        };
        for (sources, by) in [(by_flag, "--data-dir"), (by_variable, "MCPPROXY_DATA_DIR")] {
            let expected = format!(
                "the data directory '{given}', which {by} names, does not exist or is no directory: \
                 `mkdir -m 700 {given}` creates it; without {by} it is ~/.mcpproxy",
                given = given.display()
            );
            assert_eq!(load(&sources).unwrap_err().to_string(), expected);
            assert_eq!(data_dir(&sources).unwrap_err().to_string(), expected);
        }
    }
}

#[test]
fn a_configuration_file_that_is_named_has_to_exist_for_every_command() {
    let mut scene = Scene::empty();
    assert!(data_dir(&scene.sources).is_ok());
    scene.sources.config = Some(scene.path("nowhere.json"));
    let missing = data_dir(&scene.sources);
    assert!(matches!(missing, Err(SettingsError::Missing(..))));
}

#[test]
fn the_configuration_file() {
    let mut scene = Scene::with(r#"{ "discovery": { "limit": 1 } }"#);
    scene.write("variable.json", r#"{ "discovery": { "limit": 2 } }"#);
    scene.write("flag.json", r#"{ "discovery": { "limit": 3 } }"#);
    assert_eq!(scene.settings().discovery.limit, 1);
    let named = scene.path("variable.json");
    scene = scene.variable(environment::CONFIG, named.to_str().unwrap());
    assert_eq!(scene.settings().discovery.limit, 2);
    scene.sources.config = Some(scene.path("flag.json"));
    assert_eq!(scene.settings().discovery.limit, 3);
    fs::remove_file(scene.path("flag.json")).unwrap();
    assert!(matches!(scene.load(), Err(SettingsError::Missing(..))));
}

#[test]
fn a_folder_in_place_of_the_file_cannot_be_read() {
    let scene = Scene::empty();
    fs::create_dir(scene.path("mcp_config.json")).unwrap();
    assert!(matches!(scene.load(), Err(SettingsError::Unreadable(..))));
}

#[test]
fn what_is_given_outside_of_the_file_is_checked() {
    let mut scene = Scene::with(r#"{ "x": 1 }"#)
        .variable(environment::API_KEY, "has a space")
        .variable(environment::LISTEN, "nowhere");
    let allowed = "an address such as \"127.0.0.1:8080\", \"[::1]:8080\" or \"localhost:8080\"";
    scene.write("mcp_config.json", "{}");
    assert_eq!(
        scene.load().unwrap_err().to_string(),
        format!(
            "MCPPROXY_LISTEN: found \"nowhere\", allowed: {allowed}\n\
             MCPPROXY_API_KEY: found another string, allowed: a string of visible ASCII characters without spaces that is not empty"
        )
    );
    scene.sources.listen = Some("localhost".into());
    let error = scene.load().unwrap_err().to_string();
    assert!(
        error.starts_with("--listen: found \"localhost\""),
        "{error}"
    );
}
