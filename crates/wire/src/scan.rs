//! A quick look at JSON text, which spares most results from being read.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// A name that is looked for. The search is prepared once, because that costs more than the search.
pub(crate) struct Name(LazyLock<Finder<'static>>);

/// How a name can be spelt without standing there.
static ESCAPE: Name = Name::new(|| Finder::new(br"\u"));

impl Name {
    /// A name to look for; `prepare` makes the search for it.
    pub(crate) const fn new(prepare: fn() -> Finder<'static>) -> Self {
        Self(LazyLock::new(prepare))
    }

    /// Whether a text may have the name, also one that is spelt in escapes. If not, it has no member of
    /// that name, and no such value.
    pub(crate) fn may_be_in(&self, text: &str) -> bool {
        self.0.find(text.as_bytes()).is_some() || has_escapes(text)
    }

    /// What follows the name, if that is sure without reading the text.
    pub(crate) fn look<'a>(&self, text: &'a str) -> Glance<'a> {
        let mut found = self.0.find_iter(text.as_bytes());
        let at = found.next();
        if found.next().is_some() || has_escapes(text) {
            return Glance::Unsure;
        }
        match at {
            None => Glance::Absent,
            Some(at) => {
                let follows = text.get(at + self.0.needle().len()..);
                follows.map_or(Glance::Unsure, Glance::Followed)
            }
        }
    }
}

/// What a look at a text tells of a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Glance<'a> {
    /// It is not there.
    Absent,
    /// It stands there once, and this follows.
    Followed(&'a str),
    /// The text has to be read.
    Unsure,
}

fn has_escapes(text: &str) -> bool {
    ESCAPE.0.find(text.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    static NAME: Name = Name::new(|| Finder::new(b"name"));

    #[test]
    fn a_name_is_found_however_it_is_spelt() {
        for text in [r#"{"name":1}"#, r#"{"n\u0061me":1}"#, r#""\u00e9""#] {
            assert!(NAME.may_be_in(text), "{text}");
        }
        assert!(!NAME.may_be_in(r#"{"other":"\n"}"#));
    }

    #[test]
    fn what_follows_is_told_only_where_nothing_else_could_be_meant() {
        let follows = r#"":1}"#;
        assert_eq!(NAME.look(r#"{"name":1}"#), Glance::Followed(follows));
        assert_eq!(NAME.look("{}"), Glance::Absent);
        for text in [r#"{"name":1,"name":2}"#, r#"{"name":"\u0061"}"#] {
            assert_eq!(NAME.look(text), Glance::Unsure, "{text}");
        }
    }
}
