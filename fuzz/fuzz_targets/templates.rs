//! Any template and any address: the matcher agrees with one that tries every way, an address made from a template fits
//! it, and all that fit begin as the template does, with its authority.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_catalog::directory::template::Template;

/// The longest address and the most parts that every way is tried for.
const TRIED: (usize, usize) = (16, 5);

/// One part of a template.
#[derive(Clone, Copy)]
enum Part<'a> {
    Literal(&'a str),
    Expression(&'static Expression),
}

struct Expression {
    text: &'static str,
    first: &'static str,
    is_optional: bool,
    crosses: bool,
}

const fn expression(
    text: &'static str,
    first: &'static str,
    is_optional: bool,
    crosses: bool,
) -> Expression {
    Expression {
        text,
        first,
        is_optional,
        crosses,
    }
}

const EXPRESSIONS: [Expression; 10] = [
    expression("{x}", "", false, false),
    expression("{x,y}", "", false, false),
    expression("{+x}", "", false, true),
    expression("{/x}", "/", false, false),
    expression("{/x*}", "/", false, true),
    expression("{.x}", ".", false, false),
    expression("{#x}", "#", true, true),
    expression("{?x,y}", "?", true, true),
    expression("{&x}", "&", true, true),
    expression("{;x}", ";", true, true),
];

fuzz_target!(|input: (Vec<(u8, &str)>, &str, &str)| {
    let (given, address, text) = input;
    check_claim(&Template::parse(text), address);

    let literals: Vec<String> = given
        .iter()
        .map(|(_, text)| text.replace(['{', '}'], ""))
        .collect();
    let parts: Vec<Part<'_>> = given
        .iter()
        .zip(&literals)
        .map(
            |((kind, _), literal)| match EXPRESSIONS.get(usize::from(*kind)) {
                Some(expression) => Part::Expression(expression),
                None => Part::Literal(literal),
            },
        )
        .collect();
    let template: String = parts.iter().map(text_of).collect();
    let template = Template::parse(&template);
    check_claim(&template, address);
    if address.len() <= TRIED.0 && parts.len() <= TRIED.1 {
        let expected = fits(&parts, address.as_bytes());
        assert_eq!(
            template.matches(address),
            expected,
            "{template:?} {address}"
        );
    }
    let made: String = parts
        .iter()
        .zip(&literals)
        .map(|(part, value)| expanded(*part, value))
        .collect();
    assert!(template.matches(&made), "{template:?} {made}");
    check_claim(&template, &made);
});

fn text_of<'a>(part: &Part<'a>) -> &'a str {
    match part {
        Part::Literal(literal) => literal,
        Part::Expression(expression) => expression.text,
    }
}

/// The part of an address that a part of a template becomes.
fn expanded(part: Part<'_>, value: &str) -> String {
    let Expression {
        first,
        is_optional,
        crosses,
        ..
    } = match part {
        Part::Literal(literal) => return literal.to_owned(),
        Part::Expression(expression) => expression,
    };
    let value = if *crosses {
        value.to_owned()
    } else {
        value.replace(['/', '?', '#'], "")
    };
    match &*value {
        "" if *is_optional => String::new(),
        "" => [first, "v"].concat(),
        value => [first, value].concat(),
    }
}

/// Whether an address fits, found by trying every way.
fn fits(parts: &[Part<'_>], address: &[u8]) -> bool {
    let Some((part, rest)) = parts.split_first() else {
        return address.is_empty();
    };
    let expression = match part {
        Part::Literal(literal) => {
            let behind = address.strip_prefix(literal.as_bytes());
            return behind.is_some_and(|behind| fits(rest, behind));
        }
        Part::Expression(expression) => expression,
    };
    let is_value = |byte: &&u8| expression.crosses || !matches!(byte, b'/' | b'?' | b'#');
    let value = address.strip_prefix(expression.first.as_bytes());
    let value = value.unwrap_or_default();
    let longest = value.iter().take_while(is_value).count();
    expression.is_optional && fits(rest, address)
        || (1..=longest).any(|length| fits(rest, &value[length..]))
}

fn check_claim(template: &Template, address: &str) {
    if !template.matches(address) {
        return;
    }
    let beginning = template.beginning();
    assert!(address.starts_with(beginning), "{template:?} {address}");
    if template.has_authority() {
        let claimed = authority(beginning);
        assert_eq!(authority(address), claimed, "{template:?} {address}");
    }
}

fn authority(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once(':')?;
    rest.strip_prefix("//")?.split(['/', '?', '#']).next()
}
