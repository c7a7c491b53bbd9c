//! Ids that cannot be mistaken for one another.

use std::fmt;

use super::private::LONGEST_SUFFIX;

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
            /// The id that this text is, if it has the form of one.
            pub fn parse(text: impl Into<String>) -> Result<Self, $crate::schemas::InvalidId> {
                $crate::schemas::private::parse($prefix, text.into()).map(Self)
            }

            /// The id of the thing with this number.
            pub fn numbered(number: u64) -> Self {
                Self(format!("{}_{number}", $prefix))
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
                $crate::schemas::private::schema($prefix, &[$($doc),+])
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
    pub(super) prefix: &'static str,
    pub(super) given: String,
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
