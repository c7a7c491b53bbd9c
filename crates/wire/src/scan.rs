//! Scan of JSON text for one name, which spares most results from being read.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Name that is scanned for. The search is prepared once, because that costs more than the search.
pub(crate) struct ScannedName(LazyLock<Finder<'static>>);

/// Beginning of an escape: with one in a text, a name may be spelt in another way.
static ESCAPE: ScannedName = ScannedName::new(|| Finder::new(br"\u"));

impl ScannedName {
    /// Name to scan for; `prepare` makes the search for it.
    pub(crate) const fn new(prepare: fn() -> Finder<'static>) -> Self {
        Self(LazyLock::new(prepare))
    }

    /// Whether a text may have the name, also one that is spelt in escapes. If not, it has no member of
    /// that name, and no such value.
    pub(crate) fn may_be_in(&self, text: &str) -> bool {
        self.0.find(text.as_bytes()).is_some() || has_escapes(text)
    }

    /// What follows the name, if that is sure without reading the text.
    pub(crate) fn scan<'a>(&self, text: &'a str) -> NameScan<'a> {
        let mut found = self.0.find_iter(text.as_bytes());
        let at = found.next();
        if found.next().is_some() || has_escapes(text) {
            return NameScan::Unsure;
        }
        match at {
            None => NameScan::Absent,
            Some(at) => {
                let follows = text.get(at + self.0.needle().len()..);
                follows.map_or(NameScan::Unsure, NameScan::Followed)
            }
        }
    }
}

/// Finding of a scan of a text for a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NameScan<'a> {
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

    static NAME: ScannedName = ScannedName::new(|| Finder::new(b"name"));

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
        assert_eq!(NAME.scan(r#"{"name":1}"#), NameScan::Followed(follows));
        assert_eq!(NAME.scan("{}"), NameScan::Absent);
        for text in [r#"{"name":1,"name":2}"#, r#"{"name":"\u0061"}"#] {
            assert_eq!(NAME.scan(text), NameScan::Unsure, "{text}");
        }
    }
}
