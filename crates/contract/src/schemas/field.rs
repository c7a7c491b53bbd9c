//! Reading fields so that a refusal names them.

use serde::de::{Deserialize, Deserializer, Error};

/// Reads a field and puts its name before what is wrong with it.
///
/// In a flattened struct serde reads the fields from a buffer and no longer knows where they came
/// from: without the name, a caller would be told that some number is not a number.
pub(super) fn named<'de, T, D>(name: &str, deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map_err(|error| D::Error::custom(format!("{name}: {error}")))
}
