//! The revisions of MCP and what sets them apart.

crate::words! {
    /// A published revision of the protocol, named by its date; the oldest is first.
    #[derive(PartialOrd, Ord)]
    Revision {
        /// HTTP with a separate event stream.
        V2024_11_05 = "2024-11-05",
        /// Streamable HTTP and tool annotations.
        V2025_03_26 = "2025-03-26",
        /// Structured output and elicitation; no batches.
        V2025_06_18 = "2025-06-18",
        /// Icons and tasks; the last one with sessions.
        V2025_11_25 = "2025-11-25",
        /// Stateless: no `initialize`, the context travels with each request.
        V2026_07_28 = "2026-07-28",
    }
}

/// The two wire protocols behind the revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// `initialize` opens a session that later messages belong to.
    Session,
    /// Every request stands for itself.
    Stateless,
}

impl Revision {
    /// The newest revision that has sessions.
    pub const LATEST_WITH_SESSION: Self = Self::V2025_11_25;

    /// The wire protocol of the revision.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::V2026_07_28 => Protocol::Stateless,
            _ => Protocol::Session,
        }
    }

    /// The wire protocol of a revision by its date, known or not: one that is younger than all that
    /// have sessions has none. Nothing if it is no date.
    pub fn protocol_of(date: &str) -> Option<Protocol> {
        let is_date = date.len() == 10
            && date.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        let is_younger = is_date && date > Self::LATEST_WITH_SESSION.as_str();
        let known = Self::parse(date).map(Self::protocol);
        known.or(is_younger.then_some(Protocol::Stateless))
    }

    /// Whether several messages may come as one list.
    pub const fn has_batches(self) -> bool {
        matches!(self, Self::V2025_03_26)
    }

    /// Revision to answer a client that asks for one in `initialize`: the same where
    /// sessions have it, else the newest that has sessions.
    pub fn negotiate(asked: &str) -> Self {
        Self::parse(asked)
            .filter(|revision| revision.protocol() == Protocol::Session)
            .unwrap_or(Self::LATEST_WITH_SESSION)
    }
}
