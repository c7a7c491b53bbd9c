//! Any bytes as a stream of events, cut anywhere: the same events come out.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_wire::sse::SseReader;

const LIMIT: usize = 4096;

fuzz_target!(|input: (u8, &[u8])| {
    let (step, bytes) = input;
    let mut whole = SseReader::new(LIMIT);
    let at_once = whole.feed(bytes);
    let mut pieces = SseReader::new(LIMIT);
    let mut one_by_one = Vec::new();
    for piece in bytes.chunks(usize::from(step).max(1)) {
        match pieces.feed(piece) {
            Ok(events) => one_by_one.extend(events),
            Err(error) => {
                assert_eq!(at_once, Err(error));
                return;
            }
        }
    }
    assert_eq!(at_once, Ok(one_by_one));
});
