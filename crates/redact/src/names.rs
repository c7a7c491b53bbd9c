//! Names that say that what stands under them is secret.

/// Longest end of a name that is looked at. It also bounds the search for where a name begins in
/// a text.
pub(super) const LONGEST_NAME: usize = 64;

/// A name that ends like this says secret: `client-secret`, `PROXY_AUTHORIZATION`.
const ENDINGS: [&str; 8] = [
    "secret",
    "secretstring",
    "secretbinary",
    "authorization",
    "passphrase",
    "passcode",
    "passwd",
    "jwt",
];

/// Endings in front of `key` with which it says secret: `x-api-key`, `AWS_SECRET_ACCESS_KEY`.
const KEYS: &str =
    "api private secret signing encryption account shared sharedaccess secretaccess auth";

/// Names that say secret only as a whole.
const WHOLE: [&str; 5] = ["cookie", "setcookie", "smtppass", "dbpass", "pgpass"];

/// Endings that may follow `password` in a name.
const AFTER_PASSWORD: &str = "again confirm confirmation confirmed hash new old repeat salt value";

/// Tokens that turn pages, report progress or belong to a language model are no credentials.
const HARMLESS_TOKENS: &str = "
    bos continuation cursor eos next nextpage nextsync page pagination pad previouspage prevpage
    progress resume skip startpage stop sync unk";

/// Words of names that people give to credentials in configurations: `OPENAI_KEY`, `X-Auth`, `GITHUB_PAT`.
const CREDENTIAL_WORDS: &str = "
    auth authorization bearer cookie cookies credential credentials creds dsn jwt key keys pass passcode passphrase
    passwd password passwords pat pwd secret secrets token webhook";

/// Last words of names that only speak about a credential: `TOKEN_URL`, `SSH_KEY_FILE`, `AUTH_MODE`.
const ABOUT_CREDENTIALS: &str = "
    algorithm count dir directory enabled endpoint expiry file folder header host id length limit method mode name path
    port prefix required scheme scope scopes size timeout ttl type uri url user username version";

/// Whether a variable, header, option or URL parameter of this name holds a credential. More names do than say secret
/// anywhere: here a person chose the name, for one value.
pub fn is_credential_name(name: &str) -> bool {
    let name = &name[name.floor_char_boundary(name.len().saturating_sub(LONGEST_NAME))..];
    let lower = name.to_ascii_lowercase();
    let words = || {
        let words = lower.split(|one: char| !one.is_ascii_alphanumeric());
        words.filter(|word| !word.is_empty())
    };
    let last = words().next_back().unwrap_or_default().as_bytes();
    // `PWD` alone is the working directory of a shell; tokens that turn pages are no credentials.
    let is_harmless = lower == "pwd" || last == b"token" || is_one_of(last, ABOUT_CREDENTIALS);
    let says_so = |word: &str| is_one_of(word.as_bytes(), CREDENTIAL_WORDS);
    is_secret_name(name)
        || words().any(|word| word == "webhook")
        || lower
            .replace(['-', '_', ' '], "")
            .ends_with("connectionstring")
        || (!is_harmless && words().any(says_so))
}

/// Whether a parameter of a tool of this name is secret. Parameters have more such names than texts do: plurals,
/// credentials, and the short words for a password.
pub fn is_secret_parameter(name: &str) -> bool {
    let singular = name.strip_suffix(['s', 'S']).unwrap_or(name);
    let last_word = name.rsplit(|letter: char| !letter.is_alphanumeric()).next();
    let last_word = last_word.unwrap_or_default();
    let is_short = |word: &str| last_word.eq_ignore_ascii_case(word);
    is_secret_name(name)
        || is_secret_name(singular)
        || singular.to_ascii_lowercase().ends_with("credential")
        || ["pin", "pwd"].into_iter().any(is_short)
        || ["Pin", "Pwd"].iter().any(|word| last_word.ends_with(word))
}

/// Whether a name says secret. Case, `-`, `_` and spaces do not matter.
pub fn is_secret_name(name: &str) -> bool {
    let mut buffer = [0; LONGEST_NAME];
    let mut length = 0;
    for byte in &name.as_bytes()[name.len().saturating_sub(LONGEST_NAME)..] {
        if !matches!(byte, b'-' | b'_' | b' ') {
            buffer[length] = byte.to_ascii_lowercase();
            length += 1;
        }
    }
    is_secret(&buffer[..length])
}

fn is_secret(name: &[u8]) -> bool {
    if let Some(kind) = name.strip_suffix(b"token") {
        return !is_one_of(kind, HARMLESS_TOKENS);
    }
    if let Some(kind) = name.strip_suffix(b"key") {
        return words(KEYS).any(|ending| kind.ends_with(ending));
    }
    let is_whole = |one: &&str| name == one.as_bytes();
    let has_ending = |ending: &&str| name.ends_with(ending.as_bytes());
    WHOLE.iter().any(is_whole) || ENDINGS.iter().any(has_ending) || is_password(name)
}

/// `db_password`, `password2`, `new_password_confirmation`.
fn is_password(name: &[u8]) -> bool {
    memchr::memmem::rfind(name, b"password").is_some_and(|at| {
        let rest = &name[at + b"password".len()..];
        rest.iter().all(u8::is_ascii_digit) || is_one_of(rest, AFTER_PASSWORD)
    })
}

fn is_one_of(name: &[u8], list: &'static str) -> bool {
    words(list).any(|one| one == name)
}

fn words(list: &'static str) -> impl Iterator<Item = &'static [u8]> {
    list.split_ascii_whitespace().map(str::as_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_say_secret() {
        for name in [
            "password",
            "PASSWORD",
            "Db_Password",
            "pass-word",
            "passwd",
            "passphrase",
            "secret",
            "clientSecret",
            "client_secret",
            "api_key",
            "apiKey",
            "X-Api-Key",
            "authorization",
            "Proxy-Authorization",
            "access_token",
            "refreshToken",
            "id_token",
            "token",
            "GITHUB_TOKEN",
            "private_key",
            "cookie",
            "Set-Cookie",
            "password2",
            "new_password_confirmation",
            "AWS_SECRET_ACCESS_KEY",
            "a name of more than sixty-four characters, of which only the end counts: password",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn names_that_people_give_to_credentials_in_configurations() {
        for name in [
            "GITHUB_TOKEN",
            "OPENAI_KEY",
            "key",
            "X-Auth",
            "GITHUB_PAT",
            "DB_PASS",
            "DB_PWD",
            "PGPASSWORD",
            "apiKey",
            "Authorization",
            "SENTRY_DSN",
            "AZURE_CONNECTION_STRING",
            "DISCORD_WEBHOOK_URL",
            "GOOGLE_CREDENTIALS",
        ] {
            assert!(is_credential_name(name), "{name}");
        }
        for name in [
            "",
            "AWS_REGION",
            "LOG_LEVEL",
            "DATABASE_FILE",
            "TOKEN_URL",
            "SSH_KEY_FILE",
            "API_KEY_NAME",
            "AUTH_MODE",
            "MAX_TOKENS",
            "NEXT_PAGE_TOKEN",
            "PWD",
            "KEYBOARD",
            "Accept",
            "User-Agent",
            "é",
        ] {
            assert!(!is_credential_name(name), "{name}");
        }
    }

    #[test]
    fn names_that_do_not() {
        for name in [
            "",
            "name",
            "secretary",
            "tokens",
            "max_tokens",
            "nextPageToken",
            "next_token",
            "progressToken",
            "key",
            "keyboard",
            "author",
            "authorization_url",
            "cookies_accepted",
            "passed",
            "compass",
            "password_reset_url",
            "public_key",
            "aws_access_key_id",
            "signature",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
