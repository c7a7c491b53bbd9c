//! Everything in one go: exports over REST and to files, and the same answers without a gateway.

use std::process::Stdio;

use mcpproxy_tests::{decode, within};
use serde_json::{Value, json};

use crate::scene::{FORMULA, Scene, get};

#[tokio::test]
async fn exports_have_every_record_and_no_formula() {
    let scene = Scene::start().await;
    let list = scene
        .product
        .get("/activity?intent_type=read&limit=1000")
        .await;
    let lines = get(&scene.product, "/activity/export?intent_type=read", &[]).await;
    assert_eq!(lines.headers["content-type"], "application/x-ndjson");
    assert_eq!(
        lines.headers["content-disposition"],
        "attachment; filename=\"mcpproxy-activity.jsonl\""
    );
    let exported: Vec<Value> = lines.body.lines().map(decode).collect();
    assert_eq!(json!(exported), list["activities"]);

    let csv = get(
        &scene.product,
        "/activity/export?format=csv&type=tool_call",
        &[],
    )
    .await;
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    assert!(
        csv.body.ends_with("\r\n") && !csv.body.contains(",="),
        "{}",
        csv.body
    );
    let rows = parse_csv(&csv.body);
    let column = |name: &str| rows[0].iter().position(|one| one == name).unwrap();
    let cells = |name: &str| {
        rows[1..]
            .iter()
            .map(|row| row[column(name)].clone())
            .collect::<Vec<_>>()
    };
    assert!(
        rows.iter().all(|row| row.len() == rows[0].len()),
        "{rows:?}"
    );
    let Scene {
        read,
        failed_read,
        write,
        destroyed,
        ..
    } = &scene;
    assert_eq!(
        cells("id"),
        [destroyed, write, failed_read, read].map(String::as_str)
    );
    assert_eq!(
        cells("intent_reason"),
        [
            "User requested cleanup",
            &format!("'{FORMULA}"),
            "",
            "look around"
        ]
    );
    assert_eq!(cells("error_code"), ["", "", "UPSTREAM_ERROR", ""]);
    for row in &rows[1..] {
        for cell in row {
            assert!(
                !cell.starts_with(['=', '+', '-', '@', '\t', '\r']),
                "{cell:?}"
            );
        }
    }
    let empty = get(
        &scene.product,
        "/activity/export?format=csv&server=none",
        &[],
    )
    .await;
    assert_eq!(
        parse_csv(&empty.body).len(),
        1,
        "only the header: {}",
        empty.body
    );
}

#[tokio::test]
async fn answers_are_the_same_with_and_without_a_running_gateway() {
    let mut scene = Scene::start().await;
    let show = ["activity", "show", &scene.write.clone(), "-o", "json"].map(str::to_owned);
    let mut commands: Vec<Vec<String>> = [
        "list -o json --limit 1000",
        "list -o json --intent-type read --status error",
        "list -o yaml --server srv",
        "list --server srv",
        "summary -o json",
        "summary --server srv",
        "verify -o json",
        "verify",
        "export",
        "export --format csv",
        "export --format jsonl --intent-type destructive",
    ]
    .iter()
    .map(|line| {
        std::iter::once("activity")
            .chain(line.split(' '))
            .map(str::to_owned)
            .collect()
    })
    .collect();
    commands.push(show.to_vec());
    let mut with = Vec::new();
    for command in &commands {
        with.push(
            scene
                .product
                .run(&command.iter().map(String::as_str).collect::<Vec<_>>())
                .await,
        );
    }
    scene.product.kill().await;
    let home = scene.product.into_home();
    for (command, with) in commands.iter().zip(with) {
        let without = home
            .run(&command.iter().map(String::as_str).collect::<Vec<_>>())
            .await;
        assert_eq!(
            (with.code, without.code),
            (0, 0),
            "{command:?}: {with:?} {without:?}"
        );
        assert!(!with.stdout.is_empty(), "{command:?}: {with:?}");
        assert_eq!(with.stdout, without.stdout, "{command:?}");
    }
}

#[tokio::test]
async fn exports_go_to_a_new_file_or_to_stdout() {
    let scene = Scene::start().await;
    let file = scene.product.home.folder().join("export.csv");
    let path = file.to_str().unwrap();
    let export = [
        "activity",
        "export",
        "--format",
        "csv",
        "--type",
        "tool_call",
        "--file",
        path,
    ];
    let report = scene
        .product
        .run(&[&export[..], &["-o", "json"]].concat())
        .await;
    assert_eq!(
        report.json(),
        json!({ "file": path, "format": "csv", "records": 4 }),
        "{report:?}"
    );
    let written = std::fs::read_to_string(&file).unwrap();
    let stdout = scene
        .product
        .run(&[&export[..6], &["--file", "-"]].concat())
        .await;
    assert_eq!(written, stdout.stdout);
    assert!(
        written.contains("\"'=HYPERLINK(\"\"http://x\"\",\"\"a,b\"\")\nsecond line\""),
        "{written}"
    );
    let again = scene.product.run(&export).await;
    assert_eq!((again.code, again.stdout.as_str()), (2, ""), "{again:?}");
    assert!(again.stderr.contains("exists already"), "{again:?}");
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        written,
        "it is as it was"
    );
    let nowhere = scene
        .product
        .run(&["activity", "export", "--file", "/nowhere/at/all"])
        .await;
    assert_eq!(
        (nowhere.code, nowhere.stdout.as_str()),
        (1, ""),
        "{nowhere:?}"
    );
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_failure() {
    let scene = Scene::start().await;
    for arguments in [
        &["activity", "export"][..],
        &["activity", "list", "-o", "json"],
    ] {
        let mut command = scene.product.home.command();
        command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ended = within("the command ends", child.wait_with_output())
            .await
            .unwrap();
        assert_eq!(
            (ended.status.code(), ended.stderr.as_slice()),
            (Some(0), &b""[..]),
            "{arguments:?}"
        );
    }
}

#[tokio::test]
async fn what_was_altered_is_a_verdict_and_a_failure() {
    let mut scene = Scene::start().await;
    scene.product.kill().await;
    let home = scene.product.into_home();
    let whole = home.run(&["activity", "verify", "-o", "json"]).await;
    assert_eq!((whole.code, &whole.json()["ok"]), (0, &json!(true)));
    let heads = std::fs::read_dir(home.data_dir().join("chains")).unwrap();
    for head in heads {
        std::fs::write(head.unwrap().path(), "nothing that a gateway writes").unwrap();
    }
    let altered = home.run(&["activity", "verify", "-o", "json"]).await;
    let verdict = altered.json();
    assert_eq!(
        (altered.code, &verdict["ok"]),
        (1, &json!(false)),
        "{altered:?}"
    );
    assert_eq!(verdict["problem"], verdict["problems"][0]);
    let told = home.run(&["activity", "verify"]).await;
    let message = verdict["problem"]["message"].as_str().unwrap();
    assert!(told.code == 1 && told.stdout.contains(message), "{told:?}");
}

/// The cells of a CSV text, as RFC 4180 says.
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut is_quoted) =
        (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            other => cell.push(other),
        }
    }
    rows
}
