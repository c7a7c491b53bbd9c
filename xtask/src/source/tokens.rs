//! Rust source as tokens, without comments: enough to find items and paths, and nothing more.

use std::ops::RangeInclusive;

/// One token: an identifier, `::`, a lifetime, a literal or a single character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

impl Token<'_> {
    pub(crate) fn is(self, text: &str) -> bool {
        self.text == text
    }

    pub(crate) fn is_identifier(self) -> bool {
        self.text.starts_with(is_identifier_start)
    }
}

fn is_identifier_start(character: char) -> bool {
    character.is_alphabetic() || character == '_'
}

fn is_identifier_part(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Splits a source into tokens. Comments are dropped; a literal is one token that begins with a quotation mark.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (length, is_token) = measure(rest, first);
        let (text, after) = rest.split_at(length);
        if is_token {
            tokens.push(Token { text, line });
        }
        line += text.matches('\n').count();
        rest = after;
    }
    tokens
}

/// Length of what the text begins with, and whether that is a token.
fn measure(text: &str, first: char) -> (usize, bool) {
    if first.is_whitespace() {
        (first.len_utf8(), false)
    } else if text.starts_with("//") {
        (text.find('\n').unwrap_or(text.len()), false)
    } else if text.starts_with("/*") {
        (block_comment(text), false)
    } else if text.starts_with("::") {
        (2, true)
    } else if first == '"' {
        (string(text, 1), true)
    } else if first == '\'' {
        (character_or_lifetime(text), true)
    } else if is_identifier_start(first) {
        (prefixed_literal(text).unwrap_or_else(|| word(text)), true)
    } else if first.is_ascii_digit() {
        (word(text), true)
    } else {
        (first.len_utf8(), true)
    }
}

fn word(text: &str) -> usize {
    let start = if text.starts_with("r#") { 2 } else { 0 };
    text[start..]
        .find(|character| !is_identifier_part(character))
        .map_or(text.len(), |length| start + length)
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut position = 0;
    while position < text.len() {
        let here = &text.as_bytes()[position..];
        if here.starts_with(b"/*") {
            depth += 1;
            position += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            position += 2;
            if depth == 0 {
                return position;
            }
        } else {
            position += 1;
        }
    }
    text.len()
}

/// Length of a string with escapes whose content begins at `start`.
fn string(text: &str, start: usize) -> usize {
    closing(text, start, b'"')
}

fn closing(text: &str, start: usize, quote: u8) -> usize {
    let mut position = start;
    while let Some(&byte) = text.as_bytes().get(position) {
        match byte {
            b'\\' => position += 2,
            byte if byte == quote => return position + 1,
            _ => position += 1,
        }
    }
    text.len()
}

fn character_or_lifetime(text: &str) -> usize {
    let mut characters = text.chars().skip(1);
    match (characters.next(), characters.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => closing(text, 1, b'\''),
        _ => 1 + word(&text[1..]),
    }
}

/// Length of a string or character with a prefix such as `b` or `r#`, if the text begins with one.
fn prefixed_literal(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r", "b", "c"]
        .into_iter()
        .find(|prefix| text.starts_with(prefix))?;
    let after = &text[prefix.len()..];
    if prefix.ends_with('r') {
        let content = after.trim_start_matches('#');
        let marks = after.len() - content.len();
        let content = content.strip_prefix('"')?;
        let end = format!("\"{}", &after[..marks]);
        let start = prefix.len() + marks + 1;
        return Some(
            content
                .find(&end)
                .map_or(text.len(), |at| start + at + end.len()),
        );
    }
    match after.chars().next()? {
        '"' => Some(string(text, prefix.len() + 1)),
        '\'' if prefix == "b" => Some(closing(text, 2, b'\'')),
        _ => None,
    }
}

/// Tokens of the product alone, and what was left out of a file because only tests compile it.
#[derive(Debug, Default)]
pub(crate) struct WithoutTests<'a> {
    pub(crate) tokens: Vec<Token<'a>>,
    /// Lines of the modules that were left out.
    pub(crate) test_lines: Vec<RangeInclusive<usize>>,
    /// Names of the modules in files of their own that only tests compile.
    pub(crate) test_modules: Vec<&'a str>,
}

/// Leaves out every item that is marked with `#[cfg(test)]`.
pub(crate) fn without_tests<'a>(tokens: &[Token<'a>]) -> WithoutTests<'a> {
    let mut kept = WithoutTests::default();
    let mut position = 0;
    while position < tokens.len() {
        let (item, is_test) = attributes(tokens, position);
        if !is_test {
            let next = item.max(position + 1);
            kept.tokens.extend(&tokens[position..next]);
            position = next;
            continue;
        }
        let end = item_end(tokens, item);
        if let Some(name) = module_name(&tokens[item..end]) {
            if tokens[end - 1].is(";") {
                kept.test_modules.push(name);
            } else {
                kept.test_lines
                    .push(tokens[position].line..=tokens[end - 1].line);
            }
        }
        position = end;
    }
    kept
}

/// Where the item begins whose attributes begin here, and whether one of them leaves it to tests.
fn attributes(tokens: &[Token<'_>], mut position: usize) -> (usize, bool) {
    let mut is_test = false;
    while let [mark, open, ..] = &tokens[position..]
        && mark.is("#")
        && open.is("[")
    {
        let end = group_end(tokens, position + 1);
        let words: Vec<&str> = tokens[position + 2..end].iter().map(|t| t.text).collect();
        is_test |= words.starts_with(&["cfg", "(", "test", ")"])
            || words.starts_with(&["cfg", "(", "all", "(", "test"]);
        position = end;
    }
    (position, is_test)
}

/// Position after the bracket that closes the one at `open`.
pub(crate) fn group_end(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0;
    for (position, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return position + 1;
        }
    }
    tokens.len()
}

/// Position after the item, field or variant that begins here.
fn item_end(tokens: &[Token<'_>], start: usize) -> usize {
    let keyword = tokens
        .get(after_visibility(tokens, start))
        .map_or("", |token| token.text);
    let ends_with_a_block = matches!(
        keyword,
        "mod"
            | "fn"
            | "struct"
            | "enum"
            | "impl"
            | "trait"
            | "async"
            | "unsafe"
            | "extern"
            | "macro_rules"
    );
    let is_statement = matches!(keyword, "use" | "const" | "static" | "type" | "let");
    let mut position = start;
    let mut angles = 0_usize;
    while let Some(token) = tokens.get(position) {
        match token.text {
            ";" => return position + 1,
            "}" | ")" | "]" => return position,
            "," if angles == 0 && !ends_with_a_block && !is_statement => return position + 1,
            "<" => angles += 1,
            ">" => angles = angles.saturating_sub(1),
            "{" if ends_with_a_block => return group_end(tokens, position),
            "{" | "(" | "[" => {
                position = group_end(tokens, position);
                continue;
            }
            _ => {}
        }
        position += 1;
    }
    tokens.len()
}

pub(crate) fn after_visibility(tokens: &[Token<'_>], start: usize) -> usize {
    match &tokens[start..] {
        [public, open, ..] if public.is("pub") && open.is("(") => group_end(tokens, start + 1),
        [public, ..] if public.is("pub") => start + 1,
        _ => start,
    }
}

fn module_name<'a>(item: &[Token<'a>]) -> Option<&'a str> {
    match &item[after_visibility(item, 0)..] {
        [keyword, name, ..] if keyword.is("mod") => Some(name.text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        tokens(source).iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_are_dropped_and_literals_are_one_token() {
        let check = |source: &str, expected: &[&str]| assert_eq!(texts(source), expected);
        check("a // b\nc", &["a", "c"]);
        check("a /* b /* c */ d */ e", &["a", "e"]);
        check(
            r#"f("use x; // \" y")"#,
            &["f", "(", r#""use x; // \" y""#, ")"],
        );
        check(r##"r#"a " b"# c"##, &[r##"r#"a " b"#"##, "c"]);
        check("b\"x\" r#type", &["b\"x\"", "r#type"]);
        check("'{' '\\'' 'a x", &["'{'", "'\\''", "'a", "x"]);
        check("crate::a", &["crate", "::", "a"]);
    }

    #[test]
    fn lines_are_counted_through_literals_and_comments() {
        let source = "a\n\"x\ny\" /* z\n */ b";
        let lines: Vec<usize> = tokens(source).iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 2, 4]);
    }

    #[test]
    fn what_only_tests_compile_is_left_out() {
        let check = |source: &str, expected: &str| {
            let left: Vec<&str> = without_tests(&tokens(source))
                .tokens
                .iter()
                .map(|token| token.text)
                .collect();
            assert_eq!(left.join(" "), expected, "{source}");
        };
        check("#[cfg(test)] mod tests { fn a() {} } b", "b");
        check("#[cfg(test)] use a::{b, c}; d", "d");
        check(
            "#[cfg(test)]\n#[expect(x)] pub(crate) fn a() -> B { c } d",
            "d",
        );
        check(
            "struct A { #[cfg(test)] b: C<D, E>, f: G }",
            "struct A { f : G }",
        );
        check("enum A { #[cfg(test)] B, C }", "enum A { C }");
        check(
            "#[cfg(feature = \"x\")] mod a;",
            "# [ cfg ( feature = \"x\" ) ] mod a ;",
        );
    }

    #[test]
    fn test_modules_are_named_or_measured() {
        let source = "a\n#[cfg(test)]\nmod tests;\n\n#[cfg(test)]\nmod more {\n}\nb";
        let kept = without_tests(&tokens(source));
        assert_eq!(kept.test_modules, ["tests"]);
        assert_eq!(kept.test_lines, [5..=7]);
    }
}
