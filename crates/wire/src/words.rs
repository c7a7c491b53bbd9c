//! Enums whose variants are words.

/// Declares an enum each variant of which is one word in messages, stores and filters.
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$about_variant:meta])* $variant:ident = $word:literal,)+ }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $(#[$about])*
        pub enum $name {
            $($(#[$about_variant])* $variant,)+
        }

        impl $name {
            /// Every one, in the order messages list them.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant,)+];

            /// The word for it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// Reads one of the words, in exactly that spelling.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}
