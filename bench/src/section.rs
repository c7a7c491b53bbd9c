//! The sections of a report: which upstream is measured in which protocol.
//!
//! A share of direct means something only within its section. Must never give two sections one name.

use clap::ValueEnum;

use crate::protocol::Protocol;
use crate::upstream::Upstream;

/// The protocols a run is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocols {
    /// With sessions, up to 2025-11-25
    Session,
    /// Without them, 2026-07-28
    Stateless,
    /// One after the other
    Both,
}

/// One upstream in one protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// How the upstream is built.
    pub(crate) upstream: Upstream,
    /// What is spoken on both faces of the gateway.
    pub(crate) protocol: Protocol,
}

impl Section {
    /// The sections of a run, in the order they are measured.
    ///
    /// Each upstream costs as much time as the others, so the SDK's is measured without sessions only for who names it.
    pub(crate) fn chosen(protocols: Protocols, upstream: Option<Upstream>) -> Vec<Self> {
        let of = |protocol: Protocol, usual: &[Upstream]| -> Vec<Self> {
            let named = upstream.map_or_else(|| usual.to_vec(), |one| vec![one]);
            let sections = named
                .into_iter()
                .map(|upstream| Self { upstream, protocol });
            sections.collect()
        };
        let session = || of(Protocol::Session, Upstream::value_variants());
        let stateless = || of(Protocol::Stateless, &[Upstream::Bare]);
        match protocols {
            Protocols::Session => session(),
            Protocols::Stateless => stateless(),
            Protocols::Both => [session(), stateless()].concat(),
        }
    }

    /// The name used in reports.
    pub(crate) fn name(self) -> String {
        let upstream = self.upstream.name();
        match self.protocol {
            Protocol::Session => upstream.to_owned(),
            Protocol::Stateless => format!("{upstream}-{}", self.protocol.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_has_its_sections_in_order() {
        let check = |protocols, upstream, expected: &[&str]| {
            let chosen = Section::chosen(protocols, upstream);
            let names: Vec<_> = chosen.into_iter().map(Section::name).collect();
            assert_eq!(names, expected, "{protocols:?} {upstream:?}");
        };
        check(Protocols::Both, None, &["bare", "sdk", "bare-stateless"]);
        check(Protocols::Session, None, &["bare", "sdk"]);
        check(Protocols::Stateless, None, &["bare-stateless"]);
        let bare = Some(Upstream::Bare);
        check(Protocols::Both, bare, &["bare", "bare-stateless"]);
        check(Protocols::Session, bare, &["bare"]);
        let sdk = Some(Upstream::Sdk);
        check(Protocols::Both, sdk, &["sdk", "sdk-stateless"]);
        check(Protocols::Stateless, sdk, &["sdk-stateless"]);
    }
}
