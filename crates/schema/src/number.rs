//! Numbers, compared without loss: a schema must not take one number for another.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use serde_json::{Number, Value};

/// The order of two numbers.
pub(crate) fn compared(one: &Number, other: &Number) -> Ordering {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(one), None) => with_fraction(one, float(other)),
        (None, Some(other)) => with_fraction(other, float(one)).reverse(),
        (None, None) => float(one).total_cmp(&float(other)),
    }
}

/// The number as an integer, where it is one.
pub(crate) fn integer(number: &Number) -> Option<i128> {
    if let Some(integer) = number.as_i64() {
        return Some(integer.into());
    }
    if let Some(integer) = number.as_u64() {
        return Some(integer.into());
    }
    let float = float(number);
    #[allow(
        clippy::cast_possible_truncation,
        reason = "it has no fraction and is in range"
    )]
    (float.fract() == 0.0 && float.abs() < 1e36).then_some(float as i128)
}

/// Whether a number is a whole one, of any size.
pub(crate) fn is_integer(number: &Number) -> bool {
    integer(number).is_some() || float(number).fract() == 0.0
}

/// Whether a number is a multiple of another, which is more than zero; as the two are written, in decimals.
pub(crate) fn is_multiple(number: &Number, of: &Number) -> bool {
    match (ExactNumber::of(number), ExactNumber::of(of)) {
        (Some(number), Some(of)) => number.is_multiple(&of),
        _ => (float(number) / float(of)).fract() == 0.0,
    }
}

/// Whether two values are the same to a schema, for which `1` is `1.0` and members have no order.
pub(crate) fn are_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compared(one, other) == Ordering::Equal,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| are_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_in =
                |(name, value)| other.get(name).is_some_and(|other| are_equal(value, other));
            one.len() == other.len() && one.iter().all(is_in)
        }
        (one, other) => one == other,
    }
}

/// Feeds a value to a hasher, such that values that are equal give the same.
pub(crate) fn hash<H: Hasher + Clone>(value: &Value, hasher: &mut H) {
    match value {
        Value::Null => 0_u8.hash(hasher),
        Value::Bool(is_true) => (1_u8, is_true).hash(hasher),
        Value::Number(number) => match integer(number) {
            Some(integer) => (2_u8, integer).hash(hasher),
            None => (3_u8, float(number).to_bits()).hash(hasher),
        },
        Value::String(text) => (4_u8, text).hash(hasher),
        Value::Array(items) => {
            (5_u8, items.len()).hash(hasher);
            for item in items {
                hash(item, hasher);
            }
        }
        Value::Object(members) => {
            let of_member = |(name, value): (&String, &Value)| {
                let mut own = hasher.clone();
                name.hash(&mut own);
                hash(value, &mut own);
                own.finish()
            };
            let all = members.iter().map(of_member);
            let sum = all.fold(0_u64, u64::wrapping_add);
            (6_u8, members.len(), sum).hash(hasher);
        }
    }
}

fn with_fraction(integer: i128, float: f64) -> Ordering {
    // What has a fraction is below 2^53, and what is larger than any integer of JSON is so by far.
    if float.abs() >= 1e36 {
        return if float > 0.0 {
            Ordering::Less
        } else {
            Ordering::Greater
        };
    }
    #[allow(clippy::cast_possible_truncation, reason = "it is in range")]
    let below = float.floor() as i128;
    integer.cmp(&below).then(Ordering::Less)
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::INFINITY)
}

/// A number as it is written: digits and a power of ten.
struct ExactNumber {
    digits: i128,
    exponent: i32,
}

impl ExactNumber {
    fn of(number: &Number) -> Option<Self> {
        let text = number.to_string();
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()?),
            None => (text.as_str(), 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        Some(Self {
            digits: format!("{whole}{fraction}").parse().ok()?,
            exponent: exponent - i32::try_from(fraction.len()).ok()?,
        })
    }

    fn is_multiple(&self, of: &Self) -> bool {
        let common = self.exponent.min(of.exponent);
        match (self.scaled(common), of.scaled(common)) {
            (Some(number), Some(of)) => of != 0 && number % of == 0,
            // A large number of small steps: its zeros are a multiple of them, as far as they go.
            (None, Some(of)) => of != 0 && self.remainder(common, of) == Some(0),
            (Some(number), None) => number == 0,
            (None, None) => false,
        }
    }

    fn scaled(&self, exponent: i32) -> Option<i128> {
        let power = u32::try_from(self.exponent - exponent).ok()?;
        self.digits.checked_mul(10_i128.checked_pow(power)?)
    }

    /// Rest of the number in steps of `10^exponent` when it is divided.
    fn remainder(&self, exponent: i32, by: i128) -> Option<i128> {
        let mut left = self.digits % by;
        for _ in exponent..self.exponent {
            left = left.checked_mul(10)? % by;
        }
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn numbers_are_compared_without_loss() {
        for (one, other, expected) in [
            ("1", "1.0", Ordering::Equal),
            ("9007199254740993", "9007199254740992.0", Ordering::Greater),
            (
                "18446744073709551615",
                "18446744073709551614",
                Ordering::Greater,
            ),
            ("-1", "-1.5", Ordering::Greater),
            ("1", "1.5", Ordering::Less),
            ("2", "1.5", Ordering::Greater),
            ("1e300", "3", Ordering::Greater),
            ("-1e300", "3", Ordering::Less),
            ("0.1", "0.2", Ordering::Less),
        ] {
            assert_eq!(
                compared(&number(one), &number(other)),
                expected,
                "{one} {other}"
            );
            let reverse = compared(&number(other), &number(one));
            assert_eq!(reverse, expected.reverse(), "{other} {one}");
        }
    }

    #[test]
    fn multiples_are_those_of_decimals() {
        for (one, of, expected) in [
            ("0.07", "0.01", true),
            ("0.075", "0.01", false),
            ("4.5", "1.5", true),
            ("35", "1.5", false),
            ("1e300", "2", true),
            ("1e308", "0.123456789", false),
            ("12391239123", "1e-8", true),
            ("0", "7", true),
            ("7", "2", false),
            ("1e-300", "1", false),
        ] {
            assert_eq!(
                is_multiple(&number(one), &number(of)),
                expected,
                "{one} {of}"
            );
        }
    }

    #[test]
    fn equal_values_have_equal_hashes() {
        use std::hash::DefaultHasher;
        let hashed = |value: &Value| {
            let mut hasher = DefaultHasher::new();
            hash(value, &mut hasher);
            hasher.finish()
        };
        for (one, other, expected) in [
            (
                json!({"a": 1, "b": [2.0]}),
                json!({"b": [2], "a": 1.0}),
                true,
            ),
            (json!({"a": 1}), json!({"a": 2}), false),
            (json!({"a": "b"}), json!({"b": "a"}), false),
            (json!([1, true]), json!([true, true]), false),
            (json!(["1"]), json!([1]), false),
            (json!(0.5), json!(5e-1), true),
        ] {
            assert_eq!(are_equal(&one, &other), expected, "{one} {other}");
            assert_eq!(hashed(&one) == hashed(&other), expected, "{one} {other}");
        }
    }
}
