//! `mcpproxy activity`: what people see and what programs get.

use mcpproxy_tests::{Home, Product, Ran};
use serde_json::{Value, json};

use crate::PROGRAMS;
use crate::scene::{FORMULA, Scene, ids};

/// FR-034 and FR-035: the operation is a column by default. Where stdout is no terminal it is the
/// plain word; the icons are looked at where they are made.
#[tokio::test]
async fn fr_034_fr_035_the_list_shows_the_operation() {
    let scene = Scene::start().await;
    let ran = scene
        .product
        .run(&["activity", "list", "--server", "srv", "--type", "tool_call"])
        .await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let rows: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows[0],
        [
            "ID", "TIME", "SERVER", "TOOL", "INTENT", "STATUS", "DURATION"
        ]
    );
    let Scene {
        read,
        failed_read,
        write,
        destroyed,
        ..
    } = &scene;
    for (row, expected) in rows[1..].iter().zip([
        [destroyed, "srv", "delete_repo", "destructive", "success"],
        [write, "srv", "create_issue", "write", "success"],
        [failed_read, "srv", "broken_read", "read", "error"],
        [read, "srv", "list_repos", "read", "success"],
    ]) {
        assert_eq!(
            [row[0], row[2], row[3], row[4], row[5]],
            expected,
            "{ran:?}"
        );
        assert!(
            row[1].ends_with('Z') && row[1].len() == 20,
            "a time to the second: {row:?}"
        );
        assert!(row[6].ends_with('s'), "a duration: {row:?}");
    }
    assert_eq!(rows.len(), 5, "{ran:?}");
    let plain = scene.product.run(&["activity", "list", "--no-icons"]).await;
    assert!(plain.code == 0 && plain.stdout.is_ascii(), "{plain:?}");
}

/// FR-036: everything that was declared is shown.
#[tokio::test]
async fn fr_036_show_has_the_complete_intent() {
    let scene = Scene::start().await;
    let shown = scene
        .product
        .run(&["activity", "show", &scene.destroyed])
        .await;
    assert_eq!(shown.code, 0, "{shown:?}");
    for expected in [
        "\nIntent\n  Operation     destructive\n  Variant       call_tool_destructive\n  Sensitivity   private\n  Reason        User requested cleanup\n",
        "\nArguments (",
        "\nResponse (",
        "\nChain\n",
        &scene.destroyed,
    ] {
        assert!(
            shown.stdout.contains(expected),
            "{expected:?} is not in {}",
            shown.stdout
        );
    }
    let missing = scene
        .product
        .run(&[
            "activity",
            "show",
            "01936f5e-7b2a-7c11-9d0e-0f5a3c2b1a99",
            "-o",
            "json",
        ])
        .await;
    assert_eq!(
        (missing.code, &missing.error()["code"]),
        (1, &json!("NOT_FOUND")),
        "{missing:?}"
    );
    assert!(
        missing.error()["message"]
            .as_str()
            .unwrap()
            .contains("`mcpproxy activity list`")
    );
}

/// FR-037: JSON and YAML have all of the intent.
#[tokio::test]
async fn fr_037_json_and_yaml_have_the_complete_intent() {
    let scene = Scene::start().await;
    let intent =
        json!({ "operation_type": "write", "data_sensitivity": "internal", "reason": FORMULA });
    let list = scene
        .product
        .run(&["activity", "list", "--intent-type", "write", "-o", "json"])
        .await
        .json();
    let record = &list["activities"][0];
    assert_eq!(
        (ids(&list), &record["intent"]),
        (vec![scene.write.as_str()], &intent),
        "{list}"
    );
    assert_eq!(
        (
            &record["metadata"]["intent"],
            &record["metadata"]["tool_variant"]
        ),
        (&intent, &json!("call_tool_write"))
    );
    let shown = scene
        .product
        .run(&["activity", "show", &scene.write, "-o", "json"])
        .await
        .json();
    assert_eq!(&shown, record);
    assert_eq!(
        shown,
        scene
            .product
            .get(&format!("/activity/{}", scene.write))
            .await,
        "the REST answer"
    );
    let yaml = scene
        .product
        .run(&["activity", "show", &scene.destroyed, "-o", "yaml"])
        .await;
    for expected in [
        "intent:\n  operation_type: destructive\n",
        "  data_sensitivity: private\n",
        "  reason: User requested cleanup\n",
        "tool_variant: call_tool_destructive\n",
    ] {
        assert!(
            yaml.stdout.contains(expected),
            "{expected:?} is not in {yaml:?}"
        );
    }
}

/// FR-033: every filter of the log is a flag.
#[tokio::test]
async fn fr_033_filters_give_exactly_the_right_records() {
    let scene = Scene::start().await;
    let Scene {
        read,
        failed_read,
        write,
        destroyed,
        refused,
        ..
    } = &scene;
    let record = scene.product.get(&format!("/activity/{write}")).await;
    let request_id = record["request_id"].as_str().unwrap();
    let timestamp = record["timestamp"].as_str().unwrap();
    for (flags, expected) in [
        (&["--intent-type", "destructive"][..], vec![destroyed]),
        (
            &["--intent-type", "read", "--status", "error"],
            vec![failed_read],
        ),
        (&["--type", "policy_decision"], vec![refused]),
        (
            &["--server", "srv", "--tool", "delete_repo"],
            vec![refused, destroyed],
        ),
        (&["--sensitivity", "public"], vec![read]),
        (
            &["--agent", "mcpproxy-tests", "--status", "blocked"],
            vec![refused],
        ),
        (&["--request-id", request_id], vec![write]),
        (
            &[
                "--session-id",
                record["session_id"].as_str().unwrap(),
                "--type",
                "tool_call",
                "--limit",
                "2",
            ],
            vec![destroyed, write],
        ),
        (
            &["--type", "tool_call", "--from", timestamp],
            vec![destroyed, write],
        ),
        (
            &["--type", "tool_call", "--to", timestamp],
            vec![failed_read, read],
        ),
        (&["--text", "cleanup"], vec![destroyed]),
        (
            &["--type", "tool_call", "--cursor", write],
            vec![failed_read, read],
        ),
    ] {
        let ran = scene
            .product
            .run(&[&["activity", "list", "-o", "json"], flags].concat())
            .await;
        assert_eq!(ids(&ran.json()), expected, "{flags:?}: {ran:?}");
    }
}

#[tokio::test]
async fn wrong_values_are_wrong_usage_with_what_is_allowed() {
    let product = Product::start(PROGRAMS, &json!({})).await;
    let home = Home::new(PROGRAMS, &json!({}));
    for (arguments, said) in [
        (
            &["list", "--intent-type", "delete"][..],
            &["read", "write", "destructive"][..],
        ),
        (
            &["list", "--status", "ok"],
            &["success", "error", "blocked", "in_doubt"],
        ),
        (
            &["summary", "--type", "call"],
            &["tool_call", "policy_decision", "discovery", "config_change"],
        ),
        (
            &["watch", "--sensitivity", "secret"],
            &["public", "internal", "private", "unknown"],
        ),
        (
            &["list", "--from", "yesterday"],
            &["Invalid from 'yesterday'", "24h"],
        ),
        (
            &["watch", "--from", "yesterday"],
            &["Invalid from 'yesterday'"],
        ),
        (&["export", "--format", "xml"], &["jsonl", "csv"]),
        (&["export", "--to", "x"], &["Invalid to 'x'"]),
        (&["list", "--limit", "0"], &["a number from 1 to 1000"]),
        (&["list", "--limit", "many"], &["a number from 1 to 1000"]),
        (&["list", "--cursor", "7"], &["next_cursor"]),
        (&["list", "--server", ""], &["must not be empty"]),
        (
            &["list", "--status", "error", "--status", "error"],
            &["--status"],
        ),
        (&["list", "--servers", "x"], &["--server"]),
        (&["show", "7"], &["Invalid id '7'"]),
        (&["show"], &["<ID>"]),
    ] {
        let arguments = [&["activity"], arguments].concat();
        for ran in [product.run(&arguments).await, home.run(&arguments).await] {
            assert_eq!(
                (ran.code, ran.stdout.as_str()),
                (2, ""),
                "{arguments:?}: {ran:?}"
            );
            for word in said {
                assert!(
                    ran.stderr.contains(word),
                    "{arguments:?}: {word} is not in {}",
                    ran.stderr
                );
            }
        }
    }
    let error = product
        .run(&["activity", "list", "--from", "x", "-o", "json"])
        .await
        .error();
    assert_eq!(
        (&error["code"], &error["details"]["parameter"]),
        (&json!("INVALID_ARGUMENTS"), &json!("from"))
    );
}

#[tokio::test]
async fn pages_name_the_next_one_and_emptiness_is_friendly() {
    let scene = Scene::start().await;
    let first = scene
        .product
        .run(&["activity", "list", "--type", "tool_call", "--limit", "3"])
        .await;
    let cursor = first
        .stderr
        .trim()
        .rsplit_once("--cursor ")
        .map(|(_, cursor)| cursor);
    let cursor = cursor.unwrap_or_else(|| panic!("no cursor: {first:?}"));
    let next = scene
        .product
        .run(&[
            "activity",
            "list",
            "--type",
            "tool_call",
            "--limit",
            "3",
            "--cursor",
            cursor,
        ])
        .await;
    assert_eq!(
        (next.stdout.lines().count(), next.stderr.as_str()),
        (2, ""),
        "{next:?}"
    );
    assert!(next.stdout.contains(&scene.read), "{next:?}");
    let none = scene
        .product
        .run(&["activity", "list", "--server", "nowhere"])
        .await;
    assert!(
        none.code == 0 && none.stdout.contains("No record matches"),
        "{none:?}"
    );
    let home = Home::new(PROGRAMS, &json!({}));
    let never = home.run(&["activity", "list"]).await;
    assert!(
        never.code == 0 && never.stdout.contains("Nothing has been recorded yet"),
        "{never:?}"
    );
    assert_eq!(
        home.run(&["activity", "list", "-o", "json"]).await.json(),
        json!({ "activities": [], "next_cursor": null })
    );
    let whole = home.run(&["activity", "verify"]).await;
    assert_eq!(
        (whole.code, whole.stdout.as_str()),
        (0, "0 records in 0 chains: nothing altered\n")
    );
}

#[tokio::test]
async fn summaries_are_charts_for_people() {
    let scene = Scene::start().await;
    let shown = scene
        .product
        .run(&[
            "activity",
            "summary",
            "--server",
            "srv",
            "--type",
            "tool_call",
        ])
        .await;
    for expected in [
        "4 records\n",
        "\nSTATUS\n  success  ########################  3\n  error    ########                  1\n",
        "\nINTENT\n  read         ########################  2  (1 failed)\n",
        "\nSERVER\n  srv  ########################  4  (1 failed)\n",
        "  srv:create_issue  ########################  1\n",
    ] {
        assert!(
            shown.stdout.contains(expected),
            "{expected:?} is not in {}",
            shown.stdout
        );
    }
}

#[tokio::test]
async fn verify_and_status_tell_that_the_log_is_well() {
    let scene = Scene::start().await;
    let whole = scene.product.run(&["activity", "verify"]).await;
    assert_eq!(whole.code, 0, "{whole:?}");
    assert!(
        whole.stdout.ends_with("in 1 chain: nothing altered\n"),
        "{whole:?}"
    );
    let verdict = scene
        .product
        .run(&["activity", "verify", "-o", "json"])
        .await
        .json();
    assert_eq!(
        (&verdict["ok"], &verdict["problem"]),
        (&json!(true), &Value::Null)
    );
    let status = scene.product.run(&["status"]).await;
    assert!(status.stdout.contains("\nlog: sqlite"), "{status:?}");
}

#[tokio::test]
async fn every_command_has_help_with_examples() {
    let home = Home::new(PROGRAMS, &json!({}));
    for command in ["list", "show", "watch", "summary", "export", "verify"] {
        let help: Ran = home.run(&["activity", command, "--help"]).await;
        let example = format!("\n  mcpproxy activity {command}");
        assert!(help.code == 0 && help.stdout.contains(&example), "{help:?}");
    }
}
