//! Changes of the file while the gateway runs.

use std::fs;
use std::time::Duration;

use super::Scene;
use crate::settings::{Settings, SettingsError, SettingsWatch, environment, watch};

/// Far longer than any change takes; only a defect waits this long.
const DEADLINE: Duration = Duration::from_secs(30);

fn with_limit(limit: usize) -> String {
    format!(r#"{{ "discovery": {{ "limit": {limit} }} }}"#)
}

fn start(scene: &Scene) -> SettingsWatch {
    watch(scene.sources.clone(), scene.settings()).unwrap()
}

async fn next(watch: &mut SettingsWatch) -> Result<Settings, SettingsError> {
    tokio::time::timeout(DEADLINE, watch.changed())
        .await
        .expect("a change is seen before the deadline")
        .expect("the watch runs")
}

/// Waits for settings; what is seen of the way there does not matter.
async fn settle(watch: &mut SettingsWatch, limit: usize) {
    loop {
        match next(watch).await {
            Ok(settings) if settings.discovery.limit == limit => return,
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_change_is_picked_up_however_it_is_written() {
    let scene = Scene::with(&with_limit(1));
    let mut watch = start(&scene);
    scene.write("mcp_config.json", &with_limit(2));
    settle(&mut watch, 2).await;
    // As editors do it: a new file takes the name of the old one.
    scene.write("draft", &with_limit(3));
    fs::rename(scene.path("draft"), scene.path("mcp_config.json")).unwrap();
    settle(&mut watch, 3).await;
}

#[tokio::test]
async fn a_bad_change_is_reported_and_a_good_one_after_it_is_taken() {
    let scene = Scene::with(&with_limit(1));
    let mut watch = start(&scene);
    scene.write("draft", &with_limit(99));
    fs::rename(scene.path("draft"), scene.path("mcp_config.json")).unwrap();
    let error = next(&mut watch).await.unwrap_err().to_string();
    assert!(error.contains("discovery.limit: found 99"), "{error}");
    // The same as before the bad change is reported too: it ends the problem.
    scene.write("draft", &with_limit(1));
    fs::rename(scene.path("draft"), scene.path("mcp_config.json")).unwrap();
    assert_eq!(next(&mut watch).await.unwrap().discovery.limit, 1);
}

#[tokio::test]
async fn a_deleted_file_is_reported_and_the_watch_goes_on() {
    let scene = Scene::with(&with_limit(1));
    let mut watch = start(&scene);
    for limit in [2, 3] {
        fs::remove_file(scene.path("mcp_config.json")).unwrap();
        let error = next(&mut watch).await.unwrap_err();
        assert!(matches!(error, SettingsError::Missing(..)), "{error}");
        scene.write("mcp_config.json", &with_limit(limit));
        settle(&mut watch, limit).await;
    }
}

#[tokio::test]
async fn a_folder_that_comes_later_and_is_replaced() {
    let mut scene = Scene::empty();
    let home = scene.path("not/yet");
    let folder = home.join(".mcpproxy");
    scene = scene.variable(environment::HOME, &home.display().to_string());
    scene.sources.data_dir = None;
    let mut watch = start(&scene);
    for limit in [2, 3] {
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("mcp_config.json"), with_limit(limit)).unwrap();
        settle(&mut watch, limit).await;
        fs::remove_dir_all(scene.path("not")).unwrap();
        assert!(matches!(
            next(&mut watch).await,
            Err(SettingsError::Missing(..))
        ));
    }
}

#[tokio::test]
async fn what_does_not_change_the_settings_is_not_reported() {
    let scene = Scene::with(&with_limit(1));
    let mut watch = start(&scene);
    scene.write("state.db", "another file");
    scene.write("draft", &format!("// a comment\n{}", with_limit(1)));
    fs::rename(scene.path("draft"), scene.path("mcp_config.json")).unwrap();
    // Had one of these been reported, it would come before this.
    scene.write("draft", &with_limit(4));
    fs::rename(scene.path("draft"), scene.path("mcp_config.json")).unwrap();
    assert_eq!(next(&mut watch).await.unwrap().discovery.limit, 4);
}
