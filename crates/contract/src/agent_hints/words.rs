//! The fixed words of hints: how sure, how long, how urgent, of which kind.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// Makes an enum whose variants are words on the wire. One list gives the variants, the words and
/// the schema, so that they cannot differ.
macro_rules! words {
    (
        $(#[$about:meta])*
        $visibility:vis $name:ident { $($(#[$meaning:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility enum $name {
            $($(#[$meaning])* $variant,)+
        }

        impl $name {
            /// The word on the wire.
            const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": [$($word),+] })
            }
        }
    };
}

words! {
    /// How reliable the data is that the hints rest on. The most reliable comes first.
    pub SourceQuality {
        /// From an authoritative, verified source.
        High = "high",
        /// From a source that is generally reliable.
        Medium = "medium",
        /// From an uncertain or unverified source.
        Low = "low",
        /// Nobody can tell.
        Unknown = "unknown",
    }
}

words! {
    /// How long hints hold. The shortest comes first.
    pub ValidityPeriod {
        /// For the next action only.
        Immediate = "immediate",
        /// For about five minutes.
        Short = "short",
        /// For about an hour.
        Medium = "medium",
        /// For about a day.
        Long = "long",
        /// Until the context changes.
        Indefinite = "indefinite",
    }
}

words! {
    /// How urgent a suggestion is. The most urgent comes first.
    pub Priority {
        /// Nothing else should be done before.
        Critical = "critical",
        /// Most likely what should be done next.
        High = "high",
        /// Worth doing.
        Medium = "medium",
        /// Worth knowing of.
        Low = "low",
    }
}

words! {
    /// How bad it would be. The worst comes first.
    pub Severity {
        /// Work or data is lost.
        Critical = "critical",
        /// The result may be useless.
        High = "high",
        /// The result is worth less.
        Medium = "medium",
        /// Hardly anybody would notice.
        Low = "low",
    }
}

words! {
    /// What a suggested action is good for.
    pub ActionCategory {
        /// To learn what there is.
        Exploration = "exploration",
        /// To make better what works.
        Optimization = "optimization",
        /// To put right what is wrong.
        Correction = "correction",
        /// To go on learning.
        Learning = "learning",
    }
}

words! {
    /// What a risk endangers.
    pub RiskType {
        /// How fast it goes.
        Performance = "performance",
        /// How right the result is.
        Accuracy = "accuracy",
        /// What it costs.
        Cost = "cost",
        /// How hard it gets to understand.
        Complexity = "complexity",
        /// How it feels to the user.
        UserExperience = "user-experience",
    }
}

words! {
    /// How much an action depends on others.
    pub DependencyType {
        /// It fails without them.
        Required = "required",
        /// It works better after them.
        Recommended = "recommended",
        /// They may as well come first.
        Optional = "optional",
    }
}

words! {
    /// How an action fits a preference, as a word.
    pub(super) AlignmentWord {
        /// It is what the user prefers.
        Strong = "strong",
        /// It fits well.
        Moderate = "moderate",
        /// It fits a little.
        Weak = "weak",
        /// It has nothing to do with the preference.
        Neutral = "neutral",
        /// It is what the user wants to avoid.
        Conflict = "conflict",
    }
}

words! {
    /// What a warning is about.
    pub WarningType {
        /// Something given is not right.
        Validation = "validation",
        /// Something is there twice.
        Duplicate = "duplicate",
        /// Two things exclude each other.
        Conflict = "conflict",
        /// Something is going to be removed.
        Deprecation = "deprecation",
        /// Something is slow or overloaded.
        Performance = "performance",
    }
}

// === impl ValidityPeriod ===

impl ValidityPeriod {
    /// The shortest period that covers this time.
    pub(super) fn covering(time: Duration) -> Self {
        const MINUTE: u64 = 60;
        match time.as_secs() {
            0 => Self::Immediate,
            seconds if seconds <= 5 * MINUTE => Self::Short,
            seconds if seconds <= 60 * MINUTE => Self::Medium,
            seconds if seconds <= 24 * 60 * MINUTE => Self::Long,
            _ => Self::Indefinite,
        }
    }
}
