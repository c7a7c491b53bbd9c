//! The key of the REST interface.

use std::fs;
use std::os::unix::fs::symlink;
use std::thread;

use super::Scene;
use crate::settings::api_key::secrets_of_key_file;
use crate::settings::{api_key, environment};

#[test]
fn the_configured_key_is_used_and_no_file_is_made() {
    let scene = Scene::with(r#"{ "api_key": "short" }"#);
    assert_eq!(api_key(&scene.settings()).unwrap().expose(), "short");
    assert!(!scene.path("api_key").exists());
}

#[test]
fn a_key_is_generated_once_and_only_its_owner_can_read_it() {
    let mut scene = Scene::empty();
    let home = scene.path("not/yet");
    let data_dir = home.join(".mcpproxy");
    scene = scene.variable(environment::HOME, &home.display().to_string());
    scene.sources.data_dir = None;
    let settings = scene.settings();
    let key = api_key(&settings).unwrap();
    assert_eq!(key.expose().len(), 64);
    assert!(key.expose().bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(api_key(&settings).unwrap(), key);
    let names: Vec<_> = fs::read_dir(&data_dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["api_key"], "no draft is left");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(data_dir.join("api_key")), 0o600);
        assert_eq!(mode(data_dir), 0o700);
    }
}

#[test]
fn another_folder_has_another_key() {
    let (one, other) = (Scene::empty(), Scene::empty());
    assert_ne!(
        api_key(&one.settings()).unwrap(),
        api_key(&other.settings()).unwrap()
    );
}

#[test]
fn a_key_written_by_hand_is_used_without_its_line_end() {
    let scene = Scene::empty();
    scene.write("api_key", "0123456789abcdef\n");
    assert_eq!(
        api_key(&scene.settings()).unwrap().expose(),
        "0123456789abcdef"
    );
}

#[test]
fn key_files_that_are_refused() {
    let check = |content: &[u8], expected: &str| {
        let scene = Scene::empty();
        fs::write(scene.path("api_key"), content).unwrap();
        scene.set_mode("api_key", 0o600);
        let error = api_key(&scene.settings()).unwrap_err().to_string();
        assert_eq!(error, expected);
        assert_eq!(
            fs::read(scene.path("api_key")).unwrap(),
            content,
            "left as it is"
        );
    };
    let empty =
        "the file api_key in the data folder is empty: delete it to have a new key generated";
    check(b"", empty);
    check(b" \n\n", empty);
    check(
        b"0123456789abcde\n",
        "the key in the file api_key of the data folder is shorter than 16 characters: delete the file to have a new key generated",
    );
    let not_a_key = "the file api_key in the data folder does not hold one line of visible ASCII characters: delete it to have a new key generated";
    check(b"0123456789abcdef\n0123456789abcdef\n", not_a_key);
    check(b"\xff0123456789abcdef", not_a_key);
    check(&[b'x'; 5000], not_a_key);
}

#[test]
fn a_key_file_that_others_can_read_was_taken_without_a_word() {
    let scene = Scene::empty();
    scene.write("api_key", "0123456789abcdef\n");
    for mode in [0o644, 0o640, 0o620, 0o602] {
        scene.set_mode("api_key", mode);
        let error = api_key(&scene.settings()).unwrap_err().to_string();
        let command = format!("`chmod 600 {}`", scene.path("api_key").display());
        assert!(error.contains(&command), "{mode:o}: {error}");
        let secrets = secrets_of_key_file(&scene.settings());
        assert_eq!(secrets, ["0123456789abcdef"], "hidden all the same");
    }
    scene.set_mode("api_key", 0o600);
    assert!(api_key(&scene.settings()).is_ok());
}

#[test]
fn a_key_file_that_is_a_link_was_followed() {
    let scene = Scene::empty();
    scene.write("elsewhere", "0123456789abcdef\n");
    symlink(scene.path("elsewhere"), scene.path("api_key")).unwrap();
    assert!(api_key(&scene.settings()).is_err());
}

#[test]
fn callers_that_come_at_once_get_the_same_key() {
    let scene = Scene::empty();
    let settings = scene.settings();
    let keys: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| api_key(&settings).unwrap()))
            .collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]));
}
