//! Numbers that mean something else once they are decoded. This module is pure.
//!
//! Arguments are checked as decoded values and sent on as text. A decoded number has 64 bits, so that
//! `10.0000000000000000001` is checked as 10 and arrives as more than that.

use std::ops::Range;

use serde_json::value::RawValue;

use super::Fields;

/// Steps of a path that are named. Each of them reads all that stands inside of it.
const STEP_LIMIT: usize = 16;
/// Characters of a name or a number that are repeated.
const SHOWN_LIMIT: usize = 100;

/// Number that is decoded as another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InexactNumber {
    /// JSON pointer to it, or to what it stands in if that is deep.
    pub path: String,
    /// Number as it was written; a long one is cut.
    pub written: String,
    /// Number that it is decoded as.
    pub decoded: String,
}

/// First number of a JSON text that is decoded as another one.
pub fn first_inexact(json: &str) -> Option<InexactNumber> {
    let place = numbers(json).find(|place| !is_exact(&json[place.clone()]))?;
    let written = &json[place.clone()];
    let decoded = written.parse::<f64>().unwrap_or(f64::INFINITY);
    Some(InexactNumber {
        path: path_to(json, place.start),
        written: cut(written),
        decoded: decoded.to_string(),
    })
}

/// Whether a number of JSON is decoded as itself: it fits 64 bits as an integer, or the shortest decimal that stands
/// for its double is the decimal that was written.
fn is_exact(number: &str) -> bool {
    // Digits that cannot overflow; most numbers end here.
    let is_short_integer = number.len() <= 18 && !number.contains(['.', 'e', 'E']);
    is_short_integer
        || number.parse::<u64>().is_ok()
        || number.parse::<i64>().is_ok()
        || number
            .parse::<f64>()
            .is_ok_and(|double| Decimal::of(number) == Decimal::of(&format!("{double:e}")))
}

/// Decimal number: its digits without zeros at either end, times a power of ten.
#[derive(PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn of(number: &str) -> Self {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        // One that is too long to be read is far beyond what a double has, in either direction.
        let beyond = if exponent.starts_with('-') {
            i64::MIN / 2
        } else {
            i64::MAX / 2
        };
        let exponent = exponent.parse().unwrap_or(beyond);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole.trim_start_matches('-'), fraction].concat();
        let significant = digits.trim_end_matches('0');
        if significant.is_empty() {
            return Self {
                is_negative: false,
                digits: String::new(),
                exponent: 0,
            };
        }
        let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX / 4);
        let zeros = length(&digits) - length(significant);
        Self {
            is_negative: number.starts_with('-'),
            digits: significant.trim_start_matches('0').to_owned(),
            exponent: exponent.saturating_add(zeros - length(fraction)),
        }
    }
}

/// Places of all numbers of a JSON text.
fn numbers(json: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = json.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => at = behind_string(bytes, at),
                b'-' | b'0'..=b'9' => {
                    let start = at;
                    let is_part =
                        |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                    at += bytes[at..].iter().take_while(is_part).count();
                    return Some(start..at);
                }
                _ => at += 1,
            }
        }
        None
    })
}

/// Place behind the string that begins at a quote.
fn behind_string(bytes: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found + 1;
        if bytes[at - 1] == b'"' {
            return at;
        }
        // What is escaped is not looked at.
        at += 1;
    }
    bytes.len()
}

/// JSON pointer to the value at a place.
fn path_to(json: &str, place: usize) -> String {
    let holds = |raw: &&RawValue| {
        let start = raw.get().as_ptr() as usize - json.as_ptr() as usize;
        (start..start + raw.get().len()).contains(&place)
    };
    let mut path = String::new();
    let mut value = json;
    for _ in 0..STEP_LIMIT {
        let step = if let Some(fields) = Fields::read(value) {
            let found = fields.iter().find(|(_, raw)| holds(raw));
            found.map(|(name, raw)| (cut(name).replace('~', "~0").replace('/', "~1"), raw))
        } else {
            let items: Vec<&RawValue> = serde_json::from_str(value).unwrap_or_default();
            let found = items.into_iter().enumerate().find(|(_, raw)| holds(raw));
            found.map(|(index, raw)| (index.to_string(), raw))
        };
        let Some((name, raw)) = step else {
            break;
        };
        path.push('/');
        path.push_str(&name);
        value = raw.get();
    }
    path
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_exact_if_they_come_back_as_they_were_written() {
        for number in [
            "0",
            "-0",
            "0.0",
            "-0.000e5",
            "0e99999999999999999999",
            "1",
            "-1",
            "10",
            "1.10",
            "1.1",
            "1e2",
            "1E+2",
            "100e-2",
            "0.1",
            "0.30000000000000004",
            "1.7976931348623157e308",
            "5e-324",
            "123456789012345678",
            "9223372036854775808",
            "-9223372036854775808",
            "18446744073709551615",
            "100000000000000000000",
            "1e20",
            "1.0000000000000000000000",
            "0.000000000000000000000000000001",
            "9007199254740993",
        ] {
            assert!(is_exact(number), "{number}");
        }
        for number in [
            "10.0000000000000000001",
            "9.9999999999999999999",
            "0.10000000000000001",
            "18446744073709551616",
            "-9223372036854775809",
            "12345678901234567890123",
            "100000000000000000001",
            "9007199254740993.0",
            "1e-400",
            "-1e-99999999999999999999",
            "1e400",
            "4e-324",
            "1.00000000000000000001e2",
            "3.14159265358979323846",
            "0.1e-999999999999999999999",
        ] {
            assert!(!is_exact(number), "{number}");
        }
    }

    #[test]
    fn the_first_such_number_is_found_with_its_path() {
        for json in [
            "{}",
            r#"{"a":[1,-2.5e3,{"b":"10.0000000000000000001"}]}"#,
            r#"{"\"10.0000000000000000001":1,"\\":"\\\"10.0000000000000000001"}"#,
        ] {
            assert_eq!(first_inexact(json), None, "{json}");
        }
        for (json, path, written, decoded) in [
            (
                r#"{"n":10.0000000000000000001}"#,
                "/n",
                "10.0000000000000000001",
                "10",
            ),
            (
                r#" {"a/b~":[1, {"x":"\"", "n" : -18446744073709551617}],"z":1e-400}"#,
                "/a~1b~0/1/n",
                "-18446744073709551617",
                "-18446744073709552000",
            ),
            ("1e-400", "", "1e-400", "0"),
        ] {
            let found = first_inexact(json).unwrap();
            assert_eq!(
                (&*found.path, &*found.written, &*found.decoded),
                (path, written, decoded)
            );
        }
        let deep = format!("{}0.10000000000000001{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(first_inexact(&deep).unwrap().path, "/0".repeat(STEP_LIMIT));
        let long = format!(r#"{{"{}":1.{}1}}"#, "x".repeat(500), "0".repeat(500));
        let found = first_inexact(&long).unwrap();
        assert!(
            found.path.len() < 110 && found.written.len() < 110,
            "{found:?}"
        );
    }

    proptest! {
        #[test]
        fn what_a_program_writes_is_exact(double in proptest::num::f64::NORMAL, integer in any::<i64>()) {
            for number in [format!("{double}"), format!("{double:e}"), integer.to_string()] {
                prop_assert!(is_exact(&number), "{}", number);
            }
        }

        #[test]
        fn a_number_that_is_exact_is_checked_as_what_it_says(
            whole in "-?(0|[1-9][0-9]{0,24})",
            fraction in "(\\.[0-9]{1,24})?",
            exponent in "([eE][+-]?[0-9]{1,2})?",
        ) {
            let number = [whole, fraction, exponent].concat();
            let decoded: serde_json::Value = serde_json::from_str(&number).unwrap();
            let written_again = Decimal::of(&match decoded.as_f64().filter(|_| decoded.is_f64()) {
                Some(double) => format!("{double:e}"),
                None => decoded.to_string(),
            });
            prop_assert_eq!(is_exact(&number), written_again == Decimal::of(&number), "{}", number);
        }
    }
}
