//! Words too long to be found by chance, each in place of one byte.

/// The bytes with `words` in place of control characters that are no white space, beginning at 0x10. No JSON has those
/// bytes.
pub fn spell_out(bytes: &[u8], words: &[&str]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match place(*byte).and_then(|place| words.get(place)) {
            Some(word) => text.extend_from_slice(word.as_bytes()),
            None => text.push(*byte),
        }
    }
    text
}

fn place(byte: u8) -> Option<usize> {
    let place = match byte {
        0x10..=0x1f => byte - 0x10,
        0x01..=0x08 => byte - 0x01 + 16,
        0x0e..=0x0f => byte - 0x0e + 24,
        _ => return None,
    };
    Some(usize::from(place))
}
