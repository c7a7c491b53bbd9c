//! Everything that the product leaves behind and shows of what agents did, to be searched for what must not be there.

use std::collections::HashMap;
use std::path::Path;

use http::Method;
use http_body_util::BodyExt;
use mcpproxy_tests::{Home, HttpClient, Product, within};

/// So many characters of a secret in a row are found, whatever became of the others: a store splits long values over
/// its pages, and half a secret is one too.
const WINDOW: usize = 10;

/// What is compared: places with what stands there, letters in lower case, as the log's own words are.
#[derive(Default)]
pub(crate) struct Traces(Vec<(String, Vec<u8>)>);

impl Traces {
    /// All there is once the record with this id is on disk; the key opens the REST interface.
    pub(crate) async fn of(product: &Product, key: &str, last_id: &str) -> Self {
        let mut traces = Self::default();
        for path in [
            "/activity?limit=1000",
            "/activity/summary",
            "/activity/verify",
            "/activity/export?format=jsonl",
            "/activity/export?format=csv",
            "/status",
            "/config",
            "/tools",
        ] {
            let client = HttpClient::without_session(&product.rest(path));
            let answer = client
                .send(Method::GET, &[("x-api-key", key)], String::new())
                .await;
            assert!(answer.status.is_success(), "{path}: {answer:?}");
            traces.add(path, answer.body.as_bytes());
        }
        let events = read_events(product, key, last_id).await;
        traces.add("/events", events.as_bytes());
        traces.add_commands(&product.home).await;
        for arguments in [
            &["status"][..],
            &["status", "-o", "yaml"],
            &["tools", "list"],
        ] {
            let ran = product.run(arguments).await;
            traces.add(&arguments.join(" "), ran.stdout.as_bytes());
        }
        traces.add("the log output", product.log().as_bytes());
        traces.add_files(&product.home);
        traces
    }

    /// What is left when no gateway runs any more.
    pub(crate) async fn of_home(home: &Home) -> Self {
        let mut traces = Self::default();
        traces.add_files(home);
        traces.add_commands(home).await;
        traces
    }

    /// The commands that read the log, with a gateway or without.
    async fn add_commands(&mut self, home: &Home) {
        for arguments in [
            "activity list --limit 1000",
            "activity list --limit 1000 -o json",
            "activity list --limit 1000 -o yaml",
            "activity summary",
            "activity export --format jsonl",
            "activity export --format csv",
            "config show",
        ] {
            let words: Vec<&str> = arguments.split(' ').collect();
            let ran = home.run(&words).await;
            assert_eq!(ran.code, 0, "{arguments}: {ran:?}");
            self.add(arguments, ran.stdout.as_bytes());
            self.add(arguments, ran.stderr.as_bytes());
        }
    }

    /// Every file of the data directory but those where people keep secrets on purpose.
    fn add_files(&mut self, home: &Home) {
        self.add_folder(&home.data_dir());
        assert!(
            self.0.iter().any(|(place, _)| place == "state.db"),
            "there is a database"
        );
        assert!(
            self.0.iter().any(|(place, _)| place.contains(".head")),
            "there is a chain"
        );
    }

    fn add_folder(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                self.add_folder(&path);
            } else if !["mcp_config.json", "api_key", "mcpproxy.sock"].contains(&&*name) {
                let bytes = std::fs::read(&path).expect("the file can be read");
                self.add(&name, &bytes);
            }
        }
    }

    /// As it stands there, and as it reads when its escapes are undone.
    fn add(&mut self, place: &str, bytes: &[u8]) {
        self.0.push((place.to_owned(), bytes.to_ascii_lowercase()));
        let decoded = undo_escapes(bytes);
        if decoded != bytes {
            let place = format!("{place}, decoded");
            self.0.push((place, decoded.to_ascii_lowercase()));
        }
    }

    /// Nothing of these secrets is anywhere.
    #[track_caller]
    pub(crate) fn assert_without(&self, secrets: &[(&str, String)]) {
        let mut windows: HashMap<Vec<u8>, &str> = HashMap::new();
        let mut begins = vec![false; 1 << 16];
        for (name, secret) in secrets {
            assert!(secret.len() >= WINDOW, "{name} is too short to be found");
            for window in secret.to_ascii_lowercase().as_bytes().windows(WINDOW) {
                windows.insert(window.to_vec(), name);
                begins[beginning(window)] = true;
            }
        }
        for (place, bytes) in &self.0 {
            for (at, window) in bytes.windows(WINDOW).enumerate() {
                if begins[beginning(window)]
                    && let Some(name) = windows.get(window)
                {
                    let around = &bytes[at.saturating_sub(100)..(at + 100).min(bytes.len())];
                    let around = String::from_utf8_lossy(around);
                    panic!("{place} has a part of the secret '{name}': {around}");
                }
            }
        }
    }

    /// What is no secret is in all these places: they are the right ones to search.
    #[track_caller]
    pub(crate) fn assert_with(&self, text: &str, places: &[&str]) {
        let text = text.to_ascii_lowercase();
        for place in places {
            let is_there = self
                .0
                .iter()
                .filter(|(name, _)| name.starts_with(place))
                .any(|(_, bytes)| contains(bytes, text.as_bytes()));
            assert!(is_there, "{place} does not have '{text}'");
        }
    }
}

/// Reads all events from the first record on, until the one with this id.
async fn read_events(product: &Product, key: &str, last_id: &str) -> String {
    let client = HttpClient::without_session(&product.rest("/events?last_event_id="));
    let mut response = client
        .open(Method::GET, &[("x-api-key", key)], String::new())
        .await;
    assert!(response.status().is_success(), "{response:?}");
    let mut text = Vec::new();
    while !contains(&text, last_id.as_bytes()) {
        let frame = within("an event arrives", response.body_mut().frame()).await;
        let frame = frame.expect("the stream goes on").expect("it is whole");
        text.extend_from_slice(frame.data_ref().expect("it has no trailers"));
    }
    String::from_utf8(text).expect("events are text")
}

/// With `\u0061` and `%61` replaced by what they stand for, however often a backslash was escaped itself.
fn undo_escapes(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(byte) = rest.first() {
        let (digits, length) = match rest {
            [b'\\', b'u', b'0', b'0', high, low, ..] => ([*high, *low], 6),
            [b'%', high, low, ..] => ([*high, *low], 3),
            _ => ([b'-'; 2], 1),
        };
        let value = std::str::from_utf8(&digits)
            .ok()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(value) = value {
            while decoded.last() == Some(&b'\\') {
                decoded.pop();
            }
            decoded.push(value);
            rest = &rest[length..];
        } else {
            decoded.push(*byte);
            rest = &rest[1..];
        }
    }
    decoded
}

fn beginning(window: &[u8]) -> usize {
    usize::from(window[0]) << 8 | usize::from(window[1])
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

#[test]
fn escapes_are_undone() {
    let undone = |text: &str| String::from_utf8(undo_escapes(text.as_bytes())).unwrap();
    assert_eq!(undone(r"\u0061\\u0062 %63\n%zz"), r"ab c\n%zz");
}

#[test]
#[should_panic(expected = "has a part of the secret 'word'")]
fn a_part_of_a_secret_is_found_in_any_case() {
    let mut traces = Traces::default();
    traces.add("somewhere", b"before QUINCE-9-10 after");
    traces.assert_without(&[("word", "a-quince-9-10-b".to_owned())]);
}
