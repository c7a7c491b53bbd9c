//! Credentials by their looks: what is hidden, what is kept, what is no credential.
//!
//! The credentials are made up, and put together here so that no scanner takes them for real.

use std::borrow::Cow;

use mcpproxy_redact::{OwnSecrets, Redactor, SecretFields};

fn redacted(text: &str) -> String {
    let redactor = Redactor::new([]);
    let once = redactor.text(text, &OwnSecrets::none()).into_owned();
    let twice = redactor.text(&once, &OwnSecrets::none());
    assert_eq!(once, twice, "hiding twice hides the same");
    once
}

/// The text is kept, and not even copied.
fn check_kept(text: &str) {
    let redactor = Redactor::new([]);
    let kept = redactor.text(text, &OwnSecrets::none());
    assert!(matches!(kept, Cow::Borrowed(_)), "{text:?} became {kept:?}");
    assert_eq!(kept, text);
}

/// `length` characters that look random; the same every time.
fn random(length: usize) -> String {
    const LETTERS: &[u8] = b"aB3xY7kQ9mZ2pL5vT8wR4nC6dF1gH0jS";
    (0..length)
        .map(|index| char::from(LETTERS[(index * 7 + index / 32) % LETTERS.len()]))
        .collect()
}

fn joined(parts: &[&str]) -> String {
    parts.concat()
}

#[test]
fn tokens_of_well_known_issuers() {
    let capitals = random(16).to_uppercase();
    for (prefix, rest) in [
        ("AKIA", capitals.clone()),
        ("ASIA", capitals),
        ("AIza", random(35)),
        ("ya29.", random(60)),
        ("ghp_", random(36)),
        ("gho_", random(36)),
        ("ghu_", random(36)),
        ("ghs_", random(36)),
        ("ghr_", random(36)),
        ("github_pat_", format!("{}_{}", random(22), random(59))),
        ("glpat-", random(20)),
        ("xoxb-", format!("123456789012-{}", random(24))),
        ("xoxp-", format!("123456789012-{}", random(24))),
        ("sk-", random(48)),
        ("sk-", format!("proj-{}", random(90))),
        ("sk-", format!("ant-api03-{}", random(90))),
        ("sk-", format!("or-v1-{}", "0123456789abcdef".repeat(4))),
        ("sk_live_", random(24)),
        ("rk_live_", random(24)),
        ("npm_", random(36)),
        ("pypi-", format!("AgEIcHlwaS5vcmc{}", random(60))),
        ("hf_", random(34)),
        ("mcpp_", format!("{}-_{}", random(20), random(21))),
        ("SG.", format!("{}.{}", random(22), random(43))),
        ("123456789:", format!("AA{}", random(33))),
    ] {
        let token = joined(&[prefix, &rest]);
        for (before, after) in [
            ("", ""),
            ("before ", " after"),
            ("(", ")"),
            ("\"", "\","),
            ("x: ", "\nnext"),
            ("env_", " after"),
            ("é", "é"),
        ] {
            if before == "env_" && prefix.starts_with('1') {
                continue;
            }
            assert_eq!(
                redacted(&format!("{before}{token}{after}")),
                format!("{before}***{after}"),
            );
        }
        let spread = format!("a{}", &token[1..]);
        check_kept(&spread[..spread.len().min(8)]);
        check_kept(&format!("word{}", &token.replace(['.', ':'], "")));
    }
}

#[test]
fn json_web_tokens() {
    let header = joined(&["eyJ", "hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"]);
    let payload = joined(&["eyJ", "zdWIiOiIxMjM0In0"]);
    let signature = random(43);
    assert_eq!(
        redacted(&format!("jwt {header}.{payload}.{signature}.")),
        "jwt ***."
    );
    assert_eq!(redacted(&format!("none {header}.{payload}.")), "none ***");
    check_kept(&format!("only {header} and {payload}"));
    check_kept("eyJ.x.y");
}

#[test]
fn private_keys_in_pem() {
    let begin = |kind: &str| joined(&["-----BEGIN ", kind, "PRIVATE KEY-----"]);
    let end = |kind: &str| joined(&["-----END ", kind, "PRIVATE KEY-----"]);
    let body = format!("\n{}\n{}\n", random(64), random(40));
    for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
        assert_eq!(
            redacted(&format!("a\n{}{body}{}\nb", begin(kind), end(kind))),
            "a\n***\nb"
        );
        assert_eq!(
            redacted(&format!("a {}{body}", begin(kind))),
            "a ***",
            "broken off"
        );
    }
    let two = format!(
        "{}{body}{} and {}{body}{}",
        begin(""),
        end(""),
        begin("EC "),
        end("EC ")
    );
    assert_eq!(redacted(&two), "*** and ***");
    assert_eq!(redacted(&format!("sk{}{body}", begin(""))), "sk***");
    check_kept("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----");
    check_kept("-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----");
}

#[test]
fn headers() {
    for (text, expected) in [
        ("Authorization: Bearer abc", "Authorization: Bearer ***"),
        ("authorization:bearer abc", "authorization:bearer ***"),
        ("Authorization: Basic dTpw", "Authorization: Basic ***"),
        (
            "Authorization: token abcdef\r\nHost: x",
            "Authorization: token ***\r\nHost: x",
        ),
        ("Authorization: abcdef", "Authorization: ***"),
        (
            "Authorization: Custom abcdef\nb",
            "Authorization: Custom ***\nb",
        ),
        (
            "Authorization: Digest username=\"u\", response=\"r\"",
            "Authorization: Digest ***",
        ),
        (
            "curl -H 'Authorization: Bearer abc' http://x",
            "curl -H 'Authorization: Bearer ***' http://x",
        ),
        (
            "Proxy-Authorization: Basic dTpw",
            "Proxy-Authorization: Basic ***",
        ),
        ("sent Bearer 0a1b2c3d4e and", "sent Bearer *** and"),
        ("sent bearer AbCdEfGhIj.", "sent bearer ***"),
        ("sent Basic dXNlcjpwYXNzd29yZA==.", "sent Basic ***."),
        ("Cookie: sid=abc; theme=dark\nb", "Cookie: ***\nb"),
        ("Set-Cookie: sid=abc; HttpOnly", "Set-Cookie: ***"),
        ("X-Api-Key: abc\nb", "X-Api-Key: ***\nb"),
        ("x-api-key: abc123def", "x-api-key: ***"),
    ] {
        assert_eq!(redacted(text), expected);
    }
    for text in [
        "Authorization: required for this call",
        "authorization is required",
        "the bearer of this letter",
        "Bearer authentication is used",
        "WWW-Authenticate: Bearer realm=\"api\", error=\"invalid_token\"",
        "WWW-Authenticate: Bearer resource_metadata=\"https://example.com/m\"",
        "Basic information about basic training",
        "basic understanding of authorization: a user guide",
        "Cookie: a small cake",
    ] {
        check_kept(text);
    }
}

#[test]
fn passwords_in_urls() {
    for (text, expected) in [
        ("postgres://joe:hunter@db/x", "postgres://joe:***@db/x"),
        (
            "see https://u:p@example.com.",
            "see https://u:***@example.com.",
        ),
        ("redis://:pw@cache:6379/0", "redis://:***@cache:6379/0"),
        ("amqp://u:p@ss@host", "amqp://u:***@host"),
        (
            "mongodb://u:p@h1:27017,h2:27017/d",
            "mongodb://u:***@h1:27017,h2:27017/d",
        ),
        ("a://u:p@h b://v:q@i", "a://u:***@h b://v:***@i"),
    ] {
        assert_eq!(redacted(text), expected);
    }
    for text in [
        "https://example.com:8080/a@b",
        "https://joe@example.com/x",
        "https://u:@example.com",
        "http://[::1]:80/",
        "mail joe@example.com or http://localhost:3000",
    ] {
        check_kept(text);
    }
}

#[test]
fn parameters_and_assignments() {
    for (text, expected) in [
        (
            "/cb?access_token=abc&state=1",
            "/cb?access_token=***&state=1",
        ),
        ("/cb?a=1&api_key=abc#x", "/cb?a=1&api_key=***"),
        ("?token=abc", "?token=***"),
        ("?password=abc&x", "?password=***&x"),
        ("client_secret=abc&x", "client_secret=***&x"),
        (
            "https://x.blob/c?sv=1&sig=a%2Bb%3D&se=2",
            "https://x.blob/c?sv=1&sig=***&se=2",
        ),
        ("?X-Amz-Signature=0a1b&x", "?X-Amz-Signature=***&x"),
        (
            "?next=%2Fx%3Faccess_token%3Dabc",
            "?next=%2Fx%3Faccess_token%3D***",
        ),
        (
            "AccountName=n;AccountKey=abc+/==;EndpointSuffix=x",
            "AccountName=n;AccountKey=***;EndpointSuffix=x",
        ),
        (
            "SharedAccessKeyName=n;SharedAccessKey=abc=;",
            "SharedAccessKeyName=n;SharedAccessKey=***;",
        ),
        ("Server=x;Uid=u;Pwd=abc;", "Server=x;Uid=u;Pwd=***;"),
        (
            "aws_secret_access_key = abc/def",
            "aws_secret_access_key = ***",
        ),
        (
            "AWS_SECRET_ACCESS_KEY=abc/def\nb",
            "AWS_SECRET_ACCESS_KEY=***\nb",
        ),
        ("export DB_PASSWORD='a b c' x", "export DB_PASSWORD='***' x"),
        ("password: hunter\nuser: joe", "password: ***\nuser: joe"),
        (
            "user: joe\n  password: hunter",
            "user: joe\n  password: ***",
        ),
        ("his password: hunter22 is", "his password: *** is"),
        ("f(token=abc)", "f(token=***)"),
        ("token=Bearer abc", "token=Bearer ***"),
        (
            "got {'password': 'a b', 'x': 1}",
            "got {'password': '***', 'x': 1}",
        ),
        (
            "got {\"password\": \"a\\\"b\", \"x\": 1}",
            "got {\"password\": \"***\", \"x\": 1}",
        ),
        (
            r#"got {\"password\":\"a b\",\"x\":1}"#,
            r#"got {\"password\":\"***\",\"x\":1}"#,
        ),
        ("got {\"secret\": 12345}", "got {\"secret\": ***}"),
        (
            "mysql --password hunter -u joe",
            "mysql --password *** -u joe",
        ),
        (
            "mysql --password=hunter -u joe",
            "mysql --password=*** -u joe",
        ),
        ("<password>hunter</password>", "<password>***</password>"),
        ("password = \"abc", "password = \"***"),
    ] {
        assert_eq!(redacted(text), expected);
    }
}

#[test]
fn ordinary_text_is_kept() {
    let image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==".repeat(40);
    for text in [
        "",
        "tokens, secrets and passwords",
        "The secret of success: hard work and sleep",
        "Password: must contain at least eight characters",
        "the tokenizer counts 512 tokens; max_tokens=512",
        "next_page_token=abc&pageToken=def",
        "secretary=Bob",
        "token == other.token",
        "let token = read_token(\"a\");",
        "Token::new() and secret://name",
        "password=${env:PASSWORD} token=$(cat x) secret=null",
        "PWD=/srv/app",
        "design=1&sigma=2",
        "550e8400-e29b-41d4-a716-446655440000",
        "de9f2c7fd25e1b3afad3e85a0bd17d9b100db4b3",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "task-sk-loading-indicator-container",
        "sk-fading-circle sk-cube-grid-large-and-slow",
        "desk-0123456789abcdefABCDEF0123",
        "npm_config_registry npm_lifecycle_event",
        "pypi-server ghp_short hf_hub AKIA asia ASIA PACIFIC",
        "12:34:56 aa:AA:bb 10:AAbb",
        "https://example.com/a/b?c=d#e",
        "{\"name\": \"x\", \"count\": 3}",
        "[info] nothing to see",
        "-----BEGIN-----",
        &image,
        &format!("data:image/png;base64,{image}"),
    ] {
        check_kept(text);
    }
}

#[test]
fn hostile_text_of_any_size_is_read_in_a_bounded_number_of_steps() {
    // Each of these makes a careless matcher read the rest of the text again for every repetition.
    for part in [
        "token=",
        "token:",
        "token:${",
        "token=${",
        "token = (",
        "sk-",
        "eyJ",
        "eyJ.",
        "eyJa-",
        "-eyJaaaaaaaaaaaa",
        "-----BEGIN",
        "-----BEGIN PRIVATE KEY-----",
        "bearer ",
        "bearer",
        "basic a",
        "://",
        "://a:",
        "authorization:",
        "authorization: ",
        "cookie:",
        "cookie=",
        "password=\"",
        "password='\\",
        "\"password\":",
        "glpat-",
        "AGE-SECRET-KEY-1a",
        "<token>",
        "&sig=",
        "xoxb-",
        "--token ",
        "\\",
        "\"",
        "\\\"",
        "{\"a\":",
        "[[",
        "12345678:AA",
        "SG.",
        "aaaa",
    ] {
        let text = part.repeat((1 << 16) / part.len());
        let redactor = Redactor::new(["aaaaaaaaa".to_owned()]);
        let own = SecretFields::all().collect(&"aaaaaaaaaaaaaaaaaaaaa".repeat(100).into());
        redactor.text(&text, &own);
        redactor.json(&text, &own);
        redactor.json(&format!("\"{text}"), &own);
        redactor.json(&format!("{{\"a\":\"{text}"), &own);
    }
}
