//! A section of the file, declared once.
//!
//! Each key is one line: its name in the file, its field, what holds when it is not written, and
//! its rule; the comment above it is its documentation. Structure, reader, allowed keys, JSON Schema,
//! reference page, `config show` and the list of secrets all come from that line, so they cannot
//! differ. A derive of serde and schemars would give the same structure, but neither all problems
//! of a file at once nor their line and column.

/// Declares the structure of a section and makes it a [`Section`](super::reader::Section).
///
/// A key without a default has to be written. `beside` has the fields that the file does not give.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $(#[derive($derive:ident)])?
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $key:literal $vis:vis $field:ident: $type:ty $(= $default:expr)?, $rule:expr;
            )+
        }
        $(beside {
            $($(#[doc = $besides:literal])+ $beside:ident: $beside_type:ty;)+
        })?
    ) => {
        $(#[doc = $about])+
        $(#[derive($derive)])?
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ $vis $field: $type,)+
            $($($(#[doc = $besides])+ pub $beside: $beside_type,)+)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: section!(@default $($default)?),)+
                    $($($beside: Default::default(),)+)?
                }
            }
        }

        impl $crate::settings::reader::Section for $name {
            fn shape() -> $crate::settings::shape::SectionShape {
                let preset = Self::default();
                $crate::settings::shape::SectionShape {
                    about: concat!($($about),+).trim(),
                    keys: vec![$($crate::settings::reader::key_shape::<$type>(
                        ($key, concat!($($doc),+).trim()),
                        &$rule,
                        section!(@given preset.$field $(, $default)?),
                    )),+],
                }
            }

            fn read(
                reader: &mut $crate::settings::reader::SettingsReader<'_>,
                object: &jsonc_parser::ast::Object<'_>,
                path: &str,
            ) -> Option<Self> {
                let preset = Self::default();
                reader.refuse_unknown(object, path, &[$($key),+]);
                $(let $field = reader.field::<$type>(
                    object,
                    (path, $key),
                    &$rule,
                    section!(@given preset.$field $(, $default)?),
                );)+
                // Only now may one give up: every key has been looked at.
                Some(Self {
                    $($field: $field?,)+
                    $($($beside: Default::default(),)+)?
                })
            }

            fn shown(&self) -> serde_json::Map<String, serde_json::Value> {
                let keys = [$(($key, $crate::settings::reader::KeyRule::shown(&$rule, &self.$field))),+];
                keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
            }

            fn secrets<'v>(&'v self, found: &mut Vec<&'v $crate::settings::secret::Secret>) {
                $($crate::settings::reader::KeyRule::secrets(&$rule, &self.$field, found);)+
            }
        }
    };
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
    (@given $preset:expr) => { None };
    (@given $preset:expr, $default:expr) => { Some($preset) };
}

pub(super) use section;
