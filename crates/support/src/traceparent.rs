//! The one reader of W3C trace context: gateway and services of the tool contract see the same trace in a `traceparent`.

/// Trace id of a `traceparent`, and the span and flags after it; nothing if it is none.
pub fn read_traceparent(text: &str) -> Option<(&str, String)> {
    let mut parts = text.split('-');
    let mut hexadecimal = |length: usize| {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_whole = |part: &&str| part.len() == length && part.bytes().all(is_digit);
        parts.next().filter(is_whole)
    };
    let (version, trace, span) = (hexadecimal(2)?, hexadecimal(32)?, hexadecimal(16)?);
    let flags = hexadecimal(2)?;
    let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    let is_valid = version != "ff"
        // A version that is not known yet may have more parts.
        && (version != "00" || parts.next().is_none())
        && !is_zero(trace)
        && !is_zero(span);
    is_valid.then(|| (trace, format!("{span}-{flags}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn traceparent(trace: &str) -> String {
        format!("00-{trace}-00f067aa0ba902b7-01")
    }

    #[test]
    fn only_a_whole_traceparent_names_a_trace() {
        let good = traceparent(TRACE);
        let known = Some((TRACE, "00f067aa0ba902b7-01".to_owned()));
        assert_eq!(read_traceparent(&good), known);
        let later = format!("01-{TRACE}-00f067aa0ba902b7-01-more");
        assert_eq!(read_traceparent(&later), known);
        for wrong in [
            "",
            TRACE,
            &format!("ff-{TRACE}-00f067aa0ba902b7-01"),
            &format!("{good}-more"),
            &format!(" {good}"),
            &format!("00-{TRACE}-00f067aa0ba902b7"),
            &format!("00-{TRACE}-00f067aa0ba902b7-1"),
            &good.to_uppercase(),
            &traceparent(&"0".repeat(32)),
            &format!("00-{TRACE}-0000000000000000-01"),
        ] {
            assert_eq!(read_traceparent(wrong), None, "{wrong}");
        }
    }
}
