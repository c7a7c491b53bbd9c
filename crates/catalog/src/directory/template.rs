//! Whether an address is one that a template of resources stands for. This module is pure.

/// Template, as far as it takes to tell whether an address fits it.
#[derive(Debug, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Literal(Box<str>),
    Expression(Expression),
}

#[derive(Debug, PartialEq, Eq)]
struct Expression {
    /// Character that leads the value.
    first: Option<u8>,
    /// Whether it may be left out.
    is_optional: bool,
    /// Whether the value may go beyond one segment of a path.
    crosses: bool,
}

impl Template {
    /// Reads a template; braces that are never closed are taken as they stand.
    pub fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            let Some((inside, after)) = after.split_once('}') else {
                break;
            };
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.into()));
            }
            parts.push(Part::Expression(Expression::parse(inside)));
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.into()));
        }
        Self(parts)
    }

    /// Whether the address can have come from the template. All ways to read the address are
    /// followed at once, so this takes no longer than the template times the address.
    pub fn matches(&self, address: &str) -> bool {
        // Most addresses are none of its own, which is told without any work.
        if !address.starts_with(self.beginning()) {
            return false;
        }
        let bytes = address.as_bytes();
        let mut reached = vec![false; bytes.len() + 1];
        reached[0] = true;
        for part in &self.0 {
            reached = match part {
                Part::Literal(literal) => after_literal(&reached, bytes, literal.as_bytes()),
                Part::Expression(expression) => expression.after(&reached, bytes),
            };
            if !reached.contains(&true) {
                return false;
            }
        }
        reached.last() == Some(&true)
    }
}

impl Template {
    /// Text before the first expression, which every address of the template begins with.
    pub fn beginning(&self) -> &str {
        match self.0.first() {
            Some(Part::Literal(literal)) => literal,
            _ => "",
        }
    }

    /// Whether the template settles the authority of its addresses: `db://host/{id}` does, `db://{host}` does not.
    pub fn has_authority(&self) -> bool {
        let behind_scheme = self.beginning().split_once(':');
        let Some(authority) = behind_scheme.and_then(|(_, rest)| rest.strip_prefix("//")) else {
            return false;
        };
        if authority.contains(['/', '?', '#']) {
            return true;
        }
        for part in self.0.iter().skip(1) {
            match part {
                Part::Literal(literal) => return literal.starts_with(['/', '?', '#']),
                Part::Expression(next) => match next.first {
                    // Left out, it ends nothing.
                    Some(b'/' | b'?' | b'#') if next.is_optional => {}
                    Some(b'/' | b'?' | b'#') => return true,
                    _ => return false,
                },
            }
        }
        true
    }
}

impl Expression {
    fn parse(inside: &str) -> Self {
        let operator = inside.bytes().next().unwrap_or_default();
        let has_several = inside.contains([',', '*']);
        let (first, is_optional, crosses) = match operator {
            b'+' => (None, false, true),
            b'#' | b'?' | b'&' | b';' => (Some(operator), true, true),
            b'/' | b'.' => (Some(operator), false, has_several),
            _ => (None, false, false),
        };
        Self {
            first,
            is_optional,
            crosses,
        }
    }

    /// Places that are reached behind a value, from those that are reached before it.
    fn after(&self, reached: &[bool], bytes: &[u8]) -> Vec<bool> {
        let is_value = |byte: u8| self.crosses || !matches!(byte, b'/' | b'?' | b'#');
        let mut next: Vec<bool> = reached.iter().map(|is| *is && self.is_optional).collect();
        // Whether a value goes on at a place, having begun there or before.
        let mut goes_on = false;
        for at in 0..bytes.len() {
            let begins = match self.first {
                None => reached[at],
                Some(first) => at > 0 && reached[at - 1] && bytes[at - 1] == first,
            };
            goes_on = (goes_on || begins) && is_value(bytes[at]);
            next[at + 1] |= goes_on;
        }
        next
    }
}

fn after_literal(reached: &[bool], bytes: &[u8], literal: &[u8]) -> Vec<bool> {
    let mut next = vec![false; reached.len()];
    for (at, _) in reached.iter().enumerate().filter(|(_, is)| **is) {
        if bytes[at..].starts_with(literal) {
            next[at + literal.len()] = true;
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_fit_the_templates_they_can_have_come_from() {
        for (template, address, expected) in [
            ("test://static", "test://static", true),
            ("test://static", "test://static/", false),
            ("test://item/{id}", "test://item/1", true),
            ("test://item/{id}", "test://item/größe%20x", true),
            ("test://item/{id}", "test://item/", false),
            ("test://item/{id}", "test://item/1/2", false),
            ("test://item/{id}/data", "test://item/1/data", true),
            ("test://item/{id}/data", "test://item/1/date", false),
            ("test://{a}/{b}", "test://x/y", true),
            ("test://{a}-{b}", "test://x-y-z", true),
            ("test://{a}-{b}", "test://xyz", false),
            ("file:///{+path}", "file:///a/b?c#d", true),
            ("file:///{path}", "file:///a/b", false),
            ("db://t{/table}", "db://t/x", true),
            ("db://t{/table}", "db://t/x/y", false),
            ("db://t{/path*}", "db://t/x/y", true),
            ("db://t{?limit,offset}", "db://t", true),
            ("db://t{?limit,offset}", "db://t?limit=1", true),
            ("db://t{?limit}", "db://tlimit=1", false),
            ("db://t{#part}", "db://t#x", true),
            ("x:{a}{b}", "x:12", true),
            ("x:{never", "x:{never", true),
            ("x:{never", "x:1", false),
            ("", "", true),
            ("", "x", false),
        ] {
            let fits = Template::parse(template).matches(address);
            assert_eq!(fits, expected, "{template} {address}");
        }
    }

    #[test]
    fn the_beginning_and_the_authority_are_those_before_any_expression() {
        for (template, beginning, has_authority) in [
            ("{+any}", "", false),
            ("{scheme}://x/{id}", "", false),
            ("d{+any}", "d", false),
            ("db:{+any}", "db:", false),
            ("db:/{+any}", "db:/", false),
            ("db://{+any}", "db://", false),
            ("db://host{+any}", "db://host", false),
            ("db://host{.tld}/x", "db://host", false),
            ("db://host/{id}", "db://host/", true),
            ("db://host{/id}", "db://host", true),
            ("db://host{?q}", "db://host", true),
            ("db://host{#q}", "db://host", true),
            ("db://host{?q}{#f}", "db://host", true),
            ("db://host{?q}/x", "db://host", true),
            ("db://host{?q}{+any}", "db://host", false),
            ("db://host{?q}x", "db://host", false),
            ("db://host{/id}{+any}", "db://host", true),
            ("db://host", "db://host", true),
            ("file:///{+path}", "file:///", true),
            ("urn:x://host/{id}", "urn:x://host/", false),
        ] {
            let parsed = Template::parse(template);
            let found = (parsed.beginning(), parsed.has_authority());
            assert_eq!(found, (beginning, has_authority), "{template}");
        }
    }

    #[test]
    fn no_template_makes_matching_slow() {
        let template = Template::parse(&"{+a}".repeat(500));
        assert!(template.matches(&"a".repeat(1_000)));
        assert!(!Template::parse(&("{+a}".repeat(500) + "b")).matches(&"a".repeat(1_000)));
    }
}
