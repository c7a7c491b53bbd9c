//! A section of the file, declared once.
//!
//! Each key is one line: its name in the file, its field, its shape and what it means when it is
//! not written; the comment above it is its documentation. The structure, the reader, the list of
//! allowed keys, the JSON Schema and the reference page all come from that line, so they cannot
//! differ. A derive of serde and schemars would give the same structure, but neither all problems
//! of a file at once nor their line and column.

/// Declares a section and makes it a [`Shape`](super::shape::Shape).
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $key:literal $field:ident: $shape:ty = $preset:expr;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        pub(in crate::settings) struct $name {
            $(
                $(#[doc = $doc])+
                pub(in crate::settings) $field: $shape,
            )+
        }

        impl $crate::settings::shape::Shape for $name {
            fn kind() -> $crate::settings::shape::ValueKind {
                $crate::settings::shape::ValueKind::Section {
                    about: concat!($($about),+),
                    keys: vec![$({
                        let preset: $crate::settings::shape::Preset<$shape> = $preset;
                        $crate::settings::shape::Key {
                            name: $key,
                            about: concat!($($doc),+),
                            kind: <$shape as $crate::settings::shape::Shape>::kind(),
                            default: preset.described(),
                        }
                    }),+],
                }
            }

            fn read(
                reader: &mut $crate::settings::shape::SettingsReader<'_>,
                value: &jsonc_parser::ast::Value<'_>,
                path: &str,
            ) -> Option<Self> {
                let object = reader.object::<Self>(value, path)?;
                reader.refuse_unknown(object, path, &[$($key),+]);
                $(let $field = reader.field::<$shape>(object, path, $key, $preset);)+
                // Only now may one give up: every key has been looked at.
                Some(Self { $($field: $field?),+ })
            }
        }
    };
}

pub(super) use section;
