//! The sections of a report: which upstream is measured in which era.
//!
//! A share of direct means something only within its section. Must never give two sections one name.

use clap::ValueEnum;

use crate::era::Era;
use crate::upstream::Upstream;

/// The eras a run is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Eras {
    /// With sessions, up to 2025-11-25
    Session,
    /// Without them, 2026-07-28
    Stateless,
    /// One after the other
    Both,
}

/// One upstream in one era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// How the upstream is built.
    pub(crate) upstream: Upstream,
    /// What is spoken on both faces of the gateway.
    pub(crate) era: Era,
}

impl Section {
    /// The sections of a run, in the order they are measured.
    ///
    /// Each upstream costs as much time as the others, so the SDK's is measured without sessions only for who names it.
    pub(crate) fn chosen(eras: Eras, upstream: Option<Upstream>) -> Vec<Self> {
        let of = |era: Era, usual: &[Upstream]| -> Vec<Self> {
            let named = upstream.map_or_else(|| usual.to_vec(), |one| vec![one]);
            let sections = named.into_iter().map(|upstream| Self { upstream, era });
            sections.collect()
        };
        let session = || of(Era::Session, Upstream::value_variants());
        let stateless = || of(Era::Stateless, &[Upstream::Bare]);
        match eras {
            Eras::Session => session(),
            Eras::Stateless => stateless(),
            Eras::Both => [session(), stateless()].concat(),
        }
    }

    /// The name used in reports.
    pub(crate) fn name(self) -> String {
        let upstream = self.upstream.name();
        match self.era {
            Era::Session => upstream.to_owned(),
            Era::Stateless => format!("{upstream}-{}", self.era.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_has_its_sections_in_order() {
        let check = |eras, upstream, expected: &[&str]| {
            let chosen = Section::chosen(eras, upstream);
            let names: Vec<_> = chosen.into_iter().map(Section::name).collect();
            assert_eq!(names, expected, "{eras:?} {upstream:?}");
        };
        check(Eras::Both, None, &["bare", "sdk", "bare-stateless"]);
        check(Eras::Session, None, &["bare", "sdk"]);
        check(Eras::Stateless, None, &["bare-stateless"]);
        let bare = Some(Upstream::Bare);
        check(Eras::Both, bare, &["bare", "bare-stateless"]);
        check(Eras::Session, bare, &["bare"]);
        let sdk = Some(Upstream::Sdk);
        check(Eras::Both, sdk, &["sdk", "sdk-stateless"]);
        check(Eras::Stateless, sdk, &["sdk-stateless"]);
    }
}
