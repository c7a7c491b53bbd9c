//! Credentials in strings of the file: by the names they stand under, and by their looks.

use std::ops::Range;

use mcpproxy_redact::{credentials, is_credential_name};

/// Context of a string that tells whether it is a credential.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::settings) enum StringContext {
    /// Nothing but its looks tell.
    #[default]
    Any,
    /// It stands under a name, or after an option, that says credential.
    Named,
    /// It is a URL: user info and parameters tell as well.
    Url,
}

impl StringContext {
    /// Context of the value of a variable or a header.
    pub(in crate::settings) fn of_name(name: &str) -> Self {
        if is_credential_name(name) {
            Self::Named
        } else {
            Self::Any
        }
    }

    /// Context of an argument that follows another one: `--token` says what comes next.
    pub(in crate::settings) fn after(argument: &str, next: &str) -> Self {
        let is_option = argument.starts_with('-') && !argument.contains('=');
        if is_option && !next.starts_with('-') {
            Self::of_name(argument)
        } else {
            Self::Any
        }
    }
}

/// Places of the credentials in a string.
pub(in crate::settings) fn find(text: &str, context: StringContext) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    match context {
        StringContext::Named => found.push(0..text.len()),
        StringContext::Any => {
            found.extend(credentials(text));
            found.extend(assigned(text));
        }
        StringContext::Url => {
            found.extend(credentials(text));
            found.extend(in_url(text));
        }
    }
    found.retain(|range| !range.is_empty());
    found
}

/// The value in `--api-key=value` or `API_KEY=value`.
fn assigned(text: &str) -> Option<Range<usize>> {
    let (name, _) = text.split_once('=')?;
    let is_name = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_');
    let says_credential = name.chars().all(is_name) && is_credential_name(name);
    says_credential.then_some(name.len() + 1..text.len())
}

/// The user info of a URL, and the values of parameters whose names say credential.
fn in_url(url: &str) -> Vec<Range<usize>> {
    let start = url.find("://").map_or(0, |at| at + 3);
    let authority = url[start..].split(['/', '?', '#']).next();
    let user_info = authority.and_then(|authority| authority.rfind('@'));
    let mut found: Vec<Range<usize>> = user_info.map(|at| start..start + at).into_iter().collect();
    let fragment = url.find('#').unwrap_or(url.len());
    let query = url[..fragment].find('?').map_or(fragment, |at| at + 1);
    let mut at = query;
    for parameter in url[query..fragment].split('&') {
        if let Some((name, _)) = parameter.split_once('=')
            && is_credential_name(name)
        {
            found.push(at + name.len() + 1..at + parameter.len());
        }
        at += parameter.len() + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use mcpproxy_redact::mask::hide;

    use super::*;

    #[track_caller]
    fn check(context: StringContext, cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            assert_eq!(hide(text, find(text, context)), *expected);
        }
    }

    #[test]
    fn arguments_show_no_credential() {
        check(
            StringContext::Any,
            &[
                ("--api-key=abc", "--api-key=***"),
                ("--key=abc", "--key=***"),
                ("OPENAI_KEY=abc", "OPENAI_KEY=***"),
                ("--region=eu-west-1", "--region=eu-west-1"),
                ("--token-url=https://h/t", "--token-url=https://h/t"),
                ("https://joe:hunter@h/", "https://joe:***@h/"),
                ("/data/files", "/data/files"),
                ("", ""),
            ],
        );
        for (argument, next, expected) in [
            ("--token", "abc", StringContext::Named),
            ("--api-key", "abc", StringContext::Named),
            ("-key", "abc", StringContext::Named),
            ("--token", "--verbose", StringContext::Any),
            ("--token=abc", "file", StringContext::Any),
            ("token", "abc", StringContext::Any),
            ("--region", "eu-west-1", StringContext::Any),
        ] {
            let context = StringContext::after(argument, next);
            assert_eq!(context, expected, "{argument} {next}");
        }
    }

    #[test]
    fn addresses_show_no_credential() {
        check(
            StringContext::Url,
            &[
                ("https://t0ken@h/mcp", "https://***@h/mcp"),
                ("https://joe:hunter@h:8/mcp?x=@", "https://***@h:8/mcp?x=@"),
                ("https://h/mcp?key=abc&x=1#k", "https://h/mcp?key=***&x=1#k"),
                ("https://h/?a=1&apiKey=a=b", "https://h/?a=1&apiKey=***"),
                ("https://h/?key=", "https://h/?key="),
                ("https://h/a@b?region=eu", "https://h/a@b?region=eu"),
            ],
        );
    }
}
