//! Ids that cannot be mistaken for one another.

use std::fmt;

use serde_json::json;
use uuid::Uuid;

/// The most characters that may follow the prefix.
const LONGEST_SUFFIX: usize = 64;

/// How much of a wrong id is repeated to the caller; the rest says nothing more.
const LONGEST_ECHO: usize = 80;

/// Defines the type of an id: a string of the form `{prefix}_{suffix}`, where the suffix has 1 to 64
/// letters, digits, `_` or `-`.
///
/// Ids of different kinds are different types. The documentation line is published as the
/// description of every parameter of the type that has none of its own, so it cannot be left out.
///
/// ```
/// mcpproxy_contract::branded_id!(
///     /// A card.
///     pub CardId, "card"
/// );
///
/// let id = CardId::parse("card_123")?;
/// assert_eq!(id, CardId::numbered(123));
/// assert!(CardId::parse("deck_123").is_err());
/// # Ok::<(), mcpproxy_contract::schemas::InvalidId>(())
/// ```
///
/// An id of one kind is not taken for another:
///
/// ```compile_fail,E0308
/// use mcpproxy_contract::branded_id;
/// branded_id!(/** A card. */ pub CardId, "card");
/// branded_id!(/** A deck. */ pub DeckId, "deck");
/// let deck: DeckId = CardId::numbered(1);
/// ```
///
/// A prefix has small letters, digits and inner underscores:
///
/// ```compile_fail,E0080
/// mcpproxy_contract::branded_id!(/** A card. */ pub CardId, "Card ");
/// ```
#[macro_export]
macro_rules! branded_id {
    ($(#[doc = $doc:expr])+ $visibility:vis $name:ident, $prefix:literal $(,)?) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility struct $name(String);

        const _: () = assert!(
            $crate::schemas::private::is_prefix($prefix),
            "the prefix of an id begins with a small letter, has at most 32 small letters, digits \
             and underscores, and does not end with an underscore"
        );

        #[allow(dead_code, reason = "a crate need not use all that an id can do")]
        impl $name {
            /// What every such id begins with, followed by an underscore.
            pub const PREFIX: &'static str = $prefix;

            /// The id that this text is, if it has the form of one.
            pub fn parse(text: impl Into<String>) -> Result<Self, $crate::schemas::InvalidId> {
                $crate::schemas::private::parse($prefix, text.into()).map(Self)
            }

            /// The id of the thing with this number.
            pub fn numbered(number: u64) -> Self {
                Self($crate::schemas::private::numbered($prefix, number))
            }

            /// A new id that nothing else has; later ones sort behind earlier ones.
            pub fn generate() -> Self {
                Self($crate::schemas::private::generated($prefix))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl ::core::str::FromStr for $name {
            type Err = $crate::schemas::InvalidId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::schemas::InvalidId;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(text)
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl $crate::schemas::private::serde::Serialize for $name {
            fn serialize<S: $crate::schemas::private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> $crate::schemas::private::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::schemas::private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                let text: String =
                    $crate::schemas::private::serde::Deserialize::deserialize(deserializer)?;
                Self::parse(text).map_err($crate::schemas::private::serde::de::Error::custom)
            }
        }

        impl $crate::schemas::private::schemars::JsonSchema for $name {
            // Agents see the form of the id where it is wanted, without following a reference.
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($name)).into()
            }

            fn json_schema(
                _: &mut $crate::schemas::private::schemars::SchemaGenerator,
            ) -> $crate::schemas::private::schemars::Schema {
                let description = $crate::schemas::private::describe(&[$($doc),+]);
                $crate::schemas::private::schema($prefix, &description)
            }
        }

        impl $crate::schemas::private::garde::Validate for $name {
            type Context = ();

            // There is no id of a wrong form.
            fn validate_into(
                &self,
                (): &(),
                _: &mut dyn FnMut() -> $crate::schemas::private::garde::Path,
                _: &mut $crate::schemas::private::garde::Report,
            ) {
            }
        }

        impl $crate::Data for $name {}
    };
}

branded_id!(
    /// The id of a user.
    pub UserId, "user"
);

/// A text that is not the id it was taken for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidId {
    prefix: &'static str,
    given: String,
}

// === impl InvalidId ===

impl fmt::Display for InvalidId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prefix, given } = self;
        write!(
            formatter,
            "'{given}' is no {prefix} id: send `{prefix}_` followed by 1 to {LONGEST_SUFFIX} \
             letters, digits, `_` or `-`, for example {prefix}_123"
        )
    }
}

impl std::error::Error for InvalidId {}

// === what the macro calls ===

/// Whether ids may begin with this.
pub const fn is_prefix(prefix: &str) -> bool {
    let bytes = prefix.as_bytes();
    if bytes.is_empty() || bytes.len() > 32 || !bytes[0].is_ascii_lowercase() {
        return false;
    }
    let mut index = 0;
    while index < bytes.len() {
        if !matches!(bytes[index], b'a'..=b'z' | b'0'..=b'9' | b'_') {
            return false;
        }
        index += 1;
    }
    bytes[bytes.len() - 1] != b'_'
}

/// The text itself, if it has the form of an id with this prefix.
pub fn parse_text(prefix: &'static str, text: String) -> Result<String, InvalidId> {
    let suffix = text
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('_'));
    let holds = suffix.is_some_and(|suffix| {
        (1..=LONGEST_SUFFIX).contains(&suffix.len())
            && suffix
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    });
    if holds {
        return Ok(text);
    }
    let given = text.chars().take(LONGEST_ECHO);
    Err(InvalidId {
        prefix,
        given: given.flat_map(char::escape_debug).collect(),
    })
}

/// The id of the thing with this number.
pub fn numbered(prefix: &str, number: u64) -> String {
    format!("{prefix}_{number}")
}

/// An id that nothing else has.
pub fn generated(prefix: &str) -> String {
    format!("{prefix}_{}", Uuid::now_v7().simple())
}

/// The lines of a documentation comment as one text.
pub fn describe(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.trim())
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" ")
}

/// The schema of an id.
pub fn schema_of(prefix: &str, description: &str) -> schemars::Schema {
    schemars::json_schema!({
        "type": "string",
        "description": description,
        "pattern": format!("^{prefix}_[A-Za-z0-9_-]{{1,{LONGEST_SUFFIX}}}$"),
        "examples": json!([numbered(prefix, 123)]),
    })
}
