//! A section of the file, declared once.
//!
//! Each key is one line: its name in the file, its field, the JSON of what holds when it is not
//! written, and its rule; the comment above it is its documentation. Structure, allowed keys, JSON
//! Schema, reference page, `config show` and the list of secrets all come from that line, so they
//! cannot differ. A derive of serde and schemars alone would give neither all problems of a file at
//! once nor their line and column.

/// Declares the structure of a section, and the [`Section`](crate::settings::rules::Section) that describes it.
///
/// A key without a default has to be written. `beside` has the fields that the file does not give.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $(#[derive($derive:ident)])?
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $key:literal $vis:vis $field:ident: $type:ty $(= $default:tt)?, $rule:expr;
            )+
        }
        $(beside {
            $($(#[$besides:meta])+ $beside_vis:vis $beside:ident: $beside_type:ty;)+
        })?
    ) => {
        $(#[doc = $about])+
        $(#[derive($derive)])?
        #[derive(Debug, Clone, PartialEq, serde::Deserialize)]
        pub struct $name {
            $($(#[doc = $doc])+ #[serde(rename = $key)] $vis $field: $type,)+
            $($($(#[$besides])+ #[serde(default)] $beside_vis $beside: $beside_type,)+)?
        }

        impl $name {
            pub(in crate::settings) const SECTION: $crate::settings::rules::Section =
                $crate::settings::rules::Section {
                    about: concat!($($about),+).trim_ascii(),
                    keys: &[$($crate::settings::rules::Key {
                        name: $key,
                        about: concat!($($doc),+).trim_ascii(),
                        rule: $rule,
                        default: section!(@default $($default)?),
                    }),+],
                };
        }
    };
    (@default) => { None };
    (@default $default:tt) => { Some(stringify!($default)) };
}

pub(in crate::settings) use section;
