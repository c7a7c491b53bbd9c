//! Logs of servers, without a server.

use super::*;

fn log(folder: &Path) -> Arc<ServerLog> {
    let mask = Mask::new(["topsecret".to_owned()]);
    ServerLog::start(folder, "a", mask).expect("it is a name")
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join("logs").join(name)).unwrap_or_default()
}

/// Lines of a file without their times, which are checked to be some.
fn without_times(text: &str) -> Vec<&str> {
    let lines = text.lines().map(|line| {
        let (time, rest) = line.split_once(' ').expect("a time comes first");
        let is_time = time.ends_with('Z') && time.parse::<Timestamp>().is_ok();
        assert!(is_time && time.len() == 24, "{line}");
        rest
    });
    lines.collect()
}

#[tokio::test]
async fn lines_have_a_time_and_an_origin_and_neither_secrets_nor_control_characters() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = log(folder.path());
    log.line(LogSource::Gateway, b"attempt 1");
    let mut stderr = log.stderr();
    stderr.take(b"one topse");
    stderr.take(b"cret\x1b[31m\r\n\nmcpproxy attempt 2\n");
    stderr.take(&[b'x'; 2 * LINE_CHARACTERS]);
    stderr.take(b"\nopen \xff end");
    drop(stderr);
    log.line(LogSource::Stdout, b"no \"message\"");
    log.close().await;
    let text = read(folder.path(), "a.log");
    let cut = format!("stderr {}", "x".repeat(LINE_CHARACTERS));
    let expected = [
        "mcpproxy attempt 1",
        r"stderr one ***\u001b[31m",
        "stderr ",
        "stderr mcpproxy attempt 2",
        &cut,
        "stderr open \u{fffd} end",
        "stdout no \"message\"",
    ];
    assert_eq!(without_times(&text), expected);
}

#[tokio::test]
async fn a_secret_longer_than_a_line_may_be_was_written_in_the_clear() {
    let folder = tempfile::tempdir().expect("a folder");
    let six_thousand = "0123456789-abcdef".repeat(360);
    let thousand = &"ghijkl-9876543210".repeat(60);
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nbTQzNzM4NzYzNzM4\n-----END KEY-----";
    let mask = Mask::new([six_thousand.clone(), thousand.clone(), key.to_owned()]);
    let log = ServerLog::start(folder.path(), "a", mask).expect("it is a name");
    let mut stderr = log.stderr();
    stderr.take(six_thousand.as_bytes());
    stderr.take(format!("\n{}\n{key}\n", thousand.repeat(6)).as_bytes());
    drop(stderr);
    log.line(LogSource::Stdout, six_thousand.as_bytes());
    log.close().await;
    let text = read(folder.path(), "a.log");
    let expected = [
        "stderr ***",
        "stderr ***",
        "stderr -----BEGIN KEY-----",
        "stderr ***",
        "stderr ***",
        "stderr -----END KEY-----",
        "stdout ***",
    ];
    assert_eq!(without_times(&text), expected);
}

#[tokio::test]
async fn a_flood_is_counted_where_there_is_no_room_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = log(folder.path());
    let most = QUEUE_LIMIT / (100 + LINE_OVERHEAD);
    // Nothing is written meanwhile: this thread is the only one of the runtime, and it does not wait.
    for _ in 0..most + 7 {
        log.line(LogSource::Stderr, &[b'x'; 100]);
    }
    log.close().await;
    let text = read(folder.path(), "a.log");
    let lines = without_times(&text);
    assert_eq!(lines.len(), most + 1);
    let last = "mcpproxy 7 lines are not here: there was no room for them";
    assert_eq!(lines.last(), Some(&last));
}

#[tokio::test(start_paused = true)]
async fn a_flood_was_written_for_ever() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = log(folder.path());
    // Of the budget 1,000 bytes are left.
    lock(&log.queue).budget.charge(4 * 1024 * 1024 - 1000);
    let line = [b'x'; 200 - LINE_OVERHEAD];
    for _ in 0..100 {
        log.line(LogSource::Stderr, &line);
    }
    log.line(LogSource::Gateway, b"attempt 2");
    for _ in 0..7 {
        log.line(LogSource::Stdout, &line);
    }
    tokio::time::advance(Duration::from_secs(61)).await;
    log.line(LogSource::Stderr, b"the next minute");
    log.close().await;
    let text = read(folder.path(), "a.log");
    let shown = format!("stderr {}", String::from_utf8_lossy(&line));
    let mut expected = vec![shown.as_str(); 5];
    expected.extend([
        "mcpproxy 95 lines are not here: there was no room for them",
        "mcpproxy attempt 2",
        "mcpproxy 7 lines are not here: there was no room for them",
        "stderr the next minute",
    ]);
    assert_eq!(without_times(&text), expected);
}

#[tokio::test(start_paused = true)]
async fn what_a_flood_lost_is_told_once_in_a_minute() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = log(folder.path());
    lock(&log.queue).budget.charge(4 * 1024 * 1024);
    for _ in 0..50 {
        log.line(LogSource::Stderr, &[b'x'; 100]);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(read(folder.path(), "a.log"), "");
    let mut told = lock(&log.queue).told_at.expect("it will be told");
    told += 2 * PAUSE;
    sleep_until(told).await;
    log.close().await;
    let text = read(folder.path(), "a.log");
    let expected = ["mcpproxy 50 lines are not here: there was no room for them"];
    assert_eq!(without_times(&text), expected);
}

#[tokio::test]
async fn two_files_hold_the_newest_lines_and_are_for_nobody_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = log(folder.path());
    let batch = "x".repeat(1024 * 1024 - 1) + "\n";
    for _ in 0..10 {
        log.append(&batch).expect("it is written");
    }
    log.append("the newest\n").expect("it is written");
    let logs = folder.path().join("logs");
    let sizes = ["a.log", "a.log.1"].map(|name| read(folder.path(), name).len());
    assert!(
        sizes
            .iter()
            .all(|size| *size > 0 && *size as u64 <= FILE_LIMIT),
        "{sizes:?}"
    );
    assert!(read(folder.path(), "a.log").ends_with("the newest\n"));
    let files: Vec<_> = fs::read_dir(&logs).expect("a folder").collect();
    assert_eq!(files.len(), 2);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| {
            fs::metadata(path)
                .expect("it is there")
                .permissions()
                .mode()
        };
        assert_eq!(mode(&logs) & 0o777, 0o700);
        fs::set_permissions(&log.file, fs::Permissions::from_mode(0o644)).expect("it is ours");
        log.append("one more\n").expect("it is written");
        assert_eq!(mode(&log.file) & 0o777, 0o600);
        assert_eq!(mode(&log.older) & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a_log_that_cannot_be_written_holds_nobody_up() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(folder.path().join("logs/a.log")).expect("it is made");
    let log = log(folder.path());
    log.line(LogSource::Stderr, b"one");
    log.close().await;
    fs::remove_dir(folder.path().join("logs/a.log")).expect("it is empty");
    assert_eq!(lock(&log.queue).dropped, 1, "it is counted");
}
