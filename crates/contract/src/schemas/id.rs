//! Ids that cannot be mistaken for one another.

/// Defines the type of an id: a string of the form `{prefix}_{suffix}`, where the suffix has 1 to 64
/// letters, digits, `_` or `-`.
///
/// Ids of different kinds are different types. The documentation line is published as the
/// description of every parameter of the type that has none of its own, so it cannot be left out.
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

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                formatter.write_str(&self.0)
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
